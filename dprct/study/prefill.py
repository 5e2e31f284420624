"""What do-files tell a study file: outcomes, arms, covariates, clusters, tables, unused columns."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field, replace
from itertools import count
from typing import TYPE_CHECKING

from dprct.dofile.memory import multiplied
from dprct.dofile.varlists import bare_names, crossed, factor_of, is_plain
from dprct.errors import FormulaError
from dprct.records import dataclass
from dprct.schema.conditions import (
    NO_VALUES,
    as_in_stata,
    condition,
    divided_by,
    named,
    reduced,
)
from dprct.study.do_columns import named_columns, on_derived
from dprct.study.index_verdicts import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence

    from dprct.dofile import Regression
    from dprct.dofile.memory import Restacked
    from dprct.schema.conditions import Values
    from dprct.study.do_columns import Derived

LEAST_SQUARES = frozenset({"regress", "areg", "reghdfe", "xtreg"})
INSTRUMENTED = frozenset({"ivregress", "ivreg", "ivreg2", "ivreghdfe"})
_MOST_SETS = 6
_MOST_PARTS = 12
MARGINS = {"logit": "logit", "logistic": "logit", "poisson": "poisson"}
"""Commands after which ``margins`` finds effects on the outcome's mean, and their families."""


@dataclass(frozen=True)
class TablePart:
    """A table of the paper, as far as its regressions run on columns of the file."""

    name: str  # unique, and a plain word
    outcomes: tuple[str, ...]
    covariates: tuple[str, ...] = ()
    cluster: str = ""
    where: str = ""  # the condition on its rows; empty for all
    errors: str = ""  # the kind of its errors, where they are not clustered; empty for robust ones
    arms: tuple[str, ...] = ()  # empty for all of the file
    samples: tuple[str, ...] = ()  # conditions of other regressions of it that no table has


@dataclass(frozen=True)
class Printed:
    """A regression on treatment that moments serve by one step as the do-files have it."""

    formula: str
    places: tuple[tuple[str, int], ...]  # do-files and lines that run it
    # The variables by which its errors are clustered, one or two; empty if they are not.
    cluster: tuple[str, ...] = ()
    where: str = ""  # the condition on its rows; empty for all
    weights: str = ""  # the variable of its sampling weights; empty for none
    # Its errors, where they are not those of the clusters of most regressions; else empty.
    cov_type: str = ""
    count_effects: bool = False  # whether the effects of persons count, as of ``areg``
    crossed: bool = False  # whether it has a product of treatment
    # That of a logit and its like, whose coefficients are released; empty of least squares.
    family: str = ""

    @property
    def clusters(self) -> str | tuple[str, str] | None:
        """These variables, as :class:`dprct.Regression` takes them."""
        if not self.cluster:
            return None
        return self.cluster[0] if len(self.cluster) == 1 else (self.cluster[0], self.cluster[1])


@dataclass(frozen=True)
class Prefill:
    """What do-files say of the columns of one file; nothing of it comes from data."""

    arms: tuple[str, ...] = ()
    # Columns that do-files make of arms alone, such as an amount in another currency.
    of_arms: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    # Covariate sets, as terms of a formula, the most frequent first.
    sets: tuple[tuple[str, ...], ...] = ()
    cluster: str = ""  # the variable by which errors are clustered most often
    used: frozenset[str] = frozenset()  # every column that the do-files use, in whatever way
    tables: tuple[TablePart, ...] = ()
    # The condition under which all of its regressions run; empty if they share none.
    sample: str = ""
    regressions: tuple[Printed, ...] = ()
    # Columns that the do-files make of those of the file, row by row.
    derived: tuple[Derived, ...] = ()
    # Columns that they make otherwise, with the reason.
    refused: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Restacked, ...] = ()  # what they do to the rows before its regressions
    # Of all of the do-files, what comes after each list of steps.
    prepared: tuple[Prefill, ...] = ()

    @property
    def unit(self) -> str:
        """The column of which each level has an effect in all regressions; empty if none is."""
        found = {one.formula.partition(" | ")[2] for one in self.regressions}
        return found.pop() if len(found) == 1 else ""

    @property
    def formula(self) -> str:
        """The regression that is run most often, for all outcomes together; empty if unknown."""
        if not self.arms or not self.outcomes:
            return ""
        right = (*self.arms, *(self.sets[0] if self.sets else ()))
        return f"{' + '.join(self.outcomes)} ~ {' + '.join(right)}"


