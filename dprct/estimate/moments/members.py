"""Regressions of people whom private columns choose, or whose arm or weight is private.

How they are planned and read.  Members are chosen before treatment, so that T less its projection
on public columns of everyone is unrelated to these columns among members; the realised shares of
arms among members, which are private, are in the released sums.  With z = (1, a), a the public
weights, and r the residuals of members, m solves (sum v z z') m = sum v z r, and the coefficients
of treatment are K m, m without its first entry.  With two arms these come from the two means of
members by arm, whoever is a member, even where treatment changes who has a value.  Private weights
are factors of v.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.bound_step import Chosen
from dprct.queries.kinds import Kinds
from dprct.queries.members import Members, OfPersons
from dprct.queries.one_step import FINEST, most_together, root_above
from dprct.queries.sums import GRID
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.bound_step import BoundStep
    from dprct.queries.one_step import OnGrid
    from dprct.schema import Schema
    from dprct.schema.columns import Column

    Array = NDArray[np.floating[Any]]

_LOST = 0.2
"""Share of people whom a plan assumes to have no value, where who has one is private."""

GATE = 5.0
"""Standard deviations of its noise that the number of members of every arm must be above."""


def with_members(
    found: Sequence[BoundStep], schema: Schema, arms: Sequence[Mapping[str, Any]] = ()
) -> tuple[tuple[BoundStep, ...], Kinds | None, NDArray[np.int64] | None]:
    """The regressions with what private columns choose, the kinds of people and their arms.

    ``arms`` are the values of the columns of treatment in each, where it is private.
    """
    members = [one for one in found if arms or one.step.hides]
    if not members:
        return tuple(found), None, None
    conditions = tuple(dict.fromkeys(one.step.choosing for one in members if one.step.choosing))
    asked: dict[str, list[Any]] = {n: [] for one in members for n in one.step.present}
    for name, value in (pair for arm in arms for pair in arm.items()):
        asked.setdefault(name, []).append(value)
    columns = {column.name: column for column in schema.columns}
    kinds = Kinds.of(conditions, columns, asked)
    places, legal = None, np.ones(kinds.size, bool)
    if arms:
        places = np.full(kinds.size, -1)
        for place, arm in enumerate(arms):
            places[kinds.equal(arm)] = place
        legal = places >= 0
    holds = {one.step.title: _holding(one, kinds, columns) & legal for one in members}
    alike = [np.ones(1)] * len(members)
    together = [most_together(alike, [*holds.values()], both=both) for both in (False, True)]
    shares = share_of(kinds)
    whole = max(float(shares[legal].sum()), 1e-9)

    def chosen(one: BoundStep) -> Chosen:
        loads = 1.0, 1.0
        if (weight := one.step.weighing) is not None:
            loads = declared_loads(weight.parts[0].column)
        here, who = holds[one.step.title], one.step.choosing or one.step.present
        within = _arms_of_blocks(one) if one.step.within and not arms else None
        more, parts = _products(one) if within is None else (within[1], np.zeros(0))
        if one.controls is not None:
            more, parts = _products_of_persons(one)
        share = min(max(float(shares[here].sum()) / whole, 1e-3), 1.0)
        return Chosen(
            here if kinds.asked else None, together[1] > together[0], share, more, parts,
            everybody=not who, arms=max(1, len(arms)), loads=loads,
            within=within and within[0],
        )  # fmt: skip

    bound = [replace(one, chosen=chosen(one)) if one in members else one for one in found]
    return tuple(bound), kinds if kinds.asked else None, places


def _holding(one: BoundStep, kinds: Kinds, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
    """Return the kinds (J,) of people that count."""
    found = kinds.there(one.step.present)
    if one.step.choosing:
        found &= kinds.holds(one.step.choosing)
    if not found.any() or not possible(one.step.choosing, columns):
        raise ParameterError(
            f"{one.step.title!r}: ``where=`` holds for nobody, whatever a row has; give a "
            "condition that holds for some"
        )
    return found


def possible(condition: str | None, columns: Mapping[str, Column]) -> bool:
    """Whether some row that the declared levels allow meets a condition."""
    if condition is None:
        return True
    kinds = Kinds.of((condition,), columns)
    of_levels = all(one.column.levels and not one.column.missing for one in kinds.asked)
    return not of_levels or float(share_of(kinds)[kinds.holds(condition)].sum()) > 0


def declared_loads(weight: Column) -> tuple[float, float]:
    """Mean of weights and of their squares, over the largest, by what is declared of them."""
    ends = sorted(weight.bounds or map(float, weight.levels or (0.0, 1.0)))
    low, high = ends[0], ends[-1]
    mean = (low + high) / 2 if weight.centre is None else weight.centre
    sd = weight.sd or (high - low) / 4
    return mean / high, (mean**2 + sd**2) / high**2


def share_of(kinds: Kinds) -> Array:
    """Planned share of each kind of people (J,): columns independent, levels alike."""
    found = np.ones(1)
    for one in kinds.asked:
        found = np.outer(found, _shares(one.column, one.kinds)).ravel()
    return found


def _shares(column: Column, kinds: Sequence[Any]) -> Array:
    """Planned share of each kind of values of a column, by what is declared of it."""
    numbers = np.array([math.nan if isinstance(x, str) or x is None else x for x in kinds])
    found = np.zeros(len(kinds))
    if column.is_text:
        levels = column.levels or ()
        for level in levels:
            found[kinds.index(level) if level in kinds else len(kinds) - 2] += 1 / len(levels)
        return found if levels else np.full(len(kinds), 1 / len(kinds))
    if column.levels:
        values = sorted(map(float, column.levels))
        weight = np.full(len(values), 1 / len(values))
        if len(values) == 2 and column.centre is not None:
            high = (column.centre - values[0]) / (values[1] - values[0])
            weight = np.array([1 - high, high])
    else:
        low, high = column.bounds or (0.0, 1.0)
        values = np.linspace(low, high, 1001).tolist()
        middle, sd = column.centre, column.sd
        weight = np.ones(1001)
        if sd:
            centre = (low + high) / 2 if middle is None else middle
            weight = np.exp(-(((np.array(values) - centre) / sd) ** 2) / 2) + 1e-12
        weight = weight / weight.sum()
    ends = numbers[1::2][:-1]  # what conditions compare with
    for value, part in zip(values, weight, strict=True):
        at = int((value >= ends).sum() + (value > ends).sum())
        found[min(at, len(kinds) - 2)] += part
    return found


def loads_of(bound: BoundStep) -> Array:
    """V of each cell that counts, 1 where rows weigh alike; (C,)."""
    counts = np.any(bound.weights != 0, axis=0) if bound.controls is None else bound.sizes > 0
    found: Array = counts * (1.0 if bound.loads is None else bound.loads / GRID)
    return found


def _alpha(bound: BoundStep) -> Array:
    """The weights of a row of a load of 1; (q, C)."""
    v = loads_of(bound)
    found: Array = np.where(v > 0, bound.weights / np.where(v > 0, v, 1), 0.0)
    return found


def _products(bound: BoundStep) -> tuple[Array, Array]:
    """Further functions of cells, and by which of all functions v z z' is spanned."""
    v, a = loads_of(bound), _alpha(bound)
    n = np.maximum(bound.sizes, 0) * (v > 0)
    z = np.vstack([np.ones_like(v), a])
    j, k = np.triu_indices(len(z))
    more, by = _spanning(np.vstack([v, bound.weights]), v * z[j] * z[k], n)
    return more, _of_pairs(by, len(z))


