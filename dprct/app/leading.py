"""What follows from what was said before: from the roles of columns to formula, design and fates.

Who says what each column is has said most of a study file.  Where a key is empty, or is what the
roles implied before, it follows them; what a person typed otherwise stays.  Everything here is a
function of the study file and of the header, never of a row.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dprct.records import dataclass
from dprct.study.asked import parts_of
from dprct.study.methods import ESTIMATES, METHODS, UNPROMISED

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from dprct.app.narrowing import Crowded
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema
    from dprct.study.prefill import Prefill

_LONGEST_NAME = 32
Path = tuple[str, ...]
"""Keys from the top of a study file to a value."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "experiment": ("calibrated", "moments", "private_ate", "cate", "published_hybrid",
                   "published_gen_model"),
    "survey": ("mv_histogram", "marginals", "moments", "private_additive",
               "published_mv_histogram"),
    "observational": ("ipw", "moments"),
    "panel": ("synthetic_control",),
}  # fmt: skip
"""What a person has, and the methods for it."""

_FATES: Mapping[str, str] = {
    "outcome": "modelled",
    "covariate": "modelled",
    "treatment": "modelled",
    "block": "modelled",
    "cluster": "modelled",
    "weight": "withheld",
    "id": "key",
}
_OF_DESIGN = ("treatment", "block", "cluster")
_FEW_OUTCOMES, _FEW_COLUMNS = 2, 8
_OF_CATEGORIES = ("calibrated", "moments", "ipw", "cate")  # which have a dummy of each value
_IN_NUMBERS = ("ipw", "cate")  # whose treatment is a column of 0 and 1
_NAME_THE_GROUP = ("private_ate", *_IN_NUMBERS)  # whose formulas have its column as it is
_UNTREATED = ("no", "none", "never", "control", "control group", "placebo", "untreated")
_NEEDS_DELTA = ("moments", "ipw")


@dataclass(frozen=True)
class Roles:
    """Columns by their role, in the order of the file."""

    found: Mapping[str, tuple[str, ...]]  # by role
    levels: Mapping[str, list[Any]]  # declared levels of columns that have a role

    def of(self, role: str) -> tuple[str, ...]:
        """Columns of a role."""
        return self.found.get(role, ())

    def first(self, role: str) -> str:
        """First column of a role; empty if there is none."""
        return next(iter(self.of(role)), "")

    @property
    def group(self) -> tuple[str, list[Any]] | None:
        """The one treatment column that holds the group, and its levels; None for 0/1 columns."""
        if len(self.of("treatment")) != 1:
            return None
        name = self.first("treatment")
        levels = _control_first(self.levels.get(name, []))
        return (name, levels) if levels and not {*levels} <= {0, 1} else None


def _control_first(levels: list[Any]) -> list[Any]:
    """Levels of a treatment, the one first whose word says that there was none.

    Examples
    --------
    >>> _control_first(["yes", "no"]), _control_first(["letter", "call"])
    (['no', 'yes'], ['letter', 'call'])
    """
    return sorted(levels, key=lambda one: str(one).strip().casefold() not in _UNTREATED)


def roles_of(document: Mapping[str, Any], names: Iterable[str] | None = None) -> Roles:
    """Roles that a parsed study file gives to its columns.

    Examples
    --------
    >>> roles_of({"columns": {"y": {"role": "outcome"}, "age": {"bounds": [0, 9]}}}).of("outcome")
    ('y',)
    """
    tables = document.get("columns", {})
    found: dict[str, tuple[str, ...]] = {}
    levels = {}
    for name in tables if names is None else names:
        facts = tables.get(name)
        role = facts.get("role") if isinstance(facts, dict) else None
        if isinstance(role, str):
            found[role] = (*found.get(role, ()), name)
            if isinstance(facts.get("levels"), list):
                levels[name] = facts["levels"]
    return Roles(found, levels)


def method_of(document: Mapping[str, Any]) -> str:
    """Method of a parsed study file; the default where it names none that there is."""
    table = document.get("release", {})
    found = table.get("method", "mv_histogram") if isinstance(table, dict) else ""
    return found if found in METHODS else "mv_histogram"


def family_of(document: Mapping[str, Any]) -> str:
    """What a person has, as method and roles say it; empty while nothing was said.

    Examples
    --------
    >>> family_of({"release": {"method": "ipw"}}), family_of({})
    ('observational', '')
    """
    method, roles = method_of(document), roles_of(document)
    if method == "moments":
        if "design" in document:
            return "experiment"
        return "observational" if roles.of("treatment") else "survey"
    if method == "mv_histogram" and not roles.found and not _has_fates(document):
        return ""
    return next(family for family, methods in FAMILIES.items() if method in methods)


