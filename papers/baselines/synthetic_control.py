"""Synthetic control without privacy, with the interface of the private one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize, nnls

from dprct.arguments import check_choice, given
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.synthetic_control.model import penalty_of
from dprct.estimate.synthetic_control.panel import panel_of, panel_of_arrays, scale_of
from dprct.estimate.synthetic_control.predictors import asked_of, listed_predictors
from dprct.privacy.budget import Guarantee
from dprct.results.base import WATERMARK, Confidential, marked
from dprct.schema.columns import extent_of
from dprct.schema.schema import Schema
from dprct.schema.tables import eager, numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from dprct.estimate.synthetic_control.panel import Name, Panel
    from dprct.estimate.synthetic_control.predictors import Asked
    from dprct.schema.tables import Frame


@dataclass(frozen=True, slots=True, eq=False)
class ControlWeights:
    """Weights of the donors and a constant: the path is ``X'weights + intercept``.

    Parameters
    ----------
    weights : (n,) array
    intercept : float
    """

    weights: Array
    intercept: float = 0.0


def ridge(X: Array, y: Array, lam: float) -> ControlWeights:
    """Return ``(X X' + lam/2)^-1 X y`` (DPSC, equation 4, with its closed form corrected).

    Parameters
    ----------
    X : (n, T0) array
    y : (T0,) array

    Examples
    --------
    >>> ridge(np.ones((1, 2)), np.ones(2), 4.0).weights.round(6).tolist()
    [0.5]
    """
    n, T0 = X.shape
    if n <= T0:
        return ControlWeights(
            np.asarray(cho_solve(cho_factor(X @ X.T + lam / 2 * np.eye(n)), X @ y))
        )
    return ControlWeights(X @ cho_solve(cho_factor(X.T @ X + lam / 2 * np.eye(T0)), y))


def simplex(X: Array, y: Array, importance: Array | None = None) -> ControlWeights:
    """Return the weights that are not negative, have sum 1 and make ``||X'w - y||`` smallest.

    Parameters
    ----------
    X : (n, K) array
        Pre-periods, or other predictors.
    y : (K,) array
    importance : (K,) array, optional
        Of each predictor, not negative: Abadie's V; equal if not given.

    Notes
    -----
    On the simplex ``X'w - y = (X - y)'w``.  For v = t w, ``||A v||^2 + (sum(v) - 1)^2`` is smallest
    over t at ``q / (1 + q)``, q = ||A w||^2, which grows with q: so non-negative least squares
    (Lawson and Hanson's, in SciPy) followed by a division by the sum solves the problem exactly,
    without a package for quadratic programs.

    References
    ----------
    Abadie, Diamond and Hainmueller (2010), "Synthetic Control Methods for Comparative Case
    Studies".
    Lawson and Hanson (1974), "Solving Least Squares Problems", chapter 23.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0]])
    >>> simplex(X, np.array([0.25, 0.75])).weights.round(6).tolist()
    [0.75, 0.25, 0.0]
    """
    root = np.ones(len(y)) if importance is None else np.sqrt(importance)
    apart = ((X - y) * root).T
    size = math.sqrt(float(np.mean(apart**2)) * len(y)) or 1.0
    system = np.vstack([apart / size, np.ones(len(X))])
    found, _ = nnls(system, np.append(np.zeros(len(y)), 1.0), maxiter=100 * len(X) + 1000)
    return ControlWeights(np.asarray(found / found.sum()))


def hard_thresholded(X: Array, rank: int) -> Array:
    """Return X with all but its ``rank`` largest singular values set to zero (HSVT).

    Examples
    --------
    >>> hard_thresholded(np.diag([3.0, 2.0, 1.0]), 2).round(6).tolist()
    [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    """
    left, values, right = np.linalg.svd(X, full_matrices=False)
    return np.asarray((left[:, :rank] * values[:rank]) @ right[:rank])


def usual_rank(X: Array) -> int:
    """Return how many singular values are above the optimal hard threshold for unknown noise.

    References
    ----------
    Gavish and Donoho (2014), "The Optimal Hard Threshold for Singular Values is 4 / sqrt(3)",
    equation 4 with the cubic approximation of omega.

    Examples
    --------
    >>> usual_rank(np.outer(np.ones(20), np.arange(15.0)))
    1
    """
    b = min(X.shape) / max(X.shape)
    values = np.linalg.svd(X, compute_uv=False)
    omega = 0.56 * b**3 - 0.95 * b**2 + 1.82 * b + 1.43
    above = int((values > omega * max(float(np.median(values)), 1e-12 * float(values[0]))).sum())
    return max(above, 1)


def robust(X: Array, y: Array, lam: float) -> ControlWeights:
    """Return ridge weights on donors that were de-noised (robust synthetic control).

    Parameters
    ----------
    X : (n, T0) array
        De-noised by :func:`hard_thresholded`, over all periods.
    y : (T0,) array

    References
    ----------
    Amjad, Shah and Shen (2018), "Robust Synthetic Control", Algorithm 1.
    """
    return ridge(X, y, lam)


def uniform(X: Array) -> ControlWeights:
    """Return equal weights."""
    return ControlWeights(np.full(len(X), 1 / len(X)))


def did(X: Array, y: Array) -> ControlWeights:
    """Return equal weights and the mean difference before treatment.

    Examples
    --------
    >>> did(np.array([[0.0, 2.0], [2.0, 4.0]]), np.array([5.0, 7.0])).intercept
    4.0
    """
    weights = uniform(X)
    return ControlWeights(weights.weights, float(np.mean(y - X.T @ weights.weights)))


def published(weights: dict[str, float], names: tuple[str, ...]) -> ControlWeights:
    """Return published weights in the order of the donors; donors that are not named have none."""
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise ParameterError(f"weights name {unknown[0]!r}, which is not a donor; name donors only")
    return ControlWeights(np.array([float(weights.get(name, 0.0)) for name in names]))


def scaled(donors: Array, treated: Array) -> tuple[Array, Array]:
    """Return predictors divided by their standard deviation over all units.

    Parameters
    ----------
    donors : (n, p) array
    treated : (p,) array
    """
    spread = np.vstack([donors, treated]).std(axis=0, ddof=1)
    return donors / spread, treated / spread


def matched(
    predictors: tuple[Array, Array], series: tuple[Array, Array], steps: int = 2000
) -> tuple[ControlWeights, Array]:
    """Return simplex weights and the importance of predictors that fit the series best.

    Parameters
    ----------
    predictors : ((n, p) array, (p,) array)
        Of the donors and of the treated unit.
    series : ((n, K) array, (K,) array)
        Before treatment, whose mean squared error chooses the importance.
    steps : int
        Of Nelder and Mead's method, from equal importance.

    Notes
    -----
    The objective has several minima: other starts and methods end elsewhere.

    References
    ----------
    Abadie and Gardeazabal (2003), appendix B.
    """
    P, p = scaled(*predictors)
    X, y = series

    def importance(v: Array) -> Array:
        size = np.abs(v)
        return np.asarray(size / size.sum())

    def loss(v: Array) -> float:
        weights = simplex(P, p, importance(v)).weights
        return float(np.mean((X.T @ weights - y) ** 2))

    start = np.full(len(p), 1 / len(p))
    found = minimize(loss, start, method="Nelder-Mead", options={"maxiter": steps})
    best = importance(found.x)
    return simplex(P, p, best), best


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Predictors as they are matched without privacy: means over periods, not clipped.

    Parameters
    ----------
    donors : (n, P) array
    treated : (P,) array
    """

    asked: tuple[Asked, ...]
    donors: Array
    treated: Array

    @classmethod
    def of(cls, asked: tuple[Asked, ...], frame: Frame, schema: Schema, panel: Panel) -> Means:
        """Read them from a table, each over the periods that have a number."""
        rows = np.vstack([panel.rows, panel.target_rows[None]])
        found = np.empty((len(rows), len(asked)))
        for k, one in enumerate(asked):
            values, _ = numbers_of(frame, schema.column(one.column).name)
            cells = values[rows[:, list(one.places(panel.times, panel.T0))]]
            if np.isnan(cells).all(axis=1).any():
                raise ParameterError(
                    f"predictors: {one.name!r} is missing for some unit in all of its periods; "
                    "name periods that have a number, or drop the unit"
                )
            found[:, k] = np.nanmean(cells, axis=1)
        return cls(asked, found[:-1], found[-1])

    @property
    def weights(self) -> Array:
        """The importance that was given, of sum one."""
        size = np.array([one.weight for one in self.asked])
        return np.asarray(size / size.sum())

    def coordinates(self, schema: Schema) -> tuple[Array, Array]:
        """Return what the private method appends to the pre-periods, without clipping and grid."""
        bounds = [extent_of(schema.column(one.column)) for one in self.asked]
        for one, known in zip(self.asked, bounds, strict=True):
            if known is None:
                raise SchemaError(
                    f"predictor {one.column!r} has no bounds, by which ridge scales it; declare "
                    "bounds, or use ``donor_weights='simplex'``"
                )
        low, high = np.array(bounds).T
        root = np.sqrt([one.weight for one in self.asked])
        donors, treated = ((2 * x - low - high) / (high - low) * root for x in self.sides)
        return donors, treated

    @property
    def sides(self) -> tuple[Array, Array]:
        """Donors and treated unit."""
        alike = np.vstack([self.donors, self.treated]).std(axis=0) == 0
        if alike.any():
            name = self.asked[int(np.argmax(alike))].name
            raise ParameterError(
                f"predictors: {name!r} is the same for all units, and tells none apart; leave it "
                "out"
            )
        return self.donors, self.treated


Rule = Literal["ridge", "simplex", "robust", "uniform", "did"]
Importance = Literal["given", "fitted"]


@dataclass(frozen=True, eq=False, repr=False)
class BaselineControl(Confidential):
    """A counterfactual path without privacy: confidential, and marked so.

    Parameters
    ----------
    panel : Panel
    target : (T,) array
        The treated unit's series.
    fitted : ControlWeights
    path : (T,) array
        Weighted series of the donors, in all periods.
    rule : str
    guarantee : Guarantee
    means : Means or None
        Predictors, where there are any.
    importance : (P,) array or None
        Of each predictor, of sum one: Abadie's V.
    """

    panel: Panel
    target: Array
    fitted: ControlWeights
    path: Array
    rule: str
    guarantee: Guarantee
    means: Means | None = None
    importance: Array | None = None

    @property
    def donor_weights(self) -> pd.Series[float]:
        """Weights by donor."""
        return pd.Series(self.fitted.weights, index=pd.Index(self.panel.names, dtype=object))

    @property
    def counterfactual(self) -> pd.Series[float]:
        """The synthetic path by time, in all periods."""
        return pd.Series(self.path, index=self._times)

    @property
    def observed(self) -> pd.Series[float]:
        """The treated unit's series by time."""
        return pd.Series(self.target, index=self._times)

    @property
    def effect(self) -> pd.Series[float]:
        """Observed less synthetic after treatment, by time."""
        return (self.observed - self.counterfactual).iloc[self.panel.T0 :]

    @property
    def att(self) -> float:
        """Mean of the effect."""
        return float(self.effect.mean())

    @property
    def pre_mspe(self) -> float:
        """Mean squared gap before treatment."""
        gap = (self.observed - self.counterfactual).iloc[: self.panel.T0]
        return float((gap**2).mean())

    def balance(self) -> pd.DataFrame:
        """Return the predictors of the treated, the synthetic and the average unit, watermarked.

        Raises
        ------
        ParameterError
            If the fit had no predictors.
        """
        if self.means is None:
            raise ParameterError("balance() is of predictors, and this fit had none; give some")
        donors = self.means.donors
        return marked(
            pd.DataFrame(
                {
                    "treated": self.means.treated,
                    "synthetic": donors.T @ self.fitted.weights + self.fitted.intercept,
                    "donors": donors.mean(axis=0),
                    "importance": self.importance,
                },
                index=pd.Index([one.name for one in self.means.asked], name="predictor"),
            )
        )

    def tidy(self) -> pd.DataFrame:
        """Return one row per period, watermarked."""
        T0, T = self.panel.T0, len(self.panel.times)
        return marked(
            pd.DataFrame(
                {
                    "time": self.panel.times,
                    "period": ["pre"] * T0 + ["post"] * (T - T0),
                    "observed": self.target,
                    "counterfactual": self.path,
                    "estimate": self.target - self.path,
                }
            )
        )

    def summary(self) -> str:
        """Return the fit in a few lines, watermarked."""
        named = (
            self.donor_weights[self.donor_weights.abs() > 5e-4]
            .sort_values(ascending=False)
            .head(10)
        )
        lines = [
            WATERMARK,
            f"Synthetic control without privacy: {self.rule}",
            f"Treated unit {self.panel.treated}, {len(self.panel.names)} donors",
            f"Mean effect {self.att:.4g}, mean squared gap before treatment {self.pre_mspe:.4g}",
            "Weights: " + ", ".join(f"{name} {weight:.3f}" for name, weight in named.items()),
            str(self.guarantee),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<BaselineControl: {self.rule}, {self.panel.treated}, confidential>"

    @property
    def _times(self) -> pd.Index[float]:
        return pd.Index(self.panel.times, name="time")


class SyntheticControl:
    """Synthetic control **without privacy**, to compare the private one with.

    Parameters
    ----------
    data, schema, outcome, treated, treatment_time, unit, time, donors
        As for :class:`dprct.SyntheticControl`.
    donor_weights : {"ridge", "simplex", "robust", "uniform", "did"} or mapping from donor to number
        Ridge; Abadie's, on the series before treatment; hard singular value thresholding and then
        ridge; equal; equal with a constant (difference in differences); or published ones.
    lam : number, optional
        Penalty of ridge and robust, for data divided by the bound; ``T0`` if not given.
    bound : number or (low, high), optional
        Divides the data for ridge and robust; the largest absolute value of the data if not given.
    rank : int, optional
        Singular values that robust keeps; by Gavish and Donoho's threshold if not given.
    predictors : mapping from name to number, or iterable of str, optional
        Names and periods as for :class:`dprct.SyntheticControl`.  ``"simplex"`` then matches these
        in place of the series before treatment, in units of their standard deviations, as Abadie
        does: name periods of the outcome among them.  ``"ridge"`` matches both, as the private
        method does, in units of the schema's bounds.
    importance : {"given", "fitted"}
        Whether the weights of predictors (Abadie's V; equal for names alone) are those given, or,
        for ``"simplex"``, those whose synthetic unit is the closest one before treatment.

    Examples
    --------
    >>> X = np.array([[1.0, 2, 3, 4], [3, 2, 1, 0], [9, 9, 9, 9]])
    >>> y = 0.5 * X[0] + 0.5 * X[1] + [0, 0, 0, 7]
    >>> fit = SyntheticControl.from_arrays(X, y, 3, donor_weights="simplex").fit()
    >>> round(fit.att, 6), fit.donor_weights.round(6).tolist()
    (7.0, [0.5, 0.5, 0.0])

    Lags of the outcome are predictors too:

    >>> lags = {"outcome(1)": 1, "outcome(3)": 4}
    >>> fit = SyntheticControl.from_arrays(
    ...     X, y, 3, donor_weights="simplex", predictors=lags
    ... ).fit()
    >>> fit.balance().round(6)["synthetic"].to_list()
    [2.0, 2.0]
    """

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str,
        treated: Name,
        treatment_time: float,
        unit: str | None = None,
        time: str | None = None,
        donors: Iterable[Name] | None = None,
        **options: Any,
    ) -> None:
        frame = eager(data)
        panel = panel_of(
            frame, schema, outcome=outcome, treated=treated, treatment_time=treatment_time,
            unit=unit, time=time, donors=donors,
        )  # fmt: skip
        self._set_up(panel, frame, schema, **options)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        T0: int,
        bound: float | tuple[float, float] | None = None,
        *,
        names: Sequence[str] | None = None,
        treated: str = "treated",
        times: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Return the model of arrays X (n, T) and y (T,); other arguments as for the class."""
        data, panel = panel_of_arrays(X, y, T0, names=names, treated=treated, times=times)
        model = cls.__new__(cls)
        model._set_up(panel, eager(data), Schema((panel.outcome,)), bound=bound, **options)
        return model

    def _set_up(
        self,
        panel: Panel,
        frame: Frame,
        schema: Schema,
        *,
        donor_weights: Rule | Mapping[str, float] = "ridge",
        lam: float | None = None,
        bound: float | tuple[float, float] | None = None,
        rank: int | None = None,
        predictors: Mapping[str, float] | Iterable[str] | None = None,
        importance: Importance = "given",
    ) -> None:
        if isinstance(donor_weights, str) and donor_weights not in get_args(Rule):
            raise ParameterError(
                f"``donor_weights={given(donor_weights)}``; allowed: "
                f"{', '.join(get_args(Rule))}, or a ``mapping`` from donors to numbers"
            )
        if rank is not None and not 1 <= rank <= min(panel.rows.shape):
            raise ParameterError(
                f"``rank={given(rank)}``; give a whole number from 1 to {min(panel.rows.shape)}"
            )
        check_choice("importance", importance, get_args(Importance))
        asked = asked_of(listed_predictors(predictors))
        if asked and donor_weights not in ("ridge", "simplex"):
            raise ParameterError(
                f"``donor_weights={given(donor_weights)}`` takes no predictors; use 'simplex' or "
                "'ridge', or leave predictors out"
            )
        if importance == "fitted" and (
            not asked or donor_weights != "simplex" or isinstance(predictors, Mapping)
        ):
            raise ParameterError(
                "``importance='fitted'`` chooses the weights of predictors; give predictors as a "
                "list of names, and ``donor_weights='simplex'``"
            )
        self.means = Means.of(asked, frame, schema, panel) if asked else None
        self.importance, self._schema = importance, schema
        self._donors, self._target = panel.donors(frame), panel.target(frame)
        largest = float(np.abs(self._donors).max()) or 1.0
        self.panel, self.rule, self.rank = panel, donor_weights, rank
        rows = float(panel.T0) + sum(one.weight for one in asked)
        self.lam = rows if lam is None else penalty_of(lam, rows)
        self.bound = largest if bound is None else scale_of(bound).bound

    def fit(self) -> BaselineControl:
        """Return the path; there is no budget, because nothing is protected."""
        fitted, importance = self._weights()
        name = self.rule if isinstance(self.rule, str) else "given"
        path = self._donors.T @ fitted.weights + fitted.intercept
        if name == "robust":
            path = self._denoised().T @ fitted.weights * self.bound
        reason = "it is computed from the confidential series without noise"
        return BaselineControl(
            self.panel, self._target, fitted, path, name, Guarantee.none(reason), self.means,
            importance,
        )  # fmt: skip

    def _denoised(self) -> Array:
        X = self._donors / self.bound
        return hard_thresholded(X, self.rank or usual_rank(X))

    def _weights(self) -> tuple[ControlWeights, Array | None]:
        """Return weights, and the importance of predictors where there are any."""
        T0, means = self.panel.T0, self.means
        if means is None:
            return self._unpredicted(), None
        X, y = self._donors[:, :T0], self._target[:T0]
        if self.importance == "fitted":
            return matched(means.sides, (X, y))
        if self.rule == "simplex":
            return simplex(*scaled(*means.sides), means.weights), means.weights
        donors, treated = means.coordinates(self._schema)
        rows, target = np.hstack([X / self.bound, donors]), np.append(y / self.bound, treated)
        return ridge(rows, target, self.lam), means.weights

    def _unpredicted(self) -> ControlWeights:
        T0 = self.panel.T0
        X, y = self._donors[:, :T0], self._target[:T0]
        if not isinstance(self.rule, str):
            return published(dict(self.rule), self.panel.names)
        if self.rule == "robust":
            return robust(self._denoised()[:, :T0], y / self.bound, self.lam)
        if self.rule == "ridge":
            return ridge(X / self.bound, y / self.bound, self.lam)
        if self.rule == "simplex":
            return simplex(X, y)
        return did(X, y) if self.rule == "did" else uniform(X)

    def __repr__(self) -> str:
        return f"baselines.SyntheticControl({len(self.panel.names)} donors, no privacy)"