def _spanning(basis: Array, targets: Array, n: Array) -> tuple[Array, Array]:
    """Functions, within 1, that span targets with a basis, and by which of all each is spanned.

    Each is what functions before it leave of a target, by least squares with weights n; (e, C) and
    (T, b + e).
    """
    root = np.sqrt(n)
    by: Array = np.linalg.lstsq((basis * root).T, (targets * root).T, rcond=1e-12)[0].T
    rest = np.where(n > 0, targets - by @ basis, 0.0)
    least = 1e-12 * (targets**2 @ n)
    more = []
    for at in range(len(rest)):
        if rest[at] ** 2 @ n > least[at]:
            one = rest[at] / np.abs(rest[at]).max()
            along = np.zeros(len(rest))
            along[at:] = rest[at:] @ (one * n) / (one**2 @ n)
            rest -= np.outer(along, one)
            by = np.column_stack([by, along])
            more.append(one)
    return np.array(more).reshape(len(more), len(n)), by


def _of_pairs(by: Array, size: int) -> Array:
    """Symmetric matrices of what pairs are spanned by, of each function."""
    found = np.zeros((by.shape[1], size, size))
    j, k = np.triu_indices(size)
    found[:, j, k] = found[:, k, j] = by.T
    return found


def _products_of_persons(bound: BoundStep) -> tuple[Array, Array]:
    """The same of persons with all of their rows: functions of patterns, even over their rows.

    The first is the loads of a person's rows; z are the controls and the weights.
    """
    assert bound.members is not None
    assert bound.controls is not None
    pattern, times = bound.members
    v, persons = loads_of(bound), bound.persons
    z = np.vstack([bound.controls, _alpha(bound)])
    rows = times * (v > 0)

    def of_pattern(numbers: Array) -> Array:
        found: Array = np.bincount(pattern, rows * v * numbers, len(persons)).astype(float)
        return found

    basis = of_pattern(np.ones(len(v)) / bound.most_rows)[None]
    j, k = np.triu_indices(len(z))
    more, by = _spanning(basis, np.array([of_pattern(one) for one in z[j] * z[k]]), persons)
    number = np.bincount(pattern, rows, minlength=len(persons))
    each = np.vstack([basis, more]) / np.maximum(number, 1)
    return each[:, pattern] * (v > 0), _of_pairs(by, len(z))


