"""Stata's kinds of weights, and what each means for least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from dprct.results.covariance import Array

WeightsType = Literal["aweight", "fweight", "pweight"]


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights of the rows used, as the two roles they can play.

    Parameters
    ----------
    root : (n,) array
        Square root of the weight by which outcome and regressors are multiplied.
    copies : (n,) array
        How many identical observations a row stands for.
    """

    root: Array
    copies: Array

    @classmethod
    def of(cls, weights: Array | None, weights_type: WeightsType, rows: int) -> Weighting:
        """Return the roles that weights of a type play.

        Parameters
        ----------
        weights : (n,) array or None
            Checked and positive.
        weights_type : {"aweight", "fweight", "pweight"}
        rows : int
            n.

        Examples
        --------
        >>> Weighting.of(np.array([1.0, 3.0]), "aweight", 2).root.tolist()
        [0.7071067811865476, 1.224744871391589]
        >>> Weighting.of(np.array([1.0, 3.0]), "fweight", 2).copies.tolist()
        [1.0, 3.0]
        """
        ones = np.ones(rows)
        if weights is None:
            return cls(ones, ones)
        if weights_type == "fweight":
            return cls(ones, weights)
        return cls(np.sqrt(weights * (rows / weights.sum())), ones)


def check_weights_type(weights_type: str, cov_type: str, *, given: bool) -> None:
    """Refuse a type that is unknown, or that has no standard errors of the kind asked for.

    Parameters
    ----------
    weights_type, cov_type : str
    given : bool
        Whether there are weights at all.
    """
    if weights_type == "iweight":
        raise ParameterError(
            "weights_type='iweight' has no sampling meaning, so its standard errors have none; "
            "allowed: aweight, fweight, pweight"
        )
    if weights_type not in get_args(WeightsType):
        raise ParameterError(
            f"weights_type={weights_type!r}; allowed: {', '.join(get_args(WeightsType))}"
        )
    if given and weights_type == "pweight" and cov_type == "nonrobust":
        raise ParameterError(
            "sampling weights (pweight) need a robust covariance; use cov_type='HC1' or groups="
        )


def check_weights(weights: Array, weights_type: str, name: str) -> None:
    """Refuse weights that are missing, infinite, negative, all zero, or not whole counts.

    Parameters
    ----------
    weights : (n,) array
        Of the rows that are otherwise complete.
    weights_type : str
    name : str
        What to call them in the message.
    """
    if np.isnan(weights).any():
        raise ParameterError(
            f"{name} are missing in rows that are otherwise complete; fill or drop"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ParameterError(f"{name} are negative or infinite in some row; give weights from 0 up")
    if not (weights > 0).any():
        raise ParameterError(f"{name} are zero in every complete row; give some above 0")
    if weights_type == "fweight" and (weights != np.round(weights)).any():
        raise ParameterError(
            f"{name} are not whole numbers, as frequencies are; use weights_type='aweight' or "
            "'pweight'"
        )
