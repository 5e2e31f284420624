"""Arguments that regressions share: which covariance, clusters, weights; checked in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from dprct.errors import ParameterError
from dprct.formula.design_matrix import columns_of, is_factor, numbers_of
from dprct.results.covariance import HETEROSKEDASTIC
from dprct.results.weights import check_weights

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame
    from numpy.typing import ArrayLike

    from dprct.formula import Design
    from dprct.formula.design_matrix import Mask
    from dprct.results.covariance import Array, Codes

COV_TYPES = (*HETEROSKEDASTIC, "cluster")


def covariance_named(cov_type: str, groups: object) -> str:
    """Return the name of a covariance as this package spells it.

    Parameters
    ----------
    cov_type : str
        Of any case; ``CR1`` is another name for ``cluster``.
    groups : object
        None where there are no clusters.

    Examples
    --------
    >>> covariance_named("hc1", None), covariance_named("HC1", "village")
    ('HC1', 'cluster')
    """
    known = {name.lower(): name for name in COV_TYPES} | {"cr1": "cluster"}
    name = known.get(str(cov_type).lower())
    if name is None:
        raise ParameterError(
            f"cov_type={cov_type!r}; allowed: {', '.join(COV_TYPES)} "
            "(Stata's robust is HC1, vce(cluster v) is groups='v')"
        )
    if groups is None and name == "cluster":
        raise ParameterError("cov_type='cluster' needs groups=, a column or one value per row")
    if groups is not None and name not in ("HC1", "cluster"):
        raise ParameterError(f"cov_type={name!r} has no groups; leave out one of the two")
    return "cluster" if groups is not None else name


def one_per_row(values: str | ArrayLike, data: IntoFrame, rows: int, option: str) -> pd.Series[Any]:
    """Return a column by name, or one value per row as given.

    Parameters
    ----------
    values : str or (N,) array
    data : DataFrame
    rows : int
        N.
    option : str
        What to call it in the message.

    Examples
    --------
    >>> one_per_row([1, 2], pd.DataFrame({"a": [0, 0]}), 2, "groups").tolist()
    [1, 2]
    """
    if isinstance(values, str):
        return columns_of(data, [values])[values]
    column = pd.Series(cast("Any", values)).reset_index(drop=True)
    if len(column) != rows:
        raise ParameterError(f"{option} has {len(column)} values for {rows} rows; give one per row")
    return column


def weights_of(
    weights: str | ArrayLike, weights_type: str, data: IntoFrame, complete: Mask
) -> Array:
    """Return the weights of all rows, checked among those that are complete.

    Parameters
    ----------
    weights : str or (N,) array
    weights_type : str
    data : DataFrame
    complete : (N,) array of bool

    Examples
    --------
    >>> rows = pd.DataFrame({"w": [1.0, 2.0]})
    >>> weights_of("w", "aweight", rows, np.ones(2, bool)).tolist()
    [1.0, 2.0]
    """
    column = one_per_row(weights, data, len(complete), "weights")
    name = f"the weights {weights!r}" if isinstance(weights, str) else "the weights"
    if is_factor(column):
        raise ParameterError(f"{name} hold text, not numbers; give numbers from 0 up")
    numbers = numbers_of(column)
    if complete.any():
        check_weights(numbers[complete], weights_type, name)
    return numbers


def cluster_codes(groups: pd.Series[Any], keep: Mask) -> Codes:
    """Return the clusters of the rows used, coded from 0; at least two.

    Examples
    --------
    >>> cluster_codes(pd.Series(["a", "b", "a"]), np.array([True, True, False])).tolist()
    [0, 1]
    """
    codes, distinct = pd.factorize(groups[keep])
    if len(distinct) < 2:
        raise ParameterError("groups has one cluster in the rows used; clusters need at least two")
    return codes.astype(np.intp)


def check_finite(frame: Design) -> None:
    """Refuse a design with an infinite number, naming its column."""
    for name, column in zip(
        (*frame.outcomes, *frame.columns), (*frame.y.T, *frame.X.T), strict=True
    ):
        if not np.isfinite(column).all():
            raise ParameterError(f"{name!r} is infinite in some row; recode or drop those rows")
