"""What models of a confidential panel share: a door for arrays, and no pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from dprct.estimate.synthetic.control_options import Bound, scale_of
from dprct.estimate.synthetic.panel import panel_of_arrays
from dprct.results.confidential import HoldsRows
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike


class PanelModel(HoldsRows):
    """A model that holds a confidential panel."""

    _set_up: Callable[..., None]

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        T0: int,
        bound: Bound,
        *,
        names: Sequence[str] | None = None,
        treated: str = "treated",
        times: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Return the model of arrays; other arguments as for the class.

        Parameters
        ----------
        X : (n, T) array
            One row per donor.
        y : (T,) array
            The treated unit.
        T0 : int
            Pre-periods, the first columns.
        bound : number or (low, high)
            Public; numbers outside count as the nearest bound.
        names : sequence of str, optional
        treated : str
        times : (T,) array, optional

        Raises
        ------
        ParameterError
            If shapes disagree, a number is missing, or an option is not allowed.
        """
        panel = panel_of_arrays(X, y, T0, names=names, treated=treated, times=times)
        model = cls.__new__(cls)
        model._set_up(panel, Schema((Column("outcome"),)), "outcome", scale_of(bound), **options)
        return model
