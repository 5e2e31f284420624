"""Models of an index (logit and its like) by private scoring: public facts, and draws.

Three steps of Newton's method.  The first is least squares over the variance of the outcome, and
comes from the released moments.  Each of the others adds up scores and information at the
coefficients that were released before; squares of scores at the last ones give robust errors.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from dprct.annotations import Count  # noqa: TC001 -- read by DOCUMENT
from dprct.errors import ParameterError
from dprct.estimate.moments.declared import outcome_unlike
from dprct.estimate.moments.gaussian_law import LARGEST_RATIO, kappa, rounded_up
from dprct.estimate.moments.members import possible
from dprct.estimate.moments.system import (
    GATE,
    Inverse,
    Regressor,
    System,
    coefficients,
    inverse_of,
    rows_of,
    system_of,
)
from dprct.estimate.moments.variables import (
    key_of,
    listed_terms,
    main_part,
    product_in,
    regressors_of,
)
from dprct.formula import parse
from dprct.lazy import special
from dprct.queries.group_moments import STEPS
from dprct.queries.index_scores import (
    COARSER,
    FINE,
    LONGEST,
    MOST_CLUSTER,
    SHIFT,
    Family,
    IndexMap,
    IndexRows,
    Link,
    Some,
)
from dprct.queries.kinds import Kinds
from dprct.records import dataclass
from dprct.results.joint import positive
from dprct.schema.conditions import asked_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.declared import Regression
    from dprct.estimate.moments.groups import Group
    from dprct.estimate.moments.layout import Layout
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.estimate.moments.variables import Regressor as Term
    from dprct.privacy.mechanisms import AnalyticGaussian
    from dprct.schema import Schema

    Array = NDArray[np.floating[Any]]

DRAWS = ("score 2", "information 2", "score 3", "information 3", "squares")
"""The draws of a model."""

OF_MODEL = " of model "
PART = "{}" + OF_MODEL + "{}"
"""Name of a part of the allocation."""

FAMILIES = ("logit", "probit", "cloglog", "poisson")

SMALL_REMAINDER = 0.5
"""How far a further step may move a coefficient, in its errors, for that to be negligible."""

MOST_REMAINDER = 1.0
"""How far a further step may move a coefficient, in its errors."""

FEWEST = 3
"""Clusters that errors need."""

FEWEST_OF_WAYS = 10
"""Clusters of each way that errors clustered in two ways need."""

TYPICAL_ICC = 0.1
_FARTHEST_STEP = 3.0
_TIMES = 2.5
LONGEST_SCORE, NOISE_OF_SQUARES = 9.0, 0.1
"""As of scores of linear regressions."""

_ENDS = {"logit": 0.01, "probit": 0.01, "cloglog": 0.01, "poisson": 1e-3}
_FINEST = 2.0**29


@dataclass(frozen=True)
class IndexModel:
    """What is public of a declared model of an index."""

    title: str
    formula: str
    outcome: str
    family: Family
    # Names of all coefficients, the constant first.
    terms: Annotated[tuple[str, ...], {"minItems": 1}]
    largest: Annotated[
        float, {"exclusiveMinimum": 0}, "the upper bound of a count; 1 of outcomes of 0 and 1"
    ] = 1.0
    cov_type: Literal["HC1", "CR1", "nonrobust"] = "HC1"
    clusters: Annotated[str, "the public column of the clusters of its errors"] | None = None
    groups: Count = 0  # clusters; 0 without
    cluster: Annotated[
        Count, "how many times longer than a row's the score of a cluster may be"
    ] = 0
    second: Annotated[str, "of errors clustered in two ways, the other column"] | None = None
    ways: (
        Annotated[
            tuple[Count, ...],
            "of errors clustered in two ways, how many times longer those of each and of both",
            {"minItems": 3, "maxItems": 3},
        ]
        | None
    ) = None
    where: Annotated[str, "the condition on its rows"] | None = None
    weights: Annotated[str, "the column of their sampling weights"] | None = None

    @property
    def whole(self) -> bool:
        """Whether all rows that have its columns count, and count alike."""
        return self.where is None and self.weights is None

    @property
    def clustered(self) -> tuple[str, ...]:
        """The columns of the clusters of its errors."""
        return tuple(one for one in (self.clusters, self.second) if one is not None)

    @property
    def times(self) -> tuple[int, ...]:
        """How many times longer than a row's score clusters' may be, way by way."""
        return self.ways or (self.cluster,) * bool(self.cluster)

    @property
    def draws(self) -> tuple[str, ...]:
        """Its draws, in their order; classical errors need no squares."""
        return DRAWS[:-1] if self.cov_type == "nonrobust" else DRAWS

    @property
    def link(self) -> Link:
        """Its tables."""
        return Link(self.family, self.largest)


def unserved(one: Regression, schema: Schema) -> str:
    """Why a declared model of an index is not served; empty if it is."""
    parsed = one.parsed
    if one.joint is not None:
        return (
            f"``joint=``: a {one.family} has no tests across regressions, effects on the mean do; "
            "declare ``joint=`` without ``family=`` as well"
        )
    if one.count_effects is not None:
        return "``count_effects=`` is of effects after ``|``"
    if parsed.endogenous:
        return f"it has instruments, and a {one.family} has none here"
    if parsed.effects:
        return (
            f"it has effects after ``|``; write ``C({parsed.effects[0]})``: with a constant for "
            "each of many groups coefficients are biased"
        )
    if not parsed.intercept:
        return "it has no constant"
    if schema.unit.max_rows > 1:
        return f"one {schema.unit.name} may have several rows, whose scores are not added"
    for name in parsed.outcome_names:
        like = "poisson" if one.family == "poisson" else "logit"
        why = outcome_unlike(schema.column(name), like)
        if why is not None:
            return why.replace("a logit", f"a {one.family}")
    return _unweighed(one, schema) or _unmet(one, schema)


def _unweighed(one: Regression, schema: Schema) -> str:
    """Reason why the weights of a model are not served; empty if they are."""
    if one.weights is None:
        return ""
    column = schema.column(one.weights)
    low, high = column.bounds or (-1.0, 0.0)
    if column.is_text or one.weights in one.parsed.names:
        return f"``weights=`` names {one.weights!r}, which is text or in its formula"
    if not 0 <= low < high:
        return (
            f"``weights=`` names {one.weights!r}, which needs bounds, 0 or above: "
            "``bounds=(0, high)`` from public knowledge, and noise grows with high"
        )
    return ""


def _unmet(one: Regression, schema: Schema) -> str:
    """Reason why the condition of a model is not served; empty if it is."""
    if one.condition is None:
        return ""
    if asked_of(one.condition) is None:
        return (
            f"``where=`` computes with columns ({one.condition}); compare each with numbers or "
            "texts, or make what it computes a column before the release"
        )
    columns = {column.name: column for column in schema.columns}
    names = sorted({*one.parsed.names} & {*one.conditions})
    levels = {name: columns[name].levels or () for name in names}
    kinds = Kinds.of((one.condition,), columns, levels)
    here = kinds.holds(one.condition) & kinds.there(names)
    for name in names:
        held = {level for level in levels[name] if (here & kinds.equal({name: level})).any()}
        atoms = [
            atom for term in regressors_of(main_part(one.parsed), schema) for atom in term.atoms
            if atom.column == name
        ]  # fmt: skip
        lost = [atom for atom in atoms if atom.value is not None and atom.value not in held]
        if levels[name] and (lost or len(held) < 2):
            return f"{name} has not all of its levels where ``where=`` holds; leave it out"
    there = here.any() and possible(one.condition, columns)
    return "" if there else "``where=`` holds for nobody, whatever a row has"


def _some(model: IndexModel, schema: Schema) -> Some | None:
    """Rows that a model's condition selects, and their weights."""
    if model.whole:
        return None
    columns = {column.name: column for column in schema.columns}
    kinds = Kinds.of(() if model.where is None else (model.where,), columns)
    holds = np.ones(kinds.size, bool) if model.where is None else kinds.holds(model.where)
    return Some(kinds, holds, columns[model.weights] if model.weights else None)


