"""Figures of fits and of comparisons; matplotlib is imported when one is drawn.

Every function draws numbers that it is given on axes that it is given, or on new ones, and
returns the axes.
"""

from __future__ import annotations

import textwrap
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ConfirmationError, DprctError, MissingDependencyError, ParameterError
from dprct.lazy import special
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from dprct.privacy.budget import Guarantee
    from dprct.schema.schema import Schema

    Array = NDArray[np.float64]

ORIGINAL, RELEASED, SMOOTH = "black", "tab:blue", "tab:red"
WATERMARK_ID = "watermark"
"""The ``gid`` by which the text of a watermark is found on its axes."""

_BINS = 30
_SMOOTHED = 2 / 3


BOTH_NOISES, PRIVACY_NOISE = "sampling and privacy noise", "privacy noise alone"
"""What a legend says that a line or a band holds."""


@dataclass(frozen=True)
class Labels:
    """What columns are called in a figure, and how far their axes may reach; all of it is public.

    Parameters
    ----------
    schema : Schema, optional
        Without one, columns have their names and axes no bounds.

    Examples
    --------
    >>> from dprct.schema import Column, Schema
    >>> schema = Schema((Column("inc", label="Income (USD)", bounds=(0, 900)),))
    >>> Labels(schema).of("inc"), Labels(schema).of("t"), Labels(schema).bounds("inc")
    ('Income (USD)', 't', (0.0, 900.0))
    """

    schema: Schema | None = None

    def of(self, name: str) -> str:
        """Return the variable label of a column, or its name."""
        if self.schema is None or name not in self.schema.names:
            return name
        return self.schema.column(name).label or name

    def level(self, name: str, level: str) -> str:
        """Return the value label of a level of a column, or the level."""
        if self.schema is None or name not in self.schema.names:
            return level
        named = {str(code): text for code, text in self.schema.labels_of(name).items()}
        return named.get(level.removesuffix(".0"), level)

    def bounds(self, name: str) -> tuple[float, float] | None:
        """Return the public bounds of a column, or the ends of its levels; None if it has none."""
        if self.schema is None or name not in self.schema.names:
            return None
        column = self.schema.column(name)
        levels = [float(x) for x in column.levels or () if not isinstance(x, str)]
        ends = (levels[0], levels[-1]) if len(levels) > 1 else None
        if column.bounds is None:
            return ends
        return float(column.bounds[0]), float(column.bounds[1])

    def reach(self, outcome: str) -> tuple[float, float] | None:
        """Return between which numbers an effect on an outcome must lie."""
        bounds = self.bounds(outcome)
        return None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])


def within(limits: tuple[float, float], bounds: tuple[float, float] | None) -> tuple[float, float]:
    """Return the limits of an axis that shows no number that cannot be; as they are without bounds.

    Examples
    --------
    >>> within((-0.2, 0.7), (0.0, 1.0)), within((-0.2, 0.7), None), within((2.0, 3.0), (0.0, 1.0))
    ((0.0, 0.7), (-0.2, 0.7), (2.0, 3.0))
    """
    if bounds is None:
        return limits
    low, high = max(limits[0], bounds[0]), min(limits[1], bounds[1])
    return (low, high) if low < high else limits


def watermark_of(guarantee: Guarantee) -> str:
    """Watermark of a figure of private numbers: nothing, if they are protected."""
    if guarantee.simulation:
        return "simulation: no guarantee"
    return "" if guarantee.holds else "no guarantee"