def prefilled(
    rows: Iterable[Regression],
    columns: Sequence[str],
    treatments: Sequence[str] = (),
    places: Container[tuple[str, int]] | None = None,
    fixed: Container[str] = (),
) -> Prefill:
    """Facts of a file's columns by the regressions with a treatment.

    ``treatments`` are given where do-files make them themselves.  Regressions at ``places``, by
    default all, are reported as they are printed, with no outcome of another as a covariate unless
    it is ``fixed`` before treatment, as those of balance tables are.

    Examples
    --------
    >>> from dprct.dofile import Regression
    >>> run = Regression("a.do", 3, "regress", "y", ("t", "age"), ("t",), cluster=("v",))
    >>> found = prefilled([run], ["y", "t", "age", "v", "diary"])
    >>> found.formula, found.cluster, sorted(found.used)
    ('y ~ t + age', 'v', ['age', 't', 'v', 'y'])
    """

    def told(row: Regression) -> bool:
        return _is_served(row) and (places is None or (row.file, row.line) in places)

    known = set(columns)
    rows = [_by_column(row) for row in rows]
    own = (n for row in rows for n in row.treatments if n not in row.derived)
    assigned = {*treatments, *own} & known
    made = _derived(rows, columns, {*treatments}, assigned)
    names = {one.expression: one.name for one in made}
    known |= {*names.values()}
    rows = [on_derived(row, names, {*treatments} or set(columns)) for row in rows]
    rows = _products_told(rows, known)
    linear = (row for row in rows if row.treatments and row.command in LEAST_SQUARES)
    experiment = [row for row in linear if _is_of_column(row, known)]
    margins = [
        row
        for row in rows
        if row.command in MARGINS
        and _is_of_column(row, known)
        and any(factor_of(word) in row.treatments for word in row.regressors)
    ]
    models = [
        row
        for row in rows
        if row.command in COMMANDS and row not in margins and _is_of_column(row, known)
    ]  # fmt: skip
    of_arms = {one.name: one for one in made if one.parents and one.parents <= assigned}
    named = (name for row in experiment for name in row.treatments if _is_arm(name, row, known))
    arms = [
        arm
        for name in named
        for arm in (sorted(of_arms[name].parents) if name in of_arms else [name])
    ]
    late = [
        replace(row, treatments=row.instruments)
        for row in rows
        if _has_instrument(row, known, {*treatments, *arms, *of_arms})
    ]
    chosen = tuple(dict.fromkeys(arms))
    outcomes = tuple(dict.fromkeys(str(row.outcome) for row in experiment))
    sets = Counter(
        found
        for row in experiment
        if (found := _terms(row, known, {*chosen, *of_arms, *outcomes})) is not None
    )
    samples = {row.sample for row in experiment}
    clusters = Counter(row.cluster[0] for row in experiment if row.cluster)
    cluster = next((name for name, _ in clusters.most_common() if name in known), "")
    inside = _words([*experiment, *margins, *models, *late])
    made = tuple(one for one in made if one.name in inside)
    moved = {*chosen, *of_arms}
    parents = {name for one in made for name in one.parents}
    return Prefill(
        arms=chosen,
        of_arms=tuple(one.name for one in made if one.name in of_arms),
        outcomes=outcomes,
        sets=tuple(terms for terms, _ in sets.most_common(_MOST_SETS)),
        cluster=cluster,
        used=frozenset((_used(rows) | parents) & known),
        tables=_tables(experiment, known, {*moved, *outcomes}),
        sample=samples.pop() if len(samples) == 1 else "",
        regressions=_printed(
            [(row, "") for row in (*experiment, *margins, *late) if told(row)]
            + [(row, COMMANDS[row.command]) for row in models if told(row)],
            known,
            {*moved, *(name for name in outcomes if name not in fixed)},
            _moved(
                {
                    *(str(row.outcome) for row in rows if row.treatments),
                    *(word for row in late for word in (str(row.outcome), *row.endogenous)),
                },
                assigned,
                made,
            ),
            robust="HC1" if cluster else "",
            assigned=moved,
        ),
        derived=made,
        refused=reasons(rows),
    )


def reasons(rows: Iterable[Regression]) -> dict[str, str]:
    """Columns of regressions on treatment that are not carried out, with the first reason."""
    found: dict[str, str] = {}
    for row in rows:
        for name, one in row.made.items() if row.treatments else ():
            if one.refused:
                found.setdefault(name, one.refused)
    return found


