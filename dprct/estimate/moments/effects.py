"""Effects of every arm on every outcome, from released moments of the cells of an experiment."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.contrasts import Contrast, parse_contrast
from dprct.estimate.effects import ByOutcome, WithLaws
from dprct.estimate.moments.gaussian_law import kappa, p_value, rounded_up
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.base import checked_alpha, labelled
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

    from numpy.typing import NDArray

    from dprct.estimate.moments.groups import Value
    from dprct.estimate.moments.noisy import NoisyMoments

    Array = NDArray[np.floating[Any]]

LEAST_ROWS = 5.0
"""A private cell is read where its noisy count is this many standard deviations of its noise."""

JOINT_ALPHA = 0.01
"""Joint tests raise sampling variances by the kappa of this level."""


@dataclass(frozen=True, eq=False)
class CellMeans:
    """The means of J columns in one cell, in units of z, with the two parts of their covariance."""

    mean: Array  # (J,)
    sampling: Array  # (J, J): as released: unbiased, and perhaps not positive
    noise: Array  # (J, J): known, but for the delta method of a noisy count
    # float or (J,) array: w' sampling w has noise of standard deviation ``sum(spread w^2)``.
    spread: float | Array
    rows: float | Array  # float or (J,) array: rows that the means are of
    usable: bool  # whether there are rows enough, by a rule on released numbers

    @classmethod
    def none(cls, size: int, rows: float = 0.0) -> CellMeans:
        """Means that are not read, of too few rows."""
        nothing = np.full((size, size), np.nan)
        return cls(nothing[0], nothing, nothing, math.nan, rows, usable=False)

    def inflated(self, factors: Array) -> CellMeans:
        """Means of people in clusters: sampling variances times the design effects (J,).

        Between two columns it is the root of the product: what clusters share of two outcomes is
        taken to correlate as the outcomes of people do.
        """
        root = np.sqrt(factors)
        sampling = self.sampling * np.outer(root, root)
        return replace(self, sampling=sampling, spread=self.spread * factors)

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


def means_of(cell: NoisyMoments, counts: NDArray[np.int64] | None = None) -> CellMeans:
    """Means of a cell and their covariance.

    ``counts``, (J, J), are public numbers of rows that have two values, where missing ones add 0 to
    every sum.

    Notes
    -----
    With n rows, the sum of squares around the mean is Q - S S' / n; S carries noise s1, and where
    n is noisy too (standard deviation c), S / n has the further error -c mean / n, to first order.
    w' N w for the noise N of Q has the standard deviation s2 |w|^2.  With n_j, n_l and n_jl rows
    that have values, Cov(mean_j, mean_l) = n_jl s_jl / (n_j n_l), where s_jl is the covariance
    among those that have both, about the means of all that have one.
    """
    if counts is not None:
        return _means_of_counts(cell, counts.astype(np.float64))
    p = len(cell.names)
    c = cell.n_noise
    if cell.n < 2 or cell.n < LEAST_ROWS * c:
        return CellMeans.none(p, cell.n)
    n, mean = cell.n, cell.totals / cell.n
    own = cell.s1**2 * np.eye(p) + c**2 * np.outer(mean, mean)
    around = cell.cross - (np.outer(cell.totals, cell.totals) - own) / n
    pairs = n * (n - 1)
    return CellMeans(mean, around / pairs, own / n**2, cell.s2 / pairs, n, usable=True)


def _means_of_counts(cell: NoisyMoments, both: Array) -> CellMeans:
    n = np.diag(both)
    mean = cell.totals / n
    around = cell.cross - both * np.outer(mean, mean) + np.diag(cell.s1**2 / n)
    # n_jl s_jl, of which n_jl - 1 products are free
    spread = np.where(both > 1, around * both / np.maximum(both - 1, 1), 0.0)
    return CellMeans(
        mean, spread / np.outer(n, n), np.diag((cell.s1 / n) ** 2), cell.s2 / (n * (n - 1)), n,
        usable=True,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Combined:
    """One linear combination of the means of cells, with the law of its error."""

    value: float
    parts: Array  # (G,): sampling variance that each cell adds, as released
    spreads: Array  # (G,): standard deviation of the noise of each part
    noise: float  # variance of the noise of ``value``
    df: Array  # (G,): rows of each cell, less one
    extra: float = 0.0  # variance from what else was estimated, such as the scales of an index

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the privacy noise."""
        return math.sqrt(self.noise)

    @property
    def sampling(self) -> float:
        """Standard deviation of sampling error; noise can leave nothing of a released one."""
        return math.sqrt(max(float(self.parts.sum()), 0.0))

    def kappa(self, alpha: float) -> float:
        """Amount by how many of its standard deviations the sampling variance is raised."""
        om = math.hypot(*self.spreads)
        return kappa(rounded_up(om / self.noise), alpha) if om > 0 else 0.0

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

    def standard_error(self, alphas: Sequence[float]) -> float:
        """Largest half width over its normal quantile: ``-+ z se`` covers at all levels."""
        if not math.isfinite(self.value):
            return math.nan
        return max(self.half_width(alpha) / -float(special.ndtri(alpha / 2)) for alpha in alphas)

    def detectable(self, alpha: float, power: float) -> float:
        """Effect that a test of size alpha finds with this power."""
        spread = math.sqrt(float(self.parts.sum()) + self.noise)
        return self.half_width(alpha) + float(special.ndtri(power)) * spread

    def p_value(self, _: Sequence[float] = ()) -> float:
        """Return the two-sided p-value by inversion of the intervals; not below 1e-10."""
        if not math.isfinite(self.value):
            return math.nan
        df = self.degrees(0.05)
        return p_value(self.value, self.variance, lambda t: float(2 * special.stdtr(df, -t)))


