"""The report of a package: the paper's regressions, cell by cell, with their worth and number."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.certificate.certificate import MARGINAL
from dprct.certificate.page import claim, document, grid, items, section
from dprct.certificate.valid_declared import rows_where
from dprct.certificate.valid_regressions import Validity, shown_levels
from dprct.errors import DprctError, ParameterError
from dprct.estimate.moments.results import Moments
from dprct.io import read
from dprct.records import dataclass
from dprct.results.iv import iv
from dprct.results.ols import ols
from dprct.study.moments_tables import SUFFIX
from dprct.study.moments_verdicts import formula_of
from dprct.study.obstacles import VALID
from dprct.study.verdicts import summary, terms_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

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
_LEVEL = 0.05
_HC = {"robust": "HC1", "classical": "nonrobust", "cluster": "cluster"}


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Held:
    """A protected file of a package."""

    study: Study
    place: str  # where it lies: under the name of the confidential one
    # Where the files lie that were merged into it before the release, each with its columns.
    parts: Mapping[str, Sequence[str]]
    papers: tuple[str, str, str]  # the names of its study file, of its numbers and of its README


@dataclass(frozen=True)
class OnFile:
    """A file with rows, on which regressions are run."""

    # data, schema: the protected file; for the custodian, the confidential one.
    data: pd.DataFrame
    schema: Schema

    @property
    def level(self) -> float:
        """Size of the tests that belong to the intervals."""
        valid = Validity.of(self.schema)
        return valid.levels[0] if valid is not None and valid.levels else _LEVEL

    def cells(self, one: Verdict, level: float) -> dict[str, Cell]:
        """Run a regression; the coefficients of treatment, or of what is instrumented."""
        row = one.regression
        cov_type = _HC.get(row.vce, "HC1")
        cluster = row.cluster[0] if cov_type == "cluster" and row.cluster else None
        rows = self.data
        rows = rows if one.group is None else rows[rows[one.group[0]] == one.group[1]]
        rows = rows if one.some is None else rows[one.some.of(rows)]
        rows = rows if one.where is None else rows[rows_where(one.where, rows)]
        fit = _fit(row, rows, self.schema, cov_type, cluster)
        return {name: cell for name, cell in _all_cells(fit, level).items() if name in _shown(row)}


@dataclass(frozen=True)
class OnMoments:
    """Released moments, which regressions are read off."""

    moments: Moments
    level = _LEVEL

    def cells(self, one: Verdict, level: float) -> dict[str, Cell]:
        """Read off a regression: every coefficient that it returns."""
        if one.reading is None:  # the verdict says what would serve it
            return {}
        table = one.reading.numbers(self.moments, level)
        return {str(name): Cell(*map(float, row)) for name, *row in table.itertuples()}


@dataclass(frozen=True)
class OnConfidential:
    """The confidential rows of released moments, for the custodian."""

    data: pd.DataFrame
    schema: Schema
    moments: Moments

    def cells(self, one: Verdict, level: float) -> dict[str, Cell]:
        """Run the regression that is read off the moments, on the rows themselves."""
        if one.reading is None:
            return {}
        call = one.reading.call(self.moments)
        if call.method not in ("ols", "iv"):
            raise ParameterError("it is not run on the confidential file; see the released number")
        declared = next((x for x in self.moments.declared if x.title == call.asked), None)
        formula, rows = call.asked, self.data
        options: dict[str, Any] = {"cov_type": call.options.get("cov_type") or "HC1"}
        for name, value in (call.options.get("where") or {}).items():
            rows = rows[rows[name] == value]
        for known in (one for one in self.moments.instrumented if one.title == call.asked):
            formula, declared = known.formula, self.moments.declared[known.reduced]
        if declared is not None:
            formula = declared.formula if call.method == "ols" else formula
            options = {"cov_type": declared.errors or "HC1", "weights": declared.weights}
            if declared.clusters:
                of = declared.clusters[0] if declared.ways is None else [*declared.clusters]
                options |= {"cov_type": "cluster", "cluster": of}
            rows = rows if declared.where is None else rows[rows_where(declared.where, rows)]
        if call.method == "iv":
            options.pop("weights", None)
            return _all_cells(iv(formula, rows, self.schema, **options), level)
        return _all_cells(ols(formula, rows, self.schema, **options), level)


def released(file: Path) -> OnFile | OnMoments:
    """Return what a released file gives numbers of."""
    if file.name.endswith(SUFFIX):
        return OnMoments(Moments.load(file))
    return OnFile(*read(file))


def on_confidential(
    on: OnFile | OnMoments, data: pd.DataFrame, schema: Schema
) -> OnFile | OnConfidential:
    """Return the confidential rows of a release, on which its regressions are run again."""
    if isinstance(on, OnMoments):
        return OnConfidential(data, schema, on.moments)
    return OnFile(data, schema)


def _all_cells(fit: OrdinaryResults, level: float) -> dict[str, Cell]:
    ends = np.asarray(fit.conf_int(level), dtype=float)
    return {
        str(name): Cell(float(fit.params[name]), float(fit.bse[name]), float(low), float(high))
        for name, (low, high) in zip(fit.params.index, ends, strict=True)
    }


@dataclass(frozen=True)
class Side:
    """What a package holds of one data set."""

    on: OnFile | OnMoments  # the protected file, or the released moments
    certificate: Certificate
    regressions: frozenset[int]  # the places of the verdicts that are on it
    raw: OnFile | OnConfidential | None = None  # the confidential file, for the custodian


_PREFIXED = re.compile(r"(?:c|i\w*)\.\w+(?:#+(?:c|i\w*)\.\w+)*")
"""A product that says what is a number and what a category: where nothing does, Stata takes a
category and a formula a number."""


def cells_of(
    found: Sequence[Verdict],
    on: OnFile | OnMoments | OnConfidential,
    level: float,
    places: Collection[int] | None = None,
) -> tuple[Cells, dict[int, str]]:
    """The cells of the valid regressions on a release, and what failed, by their place.

    ``level`` is the size of the tests that belong to the intervals.  All places are those by
    default.
    """
    cells: Cells = {}
    failed: dict[int, str] = {}
    for place, one in enumerate(found):
        if places is not None and place not in places:
            continue
        if not _has_numbers(one):
            continue
        if (why := _not_shown(one)) is not None:
            failed[place] = why
            continue
        try:
            cells |= {(place, name): cell for name, cell in on.cells(one, level).items()}
        except DprctError as error:
            failed[place] = str(error)
    return cells, failed


def silent_of(found: Sequence[Verdict], cells: Cells) -> dict[str, tuple[str, ...]]:
    """Return the coefficients that are served and not estimated, by their regressions."""
    silent: dict[str, tuple[str, ...]] = {}
    for (place, name), cell in cells.items():
        if not math.isfinite(cell.estimate):
            told = str(found[place].regression)
            silent[told] = (*silent.get(told, ()), name)
    return silent


def _has_numbers(one: Verdict) -> bool:
    """Whether a regression prints a released number."""
    if one.kind not in (*VALID, "effects only") or not isinstance(one.regression.outcome, str):
        return False
    return one.reading is not None or one.kind != MARGINAL


def _not_shown(one: Verdict) -> str | None:
    """Reason why a regression that is valid in released groups has no one number to show."""
    row = one.regression
    if one.every_level:
        return f"a regression for every level of {row.groups}"
    if one.reading is not None:
        return None
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
    """Report for readers, from the protected files alone; ``copied`` files are published as is."""
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
        cells, lost = cells_of(found, side.on, side.on.level, side.regressions)
        mine, failed = mine | cells, failed | lost
        if raw is not None and side.raw is not None:
            raw |= cells_of(found, side.raw, side.on.level, side.regressions)[0]
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
    levels = tuple(dict.fromkeys(side.on.level for side in sides))
    body = [
        section("What is promised", claim(*opening, promised=promised and raw is None)),
        section("How to read this page", items(_legend(levels, raw is not None))),
        section("Summary", items(summary(found) or ["the do-files run no regression"])),
        *_tables(found, mine, failed, raw),
        section("Files that were copied as they were", items(copied)),
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
        "valid: the coefficient of the treatment is the released effect, and its error contains "
        f"sampling and privacy noise; the interval is the one at {shown_levels(levels)}"
    )
    yield "not estimated: the noise of the release hides the coefficient"
    yield "effects only: the coefficient is the released effect; the errors are not the right ones"
    yield "artefact: the number that the command prints means nothing, so that none is shown"
    yield "cannot run: the command stops on this file"
    if raw:
        yield (
            "raw: the same cell on the confidential file; the last column is the width of the "
            "protected interval over that of the raw one"
        )


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
    row, what = one.regression, str(one.regression)
    told = [name for at, name in mine if at == place]
    if not told:
        why = failed.get(
            place, "; ".join(part for part in (one.reason, one.remedy, *one.also) if part)
        )
        said = f"{one.kind}: {why}" if why else one.kind
        empty = [""] * (3 if raw is None else 6)
        yield [what, " ".join(row.treatments), said, *empty]
    for name in told:
        cell = mine[place, name]
        sure = one.kind in VALID
        cells = [
            f"{_number(cell.estimate)} ({_number(cell.error)})" if sure else _number(cell.estimate),
            f"{_number(cell.low)} to {_number(cell.high)}" if sure else "",
            _number(cell.width) if sure else "",
        ]
        if not math.isfinite(cell.estimate):
            cells = ["not estimated", "", ""]
        if raw is not None:
            true = raw.get((place, name))
            cells += (
                ["", "", ""]
                if true is None
                else [
                    f"{_number(true.estimate)} ({_number(true.error)})",
                    _number(true.width),
                    _number(cell.width / true.width)
                    if sure and true.width > 0 and math.isfinite(cell.width)
                    else "",
                ]
            )
        said = f"{one.kind}: {one.reason}" if one.reason else one.kind
        yield [what, name, said, *cells]


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "none"