def _arms_of_blocks(
    bound: BoundStep,
) -> tuple[tuple[Array, NDArray[np.int64]], Array]:
    """Weights and block of each arm of each block, and the loads of its cells; (D, C)."""
    v, a = loads_of(bound), _alpha(bound)
    keys = [(int(b), *np.rint(x * 2.0**30)) for b, x in zip(bound.blocks, a.T, strict=True)]
    places = {key: at for at, key in enumerate(dict.fromkeys(
        key for key, load in zip(keys, v, strict=True) if load > 0
    ))}  # fmt: skip
    at = np.array([places.get(key, -1) for key in keys])
    first = [keys.index(key) for key in places]
    loads = np.equal.outer(np.arange(len(places)), at) * v
    return (a[:, first], np.asarray(bound.blocks[first], np.int64)), loads


def _to_coefficients(bound: BoundStep) -> Array:
    """K: of the coefficients of the weights, those of treatment."""
    v = loads_of(bound)
    found: Array = bound.n * np.linalg.inv((bound.rest * bound.sizes * v) @ bound.rest.T)
    return found


@dataclass(frozen=True, eq=False)
class Law:
    """The coefficients of treatment among members and the noise of them, in half steps."""

    theta: Array  # (q,)
    covariance: Array  # (q, q): of the noise
    centres: Array  # (C,): M: the mean of residuals of members of each cell
    psi: Array  # (q, C): by what a residual of a member of each cell moves the coefficients
    share: float  # of the sum of loads, what members have
    least: float  # largest ratio of the gate to the number of members of an arm: usable below 1
    # (q, q): the covariance of the coefficients where residuals of members have the variance 1.
    gram: Array

    @property
    def usable(self) -> bool:
        """Whether every arm has more members than five times the noise of their number."""
        return 0 <= self.least < 1