def models_of(
    asked: Sequence[Regression], schema: Schema, cov_type: str | None,
    clusters_of: Callable[[Regression], Mapping[str, NDArray[np.int64]]],
) -> tuple[IndexModel, ...]:  # fmt: skip
    """Return the declared models of an index, outcome by outcome.

    ``clusters_of`` gives the column of a model's clusters, and how many rows each has; of two
    columns those of both together, too.
    """
    found = []
    for one in asked:
        sizes = clusters_of(one)
        columns, times = tuple(sizes)[:2], tuple(map(_cluster, sizes.values()))
        fewest = min((len(of) for of in sizes.values()), default=0)
        if sizes and fewest < (FEWEST_OF_WAYS if len(columns) > 1 else FEWEST):
            raise ParameterError(f"{one.title!r}: {fewest} clusters are too few for errors")
        kind: Any = "nonrobust" if (one.cov_type or cov_type) == "nonrobust" else "HC1"
        for outcome in one.parsed.outcome_names:
            own = one.of(outcome)
            bounds = schema.column(outcome).bounds
            terms = regressors_of(main_part(own.parsed), schema)
            assert one.family is not None
            found.append(IndexModel(
                own.title, own.formula, outcome, one.family, tuple(term.name for term in terms),
                float(bounds[1]) if one.family == "poisson" and bounds else 1.0,
                "CR1" if sizes else kind, next(iter(columns), None), fewest,
                times[0] if times else 0, columns[1] if len(columns) > 1 else None,
                times if len(times) > 1 else None, one.condition, one.weights,
            ))  # fmt: skip
    return tuple(found)


