"""Count what the regressions of published do-files are worth on the best release of each kind.

Of each regression of the key it is asked what the rules leave of it if somebody made a release for
it alone: with data prepared before the release (merged, columns made and declared), with its
outcome, treatments, covariates and errors declared.  What is then an artefact no plan can serve.

"One study" is another question: which regressions does one release of moments for each paper serve
that ``dprct describe --do --draft`` drafts, and that somebody completes with bounds, levels and the
kind of design alone?  Rows are merged before, all of a paper's files count as one, conditions are
private, and every column has a value.  Bounds are made up and decide no condition (``clip``).  What
do-files make since the last merge, the study makes.

"An index" asks of the probits, ordered and censored regressions alone what a declared
``Regression(family=)`` of each is worth, whose rows are people.

Usage: python scripts/do_file_census.py FOLDER

FOLDER holds experiments/Replication*.do and regressions.json (Young's "Channelling Fisher").
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.assignment import Cluster, Simple
from dprct.certificate.valid_regressions import Validity
from dprct.dofile import read_files
from dprct.dofile.memory import factors_of
from dprct.dofile.syntax import full_name, parse
from dprct.dofile.varlists import bare_names, is_plain
from dprct.errors import DprctError, FormulaError
from dprct.estimate.moments.declared import Regression as Declared
from dprct.estimate.moments.model import MomentsSpec
from dprct.schema import Column, Schema, Unit
from dprct.schema.conditions import (
    as_in_stata,
    columns_asked,
    condition,
    named,
    reduced,
    texts,
)
from dprct.schema.expressions import MADE, values_in
from dprct.schema.expressions import parse as in_made
from dprct.study.do_columns import on_derived
from dprct.study.index_verdicts import COMMANDS, UNSERVED
from dprct.study.moments_verdicts import Served, counts_effects
from dprct.study.prefill import prefilled
from dprct.study.verdicts import Released, terms_of, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dprct.dofile import Reading, Regression
    from dprct.study.prefill import Prefill, Printed
    from dprct.study.verdicts import Verdict

BOTH_ABSORB = {"xtreg": "areg"}
RANGE = re.compile(r"([A-Za-z_]+)(\d+)(\w*)-\1(\d+)\3")
LINEAR = frozenset({"regress", "areg", "reghdfe", "xtreg"})
EQUALITIES = re.compile(r"\(?\w+==-?\d+(?:\.\d*)?\)?(?:&\(?\w+==-?\d+(?:\.\d*)?\)?)*")
MADE_FOR = "trial.dta"
CONDITION = "the_condition"
UNREAD = "its sample comes from the data"
CONDITION_KIND = "some rows: a condition on the outcome, or one that is not read"
CHOSEN_KIND = "some rows: buyers or givers alone, whom treatment chose"
PUBLIC = "valid if it is public who meets the condition"
PRIVATE = "valid, and who meets the condition may be private"
CHOSEN = frozenset({"bought", "gave"})  # what people did after treatment, and not they alone
PERIODS = frozenset(
    {"pretest", "posttest", "postexp", "firstyear", "secondyear", "thirdyear"}
)  # as the do-files make them of public dates: what treatment may be multiplied by
BY_FACTOR = "valid: treatment times periods, which are public"
BY_NAME = "valid if a column that came with the data is the product that its name says"
FITTED = "a prediction that the paper fitted on outcomes"
OF_INDEX = frozenset({"probit", "oprobit", "ologit", "tobit", "cnreg"})
RANGES = "a name that only the header writes out"


def written_out(words: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Return columns, numbered ranges written out: z2-z4 is z2, z3 and z4."""
    found: list[str] = []
    for word in words:
        ends = RANGE.fullmatch(word)
        numbers = range(int(ends[2]), int(ends[4]) + 1) if ends else ()
        found += [f"{ends[1]}{n}{ends[3]}" for n in numbers] if ends else [word]
    return tuple(dict.fromkeys(found))


