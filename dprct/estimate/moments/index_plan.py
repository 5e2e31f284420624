"""Models of an index before their draws: the errors to expect, and shares of a budget; public.

A model is planned from what is declared: the mean of its outcome, correlation within clusters, and
rows of groups where these are public.  Its regressors have the variances that are declared, and
those of covariates the inflation that plans take for granted.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.estimate.moments.gaussian_law import planned_kappa
from dprct.estimate.moments.index_models import (
    LONGEST_SCORE,
    MOST_REMAINDER,
    NOISE_OF_SQUARES,
    PART,
    SMALL_REMAINDER,
    linked,
)
from dprct.estimate.moments.layout import VIF
from dprct.estimate.moments.members import declared_loads, share_of
from dprct.estimate.moments.system import GATE
from dprct.estimate.synthetic_control.allocation import ReleasePart
from dprct.lazy import special
from dprct.queries.group_moments import STEPS
from dprct.queries.index_scores import COARSER
from dprct.records import dataclass
from dprct.results.plan import PlannedNumber, errors_of_estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.index_models import Coding, IndexModel
    from dprct.estimate.moments.layout import Layout
    from dprct.estimate.moments.one_step import SharedAllocation
    from dprct.privacy.mechanisms import AnalyticGaussian
    from dprct.queries.index_scores import Some
    from dprct.schema import Column, Schema

    Array = NDArray[np.floating[Any]]

SHARE = Fraction(4, 5)
"""Of mu squared, which models of an index have where nothing else was asked for."""

_FEWEST, _OF_EACH = 80, 4
"""Pieces of mu squared that are given away one by one: at least, and for each model."""

_SQUARES = tuple(Fraction(k, 100) for k in (4, 8, 12, 20, 30, 40, 50))
_INFORMATION = tuple(Fraction(k, 100) for k in (15, 25, 35, 50))
_THIRD = tuple(Fraction(k, 100) for k in (60, 70, 80))
"""Of a model's own share, what squares may have; of the rest, information; of scores, the last."""

_LAST = Fraction(3, 5)
"""Of information, what the last step has."""

_START = 0.15
"""Mean squared noise of the index at the first step, above which moments have more."""

_LEAST, _MOST = Fraction(1, 50), Fraction(3, 10)
"""Shares that moments have for first steps."""

_SAFE = 0.4
"""Of the gate, what the noise of information should stay within: who is rarer than declared, or
covariates that go together, have more."""

_TIMES_FAIR = 3
"""How many times an equal share a model has at most to come within reach."""

_GUESS, _OF_COUNTS = 1 / 3, 0.15
"""Mean that a plan takes where nothing is declared, of a count in units of its upper bound."""

_OTHERS = (0.5, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01)
"""Other means, in the same units, for which a plan is made as well."""