def _cluster(sizes: NDArray[np.int64]) -> int:
    """C: how many times longer than a row's a cluster's score may be, from public sizes."""
    m = float(np.sqrt(np.mean(np.square(sizes, dtype=float))))
    planned = math.sqrt(m * (1 + (m - 1) * TYPICAL_ICC))
    return min(max(1, math.ceil(_TIMES * planned / math.sqrt(LONGEST_SCORE))), MOST_CLUSTER)


@dataclass(frozen=True, eq=False)
class Coding:
    """The regressors of a model as they are added up, and as they are named."""

    map: IndexMap
    to_names: Array  # (k, k): C: regressors by name are C v, v in whole steps
    # (k,): what is taken for one unit of a regressor in v: a standard deviation, or half of a
    # range.
    unit: Array
    range: Array  # (k,): the same of the regressors by name: a range, or a standard deviation

    @property
    def by(self) -> float:
        """One over B, in which v is taken in computations."""
        return 1 / math.sqrt(self.map.square)


def coding_of(
    model: IndexModel, layout: Layout, groups: Sequence[Group], inside: Sequence[str],
    schema: Schema,
) -> Coding:  # fmt: skip
    """How the regressors of a model are added up: a function of public facts.

    Columns ``inside`` make groups.
    """
    parsed = main_part(parse(model.formula, structural=True))
    terms = regressors_of(parsed, schema)
    places = {place.variable.key: at for at, place in enumerate(layout.places)}
    (outcome,) = listed_terms([model.outcome], schema)
    rest = [term.without(inside) for term in terms]
    columns = [places[key_of(atoms)] if atoms else -1 for atoms in rest]
    place = places.get(key_of(outcome.atoms))
    if place is None:
        raise ParameterError(
            f"{model.title!r}: {model.outcome!r} is a treatment or a subgroup of the release, "
            "and no outcome of a model; leave out its family, or the subgroup"
        )
    used = {atom.column for term in (*terms, outcome) for atom in term.atoms}
    named = [atom.column for term in terms for atom in term.atoms if atom.column in inside]
    counts = np.array([
        one.rows != 0 and not used & set(one.absent)
        and all(one.value(name) is not None for name in named)
        for one in groups
    ])  # fmt: skip
    if not counts.any():
        raise ParameterError(f"{model.title!r}: no group of the release has all of its columns")
    values = np.ones((len(groups), len(terms)))
    for g in np.flatnonzero(counts).tolist():
        own = {name: groups[g].value(name) for name in named}
        for j, term in enumerate(terms):
            values[g, j] = product_in([a for a in term.atoms if a.column in inside], own)
    found = _coded(model, layout, terms, columns, values, counts, place, inside)
    return replace(found, map=replace(found.map, some=_some(model, schema)))


