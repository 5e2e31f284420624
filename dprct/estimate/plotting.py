"""The coefficient plot of private effects; matplotlib is imported when it is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dprct.errors import ParameterError
from dprct.plots import panels, stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


class Drawn(Protocol):
    """An effect as the plot sees it, whatever the law of its noise."""

    @property
    def value(self) -> float:
        """The estimate."""

    def half_width(self, alpha: float) -> float:
        """Return half of the interval of level ``1 - alpha``."""

    def noise_half_width(self, alpha: float) -> float:
        """Return what it would be without sampling error."""


TOTAL, NOISE = "black", "tab:blue"
_ROW, _MARGIN, _WIDTH = 0.4, 1.2, 4.5


def effects_plot(
    facets: Sequence[tuple[str, Sequence[str], Sequence[Drawn]]],
    alpha: float,
    *,
    ax: Axes | Sequence[Axes] | None = None,
    watermark: str = "",
) -> list[Axes]:
    """Draw effects with their intervals, one panel per outcome.

    Parameters
    ----------
    facets : sequence of (outcome, names, effects)
        Names and effects of each outcome, drawn from top to bottom.
    alpha : float
        Intervals have level ``1 - alpha``.
    ax : Axes or sequence of Axes, optional
        One per outcome; new ones if not given.
    watermark : str

    Returns
    -------
    list of Axes

    Notes
    -----
    The thin line is the interval.  The thick one inside is what privacy noise alone would give:
    the interval if there were no sampling error.

    Raises
    ------
    ParameterError
        If there are not as many axes as outcomes.
    MissingDependencyError
        Without matplotlib.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from dprct.estimate.effects import NoisyEffect, NoisyVariance
    >>> effect = NoisyEffect(0.5, (0.03,), (NoisyVariance(0.01, 1e-4, 0.11),))
    >>> (ax,) = effects_plot([("y", ["t"], [effect])], 0.05)
    >>> ax.get_title(), [label.get_text() for label in ax.get_yticklabels()]
    ('y', ['t'])
    >>> plt.close(ax.figure)
    """
    if ax is None:
        rows = sorted(len(names) for _, names, _ in facets)[-1]
        axes = panels(len(facets), size=(_WIDTH, _MARGIN + _ROW * rows))
    else:
        axes = list(ax) if isinstance(ax, Iterable) else [ax]
    if len(axes) != len(facets):
        raise ParameterError(
            f"ax= has {len(axes)} axes for {len(facets)} outcomes; give one for each"
        )
    for panel, (outcome, names, effects) in zip(axes, facets, strict=True):
        _panel(panel, names, effects, alpha)
        panel.set_title(outcome, fontsize=10)
        panel.set_xlabel(f"Effect, with {100 * (1 - alpha):g}% interval")
        if watermark:
            stamp(panel, watermark)
    axes[0].legend(fontsize=8)
    return list(axes)


def _panel(ax: Axes, names: Sequence[str], effects: Sequence[Drawn], alpha: float) -> None:
    place = np.arange(len(names))[::-1]
    values = [effect.value for effect in effects]
    total = [effect.half_width(alpha) for effect in effects]
    noise = [effect.noise_half_width(alpha) for effect in effects]
    ax.axvline(0, color="grey", linestyle="--", linewidth=1)
    ax.errorbar(
        values, place, xerr=total, fmt="o", color=TOTAL, capsize=3, linewidth=1, markersize=4,
        label="sampling and privacy noise",
    )  # fmt: skip
    ax.errorbar(
        values, place, xerr=noise, fmt="none", ecolor=NOISE, elinewidth=5, alpha=0.6,
        label="privacy noise alone",
    )  # fmt: skip
    ax.set_yticks(place, list(names))
    ax.set_ylim(-0.6, len(names) - 0.4)
