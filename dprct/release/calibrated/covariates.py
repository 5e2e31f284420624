"""The covariates of a calibrated release: how they are drawn, and how outcomes move with them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dprct.defaults import (
    COVARIATE_BINS,
    LEAST_RESEMBLANCE,
    moment_penalty,
)
from dprct.encoding import decoded, encodings
from dprct.errors import SchemaError, marked
from dprct.privacy.composition import per_row
from dprct.privacy.histograms import (
    CellHistogram,
    HistogramRelease,
    OneWayHistograms,
    draw_independent_rows,
    draw_rows,
)
from dprct.privacy.mechanisms import Allocation, AnalyticGaussian
from dprct.queries.covariates import features_of
from dprct.queries.ridge_moments import MomentsLayout, moments
from dprct.queries.sums import check_extent
from dprct.records import dataclass
from dprct.release.histogram import (
    COUNTS,
    Counts,
    HistogramSpec,
    MarginalsSpec,
    drawn_counts,
    few_survivors,
)
from dprct.release.release import ReleaseFacts
from dprct.results.covariance import blocks
from dprct.results.plan import Plan, PlannedNumber, notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dprct.assignment.groups import Design
    from dprct.encoding import Coded
    from dprct.estimate.moments.effects import EffectResults
    from dprct.model import BoundTable
    from dprct.privacy.budget import Budget, Relation
    from dprct.privacy.mechanisms import NoisyVector
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema


Rule = Literal["histogram", "marginals", "filler"]


@dataclass(frozen=True)
class Covariates:
    """The modelled covariates of a release, before their values are drawn: public facts alone.

    Notes
    -----
    A budget here is that of a unit, of which each row gets its part (group privacy).
    Replace-one is one of the changes under "replace-one with the design public", so the
    histogram's guarantee holds there too.  Filling is a function of public facts.
    """

    facts: ReleaseFacts  # of the covariates alone, with bins where they need some
    # Those that a declared regression uses; a missing value would cost the reader the row.
    complete: frozenset[str]
    # Most rows of one protected unit: those of a cluster, where clusters are protected.
    rows: int = 1

    @property
    def schema(self) -> Schema:
        """The modelled columns, and nothing else."""
        return self.facts.schema

    @property
    def n(self) -> int:
        """Rows."""
        return self.facts.n

    @property
    def names(self) -> tuple[str, ...]:
        """The modelled columns."""
        return tuple(self.schema.names)

    def plan(self, rule: Rule, allocation: Allocation) -> Plan:
        """Plan of a rule, for what :meth:`allocation` bought.

        The file says which of its regressions are valid, and no other one is read off it: its
        covariates may look more related than they are, which a histogram by itself refuses.
        """
        plan = self._counted(rule).plan(self.facts, allocation.part(rule, Allocation))
        if rule == "marginals":
            return plan
        cells = allocation.part(rule, Allocation).part(COUNTS, CellHistogram)
        return replace(plan, refusal=few_survivors(self.n, cells.threshold), file_note="")

    def chosen(self, budget: Budget) -> tuple[Rule, str]:
        """The rule that is worth ``budget``, and why; a function of public facts."""
        if not self.names:
            return "filler", "no covariate is modelled"
        budget = per_row(budget, self.rows)
        jointly, singly = (
            self._counted(rule).allocation(self.facts, budget)
            for rule in ("histogram", "marginals")
        )
        cells = jointly.part(COUNTS, CellHistogram)
        counts = singly.part(COUNTS, OneWayHistograms)
        threshold = cells.threshold
        scale = 2 / float(budget.epsilon)
        if resembles_jointly(self.n, cells.cells, threshold, math.sqrt(2) * scale):
            return "histogram", (
                f"n / K = {self.n / cells.cells:.3g} is at least t = {threshold} and "
                f"{LEAST_RESEMBLANCE} times the noise of a count (scale {scale:.3g})"
            )
        sizes = counts.radices
        noise = counts.mechanism.noise_sd
        if resembles_one_by_one(self.n, sizes, noise):
            return "marginals", f"the noise of a count, sd {noise:.3g}, is small against n / levels"
        return "filler", (
            f"at epsilon={float(budget.epsilon):g} they would not resemble the originals: K = "
            f"{float(cells.cells):.2g} cells for n = {self.n:,}, and noise of sd {noise:.3g} in "
            f"every count of {len(sizes)} columns"
        )

    def allocation(self, rule: Rule, budget: Budget) -> Allocation:
        """Return the mechanism of a rule, of whose budget each row of a unit gets its part."""
        each = self._counted(rule).allocation(self.facts, per_row(budget, self.rows))
        return Allocation(budget=budget, parts={rule: each}, rows=self.rows)

    def draw(
        self, rule: Rule, table: BoundTable, allocation: Allocation, noise: NoiseSource
    ) -> Counts:
        """Return what :meth:`columns` makes rows of; the caller has charged it."""
        return drawn_counts(table, self.facts, allocation.part(rule, Allocation), noise)

    def _counted(self, rule: str) -> HistogramSpec | MarginalsSpec:
        kind = HistogramSpec if rule == "histogram" else MarginalsSpec
        return kind(columns=self.names, outcome_share=0)

    def columns(self, drawn: Counts | None, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return synthetic columns (n,) by name: post-processing, or filler."""
        codes = self.facts.encodings
        if isinstance(drawn, HistogramRelease):
            rows = draw_rows(drawn, self.n, rng)
        elif drawn is not None:
            rows = draw_independent_rows(drawn, self.n, rng)
        else:
            drawn_at_once = [rng.integers(0, code.size, self.n) for code in codes]
            rows = np.array(drawn_at_once, np.int64).reshape(len(codes), self.n).T
        for j, code in enumerate(codes):
            if drawn is None or self.complete.intersection(c.name for c in code.columns):
                completed(rows[:, j], _regular(code, rng), rng)
        return decoded(codes, rows, rng)