def _coded(
    model: IndexModel, layout: Layout, terms: Sequence[Term], columns: Sequence[int],
    values: Array, counts: NDArray[np.bool_], outcome: int, inside: Sequence[str],
) -> Coding:  # fmt: skip
    """Weigh the regressors; ``values`` are what groups make of each."""
    k, grid = len(terms), layout.grid
    shown = values[counts]
    low, high = shown.min(axis=0), shown.max(axis=0)
    of_groups = [j for j in range(1, k) if columns[j] < 0]
    flat = [terms[j].name for j in of_groups if low[j] == high[j]]
    several = len(of_groups) > 1
    middle = np.where(several, low, (low + high) / 2)
    half = np.where(several, high - low, (high - low) / 2)
    half[half == 0] = 1.0
    one = 1 / layout.step  # steps of a standard deviation in a column of weight 1
    loads = np.zeros((len(values), k), np.int64)
    offsets = np.zeros_like(loads)
    to_names, unit, span = np.zeros((k, k)), np.empty(k), np.ones(k)
    mains = {frozenset(a.key for a in term.atoms): j for j, term in enumerate(terms)}
    for j in range(k):
        if columns[j] < 0:
            continue
        place, step = layout.places[columns[j]], 1 / grid.columns[columns[j]].per_unit
        own = terms[j].without(inside)
        group = [atom for atom in terms[j].atoms if atom.column in inside]
        wide = place.scale * (2 if place.variable.two_valued else 1)
        unit[j], span[j] = place.weight * one, wide
        if not group:
            loads[:, j] = 1
            to_names[j, j] = step
            continue
        t, x = (mains.get(frozenset(a.key for a in part)) for part in (group, own))
        level = None if t is None else np.where(counts, (values[:, t] - middle[t]) / half[t], 0)
        if t is None or x is None or level is None or not np.array_equal(level, np.rint(level)):
            raise ParameterError(
                f"{model.title!r}: {terms[j].name} needs both of its factors as terms of their "
                "own, treatment with two values"
            )
        loads[:, j] = level.astype(np.int64)
        to_names[j, x] = middle[t] * step
        to_names[j, j] = half[t] * step
    bare = IndexMap.within(grid, model.link, outcome, columns, offsets, loads, counts) if any(
        at >= 0 for at in columns) else None  # fmt: skip
    weight = round(one if bare is None else max(one, math.sqrt(bare.square) / 2.5))
    for j in range(k):
        if columns[j] >= 0:
            continue
        unit[j] = weight
        if j == 0:
            offsets[:, 0], to_names[0, 0] = weight, 1 / weight
            continue
        scaled = np.where(counts, (values[:, j] - middle[j]) / half[j], 0)
        offsets[:, j] = np.rint(weight * scaled).astype(np.int64)
        to_names[j, 0], to_names[j, j] = middle[j] / weight, half[j] / weight
        span[j] = high[j] - low[j]
    for j in range(k):  # k is about the centre of its column, which the constant or t gives back
        if columns[j] >= 0:
            outer = frozenset(atom.key for atom in terms[j].atoms if atom.column in inside)
            to_names[j] += layout.places[columns[j]].centre * to_names[mains[outer]]
    rank = np.linalg.matrix_rank(offsets[counts][:, [0, *of_groups]].astype(float))
    if flat or rank < 1 + len(of_groups):
        said = ", ".join(flat or [terms[j].name for j in of_groups])
        raise ParameterError(
            f"{model.title!r}: coefficients of {said} are not identified, because they are "
            "collinear with each other or the constant in the groups of the release; leave out "
            "what is collinear"
        )
    made = IndexMap.within(grid, model.link, outcome, columns, offsets, loads, counts)
    return Coding(made, to_names, unit, span)


