"""Effects of every arm on every outcome, from released moments of the cells of an experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from dprct.arguments import check_choice
from dprct.errors import ParameterError
from dprct.estimate.effects import effects_plot
from dprct.estimate.moments.gaussian_law import kappa, p_value, rounded_up
from dprct.plots import Labels, watermark_of
from dprct.results.base import LinearResults, checked_alpha
from dprct.results.joint import (
    WaldTest,
    family_pvalues,
    positive,
    restrictions,
    simultaneous_level,
    wald_test,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.privacy.budget import Guarantee
    from dprct.schema.schema import Schema

    Array = NDArray[np.floating[Any]]

LEAST_ROWS = 5.0
"""A private cell is read where its noisy count is this many standard deviations of its noise."""

JOINT_ALPHA = 0.01
"""Joint tests raise sampling variances by the kappa of this level."""


@dataclass(frozen=True, slots=True, eq=False)
class CellMeans:
    """The means of J columns in one cell, in units of z, with the two parts of their covariance.

    Attributes
    ----------
    mean : (J,) array
    sampling : (J, J) array
        As released: unbiased, and perhaps not positive.
    noise : (J, J) array
        Known, but for the delta method of a noisy count.
    spread : float or (J,) array
        w' sampling w has noise of standard deviation ``sum(spread w^2)``.
    rows : float or (J,) array
        Rows that the means are of.
    usable : bool
        Whether there are rows enough, by a rule on released numbers.
    """

    mean: Array
    sampling: Array
    noise: Array
    spread: float | Array
    rows: float | Array
    usable: bool

    def spread_of(self, w: Array) -> float:
        """Return the standard deviation of the noise of w' sampling w."""
        if isinstance(self.spread, np.ndarray):
            return float(self.spread @ (w * w))
        return float(self.spread * (w @ w))

    def rows_of(self, w: Array) -> float:
        """Return the fewest rows of a mean that w has."""
        if isinstance(self.rows, np.ndarray):
            return float(self.rows[w != 0].min())
        return self.rows