def _codes(schema: Schema, names: Sequence[str]) -> tuple[Coded, ...]:
    try:
        return encodings(schema, names)
    except SchemaError as error:
        raise SchemaError(f"covariate: {marked(error)}") from None


def checks_of(schema: Schema, *, filler: bool) -> Iterator[Callable[[], object]]:
    """A check for each covariate, so that all that lack a declaration are named at once."""
    binned = _all_binned(schema, filler=filler)
    for column in binned.columns:
        if column.exclusive is None:
            yield partial(_codes, binned, [column.name])


def _all_binned(schema: Schema, *, filler: bool) -> Schema:
    return replace(schema, columns=tuple(_binned(c, filler=filler) for c in schema.columns))


def covariates_of(
    schema: Schema, complete: frozenset[str], n: int, *, filler: bool, rows: int = 1
) -> Covariates:
    """The modelled covariates of a table: a function of public facts.

    ``complete`` are those that a declared regression uses; ``filler`` fills them whatever the
    budget; a protected unit has at most ``rows``.
    """
    binned = _all_binned(schema, filler=filler)
    codes = _codes(binned, binned.names)
    for column in schema.columns:
        ends = column.bounds or (() if column.is_text else column.levels or ())
        if column.name in complete and len(ends) > 1:
            check_extent(column.name, float(min(ends)), float(max(ends)))
    return Covariates(ReleaseFacts(binned, n, codes), complete, rows)