def row_of(wanted: dict[str, Any], reading: Reading) -> Regression | None:
    """Return the estimation of a do-file that a regression of the key is.

    Of several of an outcome on the same treatments it is the one with the most of the key's
    condition, weights, clusters and regressors, and of these the first.
    """
    name = full_name(wanted["command"])
    treatments = set(written_out(wanted["treatment"]))
    found = [
        replace(
            row,
            regressors=written_out(row.regressors),
            treatments=written_out(wanted["treatment"]),
            absorb=written_out(row.absorb),
        )
        for row in reading
        if name in (row.command, BOTH_ABSORB.get(row.command) if row.absorb else "")
        and row.outcome == wanted["outcome"]
        and treatments <= set(written_out(row.regressors))
    ]
    told = parse(wanted["text"])
    rows, within = spelled(told.condition), set(written_out(told.before.split()[1:]))
    clusters = set((told.option("cluster", 2) or "").split())

    def alike(row: Regression) -> tuple[int, ...]:
        """Whether condition, weights and clusters are those of the key; regressors that are not."""
        return (
            spelled(row.sample).endswith((rows, f"({rows})")),
            bool(row.weights) == bool(told.weights),
            set(row.cluster) == clusters,
            0 if rows else -len(row.sample),
            -len((within ^ set(row.regressors)) - indicators_in(row, within)),
        )

    return max(found, key=alike, default=None)


def indicators_in(row: Regression, words: set[str]) -> set[str]:
    """Return the numbered words that are indicators of columns, and these columns as factors."""
    stubs: dict[str, set[int]] = {}
    for word in words - set(row.regressors):
        if made := re.fullmatch(r"(.*?)(\d+)", word):
            stubs.setdefault(made[1], set()).add(int(made[2]))
    found: set[str] = set()
    for name, most in row.categories.items():
        for stub, numbers in stubs.items():
            if numbers | {1} == {*range(1, most + 1)}:
                found |= {f"i.{name}", *(f"{stub}{number}" for number in numbers)}
    return found


def spelled(condition: str) -> str:
    """Return a condition spelled in one way."""
    return condition.replace(" ", "").replace("~", "!")


def prepared(row: Regression) -> Regression:
    """Return a regression on data that were merged, and whose columns were made, before."""
    ready = replace(row, steps=(), derived={}, remade=(), unknown=(), numbered=())
    return replace(ready, dataset=MADE_FOR, sources=())


def on_calibrated(row: Regression) -> Verdict:
    """Return what a regression is worth on a calibrated file that was made for it."""
    names = {
        name for word in (*row.regressors, *row.absorb, *row.cluster) for name in bare_names(word)
    }
    fates = dict.fromkeys([*names, str(row.outcome)], "modelled")
    arms = {name for word in row.treatments for name in bare_names(word)}
    own = tuple(term for term in terms_of(row) if term not in arms)
    cluster = row.cluster[0] if row.vce == "cluster" and row.cluster else None
    valid = Validity(
        outcomes=(str(row.outcome),),
        arms=tuple(row.treatments),
        covariates=(own,),
        cov_type="HC1" if cluster is None else "CR1",
        cluster=cluster,
    )
    return verdicts([row], Released(MADE_FOR, fates, valid))[0]


def reason_of(row: Regression | None, found: Verdict | None) -> str:
    """Return the reason of a verdict in the words of the census."""
    if row is None:
        return "not in these do-files"
    assert found is not None
    if found.kind == "valid":
        return "valid"
    why = found.reason
    if "not wholly read" in why:
        return UNREAD if row.status != "read" else RANGES
    if "ordinary least squares" in why or "instrumental" in why or "random effects" in why:
        return "another estimator"
    if row.command not in LINEAR and "not released" in why:
        return "another estimator"
    if "it uses the rows with" in why:
        plain = EQUALITIES.fullmatch(row.sample.replace(" ", "")) and not row.groups
        return "some rows: a == 1" if plain else "some rows: another condition, or by groups"
    if "weight" in why:
        return "weights"
    if "interaction" in why:
        return "interaction with treatment"
    if found.kind == "effects only":
        return "effects only: other errors"
    return RANGES if found.kind == "cannot run" else why


def census(folder: Path) -> dict[str, Counter[str]]:
    """Return how many regressions there are by reason: as they stand, and on prepared data."""
    key: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads((folder / "regressions.json").read_text("utf-8")):
        key.setdefault(row["paper"], []).append(row)
    home = folder / "experiments"
    kinds = ("calibrated", "calibrated, these rows alone", "moments", "declared", "as they stand",
             "an index")  # fmt: skip
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for paper, rows in key.items():
        reading = read_files([(home / f"Replication{paper}.do", home)])
        outcomes = {str(row["outcome"]) for row in rows}
        for wanted in rows:
            row = row_of(wanted, reading)
            ready = None if row is None else prepared(row)
            reason = reason_of(ready, None if ready is None else on_calibrated(ready))
            if row is not None and is_fitted(row):
                counts.update({k: counts[k] + Counter([FITTED]) for k in kinds[:4]})
                counts["as they stand"][what_it_needs(row)] += 1
                continue
            counts["calibrated"][reason] += 1
            alone = None if ready is None else replace(ready, sample="", groups="")
            of_these = reason_of(alone, None if alone is None else on_calibrated(alone))
            counts["calibrated, these rows alone"][of_these] += 1
            counts["moments"][on_moments(ready, reason)] += 1
            counts["declared"][on_declared(row, reason, outcomes)] += 1
            if full_name(wanted["command"]) in OF_INDEX:
                counts["an index"][f"{wanted['command']}: {on_scored(row)}"] += 1
            counts["as they stand"][what_it_needs(row)] += 1
    return counts