def _has_fates(document: Mapping[str, Any]) -> bool:
    """Whether somebody said what readers get of a column; text is withheld by the draft."""
    tables = document.get("columns", {})
    said = (facts.get("fate", "withheld") for facts in tables.values() if isinstance(facts, dict))
    return any(fate != "withheld" for fate in said)


def implied(
    document: Mapping[str, Any],
    names: Iterable[str],
    rows: int | None,
    factors: Container[str] = (),
) -> dict[Path, Any]:
    """What method and roles imply, by its place in the study file.

    ``factors`` are covariates whose values name groups.
    """
    method, declared = method_of(document), roles_of(document, names)
    parts = parts_of(method)
    found, roles = _in_numbers(declared) if method in _IN_NUMBERS else ({}, declared)
    outcomes, arms, covariates = (roles.of(role) for role in ("outcome", "treatment", "covariate"))
    if method in _OF_CATEGORIES:
        covariates = tuple(f"C({name})" if name in factors else name for name in covariates)
    terms = (f"C({arms[0]})",) if roles.group and method not in _NAME_THE_GROUP else arms
    designed = "design" in parts and (method != "moments" or "design" in document)
    if "formula" in parts:
        found["release", "formula"] = _formula(method, outcomes, terms, covariates)
    if designed and arms:
        found |= _design(roles)
    if method in ("ipw", "synthetic_control"):
        found[method, "outcome"] = roles.first("outcome")
    if method == "cate":
        found[method, "treatment"] = roles.first("treatment")
    if method == "ipw":
        found[method, "estimator"] = "aipw"  # whose error is a small part of that of weighting
    if method == "private_ate" and roles.group:
        found[method, "control"] = str(roles.group[1][0])
    if method == "synthetic_control":
        found[method, "unit"] = found["unit", "id"] = roles.first("id")
    if method == "moments":
        whole = designed and bool(roles.of("cluster"))
        formulas = [_spelled((y,), (*terms, *covariates)) for y in outcomes]
        found[method, "neighbors"] = "replace-one-design-public" if whole else ""
        found[method, "formulas"] = [one for one in formulas if one]
        found[method, "weights"] = roles.first("weight")
    found["release", "delta"] = small_delta(rows) if method in _NEEDS_DELTA else 0.0
    if method not in ESTIMATES:
        found |= _fates(declared, designed=designed and method not in UNPROMISED)
    return {path: value for path, value in found.items() if value not in ("", [])}


def _in_numbers(roles: Roles) -> tuple[dict[Path, Any], Roles]:
    """A column of 0 and 1 in the place of two groups that are named by texts.

    Examples
    --------
    >>> made, roles = _in_numbers(Roles({"treatment": ("got",)}, {"got": ["no", "yes"]}))
    >>> made, roles.of("treatment")
    ({('derived', 'got_yes'): "got == 'yes'"}, ('got_yes',))
    """
    if roles.group is None or len(roles.group[1]) != 2:
        return {}, roles
    column, (_, treated) = roles.group
    if not isinstance(treated, str) or "'" in treated:
        return {}, roles
    name = re.sub(r"\W", "_", f"{column}_{treated}", flags=re.ASCII)[:_LONGEST_NAME]
    return {("derived", name): f"{column} == '{treated}'"}, Roles(
        {**roles.found, "treatment": (name,)}, roles.levels
    )


def small_delta(rows: int | None) -> float:
    """A delta far below one over the number of rows.

    Examples
    --------
    >>> small_delta(2000), small_delta(3_000_000), small_delta(None)
    (1e-06, 1e-08, 1e-06)
    """
    return 10.0 ** -max(6, len(str(rows or 1)) + 1)


def _formula(
    method: str, outcomes: tuple[str, ...], arms: tuple[str, ...], covariates: tuple[str, ...]
) -> str:
    if method == "ipw":
        return _spelled(arms[:1], covariates)
    if method in ("cate", "private_additive"):
        return _spelled(outcomes[:1], covariates)
    if method == "private_ate":
        return _spelled(outcomes, arms)
    return _spelled(outcomes, (*arms, *covariates)) if arms else ""


def _spelled(left: tuple[str, ...], right: tuple[str, ...]) -> str:
    return f"{' + '.join(left)} ~ {' + '.join(right)}" if left and right else ""