@dataclass(frozen=True, eq=False)
class DrawnIndex:
    """What was released of one model of an index, in units of its regressors."""

    params: Array  # (k,)
    # sampling, noise: (k, k), parts of its covariance: sampling, inflated for its own noise, and
    # noise of the scores.
    sampling: Array
    noise: Array
    eta2: float  # noise of the information against itself; it is read up to ``GATE``
    remainder: float  # half the mean squared change of the index in the last step
    range: Array  # (k,): of each regressor, by which errors are compared with the remainder
    nobs: float  # rows that count, as far as released
    # (k,) and (k, k), of a model of some rows, or of weighted ones: means and covariance of its
    # regressors among these, as its information has them
    mean: Array | None = None
    spread: Array | None = None

    @property
    def estimated(self) -> NDArray[np.bool_]:
        """Which coefficients are read: a rule on released numbers."""
        k = len(self.params)
        if not (self.eta2 <= GATE and np.isfinite(self.params).all()):
            return np.zeros(k, bool)
        found: NDArray[np.bool_] = self.left <= MOST_REMAINDER * self._error
        return found

    @property
    def left(self) -> Array:
        """By how much another step may move each coefficient."""
        return self.remainder / self.range

    @property
    def moved(self) -> Array:
        """What variances have added for another step: :attr:`left` squared, if that is not small.

        A bias of b errors at most, and b^2 in the variance: the 95 % interval covers .95 of draws
        or more at every b.
        """
        return np.where(self.left > SMALL_REMAINDER * self._error, self.left**2, 0.0)

    @property
    def _error(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.sampling + self.noise), 0))


@dataclass(frozen=True, eq=False)
class Start:
    """What released moments say of a model before its rows are scored."""

    coefficients: Array  # (k,): after the first step, by name
    # Sum over rows of the squared change of the index, of a change of the coefficients.
    changed: Callable[[Array], float]
    nobs: float


def linked(family: Family, mean: Any) -> tuple[Array, Array]:
    """Return the index at which the mean of an outcome is this, and the slope of the mean there."""
    mean = np.asarray(mean, np.float64)
    if family == "poisson":
        return np.log(mean), mean
    if family == "logit":
        return np.asarray(special.logit(mean)), mean * (1 - mean)
    if family == "cloglog":
        hazard = -np.log1p(-mean)
        return np.log(hazard), (1 - mean) * hazard
    index = np.asarray(special.ndtri(mean))
    return index, np.exp(-(index**2) / 2) / math.sqrt(2 * math.pi)


def start_of(
    model: IndexModel, cells: Sequence[NoisyMoments], outcome: Regressor,
    regressors: Sequence[Regressor], coding: Coding,
) -> Start:  # fmt: skip
    """Return the first step from (link(q), 0): least squares over the outcome's variance.

    q is the outcome's released mean.  Of the other coefficients none is more than 3 for a unit of
    its regressor.
    """
    system = system_of(cells, regressors)
    inverse = inverse_of(system)
    w = rows_of(cells, outcome)
    b = system.to_names @ coefficients(system, inverse, w)
    ones = rows_of(cells, Regressor("Intercept"))
    q = float(np.einsum("gi,gij,gj->", w, system.P, ones)) / max(system.n, 1.0)
    least = _ENDS[model.family] * model.largest
    q = min(max(q, least), model.largest if model.family == "poisson" else 1 - least)
    level, slope = (float(one) for one in linked(model.family, q))
    b[0] -= q
    v = _of_steps(coding, b / slope)
    limit = _FARTHEST_STEP / coding.unit
    v = np.clip(np.nan_to_num(v), -limit, limit)
    v[0] += level / coding.unit[0]

    def changed(by: Array) -> float:
        own = np.linalg.solve(system.to_names, by)
        return max(float(own @ system.M @ own), 0.0)

    return Start(_by_name(coding, v), changed, system.n)


def _of_steps(coding: Coding, beta: Array) -> Array:
    """Return coefficients of v in steps, from those of regressors by name."""
    found: Array = coding.to_names.T @ beta
    return found


def _by_name(coding: Coding, theta: Array) -> Array:
    found: Array = np.linalg.solve(coding.to_names.T, theta)
    return found


def whole(theta: Array) -> list[int]:
    """Return coefficients of v in steps as the query takes them."""
    scaled = np.nan_to_num(np.asarray(theta, float) * FINE * 2.0**SHIFT)
    size = float(np.abs(scaled).sum())
    if size > LONGEST / 2:
        scaled = scaled * (LONGEST / 2 / size)
    return [int(one) for one in np.rint(scaled)]