def is_fitted(row: Regression) -> bool:
    """Whether a linear regression has a regressor that another estimation predicted."""
    made = (row.derived.get(name, "") for name in row.regressors)
    return row.command in LINEAR and any(one.startswith("predicted") for one in made)


def one_study_each(folder: Path) -> list[str]:
    """Return what each regression of the key is worth on one drafted study for its paper."""
    key: list[dict[str, Any]] = json.loads((folder / "regressions.json").read_text("utf-8"))
    home = folder / "experiments"
    said = [""] * len(key)
    for paper in dict.fromkeys(one["paper"] for one in key):
        mine = [number for number, one in enumerate(key) if one["paper"] == paper]
        files = [(home / f"Replication{paper}.do", home)]
        for number, verdict in zip(mine, in_one_study([key[n] for n in mine], files), strict=True):
            said[number] = verdict
    return said


def in_one_study(key: list[dict[str, Any]], files: list[tuple[Path, Path]]) -> list[str]:
    """Return what regressions of a paper are worth on the one release that is drafted for it."""
    named = dict.fromkeys(name for one in key for name in written_out(one["treatment"]))
    reading = read_files(files, treatments=[*named], prepared=True)
    found = [row_of(wanted, reading) for wanted in key]
    rows = [None if row is None else of_header(replace(row, **AS_ONE_FILE)) for row in found]
    there = [row for row in rows if row is not None]
    arms = [name for name in named if not any(is_interaction(name, row) for row in there)]
    crossed = {*arms} & products_with_traits(read_files(files, treatments=[*named]), named)
    columns = columns_of(there)
    drafted = prefilled(there, columns, arms)
    served = study_of(columns, drafted)
    names = {one.expression: one.name for one in drafted.derived}
    return [
        "not in these do-files"
        if row is None
        else "interaction with treatment"
        if row.command in LINEAR and crossed & {*row.treatments}
        else in_study(row, served, names, arms)
        for row in rows
    ]


def products_with_traits(rows: Iterable[Regression], arms: Iterable[str]) -> set[str]:
    """Return treatments that are an arm times a trait, as do-files make them or by their name."""
    found = set[str]()
    for row in rows:
        found |= {w for w in row.treatments for arm in row.treatments if w.startswith(f"{arm}_")}
        made = {word: leaves_of(word, row.derived) for word in row.treatments}
        found |= {w for w, of in made.items() if len(of) > 1 and {*of} - {*arms} - PERIODS}
    return found


AS_ONE_FILE: dict[str, Any] = {"steps": (), "unknown": (), "sources": (), "dataset": MADE_FOR}


def of_header(row: Regression) -> Regression:
    """Return a regression with ``stub*`` written out, as with a header that has three of them."""
    words = [(word, re.fullmatch(r"([A-Za-z_]\w*)\*", word)) for word in row.regressors]
    listed = [[f"{m[1]}{k}" for k in (1, 2, 3)] if m else [word] for word, m in words]
    return replace(row, regressors=tuple(name for names in listed for name in names))


def is_interaction(word: str, row: Regression) -> bool:
    """Whether a treatment of the key is a product with treatment, by what is known of it."""
    inside = word in row.regressors
    return inside and bool(interacts(word, row) or put_together(word, row.regressors))


def columns_of(rows: list[Regression]) -> list[str]:
    """Return the columns of the file that regressions are about: those that no do-file makes."""
    found: dict[str, None] = {}
    for row in rows:
        words = (str(row.outcome), *row.regressors, *row.absorb, *row.cluster, *row.instruments)
        names = [name for word in words for name in bare_names(word)]
        names += re.findall(r"[A-Za-z_]\w*", f"{row.sample} {row.weights} {row.groups}")
        found |= dict.fromkeys(n for n in names if n not in row.derived and is_plain(n))
        for made in row.made.values():
            found |= dict.fromkeys(re.findall(r"[A-Za-z_]\w*(?![\w(])", made.expression))
    return [*found]