def _moved(outcomes: set[str], assigned: set[str], made: Sequence[Derived]) -> set[str]:
    """Return outcomes, the one column that one is made of, and what is made of these.

    And what is made of treatment and of other columns, but for what asks only whether an outcome is
    missing: which never are is declared later.
    """
    found = outcomes.union(*(o.parents for o in made if o.name in outcomes and len(o.parents) == 1))
    return found | {
        one.name
        for one in made
        if one.values & found or (one.parents & assigned and not one.parents <= assigned)
    }


def _derived(
    rows: Sequence[Regression], columns: Sequence[str], treatments: set[str], assigned: set[str]
) -> tuple[Derived, ...]:
    """Return the columns that do-files make; what is made of a treatment and others is none."""
    moved = {word for row in rows for word in row.treatments if is_plain(word)} - treatments
    found = named_columns(rows, columns)
    gone = {
        one.expression
        for row in rows
        for name, one in row.made.items()
        if name in moved
        and one.expression in found
        and not found[one.expression].parents <= assigned
    }
    return tuple(one for said, one in found.items() if said not in gone)


def _words(rows: Iterable[Regression]) -> set[str]:
    """Return the names in regressions, as they stand."""
    found: set[str] = set()
    for row in rows:
        outcomes = [row.outcome] if isinstance(row.outcome, str) else row.outcome
        lists = (row.regressors, row.instruments, row.absorb, row.cluster)
        words = (*outcomes, *(word for words in lists for word in words))
        found |= {name for word in words for name in bare_names(word)}
        found |= set(re.findall(r"[A-Za-z_]\w*", f"{row.sample} {row.weights} {row.groups}"))
    return found


def _is_of_column(row: Regression, known: set[str]) -> bool:
    """Whether its outcome is a column of the file itself, and a treatment one that was assigned."""
    return (
        row.outcome in known
        and row.outcome not in row.derived
        and any(_is_arm(name, row, known) for name in row.treatments)
    )


def _by_column(row: Regression) -> Regression:
    """The regression with treatments by their columns, where they are factors: ``i.treat``."""
    names = [factor_of(word) or word for word in row.treatments]
    return replace(row, treatments=tuple(dict.fromkeys(names)))


def _products_told(rows: Sequence[Regression], known: set[str]) -> list[Regression]:
    """The regressions, of whose products (``i.treat##c.age``) it is told which column is treatment.

    A product of treatment is marked as a whole; its treatment is what another regression has alone.
    """
    arms = {name for row in rows for name in row.treatments if _is_arm(name, row, known)}
    found = []
    for row in rows:
        words = [word for word in row.treatments if "#" in word]
        parts = [re.sub(r"^(c|i\w*)\.", "", part) for w in words for part in re.split("#+", w)]
        for word in row.treatments:
            parts += multiplied(word, row.derived) or () if word in row.derived else ()
        own = [name for name in parts if name in arms]
        found.append(replace(row, treatments=tuple(dict.fromkeys([*row.treatments, *own]))))
    return found


def _is_arm(name: str, row: Regression, known: set[str]) -> bool:
    """Whether a treatment of a regression is a column that was assigned, not one made of it."""
    return name in known and name not in row.derived


def _is_served(row: Regression) -> bool:
    """Whether moments have its coefficients and, where these are robust, its errors."""
    return (
        # effects of persons are counted by none where errors are those of persons
        (
            row.command != "xtreg"
            or _of_persons(row)
            or (row.vce == "classical" and row.absorb != ())
        )
        and row.status == "read"
        and row.intercept
        and len(row.cluster) <= 2
        and not (
            row.command == "reghdfe" and {*row.absorb} & {*row.cluster} and not _of_persons(row)
        )
        and not (row.groups or row.steps or row.unknown)
    )


def _has_instrument(row: Regression, known: set[str], arms: set[str]) -> bool:
    """Whether a regression of columns of the file has one instrument, which was assigned."""
    names = (row.outcome, *row.endogenous)
    return (
        row.command in INSTRUMENTED
        and len(row.endogenous) == len(row.instruments) == 1
        and {*row.instruments} <= arms
        and all(name in known and name not in row.derived for name in (*names, *row.instruments))
    )


def _of_persons(row: Regression) -> bool:
    """Whether each unit of the errors' clusters has an effect, and may have several rows."""
    absorbs = row.command in ("xtreg", "reghdfe", "areg")
    return absorbs and len(row.absorb) == 1 and row.absorb == row.cluster