@dataclass(frozen=True, eq=False)
class _Step:
    """One step of Newton's method, v in units of B; with the rows that count, and their weight."""

    move: Array
    information: Array
    inverse: Inverse
    score_sd: float
    information_sd: float
    rows: float
    load: float


def _step(
    rows: IndexRows, coding: Coding, theta: Array, laws: Mapping[str, AnalyticGaussian],
    number: int, noise: Any, n: float,
) -> _Step:  # fmt: skip
    """Draw score and information at coefficients of v in steps, and solve for the step."""
    of, by, k = coding.map, coding.by, coding.map.size
    asked = whole(theta)
    law = laws[f"score {number}"]
    unit = of.link.unit * by
    released = _numbers(law.release(rows.scores(asked), noise).units)
    score, beside = released[:k] * unit, released[k:] / of.each
    # released numbers may be anything
    n = max(float(beside[0]), 2.0) if of.numbers else n
    load = min(max(float(beside[1]) / n, 1e-6), 1.0) if of.numbers > 1 else 1.0
    sd = law.noise_sd * unit
    law = laws[f"information {number}"]
    unit = of.link.unit * by * by * 2.0**COARSER
    found = _numbers(law.release(rows.information(asked), noise).units).reshape(k, k) * unit
    own = law.noise_sd * unit
    found = (found + found.T) / 2
    inverse = inverse_of(_system(found, own, n))
    return _Step(inverse.A @ score, found, inverse, sd, own, n, load)


def _numbers(units: Any) -> Array:
    return np.array([float(one) for one in units])


def _system(matrix: Array, sd: float, n: float) -> System:
    """The information as a system of one cell, whose noise is that of released moments."""
    k = len(matrix)
    names = tuple(map(str, range(k)))
    return System(
        names, np.eye(k)[None], matrix[None], np.array([sd]), np.array([False]), np.array([n]),
        np.eye(k), matrix,
    )  # fmt: skip


def drawn_index(
    model: IndexModel, coding: Coding, start: Start, rows: IndexRows,
    laws: Mapping[str, AnalyticGaussian], noise: Any,
) -> DrawnIndex:  # fmt: skip
    """Draw the second and the third step, and squares of scores; the caller has charged them."""
    of, by = coding.map, coding.by
    theta = _of_steps(coding, start.coefficients)
    second = _step(rows, coding, theta, laws, 2, noise, start.nobs)
    limit = _FARTHEST_STEP / coding.unit
    theta = theta + np.clip(np.nan_to_num(second.move * by), -limit, limit)
    third = _step(rows, coding, theta, laws, 3, noise, start.nobs)
    among: tuple[Array, ...] = ()
    if of.some is not None:
        turned = coding.to_names / by
        among = regressors_among(
            model.link, turned @ third.information @ turned.T, _by_name(coding, theta)
        )
    d, A = third.move, third.inverse.A
    theta = theta + np.nan_to_num(d * by)
    k = of.size
    K = third.score_sd**2 * np.eye(k)
    K = K + third.information_sd**2 / 2 * (float(d @ d) * np.eye(k) + np.outer(d, d))
    of_noise = A @ K @ A
    w, U = np.linalg.eigh(A)
    root = (U * np.sqrt(np.maximum(w, 0))) @ U.T
    sampling = A
    if "squares" in laws:
        sampling = _robust(model, coding, theta, rows, laws["squares"], noise, root, of_noise,
                           third.rows, third.load)  # fmt: skip
    # coefficients by name are C'^-1 those of v in steps, which are `by` times those of v / B
    back = np.linalg.inv(coding.to_names.T) * by
    settled = second.inverse.settled and third.inverse.settled
    eta2 = max(second.inverse.eta2, third.inverse.eta2) if settled else math.inf
    move = np.linalg.solve(coding.to_names.T, np.nan_to_num(d * by))
    remainder = start.changed(move) / (2 * max(start.nobs, 1.0))
    return DrawnIndex(
        _by_name(coding, theta), back @ sampling @ back.T, back @ of_noise @ back.T, eta2,
        remainder, coding.range, third.rows, *among,
    )  # fmt: skip


