"""Power of a trial that is being planned: made-up public rows, and what regressions will show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.arguments import given
from dprct.assignment.groups import rows_of
from dprct.defaults import POWER
from dprct.errors import ParameterError
from dprct.estimate.moments.variables import legal_value
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.schema.columns import ancestors, parents_of
from dprct.schema.expressions import evaluate, parents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dprct.assignment.groups import Design
    from dprct.estimate.moments.declared import Regression
    from dprct.estimate.moments.one_step import StepAllocation
    from dprct.estimate.moments.release import MomentsFacts
    from dprct.schema import Column, Schema

MOST_PEOPLE = 10_000_000
"""Of a planned trial, of whom a row is made up for each."""

_WEIGHTS = 8
"""Values of planned weights, which are taken to lie evenly within their bounds."""

COLUMNS = (
    "error", "noise", "without_privacy", "difference_in_means", "detectable",
    "detectable_without_privacy",
)  # fmt: skip


def trial_of(
    people: Any, schema: Schema, design: Design, columns: Sequence[str], cluster_size: int | None
) -> pd.DataFrame:
    """Rows of a planned trial: its public columns, treatment as it may fall, the rest made up.

    There are that many people, or the public columns of each.  Columns that regressions name get
    one admissible value, which no plan depends on; ``cluster_size`` people are in every cluster,
    where these are not among the columns.
    """
    if nw.dependencies.is_into_dataframe(people):
        known = nw.from_native(people, eager_only=True).columns
        wanted = dict.fromkeys((*design.uses, *columns, schema.unit.id))
        rows, _ = rows_of(people, [name for name in wanted if name is not None and name in known])
    elif isinstance(people, int) and not isinstance(people, bool) and 0 < people <= MOST_PEOPLE:
        rows = pd.DataFrame(index=range(people))
    else:
        raise ParameterError(
            f"``people={given(people)}``; give how many people there will be, up to "
            f"{MOST_PEOPLE:,}, or a data frame of the public columns of each"
        )
    if cluster_size is not None and cluster_size < 1:
        raise ParameterError(f"``cluster_size={given(cluster_size)}``; give 1 or more people")
    blocks = tuple(getattr(design, "block_columns", ()))
    unknown = [name for name in design.uses if name not in rows and name not in blocks]
    size = 1 if cluster_size is None else cluster_size
    if unknown and cluster_size is None:
        raise ParameterError(
            f"nothing says how many people are in each {unknown[0]}; give ``cluster_size=``, or "
            f"``people=`` as a data frame with {', '.join(design.uses)}"
        )
    unit = np.arange(len(rows)) // size
    for name in unknown:
        levels = np.array(schema.column(name).levels or (), dtype=object)
        rows[name] = levels[unit] if len(levels) > unit.max() else unit + _first(schema, name)
    for name in blocks:
        if name not in rows:  # in turn, so that blocks are alike
            levels = np.array(schema.column(name).levels or (0,), dtype=object)
            rows[name] = levels[unit % len(levels)]
    if schema.unit.id is not None and schema.unit.id not in rows:
        rows[schema.unit.id] = np.arange(len(rows)) // schema.unit.max_rows
    rows = rows.infer_objects()
    treatment = design.assign(rows, rng=0)
    rows = rows.assign(**{str(name): treatment[name].to_numpy() for name in treatment})
    for name in columns:
        if name not in rows:
            rows[name] = _of_arms(schema.column(name), schema, treatment)
    return rows


def _first(schema: Schema, name: str) -> float:
    """Return the smallest number of a group, where its column has bounds."""
    return (schema.column(name).bounds or (0.0,))[0]


def _of_arms(column: Column, schema: Schema, treatment: pd.DataFrame) -> Any:
    """Values of a column: of one that is made of treatment, a level for each combination of it."""
    made_of = [name for name in treatment if name in ancestors(column, schema.columns)]
    if not made_of or not column.levels:
        return legal_value(column)
    if column.derived is not None and {*parents_of(column)} <= {*treatment}:
        return evaluate(column.derived, {n: treatment[n].to_numpy() for n in parents_of(column)})
    codes = treatment.groupby(made_of).ngroup().to_numpy()
    return np.array(column.levels)[codes % len(column.levels)]


def _listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _clusters(
    schema: Schema, design: Design, formulas: Iterable[str | Regression]
) -> dict[str, None]:
    """Columns of clusters, but whose row it is: a unit has as many rows as it may have."""
    of_regressions = (one.cluster for one in formulas if not isinstance(one, str))
    listed = (getattr(design, "cluster", None), *of_regressions)
    return dict.fromkeys(n for of in listed for n in _listed(of) if n != schema.unit.id)


def unknown_clusters(
    schema: Schema, design: Design, formulas: Iterable[str | Regression]
) -> list[str]:
    """Return the columns of clusters of which nothing declared says how many there are."""
    found = () if getattr(design, "largest", None) else _clusters(schema, design, formulas)
    return [name for name in found if not schema.column(name).levels]


def people_of(
    rows: int, schema: Schema, design: Design, formulas: Iterable[str | Regression]
) -> pd.DataFrame:
    """Return the public columns of a trial, made up: clusters, weights, and those of conditions."""
    number = np.arange(rows)
    declared = [one for one in formulas if not isinstance(one, str)]
    if unknown := unknown_clusters(schema, design, formulas):
        raise ParameterError(
            f"nothing says how many clusters of {unknown[0]} there are; declare its levels, or the "
            "most rows of one as ``largest``"
        )
    found = {}
    for name in _clusters(schema, design, formulas):
        levels, largest = schema.column(name).levels, getattr(design, "largest", None)
        place = number // (largest or 1) if not levels else number * len(levels) // rows
        found[name] = np.array(levels)[place] if levels else place + _first(schema, name)
    times = 1
    for name in sorted({one.weights for one in declared if one.weights}):
        low, high = schema.column(name).bounds or (1.0, 1.0)
        spread = low + (high - low) * (np.arange(_WEIGHTS) + 0.5) / _WEIGHTS
        values = np.array(schema.column(name).levels or spread)
        found[name] = values[number // times % len(values)]
        times *= len(values)
    conditions = {x for one in declared if (text := one.condition) for x in parents(text)}
    for name in sorted(conditions - {*found, *getattr(design, "columns", ())}):
        levels = schema.column(name).levels or schema.column(name).bounds or (0.0,)
        found[name] = np.array(levels)[number // times % len(levels)]
        times *= len(levels)
    return pd.DataFrame(found, index=range(rows))


def power_of(facts: MomentsFacts, allocation: StepAllocation, alpha: float) -> pd.DataFrame:
    """Expected errors and detectable effects, one row per regression and coefficient."""
    records, index = [], []
    for one, planned in zip(facts.declared, allocation.planned, strict=True):
        times = -special.stdtrit(one.df, alpha / 2) + special.stdtrit(one.df, POWER)
        errors = planned.error, planned.noise, planned.alone, planned.unadjusted
        for term, *at in zip(one.terms, *errors, strict=True):
            records.append([*at, times * at[0], times * at[2]])
            index.append((one.title, term))
    names = pd.MultiIndex.from_tuples(index, names=["regression", "term"])
    return pd.DataFrame(records, index=names, columns=list(COLUMNS))
