"""Sections of a study file that all methods share: design, release, budget, rows and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial, Simple
from dprct.errors import (
    ColumnError,
    FileError,
    FormulaError,
    ParameterError,
    StudyError,
    marked,
)
from dprct.io.formats import is_file
from dprct.model import ELSEWHERE, Spec
from dprct.records import dataclass
from dprct.schema.conditions import condition, meets
from dprct.schema.expressions import parents, parse
from dprct.schema.keys import check_keys, made_of

if TYPE_CHECKING:
    import pandas as pd

    from dprct.assignment import Design
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema


_FOLLOWS = {
    "neighbors": "which data sets are neighbours follows from [release] method (calibrated and "
    "estimates: their own section; any other: replace-one), and of a ledger from [budget] "
    "relation; remove it",
}
"""Keys that people look for, and where what they say comes from."""


def section(
    kind: type[Any], table: object, where: str, *, given: Mapping[str, Any] | None = None
) -> Any:
    """Return the dataclass that a section of a study file spells; see :mod:`dprct.schema.keys`."""
    elsewhere = {**(ELSEWHERE if issubclass(kind, Spec) else {}), **_FOLLOWS}
    return made_of(kind, table, where, StudyError, given=given or {}, elsewhere=elsewhere)


def check_sections(document: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a section that no study file has."""
    check_keys(document, known, "the study file", StudyError, _FOLLOWS)


Arms = tuple[str | float, ...] | Mapping[str, tuple[str, ...]]
Names = str | tuple[str, ...]
Numbers = float | tuple[float, ...]
Parts = Mapping[str, Mapping[str, Any]]

_DESIGNS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "simple": (Simple, ()),
    "complete": (Complete, ()),
    "block": (Block, ("block",)),
    "cluster": (Cluster, ("cluster",)),
    "block_cluster": (BlockCluster, ("block", "cluster")),
}
"""The design of each kind, and the keys that it needs besides arms."""

_OF_CLUSTERS = ("largest", "icc", "cluster_mean_bounds")
"""Keys of what is publicly known of clusters."""

DesignKind = Literal["simple", "complete", "block", "cluster", "block_cluster", "factorial"]


@dataclass(frozen=True)
class DesignSection:
    """How treatments were assigned.

    Parameters
    ----------
    kind : {"simple", "complete", "block", "cluster", "block_cluster", "factorial"}
        How treatment was assigned: each row by itself, a fixed number of all rows, the same within
        blocks, whole clusters, whole clusters within blocks, or several treatments at once.
    arms : list of str or numbers, or table
        The 0/1 columns of the arms; with ``arm``, the levels of that column, including that of the
        control group; for a factorial design, optionally, a table from the column of each
        combination to the arms of its factors.
    arm : str
        The one column with the group of each row, as a code or as text.
    shares : number or list of numbers
        The probability of each arm; by default all groups, the control group included, have the
        same.
    control_share : number
        The probability of being in no arm; 0 if there is no such group.
    block, cluster : str or list of str
        The column that identifies the block, or the cluster; several columns are combined.
    largest : whole number
        Public upper limit on the rows of a cluster; needed to protect whole clusters.
    icc : number, or table from outcome to number
        Public upper bound on the intra-cluster correlation; errors of effects then need far less
        noise.
    cluster_mean_bounds : two numbers, or table from outcome to two numbers
        Public bounds on the mean of every cluster, narrower than those of the outcome.
    factors : table of tables
        ``[design.factors.NAME]`` for each factor, with the keys of a design; its arms are the
        column NAME, if not given.
    """

    kind: DesignKind
    arms: Arms | None = None
    arm: str | None = None
    shares: Numbers | None = None
    control_share: float | None = None
    block: Names | None = None
    cluster: Names | None = None
    largest: int | None = None
    icc: float | Mapping[str, float] | None = None
    cluster_mean_bounds: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None
    factors: Parts | None = None


def design_from(document: Mapping[str, Any]) -> Design | None:
    """Return the design of a parsed study file, None where it has none.

    Examples
    --------
    >>> document = {"design": {"kind": "block", "arms": ["treat"], "block": "site"}}
    >>> design_from(document).uses
    ('site',)
    """
    if "design" not in document:
        return None
    return _design(section(DesignSection, document["design"], "[design]"), "[design]")


def _design(spec: DesignSection, where: str) -> Design:
    try:
        return _factorial(spec, where) if spec.kind == "factorial" else _plain(spec, where)
    except ParameterError as error:
        raise StudyError(f"{where} {marked(error)}") from None