def study_of(columns: list[str], drafted: Prefill) -> Served | None:
    """Return the release of what is drafted, as far as one step serves it; None of nothing."""
    texts_in = {n for one in drafted.regressions if one.where for n in texts(one.where)}
    factors = set(re.findall(r"C\((\w+)\)", " ".join(one.formula for one in drafted.regressions)))
    public = {name for one in drafted.regressions for name in (*one.cluster, one.weights)}
    of_arms = {o.name: tuple(o.parents) for o in drafted.derived if o.name in drafted.of_arms}

    def column(name: str) -> Column:
        if name in of_arms:
            made_of = of_arms[name]
            return Column(name, levels=(0.0, 1.0, 2.0), missing=(), fate="public", made_of=made_of)
        if name in drafted.arms:
            return Column(name, levels=(0.0, 1.0), missing=(), fate="public", built_from="own")
        if name in texts_in:
            return Column(name, "str9", levels=("a", "b"), built_from="own")
        if name in public:
            return Column(name, levels=(1.0, 2.0, 3.0), missing=(), fate="public", built_from="own")
        if name in factors:
            return Column(name, levels=(1.0, 2.0, 3.0), missing=(), built_from="own")
        return Column(name, bounds=(-1.0, 1.0), clip=True, missing=(), built_from="own")

    names = dict.fromkeys([*columns, *(one.name for one in drafted.derived)])
    person = drafted.unit
    unit = Unit("person", id=person, max_rows=99) if person else Unit()
    schema, arms = Schema(tuple(map(column, names)), unit=unit), [*drafted.arms]
    if not arms:
        return None
    within = drafted.cluster and not person
    design = Cluster(arms, cluster=str(drafted.cluster)) if within else Simple(arms)

    def spec(printed: list[Printed]) -> MomentsSpec:
        return MomentsSpec(
            formulas=tuple(
                Declared(
                    one.formula,
                    family=one.family or None,  # type: ignore[arg-type]
                    where=one.where or None,
                    weights=one.weights or None,
                    cluster=one.clusters,
                    cov_type=one.cov_type or None,  # type: ignore[arg-type]
                    count_effects=one.count_effects or None,
                )
                for one in printed
            ),
            assignment=design,
            neighbors="replace-one-design-public",
        )

    def serves(one: Printed) -> bool:
        try:
            return not any(isinstance(x, str) for x in spec([one]).served(schema).values())
        except DprctError:
            return False

    kept = [one for one in drafted.regressions if serves(one)]
    return Served.planned("trial.moments.json", spec(kept), schema) if kept else None


def in_study(row: Regression, served: Served | None, names: dict[str, str], arms: list[str]) -> str:
    """Return what a regression is worth on the release of a study, in the words of the census."""
    if row.command not in LINEAR or not isinstance(row.outcome, str) or row.endogenous:
        return "another estimator"
    ready = on_derived(row, names, arms)
    if left := [name for name in ready.derived if not _is_drafted_product(name, ready)]:
        why = row.made[left[0]].refused if left[0] in row.made else ready.derived[left[0]]
        return f"a column that is not carried out: {_in_short(why)}"
    if any(is_interaction(word, row) and word not in row.derived for word in row.treatments):
        return "interaction with treatment"
    if ready.status != "read" or any(set("*?-") & set(word) for word in ready.regressors):
        return UNREAD if ready.status != "read" else RANGES
    if served is None:
        return "nothing is drafted"
    fates = dict.fromkeys((column.name for column in served.schema.columns), "modelled")
    found = verdicts([ready], Released(MADE_FOR, fates, served=served, never=frozenset(fates)))[0]
    if found.kind in ("valid", "effects only"):
        return "valid" if found.kind == "valid" else "effects only: other errors"
    if "uses the rows" in found.reason:
        return "some rows: a condition that no step serves"
    return "weights" if "weighted" in found.reason else "not drafted, or not served by one step"


def _is_drafted_product(name: str, row: Regression) -> bool:
    parts = [part.strip() for part in row.derived[name].split("*")]
    return len(parts) > 1 and {*parts} <= {*row.regressors}