def _design(roles: Roles) -> dict[Path, Any]:
    """Arms, blocks and clusters; how treatment was assigned only a person knows without these."""
    block, cluster = (list(roles.of(role)) for role in ("block", "cluster"))
    kind = "_".join(name for name, there in (("block", block), ("cluster", cluster)) if there)
    found: dict[Path, Any] = {("design", "kind"): kind}
    if roles.group is None:
        found["design", "arms"] = list(roles.of("treatment"))
    else:
        found["design", "arm"], found["design", "arms"] = roles.group
    for name, columns in (("block", block), ("cluster", cluster)):
        found["design", name] = columns[0] if len(columns) == 1 else columns
    return found


def _fates(roles: Roles, *, designed: bool) -> dict[Path, Any]:
    return {
        ("columns", name, "fate"): "public" if designed and role in _OF_DESIGN else fate
        for role, fate in _FATES.items()
        for name in roles.of(role)
    }


def follow(
    document: dict[str, Any],
    before: Mapping[Path, Any],
    after: Mapping[Path, Any],
    said: Iterable[Path],
) -> None:
    """Let keys follow what is implied, unless a person said otherwise.

    ``said`` are the places that the person has just changed.

    Examples
    --------
    >>> document = {"release": {"formula": "y ~ t"}}
    >>> place = ("release", "formula")
    >>> follow(document, {place: "y ~ t"}, {place: "y ~ t + age"}, ())
    >>> document
    {'release': {'formula': 'y ~ t + age'}}
    """
    kept = {*said}
    for path in {**before, **after}:
        old, new = before.get(path), after.get(path)
        if old == new or path in kept:
            continue
        if _at(document, path) in (None, old):
            _put(document, path, new)


def _at(document: Mapping[str, Any], path: Path) -> Any:
    found: Any = document
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _put(document: dict[str, Any], path: Path, value: Any) -> None:
    *above, last = path
    tables: list[Any] = [document]
    for key in above:
        tables.append(tables[-1].setdefault(key, {}))
        if not isinstance(tables[-1], dict):
            return
    if value is None:
        tables[-1].pop(last, None)
    else:
        tables[-1][last] = value
    for key, table, inner in zip(above, tables, tables[1:], strict=False):
        if not inner and table.get(key) is inner and key != "columns":
            del table[key]


def from_do_files(document: Mapping[str, Any], filled: Prefill) -> list[dict[str, Any]]:
    """Changes by which a study is about the regressions of its do-files.

    Notes
    -----
    A factor becomes a block only if a person says so, since blocks are published as they are.

    Examples
    --------
    >>> from dprct.study.prefill import Prefill
    >>> used = frozenset({"y", "got", "age", "site"})
    >>> said = Prefill(outcomes=("y",), sets=(("age", "C(site)"),), used=used)
    >>> [(change["at"][1], change["typed"]) for change in from_do_files({}, said)]
    [('y', 'outcome'), ('age', 'covariate'), ('site', 'covariate')]
    """
    method, roles = method_of(document), roles_of(document)
    has_role = {name for names in roles.found.values() for name in names}
    factors = re.compile(r"C\((\w+)\)")
    terms = dict.fromkeys(term for some in filled.sets for term in some)
    asked = dict.fromkeys(filled.outcomes, "outcome")
    asked |= {filled.cluster: "cluster"} if filled.cluster else {}
    asked |= {
        (found[1] if found else term): "covariate"
        for term in terms
        if (found := factors.fullmatch(term)) or term.isidentifier()
    }
    roles_asked = {n: role for n, role in asked.items() if n not in has_role and n in filled.used}
    values: dict[Path, str] = {("columns", name, "role"): r for name, r in roles_asked.items()}
    if method == "calibrated" and filled.formula:
        values["release", "formula"] = filled.formula
        values[method, "specifications"] = _quoted(" + ".join(some) for some in filled.sets[1:])
    if method == "moments":
        plain = [one.formula for one in filled.regressions if not one.where and not one.weights]
        values[method, "formulas"] = _quoted(dict.fromkeys(plain))
    return [{"at": [*path], "typed": typed} for path, typed in values.items()]


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def turned(
    document: dict[str, Any],
    method: str,
    put_aside: dict[str, dict[str, Any]],
    followed: Mapping[Path, Any],
) -> None:
    """Turn a study file to another method: what the new one does not read is put aside.

    ``put_aside`` has by method what a person wrote for it when it was left, which comes back with
    it; ``followed`` is what method and roles implied so far, which is implied anew.
    """
    old = method_of(document)
    reads = {part for part in parts_of(method) if part != "formula"}
    known = {part for name in METHODS for part in parts_of(name)} - {"formula"}
    left = {name: document.pop(name) for name in known - reads if name in document}
    for path, value in followed.items():
        if _at(left, path) == value:
            _put(left, path, None)
    release = document.setdefault("release", {})
    if "formula" in release and ("formula" not in parts_of(method) or _asks_otherwise(old, method)):
        left["formula"] = release.pop("formula")
    put_aside[old] = left
    release["method"] = method
    for name, value in put_aside.get(method, {}).items():
        if name == "formula":
            release.setdefault(name, value)
        else:
            document.setdefault(name, value)