def _plain(spec: DesignSection, where: str) -> Design:
    kind, needed = _DESIGNS[spec.kind]
    known = _OF_CLUSTERS if "cluster" in needed else ()
    _check_belongs(spec, ("arms", "arm", "shares", "control_share", *needed, *known), where)
    _check_there(spec, ("arms", *needed), where)
    if isinstance(spec.arms, Mapping):
        raise StudyError(f"{where} arms is a table, which is for a factorial design; give a list")
    options = {name: getattr(spec, name) for name in (*needed, *known, "arm")}
    if spec.arm is None and not all(isinstance(name, str) for name in spec.arms or ()):
        raise StudyError(
            f"{where} arms has numbers; give a list of columns of 0 and 1, or say arm = ... for "
            "the one column that holds these codes"
        )
    design: Design = kind(
        spec.arms, shares=spec.shares, control_share=spec.control_share, **options
    )
    return design


def _factorial(spec: DesignSection, where: str) -> Design:
    _check_belongs(spec, ("arms", "factors"), where)
    _check_there(spec, ("factors",), where)
    assert spec.factors is not None
    if spec.arms is not None and not isinstance(spec.arms, Mapping):
        raise StudyError(
            f"{where} arms is a list; of a factorial design give a table, such as "
            '{both = ["cash", "therapy"]}, or leave it out'
        )
    found = []
    for name, table in spec.factors.items():
        place = f"{where[:-1]}.factors.{name}]"
        factor = section(DesignSection, {"arms": [name], **table}, place)
        if factor.kind == "factorial":
            raise StudyError(f"{place} kind = {factor.kind!r}; allowed: {', '.join(_DESIGNS)}")
        found.append(_design(factor, place))
    return Factorial(found, spec.arms)


def _check_belongs(spec: DesignSection, known: tuple[str, ...], where: str) -> None:
    for f in fields(spec):
        if f.name not in ("kind", *known) and getattr(spec, f.name) is not None:
            raise StudyError(
                f"{where} {f.name} does not belong to kind = {spec.kind!r}, which takes "
                f"{', '.join(known)}; remove it"
            )


def _check_there(spec: DesignSection, needed: tuple[str, ...], where: str) -> None:
    for name in needed:
        if getattr(spec, name) is None:
            raise StudyError(f"{where} of kind = {spec.kind!r} lacks {name}; write {name} = ...")


def absent(formula: str | None, design: Design | None) -> list[str]:
    """Arguments that a method lacks which needs a formula and a design, in words.

    Examples
    --------
    >>> absent("y ~ treat", None)
    ['[design] is missing; write kind = "complete" and arms = ["treat"]']
    """
    found = []
    if formula is None:
        found.append('[release] formula is missing; write formula = "y ~ treat + x"')
    if design is None:
        found.append('[design] is missing; write kind = "complete" and arms = ["treat"]')
    return found


def check_index(index: object, where: str) -> None:
    """Refuse an index that names a file: a study file that a stranger sends opens no other file."""
    rules = index.values() if isinstance(index, Mapping) else [index]
    if any(isinstance(rule, str) and is_file(rule) for rule in rules):
        raise StudyError(
            f"{where} index names a file; a study file states the index itself, as a formula "
            'with numbers such as "0.8 * before"'
        )


@dataclass(frozen=True)
class ReleaseSection:
    """What is released, and at what price.

    Parameters
    ----------
    method : str
        One of :data:`~dprct.study.methods.METHODS`.  A release writes a protected file, an
        estimate a document of results.
        ``published_mv_histogram``, ``published_hybrid`` and ``published_gen_model`` are the paper's
        algorithms: they have no privacy guarantee.
    epsilon, delta : number
        Privacy budget of the release; ``delta = 0`` is pure differential privacy.
    zeta : float or None
        Columns that declare no bins get ``ceil(n^zeta)``; 2/3 in the published algorithm.
    outcome_share : number, optional
        Share of epsilon for the mean of each bin of binned columns with ``role = "outcome"``, for a
        histogram or marginals: a quarter by default; with 0, values are uniform within bins.
    confirm : bool
        Release although the plan refuses, for example because few combinations are likely to
        survive.
    accept_large_delta : bool
        Release with a ``delta`` above 1/n; plan and certificate then begin with what that means.
    output : str or None
        Where the protected file goes, relative to the study file: ``<data>_protected.dta`` by
        default, and ``<data>_no_dp_guarantee.dta`` if nothing is promised.  An estimate writes its
        document of results there: ``<data>_<method>.json`` by default.
    keep : tuple of str
        Characteristics to keep in addition to the allow-list (``"note1"`` keeps that note).
    formula : str or None
        The reader's regression, for ``calibrated``; the model of the outcomes, for
        ``published_hybrid`` and ``published_gen_model``; for an estimate, what ``from_formula`` of
        its class takes.
    """

    epsilon: float
    method: str = "mv_histogram"
    delta: float = 0.0
    zeta: float | None = None
    outcome_share: float | None = None
    confirm: bool = False
    accept_large_delta: bool = False
    output: str | None = None
    keep: tuple[str, ...] = ()
    formula: str | None = None