def panels(count: int, columns: int = 2, size: tuple[float, float] = (4.5, 3.5)) -> list[Axes]:
    """Return axes of one new figure, ``columns`` next to each other.

    Parameters
    ----------
    count : int
        Of panels.
    columns : int
        At most so many in a row.
    size : (width, height)
        Of a panel, in inches.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> axes = panels(3)
    >>> len(axes), axes[0].figure is axes[2].figure
    (3, True)
    >>> plt.close(axes[0].figure)
    """
    plt = _pyplot()
    across = min(count, columns)
    down = -(-count // across)
    figsize = (size[0] * across, size[1] * down)
    figure, grid = plt.subplots(down, across, figsize=figsize, layout="constrained", squeeze=False)
    axes = list(grid.flat)
    for spare in axes[count:]:
        figure.delaxes(spare)
    return axes[:count]


def residuals_fitted(
    fitted: ArrayLike,
    resid: ArrayLike,
    *,
    ax: Axes | None = None,
    title: str = "",
    watermark: str = "",
) -> Axes:
    """Draw residuals over fitted values, with a smooth line and one at zero.

    Parameters
    ----------
    fitted, resid : (n,) arrays

    Notes
    -----
    The line is lowess with two thirds of the points, as R draws it; it should follow zero.
    """
    x, y = np.asarray(fitted, np.float64), np.asarray(resid, np.float64)
    ax = _axes(ax)
    ax.scatter(x, y, s=8, alpha=0.5, color=RELEASED, linewidths=0)
    ax.axhline(0, color="grey", linestyle="--", linewidth=1)
    smooth = _smooth(x, y)
    if smooth is not None:
        ax.plot(smooth[:, 0], smooth[:, 1], color=SMOOTH)
    return _labelled(ax, title, "Fitted values", "Residuals", watermark)


def normal_quantiles(
    resid: ArrayLike, *, ax: Axes | None = None, title: str = "", watermark: str = ""
) -> Axes:
    """Draw the quantiles of residuals over those of the normal law.

    Parameters
    ----------
    resid : (n,) array

    Notes
    -----
    Probabilities are ``(i - a) / (n + 1 - 2a)`` with ``a`` 3/8 up to 10 points and 1/2 above; the
    line goes through the quartiles.  Both are R's conventions.
    """
    ordered = np.sort(np.asarray(resid, np.float64))
    n = len(ordered)
    a = 3 / 8 if n <= 10 else 1 / 2
    normal = special.ndtri((np.arange(1, n + 1) - a) / (n + 1 - 2 * a))
    ax = _axes(ax)
    ax.scatter(normal, ordered, s=8, alpha=0.5, color=RELEASED, linewidths=0)
    low, high = np.quantile(ordered, [0.25, 0.75])
    slope = (high - low) / (2 * special.ndtri(0.75))
    ends = normal[[0, -1]]
    ax.plot(ends, (low + high) / 2 + slope * ends, color=SMOOTH)
    return _labelled(ax, title, "Normal quantiles", "Residuals", watermark)


def heat_map(
    values: pd.DataFrame,
    *,
    ax: Axes | None = None,
    title: str = "",
    label: str = "",
    limits: tuple[float, float] | None = None,
    log: bool = False,
    watermark: str = "",
) -> Axes:
    """Draw a table as shaded cells, with their numbers in them.

    Parameters
    ----------
    values : (r, c) DataFrame
        NaN is left blank.
    label : str
        What the shade means.
    limits : (low, high), optional
        Of the shades; those of the positive values with ``log``, else of all.
    log : bool
        Whether shades follow the logarithm; numbers that have none get the lowest.

    Examples
    --------
    >>> import matplotlib.pyplot as plt, pandas as pd
    >>> ax = heat_map(pd.DataFrame({"A": [0.2, 0.9]}, index=["y1", "y2"]), limits=(0, 1))
    >>> ax.images[0].get_array().tolist()
    [[0.2], [0.9]]
    >>> plt.close(ax.figure)
    """
    numbers = values.to_numpy(np.float64)
    ax = _axes(ax, (2.5 + 0.85 * values.shape[1], 1.6 + 0.4 * len(values)))
    shades = ax.imshow(
        _masked(numbers), aspect="auto", cmap="viridis", norm=_norm(numbers, limits, log)
    )
    ax.set_xticks(
        range(values.shape[1]), [_words(name) for name in values.columns], rotation=45, ha="right"
    )
    ax.set_yticks(range(len(values)), [_words(name) for name in values.index])
    for (i, j), number in np.ndenumerate(numbers):
        if np.isfinite(number):
            red, green, blue, _ = shades.to_rgba(np.array([number]))[0]
            dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
            text = f"{number:.2f}" if abs(number) >= 0.005 or number == 0 else f"{number:.0e}"
            ax.text(j, i, text, ha="center", va="center", fontsize=8, color="w" if dark else "k")
    ax.figure.colorbar(shades, ax=ax, label=label)
    return _labelled(ax, title, "", "", watermark)


def distribution(
    original: ArrayLike,
    released: Sequence[ArrayLike],
    *,
    ax: Axes | None = None,
    title: str = "",
    watermark: str = "",
) -> Axes:
    """Draw the density of a number in the original and in each release, in common bins.

    Parameters
    ----------
    original : (n,) array
    released : sequence of (m,) arrays
        NaN is left out.
    """
    tables = [_finite(original), *(_finite(one) for one in released)]
    together = np.concatenate(tables)
    edges = np.histogram_bin_edges(together, bins=_BINS) if len(together) else np.array([0.0, 1.0])
    ax = _axes(ax)
    heights = [_density(numbers, edges) for numbers in tables]
    for k, height in enumerate(heights[1:]):
        name = "released" if k == 0 else None
        fade = 0.9 if len(released) == 1 else 0.4
        ax.stairs(height, edges, color=RELEASED, alpha=fade, label=name)
    ax.stairs(heights[0], edges, color=ORIGINAL, linewidth=1.5, label="original")
    ax.legend(fontsize=8)
    return _labelled(ax, title, "", "Density", watermark)


def level_shares(
    shares: pd.DataFrame, *, ax: Axes | None = None, title: str = "", watermark: str = ""
) -> Axes:
    """Draw the share of each level in the original next to those in the releases.

    Parameters
    ----------
    shares : (levels, 1 + m) DataFrame
        The first column is the original, each other one a release.

    Notes
    -----
    The bar of the releases is their mean; the line on it reaches from the least to the largest.
    """
    ax = _axes(ax)
    place = np.arange(len(shares))
    others = shares.iloc[:, 1:].to_numpy(np.float64)
    mean = others.mean(axis=1)
    spread = np.stack([mean - others.min(axis=1), others.max(axis=1) - mean]).clip(0)
    ax.bar(place - 0.2, shares.iloc[:, 0], 0.4, color=ORIGINAL, label="original")
    ax.bar(place + 0.2, mean, 0.4, color=RELEASED, label="released")
    if others.shape[1] > 1:
        ax.errorbar(place + 0.2, mean, yerr=spread, fmt="none", ecolor="grey", capsize=2)
    ax.set_xticks(place, [_words(level) for level in shares.index], rotation=45, ha="right")
    ax.legend(fontsize=8)
    return _labelled(ax, title, "", "Share", watermark)


def cumulative(
    samples: Mapping[str, Sequence[ArrayLike]],
    *,
    ax: Axes | None = None,
    title: str = "",
    label: str = "",
    watermark: str = "",
) -> Axes:
    """Draw the distribution function of each sample, those of one name in one colour.

    Parameters
    ----------
    samples : mapping of name to sequence of (m,) arrays
    """
    ax = _axes(ax)
    for colour, (name, several) in enumerate(samples.items()):
        for k, one in enumerate(several):
            ordered = np.sort(np.asarray(one, np.float64))
            heights = np.arange(1, len(ordered) + 1) / len(ordered)
            ax.step(
                ordered,
                heights,
                where="post",
                color=f"C{colour}",
                alpha=1.0 if len(several) == 1 else 0.5,
                label=name if k == 0 else None,
            )
    ax.legend(fontsize=8)
    return _labelled(ax, title, label, "Share of records", watermark)


def boxes(
    samples: Mapping[str, ArrayLike],
    marks: Sequence[float] | None = None,
    *,
    ax: Axes | None = None,
    title: str = "",
    label: str = "",
    outliers: bool = True,
) -> Axes:
    """Draw samples as boxes next to each other, each with a mark.

    Parameters
    ----------
    samples : mapping of name to (m,) array
        NaN is left out.
    marks : sequence of float, optional
        One per sample, drawn as a triangle.
    outliers : bool
        Whether points beyond 1.5 interquartile ranges are drawn.
    """
    ax = _axes(ax)
    ax.boxplot([_finite(one) for one in samples.values()], showfliers=outliers)
    place = np.arange(1, len(samples) + 1)
    if marks is not None:
        ax.scatter(place, marks, marker="^", color=ORIGINAL, zorder=3, label="original")
        ax.legend(fontsize=8)
    ax.set_xticks(place, [_words(name) for name in samples], rotation=45, ha="right")
    return _labelled(ax, title, "", label, "")


def coefficients(
    params: pd.Series[float],
    interval: pd.DataFrame,
    *,
    noise: pd.Series[float] | None = None,
    title: str = "",
    label: str = "Coefficient",
    watermark: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw coefficients with their intervals, from top to bottom.

    Parameters
    ----------
    params : (k,) Series
        By name.
    interval : (k, 2) DataFrame
        Lower and upper ends.
    noise : (k,) Series, optional
        Half widths that privacy noise alone would give, drawn as thick lines.
    title, label : str
        Above the figure, and below its horizontal axis.
    ax : Axes, optional
        A new one if not given.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> ends = pd.DataFrame([[0.5, 1.5]], index=["t"])
    >>> ax = coefficients(pd.Series({"t": 1.0}), ends)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['t']
    >>> plt.close(ax.figure)
    """
    ax = _axes(ax)
    values, ends = params.to_numpy(np.float64), interval.to_numpy(np.float64)
    place = np.arange(len(values))[::-1]
    ax.axvline(0, color="grey", linestyle="--", linewidth=1)
    around = np.abs(ends.T - values)
    ax.errorbar(
        values, place, xerr=around, fmt="o", color=ORIGINAL, capsize=3, linewidth=1,
        label=None if noise is None else BOTH_NOISES,
    )  # fmt: skip
    if noise is not None:
        half = noise.to_numpy(np.float64)
        ax.errorbar(
            values, place, xerr=half, fmt="none", ecolor=RELEASED, elinewidth=5, alpha=0.6,
            label=PRIVACY_NOISE,
        )  # fmt: skip
        ax.legend(fontsize=8)
    ax.set_yticks(place, [_words(name) for name in params.index])
    ax.set_ylim(-0.6, len(values) - 0.4)
    return _labelled(ax, title, label, "", watermark)


def side_by_side(
    estimates: Sequence[pd.DataFrame],
    names: Sequence[str],
    *,
    label: str = "Coefficient",
    title: str = "",
    watermark: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the estimates of several models or files, row by row, each in a colour of its own.

    Parameters
    ----------
    estimates : sequence of DataFrame
        Columns ``estimate``, ``low`` and ``high``, rows by name; a row that one lacks is left out.
        With a column ``noise``, the half width that privacy noise alone would give is a thick line.
    names : sequence of str
        Of the models, for the legend.

    Examples
    --------
    >>> import matplotlib.pyplot as plt, pandas as pd
    >>> one = pd.DataFrame({"estimate": [1.0], "low": [0.5], "high": [1.5]}, index=["t"])
    >>> ax = side_by_side([one, one + 1], ["raw", "private"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['raw', 'private']
    >>> plt.close(ax.figure)
    """
    rows = list(dict.fromkeys(str(name) for one in estimates for name in one.index))
    noisy = ["noise" in one and bool(np.isfinite(one["noise"]).any()) for one in estimates]
    row, legend = 0.25 * (1 + len(estimates)), 0.18 * (len(estimates) + sum(noisy))  # inches
    ax = _axes(ax, (5.0, 1.2 + row * len(rows) + legend))
    place = {name: float(k) for k, name in enumerate(reversed(rows))}
    ax.axvline(0, color="grey", linestyle="--", linewidth=1)
    step = 0.7 / len(estimates)
    for k, (one, name) in enumerate(zip(estimates, names, strict=True)):
        shown = one[np.isfinite(one["estimate"])]
        values = shown["estimate"].to_numpy(np.float64)
        ends = shown[["low", "high"]].to_numpy(np.float64).T
        around = np.nan_to_num(np.abs(ends - values))
        at = [place[str(row)] + 0.35 - step * (k + 0.5) for row in shown.index]
        ax.errorbar(
            values, at, xerr=around, fmt="o", color=f"C{k}", capsize=3, linewidth=1, markersize=4,
            label=name,
        )  # fmt: skip
        if noisy[k]:
            half = np.nan_to_num(shown["noise"].to_numpy(np.float64))
            ax.errorbar(
                values, at, xerr=half, fmt="none", ecolor=f"C{k}", elinewidth=5, alpha=0.4,
                label=f"{name}: {PRIVACY_NOISE}",
            )  # fmt: skip
    ax.set_yticks([place[name] for name in rows], rows)
    ax.set_ylim(-0.6, len(rows) - 0.4 + legend / row)
    ax.legend(fontsize=8, loc="upper left")
    return _labelled(ax, title, label, "", watermark)


def event_study(
    fit: Any,
    periods: Mapping[str, float],
    *,
    reference: float | None = None,
    alpha: float = 0.05,
    title: str = "",
    label: str = "Effect",
    ax: Axes | None = None,
) -> Axes:
    """Draw coefficients of periods in their order, with intervals and the part that is noise.

    Parameters
    ----------
    fit : LinearResults
        A regression, such as one read off released moments, with a coefficient per period.
    periods : mapping of str to float
        Names of coefficients, with the period (or its distance from treatment) of each.
    reference : float, optional
        The period that was left out, drawn at 0.
    alpha : float
        Intervals have level ``1 - alpha``.
    title, label : str
        Above the figure, and beside its vertical axis.
    ax : Axes, optional
        A new one if not given.

    Raises
    ------
    ParameterError
        If the regression has no coefficient of a name.

    Examples
    --------
    >>> import matplotlib.pyplot as plt, numpy as np, pandas as pd
    >>> from dprct import ols
    >>> data = pd.DataFrame({"y": [1.0, 2, 4, 3, 5, 7], "a": [0, 1, 0, 0, 1, 0.0],
    ...                      "b": [0, 0, 1, 0, 0, 1.0]})
    >>> ax = event_study(ols("y ~ a + b", data), {"a": 1, "b": 2}, reference=0)
    >>> [float(tick) for tick in ax.get_xticks()]
    [0.0, 1.0, 2.0]
    >>> plt.close(ax.figure)
    """
    lacking = [name for name in periods if name not in fit.params.index]
    if lacking:
        known = ", ".join(map(str, fit.params.index))
        raise ParameterError(f"no coefficient {lacking[0]!r}; there are {known}")
    ax = _axes(ax)
    names = sorted(periods, key=lambda name: periods[name])
    at = np.array([periods[name] for name in names], dtype=np.float64)
    values = fit.params[names].to_numpy(np.float64)
    around = np.abs(fit.conf_int(alpha).loc[names].to_numpy(np.float64).T - values)
    noise = fit.bse_noise
    ax.axhline(0, color="grey", linestyle="--", linewidth=1)
    ax.errorbar(
        at, values, yerr=around, fmt="o-", color=ORIGINAL, capsize=3, linewidth=1,
        label=None if noise is None else BOTH_NOISES,
    )  # fmt: skip
    if noise is not None:
        half = -special.ndtri(alpha / 2) * noise[names].to_numpy(np.float64)
        ax.errorbar(
            at, values, yerr=half, fmt="none", ecolor=RELEASED, elinewidth=5, alpha=0.6,
            label=PRIVACY_NOISE,
        )  # fmt: skip
        ax.legend(fontsize=8)
    ticks = [*at, *([] if reference is None else [reference])]
    if reference is not None:
        ax.plot([reference], [0], marker="o", color=ORIGINAL, fillstyle="none")
    ax.set_xticks(sorted(ticks))
    return _labelled(ax, title, "Period", label, watermark_of(fit.guarantee))


def participants(
    assigned: Mapping[str, float],
    analysed: Mapping[str, float],
    *,
    enrolled: float | None = None,
    unit: str = "people",
    note: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the flow of participants through a trial, as CONSORT asks: assigned, lost, analysed.

    It draws the numbers that it is given: public ones, or released ones, which the note should say.

    Parameters
    ----------
    assigned, analysed : mapping of str to float
        Numbers by arm.
    enrolled : float, optional
        The sum of those assigned, if not given.
    unit : str
        What is counted.
    note : str
        Below the figure, such as how exact the numbers are.
    ax : Axes, optional
        A new one if not given.

    Raises
    ------
    ParameterError
        If the arms of both are not the same, or there are none.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> ax = participants({"control": 260, "trained": 185}, {"control": 240, "trained": 180})
    >>> ax.texts[0].get_text()
    '445 people assigned'
    >>> plt.close(ax.figure)
    """
    if not assigned or set(assigned) != set(analysed):
        raise ParameterError("``assigned=`` and ``analysed=`` need the same arms, at least one")
    ax = _axes(ax, (1.5 + 2.3 * len(assigned), 4.2))
    box = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": ORIGINAL}
    centre = (len(assigned) - 1) / 2
    everybody = sum(assigned.values()) if enrolled is None else enrolled

    def write(x: float, y: float, words: str) -> None:
        ax.text(x, y, words, ha="center", va="center", fontsize=9, bbox=box)

    def lead(start: tuple[float, float], end: tuple[float, float]) -> None:
        arrow = {"arrowstyle": "->", "color": "grey", "shrinkA": 16, "shrinkB": 18}
        ax.annotate("", xy=end, xytext=start, arrowprops=arrow)

    write(centre, 3, f"{everybody:,.0f} {unit} assigned")
    for x, (arm, count) in enumerate(assigned.items()):
        lost = count - analysed[arm]
        lead((centre, 3), (x, 2))
        lead((x, 2), (x, 1))
        lead((x, 1), (x, 0))
        write(x, 2, f"{arm}\n{count:,.0f} {unit}")
        write(x, 1, f"lost\n{lost:,.0f}")
        write(x, 0, f"analysed\n{analysed[arm]:,.0f}")
    ax.set(xlim=(-0.6, len(assigned) - 0.4), ylim=(-0.6, 3.5))
    ax.set_axis_off()
    if note:
        ax.text(centre, -0.55, note, ha="center", fontsize=8, color="0.4")
    return ax


EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""At which a plan is drawn, besides the one that is asked for."""
_NO_NOISE = 1000.0


def plan_errors(
    model: Any,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    accept_large_delta: bool = False,
    ax: Any = None,
) -> list[Axes]:
    """Draw the plan of a model: the expected errors of its numbers against epsilon; free.

    Parameters
    ----------
    model : model
        Such as :class:`dprct.PrivateATE`, bound to its data.
    epsilon, delta : number
        What is asked for: epsilon is marked, and delta is that of every plan.
    accept_large_delta : bool
        As for the plan.
    ax : sequence of Axes, optional
        One for each effect or, of a method without effects, for each draw of noise.

    Notes
    -----
    A plan is a function of public facts.

    Examples
    --------
    >>> import matplotlib.pyplot as plt, pandas as pd, dprct
    >>> schema = dprct.Schema((dprct.Column("y", bounds=(0, 9), missing=()), dprct.Column("t")))
    >>> schema = schema.declare(t=dict(levels=[0, 1], missing="never"))
    >>> data = pd.DataFrame({"y": [1.0, 5.0] * 90, "t": [0.0, 0.0, 1.0] * 60})
    >>> model = dprct.PrivateATE(data, schema, outcome="y", treatment="t")
    >>> (ax,) = plan_errors(model, epsilon=1)
    >>> ax.get_title(), ax.get_xlabel()
    ('y: t', 'epsilon')
    >>> plt.close(ax.figure)
    """
    asked = () if epsilon is None else (float(epsilon),)
    budget = {"delta": delta, "accept_large_delta": accept_large_delta}
    plans = {at: _planned(model, at, budget) for at in sorted({*EPSILONS, *asked})}
    effects = any(np.isfinite(one[0]) for found in plans.values() for one in found.values())
    errors: dict[str, list[tuple[float, float, float]]] = {}
    for at, found in plans.items():
        for name, (error, noise) in found.items():
            if np.isfinite(error) or not effects:
                errors.setdefault(name, []).append((at, error, noise))
    if not errors:
        raise ParameterError(
            f"no number of ``{type(model).__name__}`` has an error that is known before the fit at "
            f"``delta={delta:g}``; print ``model.plan(epsilon, delta)``, which says what is planned"
        )
    floors = {
        name: error
        for name, (error, _) in _planned(model, _NO_NOISE, budget).items()
        if name in errors and np.isfinite(error)
    }
    what = "Expected standard error" if effects else "sd of the noise, in units of its grid"
    return expected_errors(errors, floors, now=epsilon, what=what, ax=ax)


def _planned(
    model: Any, epsilon: float, budget: Mapping[str, Any]
) -> dict[str, tuple[float, float]]:
    """Error and noise of each estimate and draw; none at a budget that buys no fit."""
    try:
        plan = model.plan(epsilon, **budget)
    except ConfirmationError:
        raise
    except DprctError:
        return {}
    draws = {
        one.term: (np.nan, one.value) for one in plan.numbers if one.quantity == "draw_noise_sd"
    }
    return draws | {
        name: (errors["std_error"], errors["noise_sd"])
        for name, errors in plan.errors().items()
        if {"std_error", "noise_sd"} <= errors.keys()
    }


def planned_errors(
    errors: Mapping[str, tuple[float, float]], title: str, *, ax: Axes | None = None
) -> Axes:
    """Draw the expected errors of a plan beside those without privacy, one line per estimate.

    Parameters
    ----------
    errors : mapping of name to (with privacy, without)

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> panel = planned_errors({"wage: treat": (0.5, 0.4)}, "PrivateATE")
    >>> [text.get_text() for text in panel.get_legend().get_texts()]
    ['with privacy', 'without']
    >>> plt.close(panel.figure)
    """
    if not errors:
        raise ParameterError(
            "this plan has no expected errors of estimates; print it, or take ``plan.to_frame()``"
        )
    (panel,) = panels(1) if ax is None else [ax]
    rows = np.arange(len(errors))[::-1]
    for kind, color, label in ((0, ORIGINAL, "with privacy"), (1, RELEASED, "without")):
        panel.plot([one[kind] for one in errors.values()], rows, "o", color=color, label=label)
    panel.set_yticks(rows, list(errors))
    panel.set_xlim(left=0)
    panel.legend(fontsize=8)
    return _labelled(panel, title, "Expected standard error", "", "")


def expected_errors(
    errors: Mapping[str, Sequence[tuple[float, float, float]]],
    floors: Mapping[str, float],
    *,
    now: float | None = None,
    what: str = "Expected standard error",
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw the errors of a plan against epsilon, one panel for each number that is released.

    Parameters
    ----------
    errors : mapping of name to sequence of (epsilon, error, noise)
        Of sampling and noise together, and of the noise alone.
    floors : mapping of name to float
        The sampling error, which no epsilon removes; a name may be left out.
    now : float, optional
        The epsilon that is asked for.
    ax : sequence of Axes, optional
        One for each name.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> (ax,) = expected_errors({"t": [(0.5, 0.4, 0.3), (1.0, 0.3, 0.15)]}, {"t": 0.26}, now=1.0)
    >>> ax.get_xscale(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('log', ['sampling and privacy noise', 'privacy noise alone', 'sampling error', 'asked for'])
    >>> plt.close(ax.figure)
    """
    axes = panels(len(errors)) if ax is None else list(ax)
    for panel, (name, found) in zip(axes, errors.items(), strict=True):
        epsilons, totals, noises = zip(*sorted(found), strict=True)
        if np.isfinite(totals).any():
            panel.plot(epsilons, totals, "o-", color=ORIGINAL, markersize=4, label=BOTH_NOISES)
        panel.plot(epsilons, noises, "--", color=RELEASED, label=PRIVACY_NOISE)
        if name in floors:
            panel.axhline(floors[name], color="grey", linestyle=":", label="sampling error")
        if now is not None:
            panel.axvline(now, color="grey", linewidth=0.8, label="asked for")
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        panel.minorticks_off()
        panel.legend(fontsize=8)
        _labelled(panel, name, "epsilon", what, "")
    return axes


def stamp(ax: Axes, watermark: str) -> None:
    """Write a watermark across axes."""
    ax.text(
        0.5,
        0.5,
        textwrap.fill(watermark, 26),
        transform=ax.transAxes,
        ha="center",
        va="center",
        rotation=20,
        fontsize=13,
        color="red",
        alpha=0.25,
        zorder=10,
        gid=WATERMARK_ID,
    )


def _pyplot() -> Any:
    try:
        return import_module("matplotlib.pyplot")
    except ModuleNotFoundError:
        raise MissingDependencyError.extra("matplotlib", "plot", "a figure") from None


def _axes(ax: Axes | None, size: tuple[float, float] = (4.5, 3.5)) -> Axes:
    """Return axes that were given, or new ones."""
    if ax is None:
        return panels(1, size=size)[0]
    if not hasattr(ax, "axvline"):
        raise ParameterError(
            f"ax is ``{type(ax).__name__}``; give axes of matplotlib, or leave it out"
        )
    return ax


def _labelled(ax: Axes, title: str, x: str, y: str, watermark: str) -> Axes:
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if watermark:
        stamp(ax, watermark)
    return ax


def _words(name: object) -> str:
    """Return a heading; of several levels the empty ones are left out."""
    parts = name if isinstance(name, tuple) else (name,)
    return "\n".join(str(part) for part in parts if str(part))


def _smooth(x: Array, y: Array) -> Array | None:
    from statsmodels.nonparametric.smoothers_lowess import lowess

    reach = float(np.ptp(x))
    if len(np.unique(x)) < 3:
        return None
    with np.errstate(all="ignore"):
        out: Array = lowess(y, x, frac=_SMOOTHED, delta=reach / 100)
    return out


def _masked(numbers: Array) -> np.ma.MaskedArray[Any, Any]:
    return np.ma.masked_invalid(numbers)


def _norm(numbers: Array, limits: tuple[float, float] | None, log: bool) -> Any:
    colors = import_module("matplotlib.colors")
    shown = numbers[np.isfinite(numbers) & ((numbers > 0) | (not log))]
    low, high = limits or ((shown.min(), shown.max()) if len(shown) else (0.0, 1.0))
    if log and 0 < low < high:
        return colors.LogNorm(low, high, clip=True)
    return colors.Normalize(low, high)


def _finite(values: ArrayLike) -> Array:
    numbers = np.asarray(values, np.float64)
    return numbers[np.isfinite(numbers)]


def _density(numbers: Array, edges: Array) -> Array:
    counts = np.histogram(numbers, edges)[0]
    return counts / (max(len(numbers), 1) * np.diff(edges))