_IN_SHORT = (
    ("other people's rows", "egen over other rows"),
    ("estimation", "predictions"),
    ("r() comes", "numbers from the data"),
    ("comes from the data", "numbers from the data"),
    ("other people's values", "quantiles"),
    ("too long", "too long an expression"),
    ("about text", "text"),
    ("another row", "values of other rows"),
    ("counts rows", "numbers of rows"),
    ("numbers the", "codes of the values that occur"),
    ("indicators of", "codes of the values that occur"),
    ("collapse", "means of groups"),
    ("does not carry out", "commands that are not carried out"),
    ("not known", "commands that are not carried out"),
    ("text", "text"),
)


def _in_short(why: str) -> str:
    return next((short for words, short in _IN_SHORT if words in why), "something else")


def on_moments(row: Regression | None, reason: str) -> str:
    """Return the same for moments that were made for a regression.

    Conditions a == 1 are groups; others can be made columns of 0 and 1.  Clusters are units.
    """
    if row is None or reason in (UNREAD, RANGES):
        return reason
    condition = row.sample.replace(" ", "")
    plain = not condition or EQUALITIES.fullmatch(condition) is not None
    row = row if plain else replace(row, sample=f"{CONDITION}==1")
    said = re.findall(r"(\w+)==(-?\d+)", row.sample.replace(" ", ""))
    groups: dict[str, set[float]] = {name: {0.0, 1.0} for name in row.groups.split()}
    for name, level in said:
        groups.setdefault(name, {0.0, 1.0}).add(float(level))
    served = made_for(row, groups)
    fates = dict.fromkeys((column.name for column in served.schema.columns), "modelled")
    found = verdicts([row], Released(MADE_FOR, fates, served=served))[0]
    if found.kind == "valid":
        return "valid" if plain else "valid once the condition is a 0/1 column that makes groups"
    if found.kind == "effects only":
        return "effects only: other errors"
    for words, name in (
        ("weighted", "weights"),
        ("instruments", "instruments with clusters"),
        ("same in all rows", "a regressor that the condition fixes"),
        ("linear regression", "another estimator"),
        ("random effects", "another estimator"),
        ("fitted means", "another estimator"),
        ("on an index", "another estimator"),
        ("on a censored index", "another estimator"),
        ("not effects on the mean", "another estimator"),
        ("who is observed", "another estimator"),
        ("of quantiles", "another estimator"),
        ("scores of this", "a subgroup, with clusters"),
        ("intercept", "no intercept"),
    ):
        if words in found.reason:
            return name
    return found.reason


def made_for(row: Regression, groups: dict[str, set[float]]) -> Served:
    """Return moments that were made for a regression, with its clusters as units."""
    terms = terms_of(row)
    parts = {part for term in terms for part in term.split(":")}
    factors = {part[2:-1] for part in parts if part.startswith("C(")}
    outcomes = row.outcome if isinstance(row.outcome, list) else [row.outcome]
    words = (*outcomes, *row.regressors, *row.absorb, *row.instruments, *row.cluster, *groups)
    names = dict.fromkeys(name for word in words for name in bare_names(word))
    columns = [
        Column(name, levels=tuple(sorted(groups[name])), missing=(), built_from="own")
        if name in groups
        else Column(name, levels=(1.0, 2.0, 3.0), missing=(), built_from="own")
        if name in factors
        else Column(name, bounds=(-1.0, 1.0), clip=True, missing=(), built_from="own")
        for name in names
    ]
    unit = Unit("unit", id=row.cluster[0], max_rows=9) if len(row.cluster) == 1 else Unit()
    schema = Schema(tuple(columns), unit=unit)
    linear = row.command in LINEAR and isinstance(row.outcome, str) and not row.endogenous
    own = unit.id is not None and unit.id in row.absorb  # each unit has an effect
    right = [term for term in terms if not own or term != f"C({unit.id})"]
    formula = f"{row.outcome} ~ {' + '.join(right) or '1'}" if linear else ""
    formula += f" | {unit.id}" if own and linear else ""
    if row.endogenous:
        exogenous = [term for term in terms if term not in row.endogenous]
        inner = f"[{' + '.join(row.endogenous)} ~ {' + '.join(row.instruments)}]"
        formula = f"{row.outcome} ~ {' + '.join([*exogenous, inner])}"
    robust = {"robust": "HC1", "cluster": "CR1"} if linear else {}
    spec = MomentsSpec(
        released=() if formula else (next(iter(names)),),
        formulas=(formula,) if formula else (),
        subgroups=tuple(groups),
        cov_type=robust.get(row.vce, "nonrobust"),
    )
    return Served.planned("trial.moments.json", spec, schema)