@dataclass(frozen=True, eq=False)
class Combinations:
    """Linear combinations of the means of cells."""

    cells: tuple[CellMeans, ...]
    # (m, G, J): in units of z; combination i is sum over cells of ``weights[i, g] @ mean_g``, plus
    # ``offsets[i]``.
    weights: Array
    offsets: Array  # (m,)
    extra: Array  # (m, m): covariance from what else was estimated

    def each(self) -> tuple[Combined, ...]:
        """Every combination with the law of its error."""
        return tuple(self.one(i) for i in range(len(self.weights)))

    def one(self, i: int) -> Combined:
        """Return one combination with the law of its error."""
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

    def contrasted(self, contrasts: Sequence[Contrast], q: int) -> Combinations:
        """Contrasts of the arms of each of q outcomes, outcomes first, of means of arms."""
        one = np.array([[float(w) for w in contrast.weights] for contrast in contrasts])
        return self.transformed(np.kron(np.eye(q), one))


class Unit(NamedTuple):
    """The place of an outcome among the columns of a release, and its unit per unit of z."""

    column: int
    centre: float
    scale: float
    weight: float


def arm_means(cells: Sequence[CellMeans], outcomes: Sequence[Unit], shares: Array) -> Combinations:
    """Means of outcomes in every arm, outcomes first.

    ``shares`` (q, A, G) are what each cell weighs in the mean of an arm; they sum to 1.
    """
    (q, arms, count), size = shares.shape, len(cells[0].mean)
    weights, offsets = np.zeros((q, arms, count, size)), np.zeros((q, arms))
    for j, one in enumerate(outcomes):
        weights[j, :, :, one.column] = shares[j] * one.scale / one.weight
        offsets[j] = one.centre
    m = q * arms
    flat = weights.reshape(m, count, size)
    return Combinations(tuple(cells), flat, offsets.ravel(), np.zeros((m, m)))


def spread_within(cells: Sequence[CellMeans], outcome: Unit, shares: Array) -> float:
    """Spread (sd) of an outcome in cells that weigh (G,); NaN where noise hides it."""
    j, unit = outcome.column, outcome.scale / outcome.weight
    rows = [one.rows[j] if isinstance(one.rows, np.ndarray) else one.rows for one in cells]
    total = math.fsum(
        float(share * unit * unit * n * one.sampling[j, j])
        for share, n, one in zip(shares, rows, cells, strict=True)
        if share
    )
    return math.sqrt(total) if total > 0 else math.nan


def stacked(found: Sequence[Combinations]) -> Combinations:
    """Return combinations of different cells below each other."""
    if len(found) == 1:
        return found[0]
    cells = tuple(cell for one in found for cell in one.cells)
    m, columns = sum(len(one.weights) for one in found), found[0].weights.shape[2]
    weights, row, column = np.zeros((m, len(cells), columns)), 0, 0
    for one in found:
        k, g = one.weights.shape[:2]
        weights[row : row + k, column : column + g] = one.weights
        row, column = row + k, column + g
    offsets = np.concatenate([one.offsets for one in found])
    return Combinations(cells, weights, offsets, np.zeros((m, m)))


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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GaussianResults(WithLaws):
    """Coefficients of a Gaussian release, each with the law of its error.

    Parameters
    ----------
    laws : tuple of Combined
        In the order of ``params``.
    """

    laws: tuple[Combined, ...]

    @property
    def _laws(self) -> tuple[Combined, ...]:
        return self.laws