@dataclass(frozen=True, eq=False)
class Ahead:
    """What a plan knows of one model, v in units of B."""

    model: IndexModel
    coding: Coding
    n: float  # rows that are planned to count
    alone: Array  # (k,): variances of coefficients by name, without privacy and clusters
    clustered: Array  # (k,): times these, because people of a cluster are alike
    of_noise: Array  # (k,): what noise of variance 1 of every score adds to them
    eta2: float  # of noise of variance 1 of the information
    long: float  # half the mean squared change of the index by noise of variance 1 of scores
    start: float  # variance of the noise of scores in the first step, for s2 of 1
    largest: float  # the square of the longest score that squares are taken of

    def at(self, laws: Mapping[str, AnalyticGaussian], s2: float) -> Expected:
        """Return what to expect of these draws, where moments have noise of s2."""
        return self.expected({name: law.noise_sd for name, law in laws.items()}, s2)

    def expected(self, sd: Mapping[str, Any], s2: float) -> Expected:
        """Return what noise of these standard deviations leads to; arrays of one shape.

        Notes
        -----
        With A the inverse of the information and noise of variance t of the scores at a step, the
        coefficients after it have the variance t A^2; noise h of the next information adds
        h^2 / 2 (d'd I + d d') to its scores, d the step, which is the noise before and after it.
        """
        k, unit = len(self.alone), self.coding.map.link.unit * self.coding.by
        score = [np.square(sd[f"score {step}"] * unit) for step in (2, 3)]
        unit *= self.coding.by * 2.0**COARSER
        eta2 = [self.eta2 * np.square(sd[f"information {step}"] * unit) for step in (2, 3)]
        before: Any = self.start * s2**2
        index = 0.0
        for own, of_step in zip(score, eta2, strict=True):
            after = (own + of_step * before) / np.maximum(1 - of_step, 0.5)
            before, index = after, self.long * (before + after)
        noise = np.asarray(before)[..., None] * self.of_noise
        sampling = self.alone * self.clustered
        if "squares" in sd:
            size = k * LONGEST_SCORE
            if not self.model.times:
                size = np.maximum(size, NOISE_OF_SQUARES * self.n * STEPS**2 / sd["squares"])
            size = np.minimum(size, self.largest)
            own = np.asarray(sd["squares"] * size / STEPS**2 / self.n)[..., None]
            ratio = (own * self.alone / noise).max(axis=-1, keepdims=True)
            # eigenvalues of a noisy matrix spread as those of noise, and none is read below 0
            middle, spread = (
                self.clustered + planned_kappa(ratio) * own,
                own * math.sqrt((k + 1) / 2),
            )
            at = middle / spread
            density = np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
            sampling = self.alone * (middle * special.ndtr(at) + spread * density)
        error = np.sqrt(sampling + noise)
        left = np.asarray(index)[..., None] / self.coding.range / error
        return Expected(
            error * np.where(left > SMALL_REMAINDER, np.sqrt(1 + left**2), 1.0), np.sqrt(noise),
            np.maximum(*eta2), left,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Expected:
    """What is planned of a model; (..., k), the constant first."""

    error: Array
    noise: Array
    eta2: Any  # the noise of the information against itself
    left: Array  # by how many errors another step may move each coefficient

    def worth(self, hopeless: Any = None) -> Any:
        """Mean logarithm of errors, and more where coefficients may not be read; ``(...)``.

        What could not be read with much more either is no reason to spend more.
        """
        left, over = self.left[..., 1:], np.log(self.eta2 / GATE)
        gate = np.maximum(over - math.log(_SAFE), 0) / 2 + 3 * np.maximum(over, 0)
        beyond = 2 * np.log(np.maximum(left, 1))
        if hopeless is not None:
            beyond, gate = beyond * (hopeless.left[1:] <= MOST_REMAINDER), gate * (
                hopeless.eta2 <= GATE)  # fmt: skip
        each = np.log(self.error[..., 1:]) + beyond
        return each.mean(axis=-1) + gate if each.shape[-1] else gate


def ahead_of(
    model: IndexModel, coding: Coding, layout: Layout, rows: Sequence[int | None], n: int,
    outcome: Column, icc: float | None,
) -> Ahead:  # fmt: skip
    """Plan a model; ``rows`` are those of groups, ``icc`` of people who are assigned together."""
    of, by, k = coding.map, coding.by, coding.map.size
    known = np.array([one or 0 for one in rows], float) * of.counts
    known = known if known.sum() > 0 else of.counts * n / of.counts.sum()
    n_of, share = float(known.sum()), known / known.sum()
    mean, square = _planned_loads(of.some)
    weight = _planned_weight(model, outcome)
    inside = np.array([at < 0 for at in of.columns])
    P = (of.offsets * share[:, None]).T @ of.offsets.astype(float) * np.outer(inside, inside)
    loaded = share @ of.loads.astype(float) ** 2
    P[np.diag_indices(k)] += np.where(inside, 0.0, np.maximum(loaded, 1e-9) * coding.unit**2 / VIF)
    P *= by**2
    P[np.diag_indices(k)] += 1e-12
    A = np.linalg.inv(P) / (n_of * weight * mean)
    back = np.linalg.inv(coding.to_names.T) * by
    alike = np.ones(k)
    if icc is not None and model.groups:
        alike[inside] = 1 + max(n_of / model.groups - 1, 0) * icc
    turned = math.sqrt(n_of * np.diag(A).max()) * of.link.unit * by * of.link.residual
    place = next(one for one in layout.places if one.name == model.outcome)
    step = layout.step * place.weight / by
    return Ahead(
        model, coding, n_of * mean, np.diag(back @ A @ back.T) * square / mean, alike,
        np.diag(back @ A @ A @ back.T), float((A * A).sum()) / 2, float((P * (A @ A)).sum()) / 2,
        len(rows) / 2 * weight / step**2, k * turned**2 * of.square,
    )  # fmt: skip


def _planned_weight(model: IndexModel, outcome: Column) -> float:
    """Mean w that a plan takes, from the declared mean of the outcome, its ``centre``, or ``sd``.

    Rarer outcomes have less.  Covariates that matter take a tenth of what the mean alone has.
    """
    q = _declared_mean(model, outcome)
    q = _guess(model) if q is None else q
    if model.family == "poisson":
        return q
    _, slope = linked(model.family, q)
    return float(0.9 * slope**2 / (q * (1 - q)))


def _guess(model: IndexModel) -> float:
    return _OF_COUNTS * model.largest if model.family == "poisson" else _GUESS


def _declared_mean(model: IndexModel, outcome: Column) -> float | None:
    """Mean of an outcome as declared; of 0 and 1 an sd says it, too."""
    q, sd = outcome.centre, outcome.sd
    if model.family == "poisson":
        return None if q is None else min(q, model.largest)
    if q is None and sd is not None:
        q = 0.5 - math.sqrt(max(0.25 - sd**2, 0.0))
    return q if q is not None and 0 < q < 1 else None


def _planned_loads(some: Some | None) -> tuple[float, float]:
    """Mean of what rows count, and of its square, over the largest, by what is declared."""
    if some is None:
        return 1.0, 1.0
    share = max(float(share_of(some.kinds)[some.holds].sum()), 1e-3)
    if some.weight is None:
        return share, share
    mean, square = declared_loads(some.weight)
    return share * mean, share * square


def share_of_models(models: int, others: int) -> Fraction:
    """Return what models of an index have of mu squared where others are read off moments."""
    if not models:
        return Fraction(0)
    return SHARE if not others else SHARE * models / (models + others)


def sizes_of(one: Ahead) -> dict[str, tuple[int, int]]:
    """How many numbers each draw of a model has, and the square of what one person moves them by.

    Errors that are classical need no squares.
    """
    of, k = one.coding.map, one.coding.map.size
    score, information = (k + of.numbers, of.score_squared), (k * k, of.information_squared)
    found = {"score 2": score, "information 2": information,
             "score 3": score, "information 3": information}  # fmt: skip
    if one.model.cov_type != "nonrobust":
        found["squares"] = k * k, of.square_sensitivity(one.model.times, k)
    return found


def least_moments(ahead: Sequence[Ahead], s2_of: Callable[[Fraction], float]) -> Fraction:
    """Return the share that moments need for first steps that are not far from the next."""
    if not ahead:
        return Fraction(0)
    far = max(2 * one.long * one.start for one in ahead) * s2_of(Fraction(1)) ** 2
    return min(max(Fraction(math.ceil(far / _START * 100), 100), _LEAST), _MOST)


def divided(
    ahead: Sequence[Ahead], mu: float, s2: float, share: Fraction | None = None,
    others: Callable[[Fraction], float] = lambda _: 0.0,
) -> dict[str, ReleasePart]:  # fmt: skip
    """Return the parts of an allocation that models have, of the least planned errors.

    Notes
    -----
    Mu squared is given away piece by piece, to the model of which the mean logarithm of errors
    falls most; together they have ``share``, or as much as is best beside ``others``: the sum of
    these logarithms of other regressions, as a function of what models have.
    """
    pieces = max(_FEWEST, _OF_EACH * len(ahead))
    counts = np.arange(1, pieces if share is None else pieces + 1)
    piece = (Fraction(1) if share is None else share) / pieces
    tables = [_table(one, mu, s2, piece, counts, len(ahead)) for one in ahead]
    worth = [one for one, _ in tables]
    given = [1] * len(ahead)
    best: tuple[float, list[int]] | None = None
    while True:
        total = sum(given)
        if share is None or total == pieces:
            now = sum(float(w[g - 1]) for w, g in zip(worth, given, strict=True))
            now += others(piece * total)
            if best is None or now < best[0] - 1e-9:
                best = now, [*given]
        if total >= len(counts):
            break
        gains = [float(w[g - 1] - w[g]) for w, g in zip(worth, given, strict=True)]
        given[int(np.argmax(gains))] += 1
    assert best is not None
    found = {}
    for at, (one, (_, splits), g) in enumerate(zip(ahead, tables, best[1], strict=True), 1):
        for name, (size, square) in sizes_of(one).items():
            l1 = math.isqrt(size * square) + 1
            own = piece * g * splits[g - 1][name]
            found[PART.format(name, at)] = ReleasePart(own, l1, square, size)
    return found


def _table(
    one: Ahead, mu: float, s2: float, piece: Fraction, counts: Any, models: int
) -> tuple[Array, list[dict[str, Fraction]]]:
    """Return worth, the less the better, of numbers of pieces, and how each is best split."""
    sizes, splits = sizes_of(one), _splits("squares" in sizes_of(one))
    sd = {
        name: math.sqrt(square) / mu / np.sqrt(np.outer(
            counts * float(piece), [float(split[name]) for split in splits]
        ))
        for name, (_, square) in sizes.items()
    }  # fmt: skip
    found = one.expected(sd, s2)
    cap = min(_TIMES_FAIR * len(counts) // models, len(counts)) - 1
    at = int(np.argmin(found.worth()[cap]))
    most = Expected(found.error[cap, at], found.noise[cap, at], found.eta2[cap, at],
                    found.left[cap, at])  # fmt: skip
    worth = found.worth(most)
    return worth.min(axis=1), [splits[at] for at in worth.argmin(axis=1).tolist()]


def _splits(robust: bool) -> list[dict[str, Fraction]]:
    """Splits of a model's share among its draws."""
    found = []
    for q, h, last in product(_SQUARES if robust else (Fraction(0),), _INFORMATION, _THIRD):
        rest = 1 - q
        own = {"score 2": rest * (1 - h) * (1 - last), "information 2": rest * h * (1 - _LAST),
               "score 3": rest * (1 - h) * last, "information 3": rest * h * _LAST}  # fmt: skip
        found.append(own | ({"squares": q} if robust else {}))
    return found


def planned_models(
    ahead: Sequence[Ahead], planned: Sequence[Expected], allocation: SharedAllocation
) -> Iterator[PlannedNumber]:
    """Share and expected errors of models."""
    for at, (one, found) in enumerate(zip(ahead, planned, strict=True), 1):
        title = one.model.title
        why = f"by private scoring, {one.model.family}, {one.model.cov_type}"
        yield PlannedNumber("served", why=why, regression=title)
        share = sum(allocation.shares[PART.format(name, at)] for name in one.model.draws)
        why = "of mu squared, for scores, information and squares"
        yield PlannedNumber("share", float(share), why=why, regression=title)
        alone = np.sqrt(one.alone * one.clustered)
        each = zip(one.model.terms, found.error, alone, found.noise, strict=True)
        for name, *errors in islice(each, 1, None):
            yield from errors_of_estimate(*map(float, errors), regression=title, term=name)


def doubtful_models(ahead: Sequence[Ahead], planned: Sequence[Expected]) -> Iterator[str]:
    """Warn of what is planned not to be read."""
    spend = "spend more, declare fewer regressions or regressors, or narrower bounds"
    for one, found in zip(ahead, planned, strict=True):
        left = zip(one.model.terms[1:], found.left[1:].tolist(), strict=True)
        lost = [name for name, errors in left if errors > MOST_REMAINDER]
        if found.eta2 > GATE:
            yield (
                f"{one.model.title} is likely not estimated at this n and budget: the noise of its "
                f"information is planned to be {float(found.eta2):.2g} of itself (squared), "
                f"coefficients are read up to {GATE:g}; {spend}"
            )
        elif lost:
            yield (
                f"{one.model.title}: {', '.join(lost)} likely not estimated at this n and budget: "
                "the last step is planned to be so long that another one may move a coefficient "
                f"by more than its error; {spend}"
            )


def guessed_means(
    ahead: Sequence[Ahead], planned: Sequence[Expected], schema: Schema,
    another: Callable[[Mapping[str, float]], Sequence[Expected]],
) -> Iterator[str]:  # fmt: skip
    """Say what a plan has guessed of outcomes, and what to expect if it is wrong.

    ``another`` plans the same draws with other means of outcomes.
    """
    guessed = [
        at for at, one in enumerate(ahead) if len(one.model.terms) > 1
        and _declared_mean(one.model, schema.column(one.model.outcome)) is None
    ]  # fmt: skip
    if not guessed:
        return
    tried = [
        another({ahead[at].model.outcome: share * ahead[at].model.largest for at in guessed})
        for share in _OTHERS
    ]
    for at in guessed:
        model = ahead[at].model
        means = [share * model.largest for share in _OTHERS]
        read = [_first_read(found[at]) for found in tried]
        lost = [mean for mean, one in zip(means, read, strict=True) if not one]
        errors = [
            f"{float(found[at].error[1]):.2g} at {mean:g}"
            for mean, found, one in zip(means, tried, read, strict=True) if one
        ]  # fmt: skip
        if not errors:  # lost at every mean, and said to be
            continue
        said = f"with the same budget it is {', '.join(errors)}"
        if lost:
            said += f", and at {max(lost):g} or less it is too noisy to be estimated"
        yield (
            f"{model.title}: no mean of {model.outcome} is declared, and "
            f"{_guess(model):.2g} is a guess. The error of {model.terms[1]}, "
            f"planned as {float(planned[at].error[1]):.2g}, depends on it: {said}. Declare "
            f"``centre=`` of {model.outcome} if other studies say what it is"
        )


def _first_read(found: Expected) -> bool:
    """Whether the first coefficient after the constant is planned to be read."""
    return bool(found.eta2 <= GATE and found.left[1] <= MOST_REMAINDER)
