"""What models of a confidential panel share: a door for arrays, and no pickle."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Self

from dprct.errors import ParameterError
from dprct.estimate.synthetic.control_options import Bound, scale_of
from dprct.estimate.synthetic.panel import panel_of_arrays
from dprct.results.confidential import HoldsRows
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike


_OF_TABLES = {"outcome", "treated", "treatment_time", "unit", "time", "donors", "bound"}
"""Arguments that say where a panel stands in a table, or that ``from_arrays`` has itself."""


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
        _check_options(cls, options)
        panel = panel_of_arrays(X, y, T0, names=names, treated=treated, times=times)
        model = cls.__new__(cls)
        model._set_up(
            panel, Schema((Column("outcome", missing=()),)), "outcome", scale_of(bound), **options
        )
        return model


def _check_options(model: type[PanelModel], options: Iterable[str]) -> None:
    """Refuse what is no argument of the class; Python would name a function within."""
    arguments = inspect.signature(model.__init__).parameters.values()
    known = [a.name for a in arguments if a.kind is a.KEYWORD_ONLY and a.name not in _OF_TABLES]
    for name in options:
        if name not in known:
            raise ParameterError.unknown(name, known, f"{model.__name__}.from_arrays")