def completed(
    codes: NDArray[np.int64], regular: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Change missing codes into one of the ``regular`` codes of another row, and return all.

    Examples
    --------
    >>> completed(np.array([0, 2, 0]), np.array([0, 1]), np.random.default_rng(1)).tolist()
    [0, 0, 0]
    """
    missing = np.ones(len(codes), bool)
    for rows in blocks(len(codes)):
        missing[rows] = ~np.isin(codes[rows], regular)
    donors = regular if missing.all() else codes[~missing] if missing.any() else codes
    for rows in blocks(len(codes)):
        drawn = rng.choice(donors, len(missing[rows]))
        np.copyto(codes[rows], drawn, where=missing[rows])
    return codes


def _regular(code: Coded, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the codes of values that a regression can use."""
    every = np.arange(code.size)
    usable = np.ones(code.size, bool)
    for values in code.decoded(every, rng).values():
        usable &= ~_missing(values)
    return every[usable]


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.asarray([value == "" for value in values], bool)
    return np.asarray(np.isnan(values), bool)


def _binned(column: Column, *, filler: bool) -> Column:
    """Return a covariate with bins where it needs some; of filler, one bin and no origin."""
    if filler:
        column = replace(column, bins=None, built_from="own")
    column = replace(column, fate="modelled", derived=None)
    if column.is_text or column.levels is not None or column.bounds is None or column.bins:
        return column
    step = column.step
    points = None if step is None else (column.bounds[1] - column.bounds[0]) / float(step)
    if points is not None and points < COVARIATE_BINS:
        return column
    return replace(column, bins=1 if filler else COVARIATE_BINS)


def price_of(plan: Plan, names: Sequence[str]) -> Iterator[PlannedNumber]:
    """Numbers of a mechanism's plan, as they stand in that of a calibrated release."""
    kept = [one for one in plan.numbers if one.quantity in _PRICES]
    yield from (replace(one, quantity=f"covariates: {one.quantity}") for one in kept)
    each = (
        f"each of {len(names)} columns adds 2 to the sensitivity of the counts"
        if any(one.quantity == "noise of a count" for one in kept)
        else "each column multiplies K by its levels and adds (2/epsilon) ln(levels) to t"
    )
    yield from notes({"covariates: price of one": each})


_PRICES = frozenset({"K", "t", "noise", "noise of a count", "columns"})


def coefficients(
    released: NoisyVector,
    covariates: Sequence[Coded | Column],
    outcomes: Sequence[Column],
    n: int,
) -> NDArray[np.float64]:
    """gamma~, (p, q), a ridge regression of outcomes on covariates with an intercept.

    ``released`` is what a mechanism returned for :func:`dprct.queries.ridge_moments` of the same
    columns.  There is a row per feature of :func:`dprct.queries.features_of`, in units of the
    outcome per unit of the feature.  The intercept is left out: the released control mean takes its
    place.

    Notes
    -----
    Post-processing: the relation and the guarantee are those of ``released``.  Features are
    measured from the middle of their bounds in units of half of their width, centred with the
    released means, and ``(S + kI)^-1 s`` is solved with S made positive semi-definite and the
    penalty :func:`dprct.defaults.moment_penalty`, so that it always exists and goes to least
    squares as the noise goes to zero.

    References
    ----------
    docs/methods.md, section 5.
    """
    layout = MomentsLayout.of(covariates, outcomes)
    squares, products = layout.matrices(released.units, n)
    means = squares[0, 1:] / n
    spread = squares[1:, 1:] - n * np.outer(means, means)
    with_outcomes = products[1:] - np.outer(means, products[0])
    values, vectors = np.linalg.eigh(spread)
    noise_sd = layout.noise_of(released.noise_sd)
    penalty = moment_penalty(noise_sd, layout.width, float(np.linalg.norm(means)))
    shrunk = np.clip(values, 0, None) + penalty
    solved = vectors @ ((vectors.T @ with_outcomes) / shrunk[:, None])
    per_feature = np.array([feature.half for feature in layout.features])
    per_outcome = np.array([outcome.half for outcome in layout.outcomes])
    found: NDArray[np.float64] = solved * per_outcome / per_feature[:, None]
    return found


@dataclass(frozen=True)
class Slopes:
    """How outcomes move with covariates, before it is released.

    Notes
    -----
    Gaussian noise on second moments (:class:`MomentsLayout` proves their
    sensitivity under replace-one, of which the changes with the design public are a part), then a
    ridge regression: post-processing.
    """

    covariates: tuple[Coded, ...]
    outcomes: tuple[Column, ...]  # with bounds
    n: int
    rows: int = 1  # most rows of one protected unit, of whose budget each row gets its part
    relation: Relation = "replace-one-design-public"

    @classmethod
    def of(
        cls,
        covariates: Covariates,
        outcomes: Sequence[Column],
        relation: Relation = "replace-one-design-public",
    ) -> Slopes:
        """Return the slopes of the covariates that declared regressions use."""
        schema = covariates.schema
        names = [name for name in schema.names if name in covariates.complete]
        codes = encodings(schema, names)
        return cls(codes, tuple(outcomes), covariates.n, covariates.rows, relation)

    def mechanism(self, budget: Budget) -> AnalyticGaussian:
        """Return the noise that a unit's budget with a delta buys."""
        layout = MomentsLayout.of(self.covariates, self.outcomes)
        return AnalyticGaussian(per_row(budget, self.rows), layout.l2_squared, layout.size)

    def allocation(self, budget: Budget) -> Allocation:
        """Return the noise, of whose budget each row of a unit gets its part."""
        parts = {"moments": self.mechanism(budget)}
        return Allocation(budget=budget, parts=parts, rows=self.rows)

    def draw(
        self, table: BoundTable, allocation: Allocation, noise: NoiseSource
    ) -> NDArray[np.float64]:
        """Return the released coefficients (p, q); the caller has charged them."""
        sealed = moments(table.frame, self.covariates, self.outcomes, relation=self.relation)
        drawn = allocation.part("moments", AnalyticGaussian).release(sealed, noise)
        return coefficients(drawn, self.covariates, self.outcomes, self.n)

    def indices(
        self, columns: Mapping[str, NDArray[Any]], slopes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Contribution of released covariates to each outcome, (n, q)."""
        features = np.column_stack([f.values(columns) for f in features_of(self.covariates)])
        return np.asarray(features @ slopes, np.float64)


Array = NDArray[np.float64]

FEWEST = 10
"""People that every arm of a file has where their number is private, if there are as many."""


STRONG = 104.7
"""F of take-up above which the usual interval of a ratio covers at 95 % whatever the correlation
(Lee, McCrary, Moreira and Porter 2022, American Economic Review 112)."""


@dataclass(frozen=True, eq=False)
class Target:
    """What was released of one outcome."""

    effects: Array  # (K - 1,)
    covariance: Array  # (K - 1, K - 1)
    control: float  # mean of the control group
    # (n,): what covariates contribute to the outcome of each row; nothing if None.
    index: Array | None = None
    # Released numbers of values in all arms, control first, where it is private who has one.
    counts: tuple[int, ...] = ()
    # Error that the regression on the arms alone is to find of the control mean; any if None.
    control_error: float | None = None
    # Error of the control mean, sampling and privacy noise together, whatever regressions find;
    # None where it has none.
    control_known: float | None = None
    # What was released of the same outcome in every public group, in order; none without groups.
    within: tuple[Target, ...] = ()
    # ((K - 1,) array, (K - 1, K - 1) array): effects, and their covariance, that regressions with
    # factors of the groups return, where arms have other shares in some groups; None where they
    # have not.
    weighted: tuple[Array, Array] | None = None
    # Covariances of the one effect with those on earlier outcomes; none where these were not
    # released, or there are several effects.
    shared: tuple[float, ...] = ()

    @property
    def is_strong(self) -> bool:
        """Whether the one effect is so far from 0 that it may divide others."""
        effect = float(self.effects[0])
        return len(self.effects) == 1 and effect**2 > STRONG * float(self.covariance[0, 0])

    @property
    def on_all_rows(self) -> tuple[Array, Array]:
        """Effects, and their covariance, that valid regressions on all rows return."""
        return (self.effects, self.covariance) if self.weighted is None else self.weighted


def targets_of(
    estimates: Any, released: Sequence[Any], indices: Array | None = None
) -> list[Target]:
    """Targets of the regressions of each outcome.

    ``released`` is what the effects were made of, ``indices`` (n, q) what covariates contribute to
    each outcome.
    """
    effects = np.split(estimates.params.to_numpy(np.float64), len(released))
    cov = estimates.cov.to_numpy(np.float64)
    size = len(effects[0])
    return [
        Target(
            np.asarray(effects[q], np.float64),
            cov[q * size : (q + 1) * size, q * size : (q + 1) * size],
            float(estimates.control["mean"].iloc[q]),
            None if indices is None else indices[:, q],
            one.counts,
            control_known=known if math.isfinite(known) else None,
        )
        for q, (one, known) in enumerate(
            zip(released, estimates.control["std_error"].tolist(), strict=True)
        )
    ]


def joint_targets(
    estimates: EffectResults,
    columns: Sequence[Column],
    indices: Array | None = None,
    *,
    clipped: bool = True,
) -> list[Target]:
    """Targets of the regressions of each outcome.

    ``indices`` (n, q) are what covariates contribute to each outcome.  ``clipped`` control means
    are brought within the bounds; those of groups are not, so that they add up to that of
    everybody.

    Notes
    -----
    With v_0 the squared error of the control mean and se_a that of the effect of arm a, the
    covariance of two effects is v_0, which is what two comparisons with one control group share.
    An arm that is not estimated (its released number of people is too small to divide by) has its
    mean in the middle of the bounds, with their width for its error: an interval that contains
    every value.
    """
    count, cov = len(estimates.arms), estimates.cov.to_numpy(np.float64)
    every, alphas = estimates.means.each(), estimates.alphas
    found = []
    for j, column in enumerate(columns):
        assert column.bounds is not None
        low, high = column.bounds
        means = every[j * count : (j + 1) * count]
        known = [math.isfinite(mean.value) for mean in means]
        values = np.array(
            [m.value if k else low / 2 + high / 2 for m, k in zip(means, known, strict=True)]
        )
        squares = np.array(
            [
                m.standard_error(alphas) ** 2 if k else (high - low) ** 2
                for m, k in zip(means, known, strict=True)
            ]
        )
        here = slice(j * (count - 1), (j + 1) * (count - 1))
        effects, errors = values[1:] - values[0], squares[1:] + squares[0]
        told = np.array(known[1:]) & known[0]
        effects[told] = estimates.params.to_numpy(np.float64)[here][told]
        errors[told] = np.diag(cov)[here][told]
        covariance = np.full((count - 1, count - 1), squares[0])
        np.fill_diagonal(covariance, errors)
        found.append(
            Target(
                effects,
                covariance,
                float(np.clip(values[0], low, high) if clipped else values[0]),
                None if indices is None else indices[:, j],
                control_error=math.sqrt(squares[0]) if known[0] else None,
                control_known=math.sqrt(squares[0]) if known[0] else None,
                shared=tuple(cov[j, :j].tolist()) if count == 2 and told.all() else (),
            )
        )
    return found


def with_groups(
    targets: Sequence[Target],
    estimates: EffectResults,
    subgroup: str,
    columns: Sequence[Column],
    weights: Sequence[Array | None],
) -> list[Target]:
    """Return the targets with those of every level of a subgroup.

    ``weights`` (K - 1, G, K) are those of cells' means in a regression with factors of the levels;
    None of outcomes for which arms have the same shares in all levels.
    """
    inside = estimates.effects(where=subgroup)
    levels = len(inside.outcomes) // len(columns)
    every = joint_targets(inside, [*columns] * levels, clipped=False)
    return [
        replace(
            target,
            within=tuple(every[j :: len(targets)]),
            weighted=None if mine is None else _weighted(inside, len(columns), mine, j),
        )
        for j, (target, mine) in enumerate(zip(targets, weights, strict=True))
    ]


def _weighted(
    estimates: EffectResults, outcomes: int, weights: Array, outcome: int
) -> tuple[Array, Array]:
    """Return combinations of the means of levels and arms, and the squares of their errors."""
    effects, levels, arms = weights.shape
    every = np.zeros((effects, levels, outcomes, arms))
    every[:, :, outcome] = weights
    means = estimates.means.transformed(every.reshape(effects, -1))
    found = means.each()
    errors = [one.standard_error(estimates.alphas) for one in found]
    return np.array([one.value for one in found]), np.diag(np.square(errors))


def sizes_of(counts: Sequence[float], n: int, least: int) -> NDArray[np.int64]:
    """Return whole numbers of people in arms, n together, about in proportion to noisy counts.

    Every arm has at least ``least``, or its equal part of n if that is less.

    Examples
    --------
    >>> sizes_of([60.3, 41.2], 100, 10).tolist(), sizes_of([103.0, -2.0], 100, 10).tolist()
    ([59, 41], [90, 10])
    """
    arms = len(counts)
    fewest = min(least, n // arms)
    noisy = np.clip(np.asarray(counts, np.float64), 0, None)
    whole = noisy.sum()
    wanted = n * (noisy / whole) if whole > 0 else np.full(arms, n / arms)
    beyond = np.clip(wanted - fewest, 0, None)
    rest = n - arms * fewest
    share = beyond * (rest / beyond.sum()) if beyond.sum() > 0 else np.full(arms, rest / arms)
    found = np.floor(share).astype(np.int64)
    largest_rests = np.argsort(found - share, kind="stable")
    found[largest_rests[: rest - int(found.sum())]] += 1
    sizes: NDArray[np.int64] = found + fewest
    return sizes


def assigned(
    there: NDArray[np.bool_],
    design: Design,
    order: Sequence[int],
    counts: Sequence[float],
    least: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Arms at random, of sizes about the released noisy counts, and their columns.

    ``there`` says who has a value, where that is public (else everybody), and of these people are
    the counts; ``order`` is the place of each arm among the groups of the design, control first; an
    arm has at least ``least`` people with a value.

    Notes
    -----
    Post-processing: a function of released counts, public facts and fresh randomness, so that
    nobody's arm in the file is that of anybody in the confidential table, and no size is a count.
    Rows without a value have arms in the same proportions, for nothing else is known of them.
    """
    arms = np.zeros(len(there), np.int64)
    for some, fewest in ((there, least), (~there, 0)):
        sizes = sizes_of(counts, int(some.sum()), fewest)
        arms[some] = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    table = design.groups.frame(np.asarray(order, np.int64)[arms])
    return arms, {name: table[name].to_numpy() for name in table.columns}


def resembles_jointly(n: int, cells: int, threshold: int, noise_sd: float) -> bool:
    """Whether a histogram of covariates keeps what it counts.

    n / K is not below the threshold t, and is many noise sds.

    Examples
    --------
    >>> resembles_jointly(1000, 8, 20, 5.0), resembles_jointly(1000, 8, 20, 50.0)
    (True, False)
    """
    return n >= cells * max(threshold, LEAST_RESEMBLANCE * noise_sd)


def resembles_one_by_one(n: int, sizes: Iterable[int], noise_sd: float) -> bool:
    """Whether one-way histograms keep the shape of every column: n / levels is many noise sds.

    Examples
    --------
    >>> resembles_one_by_one(1000, [2, 10], 12.0), resembles_one_by_one(1000, [2, 10], 80.0)
    (True, False)
    """
    return all(n >= LEAST_RESEMBLANCE * size * noise_sd for size in sizes)