def declared_verdict(wanted: dict[str, Any], reading: Reading) -> str:
    """Return what a declared regression is worth for a regression of the key."""
    row = row_of(wanted, reading)
    ready = None if row is None else prepared(row)
    return on_declared(row, reason_of(ready, None if ready is None else on_calibrated(ready)))


def on_declared(row: Regression | None, reason: str, outcomes: Iterable[str] = ()) -> str:
    """Return the same for one declared regression on a public treatment that was assigned.

    Its clusters are taken to be those that were assigned, and its rows to be people.  Who meets its
    condition may be private where none of its columns is among ``outcomes``, those of the paper,
    which treatment may have moved; else it has to be public.  A column that is a product with a
    treatment is an interaction, and so is one that is named after two other regressors.  Clusters
    that the do-file makes by multiplying columns are not those that were assigned.
    """
    if row is None or reason in (UNREAD, RANGES):
        return reason
    if row.command not in LINEAR or not isinstance(row.outcome, str) or row.endogenous:
        return "another estimator"
    if row.weights:
        return "weights"
    if is_fitted(row):
        return FITTED
    row, factors = with_factors(multiplied(row))
    split, by_name = split_by_name(row)
    if by_name:
        row = split
    if any(not is_plain(word) or interacts(word, row) for word in row.treatments):
        return "interaction with treatment"
    if any(put_together(word, row.regressors) for word in row.treatments):
        return "interaction with treatment"
    if any("*" in row.derived.get(name, "") for name in row.cluster):
        return "effects only: other errors"  # two columns multiplied are not what was assigned
    levels = [f"{name}==1" for name in row.groups.split()]  # each level is a condition
    parts = [f"({row.sample})"] if row.sample and levels else [row.sample] if row.sample else []
    row = replace(prepared(row), groups="", sample=" & ".join([*parts, *levels]), remade=())
    try:
        where = rows_of(row)
        row = replace(row, sample=where) if where == f"{CONDITION}==1" else row
        served = declared_for(row, where, factors=factors)
    except DprctError as error:
        kind = "interaction with treatment" if " is a product " in str(error) else str(error)
        return CONDITION_KIND if row.sample else kind
    if not served.steps:
        return "interaction with treatment"
    fates = dict.fromkeys((column.name for column in served.schema.columns), "modelled")
    found = verdicts([row], Released(MADE_FOR, fates, served=served))[0]
    if found.kind == "valid" and where and named(where) & CHOSEN:
        return CHOSEN_KIND
    if found.kind == "valid" and factors:
        return BY_FACTOR
    if found.kind == "valid" and by_name:
        return BY_NAME
    if found.kind == "valid" and where:
        return PRIVATE if of_private_columns(row, where, outcomes) else PUBLIC
    if found.kind == "valid":
        return "valid"
    if "what a bootstrap does" in found.reason:
        return "effects only: bootstrap errors, which robust ones estimate"
    return "effects only: other errors" if found.kind == "effects only" else found.reason


def on_scored(row: Regression | None) -> str:
    """Return what a declared model of an index is worth for a regression, whose rows are people.

    Conditions and everything else are private, and clusters public.
    """
    if row is None:
        return "not in these do-files"
    row = replace(prepared(multiplied(row)), remade=())
    if row.command not in COMMANDS:
        return UNSERVED[row.command]
    where = rows_of(row) if row.sample else None
    words = (str(row.outcome), *row.regressors, *row.absorb)
    if any("*" in word for word in words):
        return RANGES
    used = [name for word in words for name in bare_names(word)]
    factors = {word[2:] for word in row.regressors if word.startswith("i.")}
    columns = [
        Column(name, levels=(0.0, 1.0), missing=(), built_from="own")
        if name in (row.outcome, *row.treatments)
        else Column(name, levels=(1.0, 2.0, 3.0), missing=(), built_from="own")
        if name in factors
        else Column(name, bounds=(-1.0, 1.0), clip=True, missing=() if name in used else (".",),
                    built_from="own")
        for name in dict.fromkeys([*used, *(sorted(named(where)) if where else ())])
    ]  # fmt: skip
    columns += [Column(name, "int", missing=(), fate="public") for name in row.cluster]
    asked = Declared(
        f"{row.outcome} ~ {' + '.join(terms_of(row))}", where=where, name="it",
        cluster=row.cluster[0] if row.cluster else None, family=COMMANDS[row.command],
        cov_type="nonrobust" if row.vce == "classical" else None,
    )  # fmt: skip
    schema = Schema(tuple({column.name: column for column in columns}.values()))
    try:
        served = Served.planned(MADE_FOR, MomentsSpec(formulas=(asked,)), schema)
    except DprctError as error:
        return str(error)
    fates = dict.fromkeys((column.name for column in schema.columns), "modelled")
    found = verdicts([row], Released(MADE_FOR, fates, served=served))[0]
    some = " of some rows, whoever these are" * bool(where)
    return f"{found.kind}{some}" if found.kind == "valid" else f"{found.kind}: {found.reason}"


