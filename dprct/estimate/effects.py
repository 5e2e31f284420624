"""Private effects as values: of which outcome and at which levels, what was released, its law."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dprct.arguments import Checked, check_choice
from dprct.errors import ParameterError, SchemaError, withheld
from dprct.estimate.noise_law import (
    cdf,
    correction,
    correction_bounds,
    noise_variance,
    quantile,
)
from dprct.plots import BOTH_NOISES, PRIVACY_NOISE, Labels, panels, stamp, watermark_of, within
from dprct.queries.sums import Clipped
from dprct.records import dataclass
from dprct.results.base import LinearResults, checked_alpha
from dprct.schema.columns import extent_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import pandas as pd
    from matplotlib.axes import Axes

    from dprct.privacy.budget import Guarantee
    from dprct.queries.sums import Arms
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

ALPHAS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.5, 0.9)
"""Levels at which c(rho) is computed for p-values; between two, the larger of both serves."""

_ROUNDING = 1e-9
"""Bounds that are nearer than this, relatively, settle nothing."""


def with_bounds(column: Column) -> Column:
    """Return an outcome with bounds, those of its levels if it has levels."""
    if column.is_text or (column.bounds is None and column.levels is None):
        raise SchemaError(
            f"outcome {column.name!r} needs ``bounds=(low, high)`` or levels of numbers; declare "
            "them from public knowledge, never from the data"
        )
    if column.missing is None:
        raise SchemaError(
            f"outcome {column.name!r} has no declared missing policy; declare "
            "``missing='never'``, or the admissible codes, such as ``missing=['.']``"
        )
    return Clipped(replace(column, bounds=extent_of(column))).column


def levels_of(alphas: Sequence[float]) -> tuple[float, ...]:
    """Return the sizes of tests at which errors are to be valid."""
    several = hasattr(alphas, "__iter__") and not isinstance(alphas, str)
    what = "has a value that is not allowed" if several else f"is {type(alphas).__name__}"
    refusal = ParameterError(
        f"``alphas=`` {what}; give a sequence of sizes of tests between 1e-9 and 0.5, such as "
        "``(0.05, 0.01)``"
    )
    with withheld(lambda _: refusal):
        found = tuple(float(alpha) for alpha in alphas)
    if not found or not all(1e-9 <= alpha <= 0.5 for alpha in found):
        raise refusal
    return found


@dataclass(frozen=True)
class NoisyVariance:
    """A released variance, as drawn: it may be below zero."""

    value: float  # V and noise, in squared units of the outcome
    scale: float  # b_V; public
    rho: float  # b_V / b^2; public
    # How many outcomes have jointly drawn noise, uniform in cubes; 1 is Laplace noise.
    size: int = 1

    def at(self, alpha: float) -> float:
        """Return V~ = max(0, V + Laplace + c b_V) with the c of level ``1 - alpha``."""
        return self.raised(correction(self.rho, alpha, self.size))

    def bounds(self, alpha: float) -> tuple[float, float]:
        """Return two numbers between which V~ lies; cheaper than V~ itself."""
        low, high = correction_bounds(self.rho, alpha, self.size)
        return self.raised(low), self.raised(high)

    def raised(self, c: float) -> float:
        """Return V~ for a given c."""
        return max(0.0, self.value + c * self.scale)


class Variance(Protocol):
    """A part of the variance of an effect, known from a noisy number."""

    @property
    def value(self) -> float:
        """The number as drawn."""

    @property
    def scale(self) -> float:
        """Of its Laplace noise."""

    def at(self, alpha: float) -> float:
        """Law that the interval of level ``1 - alpha`` uses."""

    def bounds(self, alpha: float) -> tuple[float, float]:
        """Return two numbers between which that lies."""


@dataclass(frozen=True)
class NoisyEffect:
    """A released effect, tau + noise, and its released variances.

    Examples
    --------
    >>> effect = NoisyEffect(0.5, (0.03,), (NoisyVariance(0.01, 1e-4, 0.11),))
    >>> round(effect.half_width(0.05), 3)
    0.213
    """

    value: float
    scales: tuple[float, ...]  # of the independent draws in it
    variances: tuple[Variance, ...]  # of its independent parts
    # How many outcomes have jointly drawn noise, uniform in cubes; 1 is Laplace noise.
    size: int = 1

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the privacy noise."""
        return math.sqrt(noise_variance(self.size) * sum(b * b for b in self.scales))

    @property
    def sampling(self) -> float:
        """Standard deviation of sampling error; 0 where the variance was drawn below 0."""
        return math.sqrt(max(0.0, math.fsum(part.value for part in self.variances)))

    def detectable(self, alpha: float, power: float) -> float:
        """Effect that a test of size alpha finds with this power."""
        spread = math.fsum(part.value for part in self.variances)
        beyond = quantile(2 * (1 - power), spread, self.scales, self.size)
        return self.half_width(alpha) + float(beyond)

    def variance(self, alpha: float) -> float:
        """Return the sampling variance that the interval of a level uses."""
        return math.fsum(part.at(alpha) for part in self.variances)

    def half_width(self, alpha: float) -> float:
        """Return q: the interval of level ``1 - alpha`` is value -+ q."""
        return float(quantile(alpha, self.variance(alpha), self.scales, self.size))

    def noise_half_width(self, alpha: float) -> float:
        """Half width without sampling error."""
        return float(quantile(alpha, 0.0, self.scales, self.size))

    def standard_error(self, alphas: Sequence[float]) -> float:
        """Return the largest q / z over the alphas at which z-intervals are to cover."""
        return max(self.half_width(alpha) / normal_quantile(alpha) for alpha in alphas)

    def p_value(self, alphas: Sequence[float]) -> float:
        """Return the largest level that an interval containing zero has.

        Notes
        -----
        c depends on the level.  Between two of ``alphas`` the larger c of both is used, so that
        the p-value is not below the one of the exact inversion.  Of all pieces between two levels
        the largest p-value is taken, so that it is monotone; it is not printed below the smallest
        level.  The largest is the one of the first piece from above that has one, because a piece
        has no p-value outside its two levels.  c takes long to compute, and most pieces are
        settled by bounds on it: the p-value rises with the variance.
        """
        levels = sorted({*ALPHAS, *alphas})
        for low, high in zip(reversed(levels), [1.0, *reversed(levels)], strict=False):
            ends = [alpha for alpha in (low, high) if alpha < 1]
            if self._p_at(max(self._variance_bounds(a)[1] for a in ends)) < low * (1 - _ROUNDING):
                continue
            if self._p_at(max(self._variance_bounds(a)[0] for a in ends)) > high * (1 + _ROUNDING):
                return high
            p = self._p_at(max(self.variance(alpha) for alpha in ends))
            if p >= low:
                return min(p, high)
        return ALPHAS[0]

    def _p_at(self, variance: float) -> float:
        return 2 * float(cdf(-abs(self.value), variance, self.scales, self.size))

    def _variance_bounds(self, alpha: float) -> tuple[float, float]:
        """Return two numbers between which the sampling variance of a level lies."""
        bounds = [part.bounds(alpha) for part in self.variances]
        return math.fsum(low for low, _ in bounds), math.fsum(high for _, high in bounds)


