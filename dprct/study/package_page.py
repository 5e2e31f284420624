"""The report of a package: the paper's regressions, cell by cell, with their worth and number."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dprct.certificate.page import claim, document, grid, items, section
from dprct.certificate.valid_declared import rows_where
from dprct.certificate.valid_regressions import Validity, shown_levels
from dprct.errors import DprctError
from dprct.results.iv import iv
from dprct.results.ols import ols
from dprct.study.moments_verdicts import formula_of
from dprct.study.verdicts import terms_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pandas as pd

    from dprct.certificate.certificate import Certificate
    from dprct.dofile import Regression
    from dprct.results.ordinary import OrdinaryResults
    from dprct.schema.schema import Schema
    from dprct.study.study import Study
    from dprct.study.verdicts import Verdict

KIND = "Report of a replication package"
CUSTODIAN_KIND = "CONFIDENTIAL report of a replication package"
_WATERMARK = (
    "CONFIDENTIAL: part of this page is computed from the confidential file, with no privacy; it "
    "stays with the custodian, and is not to be published."
)
_NO_TABLE = "No table named"
_HC = {"robust": "HC1", "classical": "nonrobust", "cluster": "cluster"}


@dataclass(frozen=True, slots=True)
class Cell:
    """The coefficient of one treatment in one regression."""

    estimate: float
    error: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


Cells = dict[tuple[int, str], Cell]


@dataclass(frozen=True, slots=True)
class Held:
    """A protected file of a package.

    Parameters
    ----------
    place : str
        Where it lies: under the name of the confidential one.
    parts : mapping of str to sequence of str
        Where the files lie that were merged into it before the release, each with its columns.
    papers : mapping of str to str
        The names of its study file, of its numbers and of its README.
    """

    study: Study
    place: str
    parts: Mapping[str, Sequence[str]]
    papers: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Side:
    """What a package holds of one data set.

    Parameters
    ----------
    data, schema : DataFrame, Schema
        The protected file.
    regressions : frozenset of int
        The places of the verdicts that are on it.
    raw : (DataFrame, Schema) or None
        The confidential file, for the custodian.
    """

    data: pd.DataFrame
    schema: Schema
    certificate: Certificate
    regressions: frozenset[int]
    raw: tuple[pd.DataFrame, Schema] | None = None

    @property
    def level(self) -> float:
        """Size of the tests that belong to the intervals."""
        valid = Validity.of(self.schema)
        return valid.levels[0] if valid is not None and valid.levels else 0.05


_PREFIXED = re.compile(r"(?:c|i\w*)\.\w+(?:#+(?:c|i\w*)\.\w+)*")
"""A product that says what is a number and what a category: where nothing does, Stata takes a
category and a formula a number."""


def cells_of(
    found: Sequence[Verdict],
    data: pd.DataFrame,
    schema: Schema,
    level: float,
    places: Collection[int] | None = None,
) -> tuple[Cells, dict[int, str]]:
    """Return the cells of the valid regressions on a file, and what failed, by their place.

    Parameters
    ----------
    data, schema : DataFrame, Schema
        The protected file; for the custodian, the confidential one.
    level : float
        Size of the tests that belong to the intervals.
    places : collection of int, optional
        The places of the regressions that are on this file; all by default.
    """
    cells: Cells = {}
    failed: dict[int, str] = {}
    for place, one in enumerate(found):
        row = one.regression
        if places is not None and place not in places:
            continue
        if one.kind not in ("valid", "effects only") or not isinstance(row.outcome, str):
            continue
        if (why := _not_shown(one)) is not None:
            failed[place] = why
            continue
        cov_type = _HC.get(row.vce, "HC1")
        cluster = row.cluster[0] if cov_type == "cluster" and row.cluster else None
        try:
            rows = data if one.group is None else data[data[one.group[0]] == one.group[1]]
            rows = rows if one.some is None else rows[one.some.of(rows)]
            rows = rows if one.where is None else rows[rows_where(one.where, rows)]
            fit = _fit(row, rows, schema, cov_type, cluster)
            intervals = fit.conf_int(level)
            for name in _shown(row):
                if name in fit.params.index:
                    low, high = map(float, np.asarray(intervals.loc[name], dtype=float))
                    estimate, error = float(fit.params[name]), float(fit.bse[name])
                    cells[place, name] = Cell(estimate, error, low, high)
        except DprctError as error:
            failed[place] = str(error)
    return cells, failed


def _not_shown(one: Verdict) -> str | None:
    """Reason why a regression that is valid in released groups has no one number to show."""
    row = one.regression
    if one.group is not None and row.groups:
        return f"a regression for every level of {one.group[0]}"
    if any("#" in word and not _PREFIXED.fullmatch(word) for word in row.regressors):
        return "a product of categories, whose coefficients the command prints"
    return None


def _shown(row: Regression) -> tuple[str, ...]:
    """Return the columns whose coefficients the report has."""
    return row.endogenous or row.treatments


def _fit(
    row: Regression, data: pd.DataFrame, schema: Schema, cov_type: str, cluster: str | None
) -> OrdinaryResults:
    formula = formula_of(row, terms_of(row))
    if row.endogenous:
        of_kind = "HC1" if cov_type in ("HC2", "HC3") else cov_type
        return iv(formula, data, schema, cov_type=of_kind, cluster=cluster)
    return ols(formula, data, schema, cov_type=cov_type, cluster=cluster)


def report_page(found: Sequence[Verdict], sides: Sequence[Side], copied: Sequence[str] = ()) -> str:
    """Return the report for readers, from the protected files alone.

    Parameters
    ----------
    copied : sequence of str
        Files of the authors' folder that are published as they were.
    """
    clean = [replace(side, raw=None) for side in sides]
    return _page(found, clean, copied, with_raw=False)


def custodian_page(
    found: Sequence[Verdict], sides: Sequence[Side], copied: Sequence[str] = ()
) -> str:
    """Return the report for the custodian: each cell next to that of the confidential file."""
    return _page(found, sides, copied, with_raw=True)


def _page(
    found: Sequence[Verdict], sides: Sequence[Side], copied: Sequence[str], *, with_raw: bool
) -> str:
    from dprct import __version__

    mine: Cells = {}
    failed: dict[int, str] = {}
    raw: Cells | None = {} if with_raw else None
    for side in sides:
        cells, lost = cells_of(found, side.data, side.schema, side.level, side.regressions)
        mine, failed = mine | cells, failed | lost
        if raw is not None and side.raw is not None:
            raw |= cells_of(found, *side.raw, side.level, side.regressions)[0]
    certificate = sides[0].certificate
    names = [side.certificate.file.get("name", "the protected file") for side in sides]
    promised = all(side.certificate.guarantee.measure != "none" for side in sides)
    opening = [sides[0].certificate.guarantee.sentence()]
    if len(sides) > 1:
        opening = [
            f"{name}: {side.certificate.guarantee.sentence()}"
            for name, side in zip(names, sides, strict=True)
        ]
    if raw is not None:
        opening.insert(0, _WATERMARK)
    name = " and ".join(names)
    levels = tuple(dict.fromkeys(side.level for side in sides))
    body = [
        section("What is promised", claim(*opening, promised=promised and raw is None)),
        section("How to read this page", items(_legend(levels, raw is not None))),
        section("Summary", items(_summary(found))),
        *_tables(found, mine, failed, raw),
        *([section("Files that were copied as they were", items(copied))] if copied else []),
    ]
    return document(
        KIND if raw is None else CUSTODIAN_KIND,
        f"The regressions of the do-files on {name}",
        f"Data set: {certificate.dataset_id or 'no id declared'}.",
        body,
        f"Made by dprct {__version__}.",
    )


def _legend(levels: tuple[float, ...], raw: bool) -> Iterator[str]:
    yield (
        "valid: the coefficient of the treatment is the released effect, and its error holds "
        f"sampling and privacy noise; the interval is the one at {shown_levels(levels)}"
    )
    yield "effects only: the coefficient is the released effect; the errors are not the right ones"
    yield "artefact: the number that the command prints means nothing, so that none is shown"
    yield "cannot run: the command stops on this file"
    if raw:
        yield (
            "raw: the same cell on the confidential file; the last column is the width of the "
            "protected interval over that of the raw one"
        )


def _summary(found: Sequence[Verdict]) -> list[str]:
    from dprct.study.verdicts import summary

    return summary(found) or ["the do-files run no regression"]


def _tables(
    found: Sequence[Verdict], mine: Cells, failed: Mapping[int, str], raw: Cells | None
) -> Iterator[str]:
    """Yield a section for each table of the paper, in the order in which these occur."""
    heads = ["Regression", "Treatment", "Worth", "Estimate (error)", "Interval", "Width"]
    heads += ["Raw estimate (error)", "Raw width", "Ratio"] if raw is not None else []
    for table in dict.fromkeys(one.regression.table for one in found):
        rows: list[list[str]] = []
        for place, one in enumerate(found):
            if one.regression.table == table:
                rows += _rows(place, one, mine, failed, raw)
        yield section(table or _NO_TABLE, grid(heads, rows))


def _rows(
    place: int, one: Verdict, mine: Cells, failed: Mapping[int, str], raw: Cells | None
) -> Iterator[list[str]]:
    row = one.regression
    outcome = row.outcome if isinstance(row.outcome, str) else " ".join(row.outcome)
    what = f"{row.file}:{row.line} {row.command} {outcome}".rstrip()
    told = [name for name in _shown(row) if (place, name) in mine]
    if not told:
        why = failed.get(place, "; ".join(part for part in (one.reason, one.remedy) if part))
        said = f"{one.kind}: {why}" if why else one.kind
        empty = [""] * (3 if raw is None else 6)
        yield [what, " ".join(row.treatments), said, *empty]
    for name in told:
        cell = mine[place, name]
        sure = one.kind == "valid"
        cells = [
            f"{_number(cell.estimate)} ({_number(cell.error)})" if sure else _number(cell.estimate),
            f"{_number(cell.low)} to {_number(cell.high)}" if sure else "",
            _number(cell.width) if sure else "",
        ]
        if raw is not None:
            true = raw.get((place, name))
            cells += (
                ["", "", ""]
                if true is None
                else [
                    f"{_number(true.estimate)} ({_number(true.error)})",
                    _number(true.width),
                    _number(cell.width / true.width) if sure and true.width > 0 else "",
                ]
            )
        said = f"{one.kind}: {one.reason}" if one.reason else one.kind
        yield [what, name, said, *cells]


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "none"