def interacts(word: str, row: Regression) -> bool:
    """Whether a column is a product of which a factor is a regressor too, or a square.

    One of two columns of which other treatments are made, such as "both" beside "only the first",
    is an arm of its own, and a number is a unit.
    """
    names = [
        name.strip() for name in row.derived.get(word, "").removeprefix("replaced: ").split("*")
    ]
    names = [name for name in names if not re.fullmatch(r"[\d.]+", name)]
    others = " ".join(row.derived.get(one, "") for one in row.treatments if one != word)
    own = len(set(names)) == 2 and {*names} <= {*re.findall(r"\w+", others)} - {*row.regressors}
    return len(names) > 1 and not own


def multiplied(row: Regression) -> Regression:
    """Return a regression with products of an arm and a column of it spelled as products."""
    made: dict[str, str] = {}
    for word in row.treatments:
        names = [name.strip() for name in row.derived.get(word, "").split("*")]
        single = [n for n in names if n in row.treatments and "*" not in row.derived.get(n, "")]
        if len(names) == 2 and len(single) == 1 and all(n in row.regressors for n in names):
            made[word] = "#".join(f"c.{name}" for name in names)
    return replace(
        row,
        regressors=tuple(made.get(word, word) for word in row.regressors),
        treatments=tuple(word for word in row.treatments if word not in made),
    )


def with_factors(row: Regression) -> tuple[Regression, frozenset[str]]:
    """Return a regression with products of one arm and of periods spelled, and these columns.

    The arm is what all of its products have in common.
    """
    made = {word: leaves_of(word, row.derived) for word in row.treatments}
    made = {word: parts for word, parts in made.items() if len(parts) > 1}
    arms = {part for parts in made.values() for part in parts if part in row.treatments}
    common = set.intersection(*map(set, made.values())) if made else set[str]()
    arms = arms or common
    others = {part for parts in made.values() for part in parts} - arms
    once = all(len({*parts} & arms) == 1 and len({*parts}) == len(parts) for parts in made.values())
    if not made or not once or not others <= PERIODS:
        return row, frozenset()
    spelled_out = {w: "#".join(f"c.{part}" for part in parts) for w, parts in made.items()}
    return replace(
        row,
        regressors=tuple(spelled_out.get(word, word) for word in row.regressors),
        treatments=tuple(dict.fromkeys([*(w for w in row.treatments if w not in made), *arms])),
    ), frozenset(others)


def leaves_of(word: str, derived: Mapping[str, str]) -> list[str]:
    """Return the columns of which a column is the product; itself where it is none."""
    parts = factors_of(derived.get(word, ""))
    return [leaf for part in parts for leaf in leaves_of(part, derived)] or [word]


def put_together(word: str, names: Iterable[str]) -> tuple[str, str] | None:
    """Return two others that a column is named after: data come with ``treatpost`` as a product."""
    others = {name for name in names if name != word}
    for name in others:
        rest = word[len(name) :].removeprefix("_")
        if word.startswith(name) and rest in others:
            return name, rest
    return None


def split_by_name(row: Regression) -> tuple[Regression, bool]:
    """Return a regression with columns named after an arm and a regressor spelled as products.

    Whether there is one: an arm that is the product of three columns, by name, is left as it is.
    """
    made = {word: put_together(word, row.regressors) for word in row.treatments}
    two = {word: names for word, names in made.items() if names}
    parts = {name for names in two.values() for name in names}
    if not two or any(put_together(name, row.regressors) for name in parts):
        return row, False
    products = {word: f"c.{first}#c.{rest}" for word, (first, rest) in two.items()}
    arms = [word for word in row.treatments if word not in two]
    arms += [first for first, _ in two.values()]
    regressors = tuple(products.get(word, word) for word in row.regressors)
    return replace(row, regressors=regressors, treatments=tuple(dict.fromkeys(arms))), True