def _printed(
    rows: Sequence[tuple[Regression, str]], known: set[str], others: set[str], moved: set[str], *,
    robust: str, assigned: set[str],
) -> tuple[Printed, ...]:  # fmt: skip
    """Every regression once for each of its clusters; of other errors the clustered, then robust.

    ``rows`` have the family with which a regression is declared; ``robust`` are errors of rows
    where others are clustered.
    """
    found: dict[tuple[str, str, str, str], list[Regression]] = {}
    for row, family in rows:
        words = [word for word in row.regressors if word not in row.endogenous]
        products = {word: _multiplied(word, row, known) for word in words}
        made = [term for terms in products.values() for term in terms or ()]
        plain = tuple(word for word, terms in products.items() if terms == ())
        covariates = _terms(replace(row, regressors=plain), known, others)
        where, weights = _where(row, known, moved, assigned), sampling_weights(row)
        if covariates is None or where is None or None in products.values():
            continue
        if weights is None or not {weights, *row.cluster} <= known - {*row.derived} | {""}:
            continue
        arms = [
            f"C({name})" if (name := factor_of(word)) else word
            for word in plain
            if word in row.treatments or factor_of(word) in row.treatments
        ]
        right = dict.fromkeys([*arms, *covariates, *made])
        right |= {
            f"[{d} ~ {z}]": None for d, z in zip(row.endogenous, row.instruments, strict=False)
        }
        formula = f"{row.outcome} ~ {' + '.join(right)}"
        if _of_persons(row):
            (unit,) = row.absorb
            others_of = [term for term in right if term != f"C({unit})"]
            formula = f"{row.outcome} ~ {' + '.join(others_of)} | {unit}"
        found.setdefault((formula, where, weights, family), []).append(row)
    return tuple(
        _once(*key, part, robust) for key, of in found.items() for part in _by_clusters(of)
    )


def _by_clusters(rows: Sequence[Regression]) -> list[list[Regression]]:
    """Return rows of one regression by the clusters of their errors, the others with the first."""
    kinds = [*dict.fromkeys(frozenset(row.cluster) for row in rows if row.cluster)]
    if not kinds:
        return [[*rows]]
    return [[row for row in rows if (frozenset(row.cluster) or kinds[0]) == kind] for kind in kinds]


def _once(
    formula: str, where: str, weights: str, family: str, rows: Sequence[Regression], robust: str
) -> Printed:
    """Return a regression that several rows run, with the errors that one step has for it."""
    cluster = next((row.cluster for row in rows if row.cluster), ())
    own = COMMANDS if family else LEAST_SQUARES
    classical = all(row.vce == "classical" and row.command in own for row in rows)
    treated = ((word, row) for row in rows for word in row.regressors if word in row.treatments)
    crossed = any("#" in word or word in row.derived for word, row in treated)
    # classical errors of these are not offered, but where they are the inverse information
    if weights or (crossed and not family):
        classical = False
    return Printed(
        formula,
        tuple(dict.fromkeys((row.file, row.line) for row in rows)),
        cluster,
        where,
        weights,
        "" if cluster else "nonrobust" if classical else robust,
        all(row.command == "areg" and _of_persons(row) for row in rows),
        crossed and not family,
        family,
    )


def _multiplied(word: str, row: Regression, known: set[str]) -> tuple[str, ...] | None:
    """Terms of a product of columns; none of any other word.

    None where a word is a product and its columns are not those of the file.
    """
    if "#" in word:
        parts = [re.fullmatch(r"(?:(c|i\w*)\.)?(\w+)", part) for part in re.split("#+", word)]
        names = [part[2] if part else "" for part in parts]
        arms = [name in row.treatments and _is_arm(name, row, known) for name in names]
        if not all(name in known and name not in row.derived for name in names):
            return None
        terms = [
            name if arm or (part and part[1] == "c") else f"C({name})"
            for name, arm, part in zip(names, arms, parts, strict=True)
        ]
        return crossed(word, terms)
    if word not in row.treatments or word not in row.derived:
        return ()
    factors = multiplied(word, row.derived)
    return (":".join(factors),) if factors and {*factors} <= known else None


def sampling_weights(row: Regression) -> str | None:
    """Return the column of a regression's sampling weights, empty for none; None for other weights.

    With robust or clustered errors Stata's aweights are pweights; fweights stand for several rows.
    """
    kind, _, name = row.weights.partition("=")
    if not row.weights:
        return ""
    sampled = kind == "pweight" or (kind == "aweight" and row.vce in ("robust", "cluster"))
    return name if sampled and is_plain(name) and name not in row.derived else None


def declared_condition(
    row: Regression, there: Collection[str], values: Mapping[str, Values] = NO_VALUES
) -> str | None:
    """Return the condition on rows as a declared regression has it; empty of all rows.

    None if it has no such.  What is missing is larger than any number in Stata, and here it is
    unknown; ``there`` are the columns that have a value in all rows that count, and ``values`` what
    columns may have in any row.
    """
    if not row.sample:
        return ""
    return None if row.remade else left_of(row.sample, there, values)