@dataclass(frozen=True)
class TotalBudget:
    """What may be spent on this data set in all, over every release ever made from it.

    Parameters
    ----------
    epsilon, delta : number
        The most that the ledger may charge in total, over all releases.
    relation : {"replace-one", "replace-one-design-public"} or None
        A requirement for every charge of the ledger: a charge that does not hold under it is
        refused. Without it any charge is accepted, and the sum is stated under the weakest of their
        relations.
    separate : str or None
        Why the same data may have this budget in addition to that of another ledger in the same
        folder; the certificate states it.  Without it such data are refused.
    """

    epsilon: float
    delta: float = 0.0
    relation: Literal["replace-one", "replace-one-design-public"] | None = None
    separate: str | None = None


# [study]: which columns and rows of a file a study is about.

RestFate = Literal["withheld", "key", "drop"]

Facts = Mapping[str, Mapping[str, Any]]
"""Declared facts by the name of a column, or by a pattern of names."""


@dataclass(frozen=True)
class Scope:
    """Which columns and rows a study is about, and what becomes of the other columns.

    Parameters
    ----------
    columns : list of str
        The columns of the study; ``*`` stands for any text and ``?`` for one character, as in
        ``"hh_*"``.  Columns with a table of their own belong to it, too.  Without this list, all
        columns of the file do.
    rest : {"withheld", "key", "drop"}
        The fate of all columns that the study is not about; without ``columns``, those are the
        columns without a table.  With ``columns`` and without this, they are dropped.
    sample : str
        A condition on rows, such as ``"attrit == 0 & round > 1"``: only these are read.  Every
        column in it has ``fate = "public"``.  Of a missing value no comparison holds; ``x == .``
        asks for it.

    Notes
    -----
    Neighbours agree in their public columns, and so in the rows of the sample: see
    :func:`dprct.release.release.check_sample`.
    """

    columns: tuple[str, ...] = ()
    rest: RestFate | None = None
    sample: str | None = None

    def facts(self, declared: Facts, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Declarations of each column of a file: patterns first, then the column's own table.

        A declared name that is none of these is kept, to be refused where the facts are read.
        """
        found: dict[str, dict[str, Any]] = {}
        own = {}
        for text, facts in declared.items():
            if text in names or not is_pattern(text):
                own[text] = facts
                continue
            for name in matching(text, names):
                found[name] = {**found.get(name, {}), **facts}
        for name, facts in own.items():
            found[name] = {**found.get(name, {}), **facts}
        inside = {*found, *named(self.columns, names)}
        rest = self.rest or ("drop" if self.columns else None)
        if rest is not None:
            found |= {name: {"fate": rest} for name in names if name not in inside}
        return found

    @property
    def condition(self) -> str:
        """The condition on rows in the language of derived columns; empty where there is none."""
        return "" if self.sample is None else _condition(self.sample)

    def sampled(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the sample, numbered from 0; all rows where there is no condition."""
        if not (words := self.condition):
            return data
        names = sorted(parents(words))
        for name in names:
            if name not in data.columns:
                raise FileError(f"[study] sample: {ColumnError.unknown(name, data.columns)}")
            if data[name].dtype.kind != "f":
                raise StudyError(_TEXT.format(name))
        columns = {name: data[name].to_numpy(np.float64) for name in names}
        kept = meets(words, columns, len(data))
        if not kept.any():
            raise StudyError(f"[study] sample = {self.sample!r} keeps no row; correct it")
        return data[kept].reset_index(drop=True)

    def open_sample(self, schema: Schema) -> list[str]:
        """Obstacle to a public condition by what the study declares, in words."""
        if not (words := self.condition):
            return []
        named = sorted(parents(words))
        known = [name for name in named if name in schema.names]
        return [
            *(
                f"[study] sample: {ColumnError.unknown(name, schema.names, 'the file')}"
                for name in named
                if name not in known
            ),
            *(said for name in known for said in _not_public(schema.column(name))),
        ]

    def warnings(self, schema: Schema) -> tuple[str, ...]:
        """Warnings about columns of the condition that may be missing."""
        names = sorted(parents(self.condition)) if self.sample is not None else []
        missing = [name for name in names if schema.column(name).missing != ()]
        if not missing:
            return ()
        return (
            f"no comparison holds of a missing value of {' or '.join(missing)}; Stata counts it as "
            'the largest number (missing = "never" says that there is none)',
        )

    def problems(self, declared: Facts, names: Sequence[str]) -> list[str]:
        """Return names and patterns that fit no column of the file, in words."""
        asked = [("[study] columns", text) for text in self.columns]
        asked += [("[columns]", text) for text in declared if is_pattern(text)]
        return [problem for where, text in asked for problem in unmatched(where, text, names)]


def scope_from(document: Mapping[str, Any]) -> Scope:
    """Return the section ``[study]`` of a parsed study file.

    Examples
    --------
    >>> scope_from({"study": {"sample": "attrit == 0"}}).condition
    'attrit == 0'
    """
    table = document.get("study", {})
    if isinstance(table, Mapping) and "merge" in table:
        raise StudyError(_MERGE)
    found: Scope = section(Scope, table, "[study]")
    _ = found.condition  # what is none is refused where the file is read
    return found


_MERGE = (
    "[study.merge] is not a table of a study file: who has how many rows after a merge must be "
    "known before a budget means anything, and ledger and certificate are of one file. Merge "
    'beforehand, in Stata with: merge m:1 id using "other.dta", keep(match) nogenerate, then '
    'save "merged.dta"; in pandas with: a.merge(b, on="id", validate="m:1"). Then write '
    'data = "merged.dta", and '
    "[unit] id and max_rows if anybody has several rows in it. A file of public facts, such as "
    "those of villages, is merged by [[prepare]]"
)

_TEXT = (
    "[study] sample uses {!r}, which holds text; make a column of 0 and 1 of it before, and name "
    "that"
)


def _condition(text: str) -> str:
    """Return a condition with the words that this language has for the signs of Stata.

    Examples
    --------
    >>> _condition("attrit == 0 & (round != 1 | late == 1)")
    'attrit == 0 and (round != 1 or late == 1)'
    """
    try:
        words = condition(text, "[study] sample")
        parse(words, "[study] sample")
    except FormulaError as error:
        raise StudyError(str(error).replace("sample=", "sample = ", 1)) from None
    return words


def _not_public(column: Column) -> list[str]:
    """Reason why a condition on a column is not public, if it is not."""
    name = column.name
    if column.is_text:
        return [_TEXT.format(name)]
    if column.derived is not None:
        return [
            f"[study] sample uses {name!r}, which is derived; write what it is derived from, such "
            f"as ({column.derived}) != 0"
        ]
    if column.fate == "public":
        return []
    fate = "has no fate" if column.fate is None else f"has fate = {column.fate!r}"
    return [
        f"[study] sample uses {name!r}, which {fate}: who is in the sample would tell private "
        'values; give it fate = "public" if everybody may know it of everybody, or take method = '
        f'"moments" with subgroups = ["{name}"], whose cells may be private'
    ]


def is_pattern(text: str) -> bool:
    """Whether a name has a sign that stands for others.

    Examples
    --------
    >>> is_pattern("hh_*"), is_pattern("age")
    (True, False)
    """
    return "*" in text or "?" in text


def matching(text: str, names: Iterable[str]) -> list[str]:
    """Return the names that a name or pattern stands for, in their own order.

    Examples
    --------
    >>> matching("hh_?", ["hh_1", "hh_12", "age"])
    ['hh_1']
    """
    names = list(names)
    if text in names or not is_pattern(text):
        return [name for name in names if name == text]
    parts = {"*": ".*", "?": "."}
    fits = re.compile("".join(parts.get(sign, re.escape(sign)) for sign in text), re.DOTALL)
    return [name for name in names if fits.fullmatch(name)]


def named(texts: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the names that a list of names and patterns stands for, each once."""
    found = {name for text in texts for name in matching(text, names)}
    return [name for name in names if name in found]


def unmatched(where: str, text: str, names: Sequence[str]) -> list[str]:
    """Sentence that a name or pattern fits no column, if it fits none."""
    if matching(text, names):
        return []
    if is_pattern(text):
        return [f"{where} {text!r}: no column of the file has such a name; correct or remove it"]
    return [f"{where}: {ColumnError.unknown(text, tuple(names), 'the file')}"]