def rows_of(row: Regression) -> str | None:
    """Return the condition of a regression, of columns that may all be missing; None if all rows.

    Rows without a value of a column of the regression are left out by it anyway.
    """
    if not row.sample:
        return None
    words = (str(row.outcome), *row.regressors, *row.absorb)
    there = {name for word in words for name in bare_names(word)}
    exact = as_in_stata(condition(row.sample), there)
    found = None if exact is None else reduced(exact, there)
    if found is None and not columns_asked(condition(row.sample))[0] & {
        str(row.outcome),
        *row.treatments,
    }:
        return f"{CONDITION}==1"  # a public column, made of the two that are compared
    if found is None:
        raise FormulaError("the condition compares columns that may be missing")
    return found or None


def of_private_columns(row: Regression, where: str, outcomes: Iterable[str]) -> bool:
    """Whether a regression is served where nobody knows who meets its condition."""
    names = named(where)
    for made in (row.made[name] for name in names & row.made.keys()):
        if made.expression:
            names |= values_in(in_made(made.expression, language=MADE))
    if names & {*outcomes, str(row.outcome), *row.treatments}:
        return False
    try:
        served = declared_for(row, where, fate="modelled")
    except DprctError:
        return False
    fates = dict.fromkeys((column.name for column in served.schema.columns), "modelled")
    return verdicts([row], Released(MADE_FOR, fates, served=served))[0].kind == "valid"


def declared_for(
    row: Regression, where: str | None, fate: str = "public", factors: Iterable[str] = ()
) -> Served:
    """Return a release of one declared regression; ``fate`` is that of its condition's columns.

    ``factors`` are the public columns that treatment is multiplied by.
    """
    terms = terms_of(row)
    dummies = {part[2:-1] for x in terms for part in x.split(":") if part.startswith("C(")}
    words = (str(row.outcome), *row.regressors, *row.absorb, *row.cluster)
    used = dict.fromkeys(n for word in words for n in bare_names(word))
    public = named(where) if where else set()
    said = texts(where) if where else set()
    columns = [
        Column(name, levels=(0.0, 1.0), missing=(), built_from="own")
        if name in row.treatments
        else Column(name, levels=(0.0, 1.0), missing=(), fate="public", built_from="own")
        if name in factors
        else Column(name, levels=(1.0, 2.0, 3.0), missing=(), built_from="own")
        if name in dummies
        else Column(name, bounds=(-1.0, 1.0), clip=True, missing=(), built_from="own")
        for name in dict.fromkeys([*used, *public])
    ]
    columns = [
        Column(one.name, "str9", levels=("a", "b"), fate=fate, built_from="own") if one.name in said
        else replace(one, fate=fate, missing=() if one.name in used else (".",))
        if one.name in public
        else one
        for one in columns
    ]  # fmt: skip
    arms = list(row.treatments)
    assigned = row.vce == "cluster" and len(row.cluster) == 1
    person = row.cluster[0] if assigned and row.cluster[0] in row.absorb else ""
    within = assigned and not person
    right = [term for term in terms if not person or term != f"C({person})"]
    asked = Declared(
        f"{row.outcome} ~ {' + '.join(right)}" + f" | {person}" * bool(person),
        where=where,
        name="it",
        cov_type="nonrobust" if row.vce == "classical" else None,
        count_effects=counts_effects(row) if person else None,
    )
    spec = MomentsSpec(
        formulas=(asked,),
        assignment=Cluster(arms, cluster=row.cluster[0]) if within else Simple(arms),
        neighbors="replace-one-design-public",
    )
    unit = Unit("person", id=person, max_rows=99) if person else Unit()
    return Served.planned("trial.moments.json", spec, Schema(tuple(columns), unit=unit))


def what_it_needs(row: Regression | None) -> str:
    """Return what the do-files do to the data before a regression that a release would undo."""
    if row is None:
        return "not in these do-files"
    if row.unknown:
        return "a command that is not known"
    if row.steps:
        return f"rows: {row.steps[0]}"
    used = (row.outcome, *row.regressors, *row.absorb, *row.cluster)
    if any(name in row.derived for word in used for name in bare_names(str(word))):
        return "a column that the do-file makes"
    return "nothing"


def table(counts: Counter[str]) -> list[str]:
    """Return the rows of a table, the largest number first."""
    return [f"| {reason} | {number} |" for reason, number in counts.most_common()]


def main(folder: Path) -> None:
    """Print the census."""
    for kind, counts in {**census(folder), "one study": Counter(one_study_each(folder))}.items():
        print(f"\n| {kind} | regressions |\n|---|---|")
        print("\n".join(table(counts)))
        print(f"| all | {sum(counts.values())} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