def regressors_among(link: Link, information: Array, beta: Array) -> tuple[Array, Array]:
    """Means and covariance of the regressors of a model among the rows that count.

    ``information`` is the sum of w x x' as released at ``beta``, x the regressors by name, the
    constant first.

    Notes
    -----
    The information has moments of x with weights w, functions of the index s = beta'x.  Where s is
    normal, of mean m and variance v, these weights give it the mean a and the variance b, which
    the information has: (m, v) is found from (a, b).  Given s the others are the same with weights
    and without: with the slopes c of x on s, means are those with weights less c (a - m), and
    covariances those with weights and c c' (v - b).  Nothing new is released.
    """
    total = max(float(information[0, 0]), 1e-9)
    mean = information[0] / total
    cov = positive(information / total - np.outer(mean, mean))
    mean[0], cov[0], cov[:, 0] = 1.0, 0.0, 0.0
    a, b = float(mean @ beta), float(beta @ cov @ beta)
    if not b > _FLAT:
        return mean, cov
    m, v = a, b
    for _ in range(_TRIES):
        s = m + math.sqrt(v) * _POINTS
        w = _WEIGHTS * link.weights(s)
        if not w.any():  # so far out that w is 0 in 2^-20: what was released is noise
            return mean, cov
        w = w / w.sum()
        own = float(w @ s)
        spread = max(float(w @ np.square(s - own)), 1e-12)
        m += float(np.clip((a - own) * v / spread, -1, 1))
        v = float(np.clip(v * b / spread, _FLAT, _WIDEST))
    c = cov @ beta / b
    return mean - c * (a - m), positive(cov + np.outer(c, c) * (v - b))


_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
_FLAT, _WIDEST, _TRIES = 1e-6, 25.0, 100


def _robust(
    model: IndexModel, coding: Coding, theta: Array, rows: IndexRows, law: AnalyticGaussian,
    noise: Any, root: Array, of_noise: Array, n: float, load: float,
) -> Array:  # fmt: skip
    """Draw squares of scores, and return the sampling covariance of v in units of B.

    Scores are those of n^.5 A^.5 v, whose mean square is k where the model is right.  Their ball
    has three times their typical length, and more where n is so large that the noise of the sum
    is below a tenth of what it is about.
    """
    of, k = coding.map, coding.map.size
    n = max(n, 2.0)  # a released number of rows may be anything
    sd = law.noise_sd
    turned = math.sqrt(n) * root * coding.by * of.link.unit  # of e and v in steps
    largest = float(np.abs(turned).max()) * of.link.residual * math.sqrt(of.square)
    size = k * LONGEST_SCORE
    if not model.times:
        size = max(size, NOISE_OF_SQUARES * n * STEPS**2 / sd)
    size = min(size, max(k * largest**2, 1e-300))
    radius = math.sqrt(size)
    finer = _FINEST / max(float(np.abs(turned).max()), 1e-300)
    asked = np.rint(np.nan_to_num(turned) * finer).astype(np.int64)
    per_unit = STEPS / radius / finer
    if not math.isfinite(per_unit):
        per_unit = 0.0
    released = law.release(rows.squares(whole(theta), asked, per_unit, model.times), noise)
    unit = (radius / STEPS) ** 2
    sums = _numbers(released.units).reshape(k, k) * unit
    own = sd * unit
    # coefficients by name in units of which errors are read: the largest ratio raises all
    back = np.linalg.inv(coding.to_names.T) * coding.by
    rows_of_names = back @ root
    om = own * np.square(rows_of_names).sum(axis=1) / n
    ratio = om / np.maximum(np.diag(back @ of_noise @ back.T), 1e-300)
    kap = kappa(min(rounded_up(float(np.nan_to_num(ratio).max())), LARGEST_RATIO), 0.05)
    raised = positive((sums + sums.T) / 2 + kap * own * np.eye(k))
    if not model.times:
        # in place of what the ball cut off: of a right model they have k n together, and with
        # weights at least their mean times that
        least = k * n * load
        raised = raised * max(1.0, least / max(float(np.trace(raised)), 1e-9 * least))
    factor = n / (n - 1) if not model.groups else model.groups / (model.groups - 1)
    found: Array = root @ raised @ root * (factor / n)
    return found
