"""The tables that a study declares, read off its released moments: nothing but these is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dprct.dofile.regression import Regression
from dprct.errors import DprctError, ParameterError
from dprct.formula import names as formula_names
from dprct.lazy import pandas as pd
from dprct.results.itt import ITTTable, laid_out
from dprct.results.itt_estimates import Inference, adjust
from dprct.results.multiple_testing import RESAMPLED, families_of
from dprct.results.tables import style_named
from dprct.schema.conditions import condition, reduced
from dprct.study.moments_verdicts import Served, formula_of
from dprct.study.prefill import columns_there
from dprct.study.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from dprct.estimate.moments.model import MomentsSpec
    from dprct.estimate.moments.results import Moments
    from dprct.schema.schema import Schema
    from dprct.study.declared_tables import TableSpec

READ_OFF = "Regressions of released moments; errors contain sampling error and the noise of the"
UNSERVED = "Not released"
_ERRORS = {"HC1": "robust", "nonrobust": "classical"}
_OF_ROWS = {"control": None, "alternative": "two-sided", "distribution": "t",
            "sample": "complete-per-outcome"}  # fmt: skip
_LEVEL = re.compile(r"C\((\w+)\)\[.*\]")


class _Row(NamedTuple):
    """A regression of a table."""

    panel: str
    regression: Regression
    terms: tuple[str, ...]  # its right side

    @property
    def said(self) -> str:
        """What to call it."""
        outcome = str(self.regression.outcome)
        return f"{outcome} ({self.panel})" if self.panel else outcome


def problems_of_moments(table: TableSpec, spec: MomentsSpec, schema: Schema) -> list[str]:
    """Why no moments of a study give a table, in words; empty if they give a row of it."""
    opening = f"[[table]] {table.name!r}: "
    if unknown := table.problems(schema.names):
        return unknown
    if found := _for_rows(table):
        return [opening + one for one in found]
    rows = [*rows_of_table(table)]
    lost = [*_unserved(table, rows, spec, schema)]
    if len(lost) < len(rows):
        return []
    return [f"{opening}the moments give none of its regressions; {lost[0]}"]


def gaps_of_moments(table: TableSpec, spec: MomentsSpec, schema: Schema) -> list[str]:
    """Cells of a table that no release of a study will have, in words, whatever the noise is."""
    rows = [*rows_of_table(table)]
    found = [*_unserved(table, rows, spec, schema)]
    if len(found) == len(rows):  # an open point
        return []
    arms = () if spec.assignment is None else spec.assignment.columns
    if why := _without_control(table, arms, spec.weights, spec.withheld(schema)):
        found.append(f"control means: {why}")
    return [f"[[table]] {table.name!r} will lack {one}" for one in found]


def _unserved(
    table: TableSpec, rows: Sequence[_Row], spec: MomentsSpec, schema: Schema
) -> Iterator[str]:
    """Yield the regressions of a table that the moments will not give, with the reason."""
    served = _Served.planned("", spec, schema)
    for row in rows:
        kind, reason, remedy = served.verdict(row.regression, row.terms)
        if kind == "valid":
            continue
        if kind == "effects only" and (change := _for_errors(served, remedy)):
            yield f"{row.said}: {reason} ({change})"
            continue
        if not isinstance(remedy, str) or not remedy or re.search("formula = |with where", remedy):
            remedy = _declared(table, row, served)
        yield f"{row.said}: {reason} ({remedy})"


def _for_errors(served: Served, remedy: str | Reading) -> str:
    """What gives a table the errors of a declared regression; empty of any other."""
    asked = remedy.asked if isinstance(remedy, Reading) else None
    one = next((one for one in served.steps if one.title == asked), None)
    if one is None or not isinstance(remedy, Reading) or len(one.clusters) > 1:
        return ""
    if remedy.before:
        return remedy.before.removesuffix("; ")
    keys = {"errors": "cluster" if one.clusters else one.cov_type, "cluster": "".join(one.clusters)}
    said = ", ".join(
        f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in keys.items() if text
    )
    return f"give the table {said}, or declare other errors"


def _without_control(
    table: TableSpec, arms: Sequence[str], weights: str | None, withheld: str
) -> str:
    """Return why a table has no mean of people without treatment; empty if it may have."""
    if {*table.arms} != {*arms}:
        return "its arms are not all arms of the design"
    if table.weights != weights:
        return "the moments are weighted otherwise"
    if table.where:
        return "its rows are some of those released"
    return withheld


def _declared(table: TableSpec, row: _Row, served: Served) -> str:
    """Say how a regression of a table is declared, with errors that moments have."""
    keys = {"formula": formula_of(row.regression, row.terms), "where": table.condition,
            "cluster": table.cluster or served.unit or ""}  # fmt: skip
    said = ", ".join(
        f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in keys.items() if text
    )
    more = ""
    if keys["cluster"] and table.cluster is None:
        name = json.dumps(keys["cluster"], ensure_ascii=False)
        more = f', and give the table errors = "cluster", cluster = {name}'
    return f"declare it: [[regression]] {said}{more}"


class _Served(Served):
    """What moments hold, for regressions of tables, whose conditions are not Stata's."""

    def _condition(self, row: Regression) -> str | None:
        there = columns_there(row)
        return reduced(condition(row.sample), there, self._values) if row.sample else ""