def means_of(cell: NoisyMoments) -> CellMeans:
    """Return means of a cell and their covariance.

    With n rows, the sum of squares around the mean is Q - S S' / n; S carries noise s1, and where
    n is noisy too (standard deviation c), S / n has the further error -c mean / n, to first order.
    w' N w for the noise N of Q has the standard deviation s2 |w|^2.
    """
    p = len(cell.names)
    c = cell.n_noise
    if cell.n < 2 or cell.n < LEAST_ROWS * c:
        nothing = np.full((p, p), np.nan)
        return CellMeans(np.full(p, np.nan), nothing, nothing, math.nan, cell.n, usable=False)
    n, mean = cell.n, cell.totals / cell.n
    own = cell.s1**2 * np.eye(p) + c**2 * np.outer(mean, mean)
    around = cell.cross - (np.outer(cell.totals, cell.totals) - own) / n
    pairs = n * (n - 1)
    return CellMeans(mean, around / pairs, own / n**2, cell.s2 / pairs, n, usable=True)


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """One linear combination of the means of cells, with the law of its error.

    Attributes
    ----------
    parts : (G,) array
        Sampling variance that each cell adds, as released.
    spreads : (G,) array
        Standard deviation of the noise of each part.
    noise : float
        Variance of the noise of ``value``.
    df : (G,) array
        Rows of each cell, less one.
    extra : float
        Variance from what else was estimated, such as the scales of an index.
    """

    value: float
    parts: Array
    spreads: Array
    noise: float
    df: Array
    extra: float = 0.0

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the privacy noise."""
        return math.sqrt(self.noise)

    def kappa(self, alpha: float) -> float:
        """Amount by how many of its standard deviations the sampling variance is raised."""
        om = math.hypot(*self.spreads)
        return 0.0 if om == 0 else kappa(rounded_up(om / self.noise), alpha)

    def variance(self, alpha: float) -> float:
        """Return the squared standard error that the interval of a level uses."""
        om = math.hypot(*self.spreads)
        sampling = max(0.0, float(self.parts.sum()) + self.kappa(alpha) * om)
        return sampling + self.noise + self.extra

    def degrees(self, alpha: float) -> float:
        """Return Satterthwaite's degrees of freedom, noise being of known variance."""
        raised = np.maximum(self.parts + self.kappa(alpha) * self.spreads, 0)
        uncertain = float((raised**2 / self.df).sum())
        return math.inf if uncertain == 0 else self.variance(alpha) ** 2 / uncertain

    def half_width(self, alpha: float) -> float:
        """Return q: the interval of level ``1 - alpha`` is value -+ q."""
        if not math.isfinite(self.value):
            return math.nan
        quantile = float(special.stdtrit(self.degrees(alpha), 1 - alpha / 2))
        return quantile * math.sqrt(self.variance(alpha))

    def noise_half_width(self, alpha: float) -> float:
        """Half width without sampling error."""
        return float(-special.ndtri(alpha / 2)) * self.noise_sd

    def p_value(self) -> float:
        """Return the two-sided p-value by inversion of the intervals; not below 1e-10."""
        if not math.isfinite(self.value):
            return math.nan
        df = self.degrees(0.05)
        return p_value(self.value, self.variance, lambda t: float(2 * special.stdtr(df, -t)))


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """Linear combinations of the means of cells.

    Attributes
    ----------
    weights : (m, G, J) array
        In units of z; combination i is sum over cells of ``weights[i, g] @ mean_g``, plus
    offsets : (m,) array
    extra : (m, m) array
        Covariance from what else was estimated.
    """

    cells: tuple[CellMeans, ...]
    weights: Array
    offsets: Array
    extra: Array

    def each(self) -> tuple[Combined, ...]:
        """Every combination with the law of its error."""
        return tuple(self._one(i) for i in range(len(self.weights)))

    def _one(self, i: int) -> Combined:
        used = [g for g in range(len(self.cells)) if self.weights[i, g].any()]
        cells = [self.cells[g] for g in used]
        w = [self.weights[i, g] for g in used]
        if not all(cell.usable for cell in cells):
            nothing = np.full(1, np.nan)
            return Combined(math.nan, nothing, nothing, math.nan, nothing)
        pairs = list(zip(w, cells, strict=True))
        return Combined(
            float(self.offsets[i] + sum(v @ cell.mean for v, cell in pairs)),
            np.array([v @ cell.sampling @ v for v, cell in pairs]),
            np.array([cell.spread_of(v) for v, cell in pairs]),
            float(sum(v @ cell.noise @ v for v, cell in pairs)),
            np.array([cell.rows_of(v) - 1 for v, cell in pairs]),
            float(self.extra[i, i]),
        )

    def covariance(self) -> Array:
        """Return their joint covariance, (m, m), NaN where a cell is not read.

        Sampling covariances of a cell are brought to the nearest positive ones and raised in every
        direction, by the kappa of its mean at level ``JOINT_ALPHA``.
        """
        m = len(self.weights)
        found = self.extra.copy()
        for g, cell in enumerate(self.cells):
            w = self.weights[:, g]
            used = w.any(axis=1)
            if not cell.usable:
                found[used] = found[:, used] = np.nan
                continue
            block = positive(cell.sampling) + np.diag(_raised(cell)) + cell.noise
            found += w @ block @ w.T
        return found.reshape(m, m)

    def transformed(self, L: Array) -> Combinations:
        """Return linear combinations of these combinations."""
        weights = np.tensordot(L, self.weights, axes=1)
        return Combinations(self.cells, weights, L @ self.offsets, L @ self.extra @ L.T)


