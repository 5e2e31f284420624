"""Synthetic control without privacy, with the interface of the private one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pandas as pd

from dprct.custodian.baselines import control_weights as rules
from dprct.errors import ParameterError
from dprct.estimate.synthetic_control.model import penalty_of
from dprct.estimate.synthetic_control.panel import panel_of, panel_of_arrays, scale_of
from dprct.privacy.guarantee import Guarantee
from dprct.results.confidential import WATERMARK, Confidential, marked
from dprct.schema.columns import given
from dprct.schema.tables import eager

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from dprct.custodian.baselines.control_weights import ControlWeights
    from dprct.estimate.synthetic_control.panel import Name, Panel
    from dprct.schema.schema import Schema
    from dprct.schema.tables import Frame

    Array = NDArray[np.float64]

Rule = Literal["ridge", "simplex", "robust", "uniform", "did"]


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
    """

    panel: Panel
    target: Array
    fitted: ControlWeights
    path: Array
    rule: str
    guarantee: Guarantee

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

    Examples
    --------
    >>> X = np.array([[1.0, 2, 3, 4], [3, 2, 1, 0], [9, 9, 9, 9]])
    >>> y = 0.5 * X[0] + 0.5 * X[1] + [0, 0, 0, 7]
    >>> fit = SyntheticControl.from_arrays(X, y, 3, donor_weights="simplex").fit()
    >>> round(fit.att, 6), fit.donor_weights.round(6).tolist()
    (7.0, [0.5, 0.5, 0.0])
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
        self._set_up(panel, frame, **options)

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
        model._set_up(panel, eager(data), bound=bound, **options)
        return model

    def _set_up(
        self,
        panel: Panel,
        frame: Frame,
        *,
        donor_weights: Rule | Mapping[str, float] = "ridge",
        lam: float | None = None,
        bound: float | tuple[float, float] | None = None,
        rank: int | None = None,
    ) -> None:
        if isinstance(donor_weights, str) and donor_weights not in get_args(Rule):
            raise ParameterError(
                f"donor_weights={given(donor_weights)}; allowed: {', '.join(get_args(Rule))}, or "
                "a mapping from donors to numbers"
            )
        if rank is not None and not 1 <= rank <= min(panel.rows.shape):
            raise ParameterError(
                f"rank={given(rank)}; give a whole number from 1 to {min(panel.rows.shape)}"
            )
        self._donors, self._target = panel.donors(frame), panel.target(frame)
        largest = float(np.abs(self._donors).max()) or 1.0
        self.panel, self.rule, self.rank = panel, donor_weights, rank
        self.lam = float(panel.T0) if lam is None else penalty_of(lam, panel.T0)
        self.bound = largest if bound is None else scale_of(bound).bound

    def fit(self) -> BaselineControl:
        """Return the path; there is no budget, because nothing is protected."""
        fitted = self._weights()
        name = self.rule if isinstance(self.rule, str) else "given"
        path = self._donors.T @ fitted.weights + fitted.intercept
        if name == "robust":
            path = self._denoised().T @ fitted.weights * self.bound
        reason = "it is computed from the confidential series without noise"
        return BaselineControl(self.panel, self._target, fitted, path, name, Guarantee.none(reason))

    def _denoised(self) -> Array:
        X = self._donors / self.bound
        return rules.hard_thresholded(X, self.rank or rules.usual_rank(X))

    def _weights(self) -> ControlWeights:
        T0 = self.panel.T0
        X, y = self._donors[:, :T0], self._target[:T0]
        if not isinstance(self.rule, str):
            return rules.given(dict(self.rule), self.panel.names)
        if self.rule == "robust":
            return rules.robust(self._denoised()[:, :T0], y / self.bound, self.lam)
        if self.rule == "ridge":
            return rules.ridge(X / self.bound, y / self.bound, self.lam)
        if self.rule == "simplex":
            return rules.simplex(X, y)
        return rules.did(X, y) if self.rule == "did" else rules.uniform(X)

    def __repr__(self) -> str:
        return f"baselines.SyntheticControl({len(self.panel.names)} donors, no privacy)"