@dataclass(frozen=True)
class NoisyMean:
    """The released mean of one arm, and its released variance."""

    value: float  # mean and noise
    scale: float
    variance: NoisyVariance  # sampling variance of the mean, whose noise is of the same kind
    others: tuple[float, ...] = ()  # scales of further draws in ``value``

    @property
    def noise_variance(self) -> float:
        """Variance of all draws in ``value``."""
        squares = math.fsum(scale**2 for scale in (self.scale, *self.others))
        return noise_variance(self.variance.size) * squares


def inverse_sizes(
    arms: Arms, design_effects: Sequence[Sequence[float]] | None = None
) -> list[float]:
    """sum_h w_h^2 d_ha / n_ha for each arm: variances of means over those of one person.

    d, (H, A), is by what clusters multiply the variance of a mean; 1 where there are none.
    """
    effects = design_effects or [[1.0] * len(row) for row in arms.sizes]
    return [
        sum(
            float(w) ** 2 * effect[a] / row[a]
            for w, row, effect in zip(arms.weights, arms.sizes, effects, strict=True)
        )
        for a in range(len(arms.sizes[0]))
    ]


def combined(means: Sequence[NoisyMean], weights: Sequence[float | Fraction]) -> NoisyEffect:
    """The effect sum_a weight_a mean_a of independent arms; free, as post-processing.

    Notes
    -----
    Arms are disjoint and their noise is drawn independently: scales take the absolute weights,
    variances (and their scales b_V) the squares, so that rho = b_V / b^2 of each arm stays.  Arms
    of positive weight come first.

    Examples
    --------
    >>> v = NoisyVariance(0.01, 1e-4, 0.11)
    >>> means = [NoisyMean(2.0, 0.03, v), NoisyMean(2.5, 0.03, v)]
    >>> combined(means, (-1, 1)).value
    0.5
    """
    pairs = [(m, float(w)) for m, w in zip(means, weights, strict=True) if w != 0]
    used = sorted(pairs, key=lambda pair: pair[1] < 0)
    return NoisyEffect(
        math.fsum(w * mean.value for mean, w in used),
        tuple(abs(w) * scale for mean, w in used for scale in (mean.scale, *mean.others)),
        tuple(
            replace(m.variance, value=w * w * m.variance.value, scale=w * w * m.variance.scale)
            for m, w in used
        ),
        used[0][0].variance.size,
    )