def table_of_moments(table: TableSpec, moments: Moments, bare: Collection[str] = ()) -> ITTTable:
    """Return a table; a regression that was not released has no number, and a note says why.

    Columns are shown by their labels, the ``bare`` ones by their names.
    """
    if found := _for_rows(table):
        raise ParameterError("; ".join(found))
    served = _Served.released("", moments)
    records: list[dict[str, Any]] = []
    lost: dict[tuple[str, str], str] = {}
    notes: dict[str, None] = {}
    rows = [*rows_of_table(table)]
    for row in rows:
        fit = _fit(served, moments, row)
        if isinstance(fit, str):
            lost[row.panel, str(row.regression.outcome)] = fit
        else:
            notes |= dict.fromkeys(fit.notes)
        records += _records(table, moments, row, None if isinstance(fit, str) else fit)
    if len(lost) == len(rows):
        raise ParameterError(
            f"the moments give none of its regressions; {next(iter(lost.values()))}"
        )
    return _table(table, moments, pd.DataFrame(records), lost, [*notes], bare)


def _for_rows(table: TableSpec) -> list[str]:
    """Return what a table asks for that only rows could give."""
    asked = [key for key, usual in _OF_ROWS.items() if getattr(table, key) != usual]
    found = [
        f"{key} needs rows, and released moments hold none; leave it out of the table"
        for key in asked
    ]
    if table.adjust in RESAMPLED:
        found.append(f'adjust = "{table.adjust}" resamples rows; take "holm" or "bonferroni"')
    return found


def rows_of_table(table: TableSpec) -> Iterator[_Row]:
    """Yield the regressions of a table."""
    sets = table.covariates if isinstance(table.covariates, Mapping) else {"": table.covariates}
    clustered = table.cluster is not None
    for panel, terms in sets.items():
        right = (*table.arms, *terms, *(f"C({name})" for name in table.blocks))
        for outcome in table.outcomes:
            regression = Regression(
                file=table.name, line=0, command="regress", outcome=outcome,
                regressors=tuple(formula_names("~ " + " + ".join(right), functions=True)[1]),
                treatments=table.arms,
                sample=table.condition,
                weights=f"{table.weights_type}={table.weights}" if table.weights else "",
                vce="cluster" if clustered else _ERRORS.get(table.errors, table.errors),
                cluster=(table.cluster,) if table.cluster else (),
            )  # fmt: skip
            yield _Row(panel, regression, right)


def _fit(served: Served, moments: Moments, row: _Row) -> Any:
    """Return the results of a regression, or in words why there are none."""
    kind, reason, found = served.verdict(row.regression, row.terms)
    if kind != "valid" or not isinstance(found, Reading):
        return f"{row.said}: {reason}"
    try:
        return found.of(moments)
    except DprctError as error:  # the noise may leave nothing to estimate
        return f"{row.said}: {error}"


def _records(table: TableSpec, moments: Moments, row: _Row, fit: Any) -> Iterator[dict[str, Any]]:
    outcome = str(row.regression.outcome)
    numbers: dict[str, Any] = {}
    if fit is not None:
        tidy = fit.tidy().set_index("term")
        numbers = {_LEVEL.sub(r"\1", str(term)): one for term, one in tidy.iterrows()}
    for arm in table.arms:
        one = numbers.get(arm, {})
        estimates = {key: float(one.get(key, math.nan))
                     for key in ("estimate", "std.error", "statistic", "p.value")}  # fmt: skip
        yield {
            "covariates": row.panel, "outcome": outcome, "arm": arm,
            "control_mean": _control_mean(table, moments, outcome), **estimates,
            "df": math.nan if fit is None else fit.df_inference,
            "nobs": math.nan if fit is None else fit.nobs,
            "rank": math.nan if fit is None else fit.nobs - fit.df_resid,
        }  # fmt: skip


def _control_mean(table: TableSpec, moments: Moments, outcome: str) -> float:
    """Mean of the people without treatment, where that is who is in no arm of the table."""
    if _without_control(table, moments.arms[1:], moments.weights, moments.withheld):
        return math.nan
    try:
        return float(moments.effects([outcome]).control["mean"][outcome])
    except DprctError:  # declared regressions alone were released
        return math.nan


def _table(
    table: TableSpec,
    moments: Moments,
    estimates: pd.DataFrame,
    lost: Mapping[tuple[str, str], str],
    notes: list[str],
    bare: Collection[str],
) -> ITTTable:
    inference = Inference(adjust=table.adjust)  # type: ignore[arg-type]  # the section checked it
    families = families_of(table.families, table.outcomes, table.arms, table.family_sizes or None)  # type: ignore[arg-type]
    adjust(estimates, [*dict.fromkeys(estimates["covariates"])], inference, families)
    known = {*moments.schema.names}.difference(bare)
    labels = {
        name: (moments.schema.column(name).label if name in known else "") or name
        for name in (*table.outcomes, *table.arms)
    }
    columns, rows, parts = laid_out(
        estimates, {name: labels[name] for name in table.outcomes},
        {name: labels[name] for name in table.arms}, adjusted=table.adjust,
        absent={*lost},
    )  # fmt: skip
    counts = {int(n) for n in estimates["nobs"].dropna()}
    numbers = f"{counts.pop():,d}" if len(counts) == 1 else "see N"
    style = style_named(table.layout)
    return ITTTable(
        columns=columns, rows=rows, title=table.title or table.name, corner="Outcome", parts=parts,
        style=style if table.digits is None else style.changed({"digits": table.digits}),
        notes=(
            f"{READ_OFF} release. Observations: {numbers}.", *table.about_rows,
            *(f"{UNSERVED}: {why}." for why in lost.values()),
            *notes,
            *str(moments.guarantee).splitlines(),
        ),
        estimates=estimates, guarantee=moments.guarantee,
    )  # fmt: skip