def _asks_otherwise(old: str, new: str) -> bool:
    """Whether the formulas of two methods mean different things."""
    left = {"ipw": "treatment", "cate": "features", "private_additive": "features"}
    return left.get(old) != left.get(new)


@dataclass(frozen=True)
class Proposal:
    """A method for what a person has, and why."""

    method: str
    why: str


def proposals(
    document: Mapping[str, Any], names: Iterable[str], full: Crowded | None = None
) -> dict[str, Proposal]:
    """Method that is proposed for each family, with one sentence why.

    ``full`` is why a file of all combinations would be refused.
    """
    roles = roles_of(document, names)
    outcomes = len(roles.of("outcome"))
    several = "one outcome" if outcomes == 1 else f"{outcomes} outcomes"
    if outcomes > _FEW_OUTCOMES:
        experiment = Proposal(
            "moments",
            f"You have an experiment with {several}: one release serves all its tables of effects, "
            "with covariates and subgroups, on one budget.",
        )
    else:
        experiment = Proposal(
            "calibrated",
            "You have an experiment: readers get a file on which your regression runs unchanged "
            "and returns private effects with valid errors.",
        )
    modelled = [n for n in names if _at(document, ("columns", n, "fate")) == "modelled"]
    if len(modelled) > _FEW_COLUMNS or (full is not None and not full.bins):
        many = "" if full is None else f" with {full.cells:,} combinations for {full.rows:,} rows"
        survey = Proposal(
            "marginals",
            f"You have {len(modelled)} columns{many}: too many for a file of all combinations. "
            "In this one each column is right on its own. For relations between answers, take "
            "“Regressions, as numbers”.",
        )
    else:
        survey = Proposal(
            "mv_histogram",
            "Nobody was treated: readers get a file with the joint distribution of the few columns "
            "that you model.",
        )
    if outcomes > 1:
        observational = Proposal(
            "moments",
            f"People chose their treatment, and you have {several}: one release serves every "
            "regression of them, adjusted for covariates.",
        )
    else:
        observational = Proposal(
            "ipw",
            "People chose their treatment: the effect is adjusted for covariates, and treatment, "
            "covariates and outcome all stay private.",
        )
    panel = Proposal(
        "synthetic_control",
        "One unit was treated: its path without treatment is made of the others, whose series stay "
        "private.",
    )
    return {
        "experiment": experiment,
        "survey": survey,
        "observational": observational,
        "panel": panel,
    }


_LOOKS: Mapping[str, re.Pattern[str]] = {
    "id": re.compile(r"(\w+_)?(id|pid|uid|caseid|person_?id|respid)"),
    "weight": re.compile(r"(\w+_)?(wt|wgt|pw|pweight)|(survey|sample|sampling)_?weights?"),
    "treatment": re.compile(r"treat(ed|ment)?|arm|assigned"),
    "out": re.compile(
        r"(\w+_)?(name|firstname|surname|phone|email|e_mail|address|comments?|remarks?|notes?)"
    ),
}
"""What columns of each role are called; readers do not even see those that are left out."""

_TREATED = ("experiment", "observational")


def guessed(document: Mapping[str, Any], header: Schema, family: str) -> dict[str, str]:
    """Roles that names and labels suggest, of columns of which nobody said anything yet.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> guessed({}, Schema((Column("hh_id"), Column("wt"), Column("width"))), "survey")
    {'hh_id': 'id', 'wt': 'weight'}
    """
    tables = document.get("columns", {})
    return {
        column.name: role
        for column in header.columns
        if not {"role", "fate"} & {*tables.get(column.name, {})}
        and (role := _looks_like(column))
        and (role != "treatment" or family in _TREATED)
    }


def _looks_like(column: Column) -> str:
    name, label = column.name.lower(), re.sub(r"\W+", "_", column.label.lower())
    return next(
        (role for role, form in _LOOKS.items() if form.fullmatch(name) or form.fullmatch(label)),
        "",
    )