def law_of(bound: BoundStep, sums: Array, sds: Array, gate: float = GATE) -> Law:
    """What follows from S, R, A, N and E, and from the noise of each.

    They are in the order of :class:`dprct.queries.members.Members`, without their weights.
    """
    chosen, q = bound.chosen, len(bound.weights)
    assert chosen is not None
    if chosen.within is not None:
        return _law_within(bound, chosen.within, sums, sds, gate)
    controls = np.ones((1, bound.weights.shape[1])) if bound.controls is None else bound.controls
    r = len(controls)
    order = [*range(q, q + r), *range(q)]
    s, sd_s = sums[order], sds[order]
    order = [2 * q + 1, *range(q + 1, 2 * q + 1), *range(2 * q + 2, len(sums))]
    order = order if bound.controls is None else [*range(q + r, len(sums))]
    p, sd_p = sums[order], sds[order]
    G = np.tensordot(p, chosen.parts, 1)
    v, z = loads_of(bound), np.vstack([controls, _alpha(bound)])
    n = bound.sizes * v
    whole = (z * n) @ z.T / n.sum()
    w, V = np.linalg.eigh(whole)
    half = V / np.sqrt(w) @ V.T
    level, at = np.linalg.eigh(half @ G @ half)
    along = at.T @ half
    noise = np.sqrt(((along @ chosen.parts * along).sum(axis=2) ** 2 * sd_p[:, None] ** 2).sum(0))
    if not (level > gate * noise).all():
        return _lost(bound)
    inverse = np.linalg.inv(G)
    means = inverse @ s
    K = _to_coefficients(bound)
    by = [inverse[:, j] * sd for j, sd in enumerate(sd_s.tolist())]
    by += [inverse @ (B @ means) * sd for B, sd in zip(chosen.parts, sd_p.tolist(), strict=True)]
    J = K @ np.array(by).T[r:]
    psi = K @ (inverse @ z)[r:] * v
    everybody = n.sum() if bound.controls is None else float(chosen.more[0] @ bound.sizes)
    return Law(
        K @ means[r:],
        J @ J.T,
        means @ z,
        psi,
        float(p[0] / everybody),
        max(GATE * noise / level),
        K @ inverse[r:, r:] @ K.T,
    )


def _typical(counts: Array) -> Array:
    """How many more members, or fewer, a plan takes arms of blocks to lose than others."""
    found: Array = np.sqrt(_LOST * (1 - _LOST) * counts / 2)
    found[1::2] *= -1
    return found


def _lost(bound: BoundStep) -> Law:
    """NaN for all that is not estimated."""
    q = len(bound.weights)
    lost, nothing = np.full((q, q), math.nan), np.zeros_like(bound.weights)
    return Law(lost[0], lost, nothing[0], nothing, math.nan, math.inf, lost)


def _law_within(
    bound: BoundStep, within: tuple[Array, NDArray[np.int64]], sums: Array, sds: Array, gate: float
) -> Law:
    """The same with the means of every block taken out: least squares of members with blocks.

    With c the members of each arm of a block, d = sum c alpha / N and N of a block follow;
    m = C^-1 (S - sum R d), C = sum c (alpha - d) (alpha - d)'.  A and the number of all, which are
    released with less noise, correct c.  Of c, m has the derivative -C^-1 (alpha - d) times the
    mean of that arm and block.  What noise adds to C, S and the covariance of m by its square is
    taken out of the former and added to the latter.
    """
    (alpha, block), q = within, len(bound.weights)
    blocks = len(sums) - (2 * q + 1) - len(block)
    S, R, known, c = np.split(sums, np.cumsum([q, blocks, q + 1]))
    sd_S, sd_R, sd_known, (sd, *_) = np.split(sds, np.cumsum([q, blocks, q + 1]))
    H = np.vstack([alpha, np.ones(len(c))])
    gain = sd**2 * np.linalg.solve(sd**2 * H @ H.T + np.diag(sd_known**2), H).T
    c = c + gain @ (known - H @ c)
    cov = sd**2 * (np.eye(len(c)) - gain @ H)
    arms = np.bincount(block, minlength=blocks)
    live = arms > 0
    N = np.bincount(block, c, minlength=blocks)
    v = loads_of(bound)
    n = bound.sizes * v
    if not (gate * sd * np.sqrt(arms) < N)[live].all():
        return _lost(bound)
    N = np.where(live, N, 1.0)
    d = np.array([np.bincount(block, c * a, minlength=blocks) for a in alpha]) / N
    apart = alpha - d[:, block]
    more = (apart * sd**2 / N[block]) @ apart.T
    C = (apart * c) @ apart.T + more
    wide = (_alpha(bound) * n) @ _alpha(bound).T
    w, V = np.linalg.eigh(wide)
    half = V / np.sqrt(w) @ V.T
    level, at = np.linalg.eigh(half @ C @ half)
    noise = [math.sqrt(float(x @ cov @ x)) for x in ((e @ half @ apart) ** 2 for e in at.T)]
    if not (level > gate * np.array(noise)).all():
        return _lost(bound)
    inverse, mean = np.linalg.inv(C), np.where(live, R, 0.0) / N
    s = S - d @ np.where(live, R, 0.0) - (apart * sd**2 * (mean / N)[block]).sum(axis=1)
    m = inverse @ s
    G = apart * ((mean - m @ d)[block] + m @ alpha)
    of_R = np.where(live, sd_R, 0.0)
    bent = (apart * (sd * of_R / N)[block] ** 2) @ apart.T
    K = _to_coefficients(bound)
    J = K @ inverse
    inside = bound.blocks >= 0
    cells = _alpha(bound) - d[:, np.maximum(bound.blocks, 0)]
    return Law(
        K @ m,
        J @ (np.diag(sd_S**2) + (d * of_R**2) @ d.T + G @ cov @ G.T + bent) @ J.T,
        np.where(inside, mean[np.maximum(bound.blocks, 0)] + m @ cells, 0.0),
        J @ cells * v,
        float(c.sum() / n.sum()),
        max(*(GATE * np.array(noise) / level), *(GATE * sd * np.sqrt(arms) / N)[live]),
        J @ C @ J.T,
    )


