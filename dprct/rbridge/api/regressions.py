"""Ordinary fits and tables: what is printed is as private as the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.formula import Formula, complete_cases, design, parse
from dprct.lazy import pandas as pd
from dprct.rbridge.api.options import options_for
from dprct.rbridge.api.results import estimate_record, table_record
from dprct.rbridge.api.session import whole
from dprct.rbridge.api.spelling import spelled
from dprct.rbridge.convert import Matrix
from dprct.rbridge.registry import export
from dprct.records import dataclass
from dprct.results.base import Origin
from dprct.results.itt import itt_table as table_of_effects
from dprct.results.ols import OLSResults, with_law
from dprct.results.ols import ols as least_squares
from dprct.schema.columns import Column, date_kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dprct.estimate.moments.regression import RegressionResults
    from dprct.privacy.budget import Guarantee
    from dprct.rbridge.convert import Record, Table
    from dprct.schema.schema import Schema


STATA_DAYS = 3_653
"""From 1 January 1960 to 1 January 1970."""


@dataclass(frozen=True)
class Fitted:
    """Least squares, under R's names too, and the levels of its factors for a prediction."""

    result: OLSResults | RegressionResults
    shown: OLSResults | RegressionResults
    levels: Mapping[str, tuple[Any, ...]]
    dated: bool
    """Whether its dates are days, and its times seconds, since 1970."""


@export("ols")
def ols(
    formula: str,
    data: Table,
    cov_type: str = "HC1",
    cluster: str | list[str] | None = None,
    weights: str | None = None,
    weights_type: Any = "aweight",
    absorb: Any = None,
    spelling: Mapping[str, Any] | None = None,
    standing: str | None = None,
    release: Any = None,
) -> Record:
    """Return least squares with Stata's inference, its coefficients named as R asks."""
    promised = _promised(data, standing)
    rows = data.data if spelling is None else _dated_as_in_r(data)
    result = least_squares(
        formula,
        rows,
        data.schema,
        cov_type,
        cluster,
        weights,
        weights_type,
        absorb=() if absorb is None else absorb,
        guarantee=promised,
    )
    if release is not None and result.valid_alphas:
        result = with_law(result, release.estimates, result.valid_alphas)
    levels = _levels(parse(formula, functions=True), rows)
    shown = result if spelling is None else spelled(result, spelling)
    live = Fitted(result, shown, levels, dated=spelling is not None)
    return estimate_record(shown, "dprct_ols", live=live)


def _dated_as_in_r(table: Table) -> pd.DataFrame:
    """Return the rows with days, and seconds, since 1970, as R's lm() reads dates and times."""
    shifted: dict[str, pd.Series[Any]] = {}
    for name in map(str, table.data.columns):
        column = table.schema.column(name)
        kind = None if column.is_text else date_kind(column.format)
        if kind == "d":
            shifted[name] = table.data[name] - STATA_DAYS
        elif kind == "c":
            shifted[name] = table.data[name] / 1000 - STATA_DAYS * 86_400
    return table.data.assign(**shifted) if shifted else table.data


def _promised(data: Table, standing: str | None) -> Guarantee | None:
    """Promise that a frame of a release carries, checked against the columns that came."""
    if standing is None:
        return None
    return Origin.from_json(standing).promised(data.data, [str(n) for n in data.data.columns])


def _levels(parsed: Formula, data: pd.DataFrame) -> dict[str, tuple[Any, ...]]:
    used = data[complete_cases(parsed, data)]
    factors = {factor.names[0] for term in parsed.terms for factor in term if factor.kind == "C"}
    texts = {n for n in parsed.regressor_names if not pd.api.types.is_numeric_dtype(used[n])}
    return {name: tuple(np.unique(used[name].to_numpy())) for name in factors | texts}


@export("ols_predict")
def ols_predict(estimate: Fitted, data: Table, alpha: float = 0.05) -> pd.DataFrame:
    """Return fitted values of new rows and their errors, missing where a regressor is.

    Of released moments with the ends of intervals, which have a law of their own.
    """
    result = estimate.result
    X = _regressors(estimate, data)
    known = np.isfinite(X).all(axis=1)
    used = X[known]
    fitted, errors = np.full((2, len(X)), np.nan)
    fitted[known] = used @ result.params.to_numpy()
    squares = np.sum((used @ result.cov_params().to_numpy()) * used, axis=1)
    errors[known] = np.sqrt(np.maximum(squares, 0))
    found = pd.DataFrame({"fit": fitted, "se.fit": errors})
    if not isinstance(result, OLSResults):
        found[["low", "high"]] = np.nan
        found.loc[known, ["low", "high"]] = _ends(result, used, alpha)
    return found


@export("ols_regressors")
def ols_regressors(estimate: Fitted, data: Table) -> Matrix:
    """Return the regressors (n, k) of new rows, missing where a column is."""
    X = _regressors(estimate, data)
    names = list(map(str, estimate.shown.params.index))
    return Matrix(X, [str(row + 1) for row in range(len(X))], names)


def _regressors(estimate: Fitted, data: Table) -> NDArray[np.float64]:
    """Return the regressors (n, k) of new rows, NaN where a column is missing."""
    result = estimate.result
    if isinstance(result, OLSResults) and result.absorbed is not None:
        raise ParameterError("effects that were absorbed are not known for new rows; use ``C(x)``")
    given = _dated_as_in_r(data) if estimate.dated else data.data
    for name, known in estimate.levels.items():
        if name in given and not given[name].dropna().isin([*known, ""]).all():
            raise ParameterError(
                f"column {name!r} has a level that was not in the fit; give levels of the fit"
            )
    right = parse("~" + result.formula.partition("~")[2], functions=True)
    rows = design(right, given, _with_levels(data.schema, estimate.levels), levels="schema")
    X = pd.DataFrame(rows.X, columns=list(rows.columns))
    found = np.full((len(given), len(result.params)), np.nan)
    found[rows.used] = X[list(result.params.index)].to_numpy()
    return found


def _ends(result: RegressionResults, X: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return the ends of the intervals of X b (n, 2), each distinct row once."""
    distinct, places = np.unique(X, axis=0, return_inverse=True)
    names = list(map(str, result.params.index))
    asked = [
        {name: float(weight) for name, weight in zip(names, row, strict=True) if weight}
        for row in distinct
    ]
    ends = np.array([result.lincom(one).conf_int(alpha).to_numpy()[0] for one in asked])
    return ends[places.ravel()]


def _with_levels(schema: Schema, levels: Mapping[str, tuple[Any, ...]]) -> Schema:
    names = [name for name in schema.names if name in levels]
    columns = [Column(name, schema.column(name).type, levels=levels[name]) for name in names]
    return schema.with_columns(columns)


@export("itt_table")
def itt_table(
    data: Table,
    outcomes: Any,
    arms: Any,
    covariates: Any = None,
    blocks: Any = None,
    options: Mapping[str, Any] | None = None,
    standing: str | None = None,
) -> Record:
    """Return a table of effects in the layout of experimental papers."""
    asked = {"outcomes": outcomes, "arms": arms, "covariates": covariates, "blocks": blocks}
    given = options_for(table_of_effects, {**asked, **(options or {})})
    if "rng" in given:
        given["rng"] = whole(given["rng"], "rng")
    promised = _promised(data, standing)
    found = table_of_effects(data.data, data.schema, guarantee=promised, **given)
    return table_record(found, estimates=found.tidy())
