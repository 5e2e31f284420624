"""What the published synthetic control returns: a path without a law of its noise."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dprct.estimate.synthetic_control.panel import RECORD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dprct.privacy.guarantee import Guarantee

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PublishedControlResults:
    """The path of DPSC, the effect, and what is guaranteed.

    Parameters
    ----------
    noisy_path : (K,) array
        After treatment.
    noisy_weights : (n,) array
    donors : tuple of str
    treated : str
    target : (T,) array
        The treated unit, public.
    times : (T,) array
    T0 : int
    guarantee : Guarantee
    method, ledger : str

    Notes
    -----
    There is no band: the published noise multiplies noisy donors by noisy weights, and its law
    depends on the confidential series.
    """

    noisy_path: Array
    noisy_weights: Array
    donors: tuple[str, ...]
    treated: str
    target: Array
    times: Array
    T0: int
    guarantee: Guarantee
    method: str
    ledger: str = ""

    @property
    def counterfactual(self) -> pd.Series[float]:
        """The path without treatment, by time."""
        return pd.Series(self.noisy_path, index=self._after())

    @property
    def observed(self) -> pd.Series[float]:
        """The treated unit's series, by time."""
        return pd.Series(self.target, index=pd.Index(self.times, name="time"))

    @property
    def effect(self) -> pd.Series[float]:
        """Observed less counterfactual after treatment, by time."""
        return pd.Series(self.target[self.T0 :] - self.noisy_path, index=self._after())

    @property
    def att(self) -> float:
        """Mean of the effect."""
        return float(np.mean(self.effect.to_numpy()))

    @property
    def donor_weights(self) -> pd.Series[float]:
        """Noisy weights, by donor."""
        return pd.Series(self.noisy_weights, index=pd.Index(self.donors, dtype=object))

    def tidy(self) -> pd.DataFrame:
        """Return one row per period after treatment."""
        return pd.DataFrame(
            {
                "time": self.times[self.T0 :],
                "observed": self.target[self.T0 :],
                "counterfactual": self.noisy_path,
                "estimate": self.effect.to_numpy(),
            }
        )

    def summary(self) -> str:
        """Return path and guarantee as text."""
        lines = [self.method, f"One record: {RECORD}", ""]
        lines += self.tidy().to_string(index=False).splitlines()
        lines += ["", *textwrap.wrap(str(self.guarantee), 78)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<PublishedControlResults: {self.treated}, {len(self.donors)} donors>"

    def _after(self) -> pd.Index[float]:
        return pd.Index(self.times[self.T0 :], name="time")