def against_control(means: Sequence[NoisyMean]) -> tuple[NoisyEffect, ...]:
    """Return the effect of each arm against the first, which is control.

    Examples
    --------
    >>> v = NoisyVariance(0.01, 1e-4, 0.11)
    >>> len(against_control([NoisyMean(2.0, 0.03, v), NoisyMean(2.5, 0.03, v)]))
    1
    """
    return tuple(
        combined(means, [(i == a) - (i == 0) for i in range(len(means))])
        for a in range(1, len(means))
    )


@lru_cache(maxsize=256)
def normal_quantile(alpha: float) -> float:
    """Return z of a two-sided test of size alpha.

    Examples
    --------
    >>> round(normal_quantile(0.05), 2)
    1.96
    """
    return float(quantile(alpha, 1.0, (1e-12,)))


TOTAL, NOISE = "black", "tab:blue"
_ROW, _MARGIN, _WIDTH = 0.4, 1.2, 4.5
_LEGEND = 1.6  # rows above the effects, where the legend covers none of them


class Drawn(Protocol):
    """An effect as the plot sees it, whatever the law of its noise."""

    @property
    def value(self) -> float:
        """The estimate."""

    def half_width(self, alpha: float) -> float:
        """Return half of the interval of level ``1 - alpha``."""

    def noise_half_width(self, alpha: float) -> float:
        """Half width without sampling error."""

    def p_value(self, alphas: Sequence[float]) -> float:
        """Return the largest level whose interval contains zero; not below 1e-10."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WithLaws(LinearResults):
    """Coefficients each of which has the law of its error: intervals and p-values are of it."""

    inverts: ClassVar[bool] = True

    @property
    @abstractmethod
    def _laws(self) -> Sequence[Drawn]:
        """The law of every coefficient, in the order of ``params``."""

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values by inversion of the intervals; not below 1e-10."""
        levels = getattr(self, "alphas", ())
        found = [x.p_value(levels) if math.isfinite(x.value) else math.nan for x in self._laws]
        return self._series(np.array(found))

    def _half_widths(self, alpha: float) -> Any:
        return [one.half_width(alpha) for one in self._laws]

    def plot(
        self, *, alpha: float = 0.05, ax: Axes | None = None, schema: Schema | None = None
    ) -> Axes:
        """Draw the coefficients with their intervals.

        Parameters
        ----------
        alpha : float
            Intervals have level ``1 - alpha``.
        ax : Axes, optional
            A new one if not given.
        schema : Schema, optional
            Variable labels and public bounds are taken from here.

        Returns
        -------
        Axes
            The thin line is the interval; the thick line shows how wide it would be with privacy
            noise alone.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        """
        names = [str(name) for name in self.params.index]
        (drawn,) = _drawn(self, [(self.outcome, names, self._laws)], alpha, ax, schema)
        return drawn