def lawful(
    laws: Sequence[Combined], names: Sequence[str], cov: Array, alphas: Sequence[float]
) -> dict[str, Any]:
    """Columns of :class:`GaussianResults`, whose errors are valid at every one of ``alphas``."""
    np.fill_diagonal(cov, np.square([law.standard_error(alphas) for law in laws]))
    table = labelled(names, [one.value for one in laws], cov, [one.noise_sd for one in laws])
    return table | {"laws": tuple(laws)}


class Source(Protocol):
    """A release that effects are read off."""

    @property
    def subgroups(self) -> tuple[str, ...]:
        """Columns within whose levels there are effects."""

    def effects(
        self,
        outcomes: str | Sequence[str] | None = None,
        *,
        where: str | Mapping[str, Value] | None = None,
    ) -> EffectResults:
        """Effects on some outcomes, among some people."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EffectResults(ByOutcome, GaussianResults):
    """Effects of arms on outcomes from one Gaussian release, with their joint covariance.

    Parameters
    ----------
    combinations : Combinations
        What the coefficients are made of.
    facets : tuple of (outcome, names, places)
        Which coefficients are drawn in which panel.
    units : (G, p) array
        Units of every column per unit of its z, in every cell.
    columns : tuple of p str
    control : DataFrame
        ``mean`` of the control group by outcome, ``noise`` of it, and its standard deviation
        ``sd``; NaN where noise hides it.
    means : Combinations
        The means of all arms, outcomes first, that contrasts are made of.
    arms, outcomes : tuple of str
        The control group first.
    alphas : tuple of float
        Sizes of tests at which ``params -+ z bse`` is valid.
    ledger : str
        Where the budget was charged.
    source : Source or None
        The release that effects are read off.

    Notes
    -----
    ``bse`` is the largest half width divided by z over the declared alphas; :meth:`conf_int`
    computes each level itself.  Between outcomes the covariance is that of sampling error and
    noise together, so that :meth:`wald_test`, :meth:`simultaneous` and :meth:`adjusted_pvalues`
    hold across outcomes.  An effect of a private cell whose noisy count is below five standard
    deviations of its noise is not estimated and is NaN.
    """

    combinations: Combinations
    facets: tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...]
    units: Array
    columns: tuple[str, ...]
    control: pd.DataFrame
    means: Combinations
    arms: tuple[str, ...]
    outcomes: tuple[str, ...]
    alphas: tuple[float, ...] = (0.05,)
    ledger: str = ""
    source: Source | None = None

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The control group, and the effects within every subgroup."""
        names = () if self.source is None else self.source.subgroups
        within = {f"effects by {name}": self.effects(where=name).tidy() for name in names}
        return {"control": self.control, **within}

    def effects(
        self,
        outcomes: str | Sequence[str] | None = None,
        *,
        where: str | Mapping[str, Value] | None = None,
    ) -> EffectResults:
        """Return the effects of the same release on some outcomes, or among some people; free.

        Parameters
        ----------
        outcomes : str or sequence of str, optional
            By default all of the release.
        where : str, or mapping from subgroup to level, optional
            ``{"female": 1}``: among these people alone.  ``"female"``: within every level of this
            subgroup, side by side; outcomes are then named ``"y if female=1"``, and the covariance
            is joint over the levels, whose people differ, so that :meth:`lincom` and
            :meth:`wald_test` compare subgroups.

        Raises
        ------
        ColumnError
            If it is no subgroup of this release.
        """
        if self.source is None:
            raise ParameterError("these effects were not read off a release; read them again")
        return self.source.effects(outcomes, where=where)

    def contrast(self, contrast: str | Mapping[str, float]) -> EffectResults:
        """Compare arms with each other; free, for it uses what was released already.

        Parameters
        ----------
        contrast : str or mapping from arm to weight
            ``"a - b"``, ``"0.5*a + 0.5*b - control"`` or ``{"a": 1, "b": -1}``; of sum zero.

        Returns
        -------
        EffectResults
            With one effect per outcome, under the same guarantee.

        Raises
        ------
        ParameterError
            If it is not a contrast of the arms.
        """
        wanted = parse_contrast(contrast, self.arms)
        names, facets = named(self.outcomes, [wanted.name])
        return tabulated(
            self.means.contrasted((wanted,), len(self.outcomes)), names, facets, like=self,
            notes=(f"Effect: the contrast {wanted.name} of arm means.", *self.notes),
            title=f"{self.title}: {wanted.name}",
        )  # fmt: skip

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
                    f"family {family!r} names {unknown[0]!r}, which is not an effect here; they "
                    f"are {', '.join(names)}"
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
        each = len(asked.texts) == len(asked.weights)
        names = asked.texts if each else _numbered(asked.texts, len(asked.weights))
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

    @property
    def _inference(self) -> str:
        return "normal, Gaussian noise"

    def _panels(self) -> list[tuple[str, Sequence[str], list[Combined]]]:
        return [
            (outcome, names, [self.laws[i] for i in places])
            for outcome, names, places in self.facets
        ]


