"""The paper's three methods, bound to one regression of one data set."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import TYPE_CHECKING

import pandas as pd

from dprct.errors import DprctWarning, ParameterError
from dprct.published import Allocation, GenModel, Hybrid, MVHistogram
from dprct.schema.columns import Column
from dprct.schema.schema import Schema

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    from dprct.release.release import ReleaseModel
    from papers.rct.specification import Specification

METHODS = ("MV Histogram", "Hybrid", "GenModel")
ZETA = 2 / 3


def bound(
    method: str,
    frame: pd.DataFrame,
    spec: Specification,
    allocation: Allocation | None = None,
) -> ReleaseModel[Any, Any, Any]:
    """Return a method of the paper, ready to release.

    Parameters
    ----------
    method : {"MV Histogram", "Hybrid", "GenModel"}
    frame : (n, ...) DataFrame
    spec : Specification
    allocation : Allocation, optional
        Of GenModel.

    Raises
    ------
    ParameterError
        If there is no such method.

    Notes
    -----
    The histogram has noise of scale 2/(n epsilon), which the paper's relation needs; see
    ``reasons.HISTOGRAM``.  Outcomes of the model-informed methods are observed in every row,
    as the printed standard errors of the outcome with 217 missing values tell.
    """
    schema = Schema(tuple(Column(name, "double") for name in spec.columns))
    if method == "MV Histogram":
        return MVHistogram(
            frame[spec.columns], schema, columns=spec.columns, zeta=ZETA, neighbors="replace-one"
        )
    options: dict[str, Any] = {
        "formula": spec.formula,
        "treatment": spec.arms,
        "assignment": spec.design,
        "zeta": ZETA,
        "missing_outcomes": "drop",
        "attrition": True,
    }
    if method == "Hybrid":
        return Hybrid.from_formula(data=frame[spec.columns], schema=schema, **options)
    if method == "GenModel":
        return GenModel.from_formula(
            data=frame[spec.columns], schema=schema, allocation=allocation, **options
        )
    raise ParameterError(f"method {method!r}; the paper's are {', '.join(METHODS)}")


def allocation_of(study: str, method: str, epsilon: Fraction) -> Allocation | None:
    """Return how GenModel divides epsilon (Table 19), None for the other methods."""
    if method != "GenModel":
        return None
    if study != "liberia":
        return Allocation.section4()
    return Allocation.section5(min(epsilon / 2, Fraction(1)))


def drawn_effects(
    model: ReleaseModel[Any, Any, Any],
    spec: Specification,
    epsilon: Fraction,
    draws: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Release a data set again and again, and return the effects that each one shows.

    Parameters
    ----------
    model : ReleaseModel
    spec : Specification
    epsilon : Fraction
    draws : int
    rng : numpy.random.Generator

    Returns
    -------
    DataFrame
        ``draw``, ``outcome``, ``arm``, ``estimate``, ``se``, ``df``.
    """
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)
        for draw in range(draws):
            protected = model.fit(epsilon=epsilon, rng=rng, confirm=True).protected
            found.append(spec.effects(protected).assign(draw=draw))
    return pd.concat(found, ignore_index=True)