def effects_plot(
    facets: Sequence[tuple[str, Sequence[str], Sequence[Drawn]]],
    alpha: float,
    *,
    ax: Axes | Sequence[Axes] | None = None,
    watermark: str = "",
    labels: Labels | None = None,
) -> list[Axes]:
    """Draw effects with their intervals, one panel per outcome, names from top to bottom.

    No axis reaches beyond the bounds that ``labels`` have besides names of outcomes and arms.

    Notes
    -----
    The thin line is the interval.  The thick one inside is what privacy noise alone would give:
    the interval if there were no sampling error.

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
    labels = labels or Labels()
    if ax is None:
        rows = max(len(names) for _, names, _ in facets)
        axes = panels(len(facets), size=(_WIDTH, _MARGIN + _ROW * (rows + _LEGEND)))
    else:
        axes = list(ax) if isinstance(ax, Iterable) else [ax]
    if len(axes) != len(facets):
        raise ParameterError(
            f"``ax=`` has {len(axes)} axes for {len(facets)} outcomes; give one for each"
        )
    for panel, (outcome, names, effects) in zip(axes, facets, strict=True):
        _panel(panel, [labels.of(name) for name in names], effects, alpha)
        panel.set_xlim(*within(panel.get_xlim(), labels.reach(outcome)))
        panel.set_title(labels.of(outcome), fontsize=10)
        panel.set_xlabel(f"Effect, with {100 * (1 - alpha):g}% interval")
        if watermark:
            stamp(panel, watermark)
    axes[0].legend(fontsize=8, loc="upper right")
    return list(axes)


class ByOutcome(Checked, ABC):
    """Results that are drawn with a panel for each outcome."""

    __slots__ = ()

    guarantee: Guarantee
    outcome: str
    nobs: int
    alphas: tuple[float, ...]

    @property
    @abstractmethod
    def _inference(self) -> str:
        """Law of an estimate, in words."""

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the lines above the table, as (name, value)."""
        valid = ", ".join(f"{100 * (1 - alpha):g}%" for alpha in self.alphas)
        return (
            ("Outcome", self.outcome),
            ("Observations", f"{self.nobs:,}"),
            ("Std err", f"valid at {valid}"),
            ("Inference", self._inference),
        )

    @abstractmethod
    def _panels(self) -> Sequence[tuple[str, Sequence[str], Sequence[Drawn]]]:
        """Outcomes with the names and the effects of each."""

    def plot(
        self,
        outcome: str | None = None,
        *,
        alpha: float = 0.05,
        ax: Axes | None = None,
        schema: Schema | None = None,
    ) -> Axes:
        """Draw the effects on one outcome with their intervals.

        Parameters
        ----------
        outcome : str, optional
            By default the first; :meth:`plot_outcomes` draws all of them.
        alpha : float
            Intervals have level ``1 - alpha``.
        ax : Axes, optional
            A new one if not given.
        schema : Schema, optional
            Variable labels and public bounds are taken from here.

        Returns
        -------
        Axes
            The thin line is the interval; the thick line shows how wide it would be with privacy
            noise alone.

        Raises
        ------
        ParameterError
            If there is no such outcome.
        MissingDependencyError
            Without matplotlib.
        """
        found = {panel[0]: panel for panel in self._panels()}
        name = next(iter(found)) if outcome is None else outcome
        check_choice("outcome", name, found)
        (drawn,) = _drawn(self, [found[name]], alpha, ax, schema)
        return drawn

    def plot_outcomes(
        self,
        *,
        alpha: float = 0.05,
        ax: Axes | Sequence[Axes] | None = None,
        schema: Schema | None = None,
    ) -> list[Axes]:
        """Draw the effects with their intervals, one panel per outcome.

        Parameters
        ----------
        alpha : float
            Intervals have level ``1 - alpha``.
        ax : Axes or sequence of Axes, optional
            One per outcome; new ones if not given.
        schema : Schema, optional
            Variable labels and public bounds are taken from here.

        Returns
        -------
        list of Axes
            The thin line is the interval; the thick line shows how wide it would be with privacy
            noise alone.

        Raises
        ------
        MissingDependencyError
            Without matplotlib.
        """
        return _drawn(self, self._panels(), alpha, ax, schema)


def _drawn(of: Any, found: Any, alpha: float, ax: Any, schema: Schema | None) -> list[Axes]:
    mark, labels = watermark_of(of.guarantee), Labels(schema)
    return effects_plot(found, checked_alpha(alpha), ax=ax, watermark=mark, labels=labels)


def _panel(ax: Axes, names: Sequence[str], effects: Sequence[Drawn], alpha: float) -> None:
    place = np.arange(len(names))[::-1]
    values = [effect.value for effect in effects]
    total = [effect.half_width(alpha) for effect in effects]
    noise = [effect.noise_half_width(alpha) for effect in effects]
    ax.axvline(0, color="grey", linestyle="--", linewidth=1)
    ax.errorbar(
        values, place, xerr=total, fmt="o", color=TOTAL, capsize=3, linewidth=1, markersize=4,
        label=BOTH_NOISES,
    )  # fmt: skip
    ax.errorbar(
        values, place, xerr=noise, fmt="none", ecolor=NOISE, elinewidth=5, alpha=0.6,
        label=PRIVACY_NOISE,
    )  # fmt: skip
    ax.set_yticks(place, list(names))
    ax.set_ylim(-0.6, len(names) - 0.4 + _LEGEND)