def _numbered(texts: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(f"{'; '.join(texts)} ({i + 1})" for i in range(count))


def named(
    outcomes: Sequence[str], contrasts: Sequence[str]
) -> tuple[list[str], tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...]]:
    """Names of effects, outcomes first, and the panels in which they are drawn."""
    each, k = tuple(contrasts), len(contrasts)
    names = [f"{y}: {c}" if len(outcomes) > 1 else c for y in outcomes for c in each]
    return names, tuple((y, each, tuple(range(i * k, (i + 1) * k))) for i, y in enumerate(outcomes))


def tabulated(
    combinations: Combinations,
    names: Sequence[str],
    facets: tuple[tuple[str, tuple[str, ...], tuple[int, ...]], ...],
    *,
    like: EffectResults | None = None,
    **facts: Any,
) -> EffectResults:
    """Return combinations as a result; what is not said is taken from the result ``like``."""
    laws = combinations.each()
    alphas = facts.get("alphas", (0.05,)) if like is None else like.alphas
    lost = [str(name) for name, one in zip(names, laws, strict=True) if not np.isfinite(one.value)]
    notes = facts.pop("notes", () if like is None else like.notes)
    if lost:
        notes = (*notes, f"Not estimated, for a private cell has too few rows: {', '.join(lost)}.")
    table = lawful(laws, names, combinations.covariance(), alphas)
    table |= {"combinations": combinations, "facets": facets, "notes": notes}
    if like is not None:
        return replace(like, **table, **facts)
    return EffectResults(**table, **facts)


def effects_of(
    means: Combinations,
    outcomes: Sequence[str],
    contrasts: Sequence[Contrast],
    arms: Sequence[str],
    sd: Sequence[float],
    **facts: Any,
) -> EffectResults:
    """Effects on every outcome, one per contrast of the arms, whose means are of :func:`arm_means`.

    ``sd`` is of every outcome in the control group.
    """
    if not outcomes or not contrasts:
        raise ParameterError("effects need at least one outcome and one contrast of arms")
    names, facets = named(outcomes, [one.name for one in contrasts])
    control = [means.one(j * len(arms)) for j in range(len(outcomes))]
    shown = {"mean": [o.value for o in control], "noise": [o.noise_sd for o in control], "sd": sd}
    return tabulated(
        means.contrasted(contrasts, len(outcomes)), names, facets, means=means,
        outcomes=tuple(outcomes), arms=tuple(arms), df_inference=math.inf, cov_type="by arm",
        control=pd.DataFrame(shown, index=pd.Index(list(outcomes), dtype=object)), **facts,
    )  # fmt: skip


def arm_shares(labels: Sequence[tuple[str, Any]], rows: Array, arms: Sequence[str]) -> Array:
    """Shares of cells in the mean of each arm, (q, A, G), each block having that of its rows.

    Cells have labels (arm, block), and of each outcome their rows, (q, G).

    Examples
    --------
    >>> cells = [("c", 1), ("t", 1), ("c", 2), ("t", 2)]
    >>> arm_shares(cells, np.array([[5.0, 5, 10, 20]]), ["c", "t"])[0].tolist()
    [[0.25, 0.0, 0.75, 0.0], [0.0, 0.25, 0.0, 0.75]]
    """
    found = np.zeros((len(rows), len(arms), len(labels)))
    for block in dict.fromkeys(block for _, block in labels):
        here = [g for g, (_, one) in enumerate(labels) if one == block]
        share = rows[:, here].sum(axis=1) / rows.sum(axis=1)
        for a, arm in enumerate(arms):
            if (arm, block) not in labels:
                raise ParameterError(f"arm {arm!r} has no cell in block {block!r}; leave it out")
            found[:, a, labels.index((arm, block))] = share
    return found