def left_of(
    sample: str, there: Collection[str], values: Mapping[str, Values] = NO_VALUES
) -> str | None:
    """Return what is left of the condition of a do-file; None if it is not read, or of no row."""
    always = {name for name, one in values.items() if not one.may_miss}
    try:
        found = as_in_stata(condition(sample), {*there} | always)
    except FormulaError:
        return None
    return None if found is None else reduced(found, there, values)


def columns_there(row: Regression) -> set[str]:
    """Return the columns of a regression, which have a value in all rows that it uses."""
    words = (str(row.outcome), *row.regressors, *row.absorb)
    return {name for word in words for name in bare_names(word)}


def _where(row: Regression, known: set[str], moved: set[str], assigned: set[str]) -> str | None:
    """Return the condition of a regression as a declared one has it; None if it has no such.

    None, too, if it is on what treatment may have moved, or joins treatment and other columns by
    ``|``.
    """
    left = declared_condition(row, columns_there(row))  # who is never missing is declared later
    if left is None or (left and (not named(left) <= known or named(left) & moved)):
        return None
    others = divided_by(left, assigned)[1] if left else None
    return None if others and named(others) & assigned else left


def _terms(row: Regression, known: set[str], others: set[str]) -> tuple[str, ...] | None:
    """Return the covariates as terms of a formula; None where the file lacks one of them."""
    found: list[str] = []
    for word in (*row.regressors, *(f"i.{name}" for name in row.absorb)):
        factor = factor_of(word)
        name = factor or word
        if name in row.treatments and _is_arm(name, row, known):
            continue
        if name in row.treatments:  # an interaction with treatment is no covariate
            return None
        if not is_plain(name) or name not in known or name in row.derived or name in others:
            return None
        found.append(f"C({name})" if factor else name)
    return tuple(found)


def _used(rows: Sequence[Regression]) -> set[str]:
    texts = " ".join(text for row in rows for text in row.derived.values())
    return _words(rows) | set(re.findall(r"[A-Za-z_]\w*", texts))


def _tables(rows: Sequence[Regression], known: set[str], others: set[str]) -> tuple[TablePart, ...]:
    """Tables that do-files name, each once for each condition on its rows and its treatments."""
    parts = []
    names: set[str] = set()
    for title in dict.fromkeys(row.table for row in rows if row.table):
        mine = [row for row in rows if row.table == title]
        found: dict[tuple[str, tuple[str, ...]], list[Regression]] = {}
        left = []
        for row in mine:
            where = _table_rows(row, known)
            if where is None or (
                len(found) == _MOST_PARTS and (where, _arms(row, known)) not in found
            ):
                left.append(row)
            else:
                found.setdefault((where, _arms(row, known)), []).append(row)
        samples = tuple(dict.fromkeys(row.sample for row in left if row.sample))
        name = re.sub(r"\W+", "_", title.removesuffix(".tex").lower()).strip("_") or "table"
        for (where, arms), of in (found or {("", ()): mine}).items():
            whole = [row for row in of if not row.weights] or of
            sets = Counter(t for row in whole if (t := _terms(row, known, others)) is not None)
            clusters = [row.cluster[0] for row in whole if row.cluster and row.cluster[0] in known]
            parts.append(
                TablePart(
                    _unused(name, names),
                    tuple(dict.fromkeys(str(row.outcome) for row in of)),
                    sets.most_common(1)[0][0] if sets else (),
                    clusters[0] if clusters else "",
                    where,
                    "nonrobust" if all(row.vce == "classical" for row in whole) else "",
                    arms,
                    samples,
                )
            )
            samples = ()
    return tuple(parts)


def _arms(row: Regression, known: set[str]) -> tuple[str, ...]:
    """Return the treatments of a regression that are columns of the file."""
    names = (factor_of(word) or word for word in row.regressors)
    return tuple(dict.fromkeys(n for n in names if n in row.treatments and _is_arm(n, row, known)))


def _table_rows(row: Regression, known: set[str]) -> str | None:
    """Return the condition on rows of a regression as a table has it; None if it has no such."""
    left = None if row.groups else declared_condition(row, columns_there(row))
    return left if not left or named(left) <= known else None


def _unused(name: str, names: set[str]) -> str:
    """Return a name for a table, or with the first number that no other has; it is then taken."""
    free = next(x for k in count(1) if (x := name if k == 1 else f"{name}_{k}") not in names)
    names.add(free)
    return free
