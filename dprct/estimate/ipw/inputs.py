"""What a private IPW is given, as one table: arrays, names and terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.formula import Factor
from dprct.schema import Column, Schema
from dprct.schema.arguments import is_data, listed_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dprct.queries.propensity import Covariates


def arrays_as_table(
    X: ArrayLike,
    t: ArrayLike,
    y: ArrayLike,
    bounds: tuple[float, float],
    x_bounds: Any,
    names: Sequence[str] | None,
) -> tuple[pd.DataFrame, Schema, tuple[str, ...]]:
    """Return arrays as a table with its schema, and the names of the covariates."""
    x, given = np.asarray(X, np.float64), np.asarray(t, np.float64)
    outcome, limits = np.asarray(y, np.float64), np.asarray(x_bounds, np.float64)
    if x.ndim != 2 or given.shape != (len(x),) or outcome.shape != (len(x),):
        raise ParameterError("X, t and y have other shapes than (n, p), (n,) and (n,)")
    if limits.shape not in ((2,), (x.shape[1], 2)) or np.shape(bounds) != (2,):
        raise ParameterError(
            "bounds= is (low, high), and x_bounds= is (low, high) or one such pair per column of X"
        )
    if not (np.isfinite(x).all() and np.isfinite(outcome).all()):
        raise ParameterError("X or y holds what is no finite number; give a data frame and schema")
    pairs = np.broadcast_to(limits, (x.shape[1], 2)).tolist()
    named = tuple(names) if names is not None else tuple(f"x{j}" for j in range(x.shape[1]))
    columns = [
        Column("y", bounds=(float(bounds[0]), float(bounds[1])), missing=()),
        Column("t", levels=(0.0, 1.0), missing=()),
        *(Column(name, bounds=tuple(p), missing=()) for name, p in zip(named, pairs, strict=True)),
    ]
    table = {"y": outcome.clip(*bounds), "t": given}
    for j, (name, (low, high)) in enumerate(zip(named, pairs, strict=True)):
        table[name] = x[:, j].clip(low, high)
    return pd.DataFrame(table), Schema(tuple(columns)), named


def terms_of(covariates: Sequence[str | tuple[Factor, ...]]) -> tuple[tuple[Factor, ...], ...]:
    """Return covariates as terms of a formula."""
    if isinstance(covariates, str):
        covariates = [covariates]
    if is_data(covariates):
        listed_names(covariates, "covariates")
    return tuple(
        (Factor("name", term, (term,)),) if isinstance(term, str) else tuple(term)
        for term in covariates
    )


def balanced_names(design: Covariates, names: Sequence[str]) -> tuple[str, ...]:
    """Return the numeric covariates whose balance is asked for, each once."""
    numeric = [block.column.name for block in design.blocks if not block.levels]
    wanted = tuple(dict.fromkeys(listed_names(names, "balance")))
    for name in wanted:
        if name not in numeric:
            raise ParameterError(
                f"balance= names {name!r}, which is no numeric covariate; allowed: "
                f"{', '.join(numeric) or 'none'}"
            )
    return wanted