def read_members(
    bound: BoundStep, score: Members, part: OnGrid, units: Sequence[int], sd: float
) -> Law:
    """Coefficients among members from the released numbers."""
    unit, noise = scaled(bound, score, part.unit, sd)
    return law_of(bound, np.array(units, float) * unit, noise)


def scaled(bound: BoundStep, score: Members, whole: int, sd: float) -> tuple[Array, Array]:
    """The unit of each released number, in half steps and rows, and its noise."""
    q, r, e = len(score.weights), len(score.of_residuals), len(score.more)
    if isinstance(score, OfPersons):
        weight = [1.0] * q + [score.of_controls / FINEST] * len(score.controls)
        weight += [float(score.of_more)] * e
    else:
        w_r, w_n, w_a, w_e = (score.scale * one for one in score.factors)
        weight = [float(score.scale)] * q + [w_r / FINEST] * (r - q)
        weight += [w_a] * q + [w_n / FINEST] + [w_e] * e
    unit = whole / GRID / FINEST / np.array(weight, float)
    unit[:q] *= bound.longest
    if bound.controls is None:
        unit[r : r + q] *= bound.longest
    return unit, sd * unit


def between_arms(bound: BoundStep, reach: int, level: float) -> float:
    """Return what one person moves a cluster's sum of a e by, where the arm may change."""
    ends = [bound.weights * (end - level) for end in (reach, -reach)]
    return float(
        max(map(max, np.maximum(*ends).tolist())) - min(map(min, np.minimum(*ends).tolist()))
    )


@lru_cache(maxsize=256)
def planned_law(bound: BoundStep, reach: int, level: float) -> Law:
    """What a plan expects where effects have a mu of 1; residuals reach b, with a mean level.

    Notes
    -----
    With another mu the covariance is over its square, and ``least`` over it.
    """
    chosen, q = bound.chosen, len(bound.weights)
    score = bound.score(reach, (bound.step.weighing,) if bound.step.weighing else ())
    assert chosen is not None
    assert isinstance(score, Members)
    _, noise = scaled(bound, score, root_above(max(map(int, score.lengths))), 1.0)
    noise *= GRID + root_above(len(noise) * (2 if score.twice else 1))
    n, share = bound.sizes * loads_of(bound), chosen.share * chosen.loads[0]
    sums, r = np.zeros(len(noise)), len(score.of_residuals)
    counts = chosen.more @ bound.sizes
    if bound.controls is not None:
        sums[q:r] = share * level * (bound.controls @ (bound.sizes * loads_of(bound)))
        sums[r:] = share * counts
        return law_of(bound, sums, noise, gate=0.0)
    inside = bound.blocks >= 0
    of_blocks = np.bincount(bound.blocks[inside], n[inside], minlength=r - q)
    sums[q:r] = share * level * (of_blocks if chosen.within else n.sum())
    sums[r + q] = share * n.sum()
    if chosen.within:  # arms are lost by chance
        counts = counts * (1 - _LOST) + _typical(counts)
        sums[r + q] = share * counts.sum()
        sums[r : r + q] = share * chosen.within[0] @ counts
    sums[r + q + 1 :] = share * counts
    return law_of(bound, sums, noise, gate=0.0)