def _raised(cell: CellMeans) -> Array:
    """Amount by which the sampling variance of each mean is raised for joint tests."""
    noise, size = np.diag(cell.noise), len(cell.mean)
    if isinstance(cell.spread, np.ndarray):
        ratios = cell.spread / noise
        factors = [kappa(rounded_up(ratio), JOINT_ALPHA) for ratio in ratios.tolist()]
        found: Array = cell.spread * np.array(factors)
        return found
    raised = 0.0
    if cell.spread > 0:
        least = float(noise.min())
        raised = cell.spread * kappa(rounded_up(cell.spread / least), JOINT_ALPHA)
    return np.full(size, raised)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EffectResults(LinearResults):
    """Effects on released outcomes, with sampling error and privacy noise in every interval.

    Parameters
    ----------
    combinations : Combinations
        What the coefficients are made of.
    effects : tuple of Combined
        In the order of ``params``.
    facets : tuple of (outcome, names, places)
        Which coefficients are drawn in which panel.
    units : (G, p) array
        Units of every column per unit of its z, in every cell.
    columns : tuple of p str
    control : DataFrame
        ``mean`` of the control group by outcome, ``noise`` of it, and its standard deviation
        ``sd``; NaN where noise hides it.

    Notes
    -----
    ``bse`` is the half width of the 95 % interval over its normal quantile.  :meth:`conf_int`
    computes each level itself.  An effect of a private cell whose noisy count is below five
    standard deviations of its noise is not estimated and is NaN.
    """

    inverts: ClassVar[bool] = True

    combinations: Combinations
    effects: tuple[Combined, ...]
    facets: tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...]
    units: Array
    columns: tuple[str, ...]
    control: pd.DataFrame

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values by inversion of the intervals; not below 1e-10."""
        return self._series(np.array([effect.p_value() for effect in self.effects]))

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals of level ``1 - alpha``, sampling and privacy noise together."""
        size = checked_alpha(alpha)
        half = np.array([effect.half_width(size) for effect in self.effects])
        values = self.params.to_numpy()
        return pd.DataFrame(np.column_stack([values - half, values + half]), self.params.index)

    def simultaneous(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals that all cover together with probability ``1 - alpha`` (max-t)."""
        size = checked_alpha(alpha)
        return self.conf_int(simultaneous_level(self.combinations.covariance(), size))

    def adjusted_pvalues(
        self, families: Mapping[str, Sequence[str]] | None = None
    ) -> pd.Series[float]:
        """Return family-wise p-values by the step-down method with the largest t.

        Parameters
        ----------
        families : mapping of name to names of coefficients, optional
            By default all coefficients are one family.

        Notes
        -----
        The joint law is normal with the covariance of sampling error and noise; nothing is
        resampled, and no row is read.

        References
        ----------
        Romano and Wolf (2005), Econometrica 73.
        """
        names = list(self.params.index)
        groups = {"all": names} if families is None else {k: list(v) for k, v in families.items()}
        found = np.full(len(names), np.nan)
        single, cov = self.pvalues.to_numpy(), self.combinations.covariance()
        for family, members in groups.items():
            unknown = [name for name in members if name not in names]
            if unknown:
                raise ParameterError(
                    f"family {family!r} names {unknown[0]!r}, which is no effect here; they are "
                    f"{', '.join(names)}"
                )
            at = np.array([names.index(name) for name in members], np.intp)
            found[at] = family_pvalues(single[at], cov[np.ix_(at, at)])
        return self._series(found)

    def lincom(self, wanted: str | Mapping[str, float]) -> EffectResults:
        """Return a linear combination of effects, such as ``"t1 - t2"``, as a result of its own.

        A value after ``=`` is subtracted: ``"t1 - t2 = 0.5"`` tests that hypothesis.
        """
        asked = restrictions(wanted, list(self.params.index))
        moved = self.combinations.transformed(asked.weights)
        moved = replace(moved, offsets=moved.offsets - asked.values)
        names = (
            asked.texts if len(asked.weights) == 1 else _numbered(asked.texts, len(asked.weights))
        )
        return tabulated(
            moved,
            names,
            ((self.outcome, tuple(names), tuple(range(len(names)))),),
            like=self,
            title=f"{self.title}: {'; '.join(asked.texts)}",
        )

    def wald_test(self, wanted: str | Mapping[str, float] | Sequence[str]) -> WaldTest:
        """Return the joint test of linear restrictions, such as ``"t1 = t2 = 0"``."""
        asked = restrictions(wanted, list(self.params.index))
        cov = asked.weights @ self.combinations.covariance() @ asked.weights.T
        estimate = asked.weights @ self.params.to_numpy() - asked.values
        return wald_test(estimate, cov, "; ".join(asked.texts))

    def plot(
        self,
        outcome: str | None = None,
        *,
        alpha: float = 0.05,
        ax: Axes | None = None,
        schema: Schema | None = None,
    ) -> Axes:
        """Draw the effects on one outcome, the first by default, with their intervals.

        A thin line is the interval, the thick one in it what privacy noise alone would give.
        Variable labels and public bounds are taken from a schema, such as that of the release.
        """
        panels = {panel[0]: panel for panel in self._panels()}
        name = next(iter(panels)) if outcome is None else outcome
        check_choice("outcome", name, panels)
        (drawn,) = self._drawn([panels[name]], alpha, ax, schema)
        return drawn

    def plot_outcomes(
        self,
        *,
        alpha: float = 0.05,
        ax: Axes | Sequence[Axes] | None = None,
        schema: Schema | None = None,
    ) -> list[Axes]:
        """Draw the effects with their intervals, one panel per outcome, as :meth:`plot` does."""
        return self._drawn(self._panels(), alpha, ax, schema)

    def _drawn(self, panels: Any, alpha: float, ax: Any, schema: Schema | None) -> list[Axes]:
        mark, labels = watermark_of(self.guarantee), Labels(schema)
        return effects_plot(panels, checked_alpha(alpha), ax=ax, watermark=mark, labels=labels)

    def _panels(self) -> list[tuple[str, Sequence[str], list[Combined]]]:
        return [
            (outcome, names, [self.effects[i] for i in places])
            for outcome, names, places in self.facets
        ]


def _numbered(texts: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(f"{'; '.join(texts)} ({i + 1})" for i in range(count))


def tabulated(
    combinations: Combinations,
    names: Sequence[str],
    facets: tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...],
    *,
    like: EffectResults | None = None,
    **facts: Any,
) -> EffectResults:
    """Return combinations as a result; what is not said is taken from the result ``like``."""
    effects = combinations.each()
    index = pd.Index(list(names), dtype=object)
    z = -special.ndtri(0.025)
    cov = combinations.covariance()
    np.fill_diagonal(cov, np.square([effect.half_width(0.05) / z for effect in effects]))
    lost = [
        str(name) for name, one in zip(names, effects, strict=True) if not np.isfinite(one.value)
    ]
    notes = facts.pop("notes", () if like is None else like.notes)
    if lost:
        notes = (*notes, f"Not estimated, for a private cell has too few rows: {', '.join(lost)}.")
    table: dict[str, Any] = {
        "params": pd.Series([one.value for one in effects], index=index, dtype=np.float64),
        "cov": pd.DataFrame(cov, index=index, columns=index),
        "bse_noise": pd.Series([one.noise_sd for one in effects], index=index, dtype=np.float64),
        "combinations": combinations,
        "effects": effects,
        "facets": facets,
        "layout": tuple(str(name) for name in names),
        "notes": notes,
    }
    if like is not None:
        return replace(like, **table, **facts)
    return EffectResults(**table, **facts)


def weights_of(
    cells: Sequence[NoisyMoments],
    outcomes: Sequence[str],
    contrasts: Sequence[Sequence[float]],
) -> tuple[Array, Array]:
    """Return (q k, G, J) weights in units of z and (q k,) offsets, outcomes first.

    ``contrasts`` are k rows of G weights of the cells.
    """
    rows = np.asarray(contrasts, np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(cells) or not np.isfinite(rows).all():
        raise ParameterError(f"a contrast needs one finite weight for each of {len(cells)} cells")
    names = cells[0].names
    if any(cell.names != names for cell in cells):
        raise ParameterError("the cells of an experiment must have the same columns")
    at = np.array([cells[0].where(name) for name in outcomes], np.intp)
    weights = np.zeros((len(outcomes), len(rows), len(cells), len(names)))
    offsets = np.zeros((len(outcomes), len(rows)))
    for i, j in enumerate(at):
        unit = np.array([cell.scale[j] / cell.weight[j] for cell in cells])
        weights[i, :, :, j] = rows * unit
        offsets[i] = rows @ np.array([cell.centre[j] for cell in cells])
    return weights.reshape(-1, len(cells), len(names)), offsets.ravel()


def effects_of(
    cells: Sequence[NoisyMoments],
    outcomes: Sequence[str],
    contrasts: Mapping[str, Sequence[float]],
    *,
    guarantee: Guarantee,
    control: Sequence[float] | None = None,
    title: str = "Effects from released moments",
    notes: tuple[str, ...] = (),
) -> EffectResults:
    """Return effects on every outcome, one per contrast of the cells.

    Parameters
    ----------
    cells : sequence of G NoisyMoments
        Disjoint, with noise of their own.
    contrasts : mapping of name to (G,) weights
        ``(-1, 1, 0)`` is cell 1 against cell 0.
    control : (G,) weights, optional
        Of the cells whose mean is shown as that of the control group; their sum is 1.
    """
    if not outcomes or not contrasts:
        raise ParameterError("effects need at least one outcome and one contrast of cells")
    means = tuple(means_of(cell) for cell in cells)
    weights, offsets = weights_of(cells, outcomes, list(contrasts.values()))
    m = len(weights)
    combinations = Combinations(means, weights, offsets, np.zeros((m, m)))
    several = len(outcomes) > 1
    names = [f"{y}: {c}" if several else c for y in outcomes for c in contrasts]
    k = len(contrasts)
    facets = tuple(
        (y, tuple(contrasts), tuple(range(i * k, (i + 1) * k))) for i, y in enumerate(outcomes)
    )
    rows = [cell.n for cell in cells]
    return tabulated(
        combinations,
        names,
        facets,
        df_inference=math.inf,
        df_resid=sum(rows) - len(cells),
        nobs=round(sum(rows)),
        cov_type="by arm",
        guarantee=guarantee,
        outcome=", ".join(outcomes),
        title=title,
        notes=notes,
        units=np.array([cell.scale / cell.weight for cell in cells]),
        columns=cells[0].names,
        control=_control(cells, means, outcomes, control),
    )


def _control(
    cells: Sequence[NoisyMoments],
    means: tuple[CellMeans, ...],
    outcomes: Sequence[str],
    weights: Sequence[float] | None,
) -> pd.DataFrame:
    if weights is None:
        return pd.DataFrame({"mean": [], "noise": [], "sd": []}, dtype=np.float64)
    w, offsets = weights_of(cells, outcomes, [weights])
    together = Combinations(means, w, offsets, np.zeros((len(w), len(w)))).each()
    share = np.asarray(weights, np.float64)
    spread = []
    for i, name in enumerate(outcomes):
        unit = w[i].sum(axis=1) / np.where(share == 0, 1, share)
        parts = [
            s * u * u * c.rows * c.sampling[j, j]
            for s, u, c in zip(share, unit, means, strict=True)
            if s != 0
            for j in (cells[0].where(name),)
        ]
        total = math.fsum(parts)
        spread.append(math.sqrt(total) if total > 0 else math.nan)
    return pd.DataFrame(
        {
            "mean": [one.value for one in together],
            "noise": [one.noise_sd for one in together],
            "sd": spread,
        },
        index=pd.Index(list(outcomes), dtype=object),
    )


def against_control(
    arm_of: Sequence[str],
    rows: Sequence[float],
    control: str,
    block_of: Sequence[str] | None = None,
) -> tuple[dict[str, Array], Array]:
    """Return each arm's contrast with control over cells, and the weights of the control mean.

    Without blocks an arm's cells are pooled by their rows; with blocks each block weighs as much
    as it has rows, whatever its share of an arm.

    Examples
    --------
    >>> contrasts, _ = against_control(["c", "t", "c", "t"], [5, 5, 10, 20], "c", list("aabb"))
    >>> contrasts["t"].tolist()
    [-0.25, 0.25, -0.75, 0.75]
    """
    arms = np.asarray(list(arm_of), object)
    size = np.asarray(rows, np.float64)
    blocks = np.zeros(len(arms), object) if block_of is None else np.asarray(list(block_of), object)
    if control not in arm_of:
        raise ParameterError(f"{control!r} is no arm; arms are {', '.join(dict.fromkeys(arm_of))}")

    def mean_over(arm: str) -> Array:
        weights = np.zeros(len(arms))
        for block in dict.fromkeys(blocks.tolist()):
            here = blocks == block
            cells = here & (arms == arm)
            if not cells.any():
                raise ParameterError(f"arm {arm!r} has no cell in block {block!r}; leave it out")
            weights[cells] = size[here].sum() / size.sum() * size[cells] / size[cells].sum()
        return weights

    base = mean_over(control)
    others = [arm for arm in dict.fromkeys(arm_of) if arm != control]
    return {arm: mean_over(arm) - base for arm in others}, base
