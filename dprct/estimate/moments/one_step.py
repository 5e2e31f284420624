"""Declared regressions by one step: public weights, what is drawn, and how it is read.

A regression of a clipped outcome on a treatment that was assigned at random, as a paper prints it.
Its coefficients are weighted sums of residuals with the exact least-squares weights of the realised
public design; the fit that covariates give comes from the moments of the same release, and costs or
gains precision without moving the estimand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.assignment.groups import ROWS, combined, units_of
from dprct.errors import ParameterError
from dprct.estimate.moments.bound_step import BoundStep
from dprct.estimate.moments.declared import (
    Declared,
    DrawnCross,
    DrawnStep,
    Family,
    Instrumented,
)
from dprct.estimate.moments.gaussian_law import planned_kappa
from dprct.estimate.moments.layout import square_within
from dprct.estimate.moments.members import (
    Law,
    between_arms,
    planned_law,
    read_members,
    with_members,
)
from dprct.estimate.moments.slopes import (
    ReadSlopes,
    SlopesAhead,
    drawn_slopes,
    gram_told_above,
    planned_slopes,
    read_slopes,
    slopes_ahead,
)
from dprct.estimate.moments.variables import key_of, product_in
from dprct.formula.design_matrix import is_factor, numbers_of
from dprct.lazy import narwhals as nw
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.privacy.mechanisms import Allocation, AnalyticGaussian
from dprct.queries.group_moments import FARTHEST
from dprct.queries.members import Members
from dprct.queries.one_step import (
    FINEST,
    MOST_ROWS,
    Cross,
    Fit,
    Gram,
    PublicCells,
    Residual,
    ResidualRows,
    Score,
    Vector,
    most_together,
)
from dprct.queries.slopes import Slopes
from dprct.queries.sums import EXACT, GRID
from dprct.records import dataclass
from dprct.schema.conditions import columns_asked, meets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.estimate.moments.declared import Regression, Step
    from dprct.estimate.moments.layout import Layout, Place
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.model import BoundTable
    from dprct.privacy.noise import NoiseSource
    from dprct.queries.kinds import Kinds
    from dprct.queries.one_step import Feature, OnGrid
    from dprct.schema import Schema
    from dprct.schema.tables import Counted

    Array = NDArray[np.floating[Any]]
    _Ahead = tuple[Callable[[], "Clips"], "Planned"]
    _Planner = Callable[[int, float, float, float], _Ahead]

EFFECTS, TOTALS, SQUARES = "effects", "totals of residuals", "squares"
"""The parts of an allocation that declared regressions have, in the order of their draws."""

LEAST_MOMENTS = Fraction(1, 200)
"""Of mu squared, for moments where no declared regression uses them."""

READ_MOMENTS = Fraction(1, 2)
"""The same where something else was asked for, which is read off the moments."""

_MOMENTS = tuple(Fraction(k, 100) for k in (2, 4, 7, 10, 15, 20, 30))
_SQUARES = tuple(Fraction(k, 100) for k in (2, 4, 6, 8, 12, 16, 20, 25, 30, 40, 50, 60, 70))
"""Shares that a plan chooses among; the effects have what is left."""

_LEAST_OF_STEPS = Fraction(1, 20)
"""Of mu squared, what effects and squares have beside models of an index."""

_FITS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Planned standard deviations of the outcome that a plan clips fits at; 0 uses no covariates."""

_CENTRE, _WITH_PRODUCTS = Fraction(1, 5), Fraction(1, 2)
"""Of the squares' share, what the totals have by which they are centred, and what they may have
where moments of covariates that treatment is multiplied by are among them."""

_UNSURE = 10.0
"""Added to the logarithm of errors where such moments would be planned to be near their noise."""

TYPICAL_ICC = 0.1
"""Correlation of two people of a cluster where none is declared; it sets a clip, no error."""

TYPICAL_ICC_OF_PERSONS = 0.5
"""The same of two rows of a person."""

MOST_PER_ROW = 0.02
"""Covariates over rows above which the fit is 0: fitted on the same rows, it shrinks effects."""

_FEW_CLUSTERS, _MANY = 20, 50
LEAST_OF_TWO_WAYS = 10
_IF, _ROWS_OF = "__if_", "__rows_of_a_unit"
_MOST_PERIODS = 24
"""Levels of public columns whose means among persons of a private condition are taken out."""
MOST_CELLS = 20_000
"""Combinations of public columns and patterns of rows, where a person may have several."""
_FIT_BITS = 1 << 31
"""The sum of the sizes of slopes, in units of 2^-shift half steps."""


@dataclass(frozen=True, eq=False, repr=False)
class Steps:
    """The declared regressions of a release, and the public cells of its rows."""

    bound: tuple[BoundStep, ...]
    cells: PublicCells
    # Those with an instrument, which are made of two of them.
    instrumented: tuple[Instrumented, ...] = ()
    families: tuple[Family, ...] = ()  # those that are tested together
    kinds: Kinds | None = None  # kinds of people that conditions on private columns tell apart

    @property
    def crosses(self) -> tuple[Cross, ...]:
        """The pairs whose covariances are released, each once."""
        pairs = [(one.reduced, one.first) for one in self.instrumented]
        pairs += [pair for one in self.families for pair in one.pairs]
        return tuple(Cross(*pair) for pair in dict.fromkeys(pairs))

    def __bool__(self) -> bool:
        return bool(self.bound)

    @property
    def features(self) -> tuple[Feature, ...]:
        """Covariates that treatment is multiplied by, and private weights, each once."""
        steps = [bound.step for bound in self.bound]
        weights = [step.weighing for step in steps if step.weighing is not None]
        return tuple(dict.fromkeys([*(x for step in steps for x in step.features), *weights]))

    def grams(self) -> dict[Any, Gram]:
        """Moments of covariates, each once; the same covariates and rows share them."""
        found: dict[Any, Gram] = {}
        for bound in self.bound:
            if bound.step.products:
                one = self.gram(bound)
                found.setdefault(one.key, one)
        return found

    def gram(self, bound: BoundStep) -> Gram:
        """Moments of the covariates of one regression."""
        of, weight = bound.step.features, bound.step.weighing
        return Gram(
            tuple(self.features.index(one) for one in of), tuple(one.flat for one in of),
            (bound.sizes > 0) * (np.int64(1) if bound.loads is None else bound.loads),
            None if bound.chosen is None else bound.chosen.holds,
            None if weight is None else self.features.index(weight),
        )  # fmt: skip


NO_STEPS = Steps((), PublicCells(1, np.zeros(0, np.int64)))


def bound_steps(
    table: BoundTable, schema: Schema, steps: Sequence[Step], design: Design, keys: Sequence[str],
    lacking: Mapping[str, str], present: Mapping[str, str], counted: Counted | None = None,
    *, uneven: bool = False, hidden: bool = False,
) -> Steps:  # fmt: skip
    """Read the public columns of a table, and weigh its cells for every declared regression.

    ``keys`` are the public columns of which an engine counted all combinations.  ``lacking`` names
    the public column that says whether a row has a value, for columns that may miss one, and
    ``present`` the same for columns of which conditions ask it.  Shares of the arms are ``uneven``
    where they are declared to differ between blocks; ``hidden`` treatment is private, and was drawn
    for each person by itself.
    """
    if table.n > MOST_ROWS:
        raise ParameterError(
            f"the data have {table.n:,} rows; declared regressions allow at most {MOST_ROWS:,}"
        )
    unit = next((s.unit for s in steps if s.unit), None)
    if unit is not None and table.in_engine:
        raise ParameterError(
            "several rows of a unit are added in memory, but these rows are in an engine; collect "
            "them first"
        )
    keys = keys if unit is None else list(dict.fromkeys([*keys, unit]))
    rows, combinations = combined(nw.to_native(table.frame), keys, counted)
    of_clusters = tuple(getattr(design, "cluster_columns", ()))
    holding = {c: f"{_IF}{at}" for at, c in enumerate(
        dict.fromkeys(s.where for s in steps if s.where)
    )}  # fmt: skip
    read = set[str]()
    for condition, name in holding.items():  # rows of a cell are alike in it, and cells are few
        by_value, there = columns_asked(condition)
        columns = {one: _asked_of(rows[one]) for one in by_value}
        for one in there:
            columns[one] = (
                np.where(rows[present[one]] == 1, 0.0, np.nan)
                if one in present
                else _asked_of(rows[one])
            )
        read |= {present.get(one, one) for one in by_value | there}
        rows = rows.assign(**{name: meets(condition, columns, len(rows)).astype(np.int64)})
    read -= {s.shown_weights or "" for s in steps} | {n for s in steps for n in s.shown}
    shown = {name for step in steps for name in step.shown}
    own = {name for step in steps for name in step.regression.ways} - {*design.uses} - shown
    inner = {*of_clusters, unit, *own, *(read - {*design.uses})} - {*design.columns}
    told = [*(name for name in keys if name not in inner), *holding.values()]
    units = units_of(rows, told, ())
    codes = np.asarray(units.of_rows(units.block), np.int64)
    labels: list[Any] = [one if len(told) > 1 else (one,) for one in units.labels]
    values = [dict(zip(told, label if told else (), strict=True)) for label in labels]
    owner = None if unit is None else np.asarray(units_of(rows, (), (unit,)).member, np.int64)
    members = None
    if owner is not None:
        codes, members, of = _patterns(codes, owner)
        values = [{**values[cell], _ROWS_OF: pattern} for cell, pattern in of]
    number = rows[ROWS].to_numpy(np.int64) if combinations is not None else np.ones(len(rows))
    sizes: Any = np.bincount(codes, weights=number, minlength=len(values)).astype(np.int64)
    arms = _arms_of(design) if hidden else ()
    if hidden:
        values = [{**cell, **arm} for cell in values for arm in arms]
        sizes = np.outer(sizes, design.common(1)).ravel()
    own_names = [names for step in steps for names in step.clusterings]
    each = {
        names: np.asarray(units_of(rows, (), names).member, np.int64)
        for names in dict.fromkeys([*own_names, *([of_clusters] if of_clusters else [])])
    }
    if owner is not None:
        for names in dict.fromkeys(own_names):
            _check_nested(owner, each[names], names)
    found = [
        replace(
            _bound(
                one,
                values,
                sizes,
                codes,
                ([each[names] for names in one.clusterings], each.get(of_clusters), owner),
                number,
                lacking,
                holding,
                max(1, len(arms)),
            ),
            uneven=uneven,
            members=members,
            by=tuple([*each].index(names) for names in one.clusterings),
        )
        for one in steps
    ]
    bound, kinds, places = with_members(found, schema, arms)
    clusters = np.array([*each.values()]) if own_names else None
    cells = PublicCells(len(values), codes, clusters, combinations, places, owner)
    return Steps(bound, cells, kinds=kinds)


def _arms_of(design: Design) -> tuple[dict[str, Any], ...]:
    """What the columns of treatment are in each arm."""
    groups = design.groups
    return tuple(dict(zip(groups.columns, row, strict=True)) for row in groups.values)


def _patterns(
    codes: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[tuple[int, int]]]:
    """Tell cells apart by the pattern of cells that a person has, whose rows are all public.

    Returns the cell of each row, the pattern of each cell and how many rows a person of it has
    there, and of each cell what it was and its pattern.
    """
    order = np.lexsort((codes, owner))
    ends = np.flatnonzero(np.diff(owner[order], prepend=-1))
    patterns: dict[bytes, int] = {}
    each = [patterns.setdefault(one.tobytes(), len(patterns))
            for one in np.split(codes[order], ends[1:])]  # fmt: skip
    own = np.array(each, np.int64)[owner]
    width = int(codes.max()) + 1
    known, found = np.unique(own * width + codes, return_inverse=True)
    if len(known) > MOST_CELLS:
        raise ParameterError(
            f"there are {len(known):,} combinations of public columns and of the rows of a unit, "
            f"and at most {MOST_CELLS:,} are allowed; name public columns with fewer values"
        )
    pattern, cell = np.divmod(known, width)
    members = np.array([pattern, np.bincount(found) // np.bincount(np.array(each))[pattern]])
    return found.astype(np.int64), members, list(zip(cell.tolist(), pattern.tolist(), strict=True))


def _check_nested(
    owner: NDArray[np.int64], clusters: NDArray[np.int64], names: Sequence[str]
) -> None:
    """Refuse a person whose rows are in several clusters, which no clip of a cluster is for."""
    pairs = {*zip(owner.tolist(), clusters.tolist(), strict=True)}
    if len(pairs) > len({*owner.tolist()}):
        raise ParameterError(
            f"some unit has rows in several clusters of {', '.join(names)}; cluster by a column "
            "that is the same in all rows of a unit"
        )


def with_instruments(steps: Steps, asked: Sequence[tuple[Regression, Step, Step]]) -> Steps:
    """Return the steps with the regressions that have an instrument: title, two of its steps."""
    places = {one.step.meaning: at for at, one in enumerate(steps.bound)}
    titles = {one.step.title: at for at, one in enumerate(steps.bound)}
    found = []
    for regression, reduced, first in asked:
        at, of_first = (
            places[one.meaning] if one.meaning in places else titles[one.title]
            for one in (reduced, first)
        )
        here = Instrumented(
            regression.title, regression.parsed.text, first.outcome, at, of_first
        )  # fmt: skip
        one, other = steps.bound[here.reduced], steps.bound[here.first]
        if not one.joint:
            raise ParameterError(
                f"{regression.title!r}: {_unjoint(one)}, where no covariances are released; "
                "declare the reduced form and the first stage"
            )
        if not np.array_equal(one.weights, other.weights):
            raise ParameterError(
                f"{regression.title!r}: its reduced form or first stage is declared by itself, for "
                "the rows of one outcome; give that one a condition or leave it out"
            )
        found.append(here)
    return replace(steps, instrumented=tuple(found))


def _unjoint(one: BoundStep) -> str:
    """Why no covariances are released."""
    return (
        "its errors are clustered in two ways" if one.ways
        else "the instrument varies within clusters of its errors"
    )  # fmt: skip


def with_families(steps: Steps, asked: Sequence[tuple[str, str]]) -> Steps:
    """Return the steps with the families of those that are tested together: name and title."""
    places = {one.step.title: at for at, one in enumerate(steps.bound)}
    members: dict[str, dict[int, None]] = {}
    for name, title in asked:
        members.setdefault(name, {})[places[title]] = None
    found = tuple(Family(name, tuple(sorted(of))) for name, of in members.items())
    for family in found:
        bounds = [steps.bound[at] for at in family.members]
        why = ""
        if len(bounds) < 2:
            why = "is the only one of it"
        elif len({one.step.clusters for one in bounds}) > 1:
            why = "has errors of other clusters than the others"
        title = bounds[0].step.title
        for one in bounds:
            if one.step.products:
                title, why = one.step.title, "multiplies treatment by private covariates"
            elif one.classical:
                title, why = one.step.title, "has classical errors"
            elif one.chosen is not None:
                title, why = one.step.title, "is of people whom private columns choose"
            elif one.ways:
                title, why = one.step.title, "has errors clustered in two ways"
            elif not one.joint:
                title, why = one.step.title, "has treatment that varies within clusters"
            elif one.members is not None:
                title, why = one.step.title, "is of people who may have several rows"
        if why:
            raise ParameterError(
                f"``joint={family.name!r}``: {title!r} {why}, and no covariances with it are "
                "released; give the label to regressions that are tested together, or leave it out"
            )
    return replace(steps, families=found)


def _bound(
    step: Step,
    values: Sequence[Mapping[str, Any]],
    sizes: NDArray[np.int64],
    codes: NDArray[np.int64],
    clustered: tuple[
        Sequence[NDArray[np.int64]], NDArray[np.int64] | None, NDArray[np.int64] | None
    ],
    number: NDArray[Any],
    lacking: Mapping[str, str],
    holding: Mapping[str, str],
    arms: int,
) -> BoundStep:
    """Weigh the cells for one regression; clusters are those of errors, those assigned, persons."""
    T = np.array([[product_in(one.atoms, cell) for cell in values] for one in step.treatment])
    W = np.array([[product_in(one.atoms, cell) for cell in values] for one in step.controls])
    named = [step.outcome, *step.beside, *(a.column for c in step.covariates for a in c.atoms)]
    flags = [lacking[name] for name in dict.fromkeys(named) if name in lacking]
    # of persons with the same rows each has the mean of all: effects of persons are theirs
    absorbed = sorted(
        [_ROWS_OF if name == step.unit else name for name in step.absorbed],
        key=lambda name: name != _ROWS_OF,
    )
    levels = [[cell[name] for name in absorbed] for cell in values]
    counts = np.isfinite(T).all(0) & np.isfinite(W).all(0) & (sizes > 0)
    counts &= np.array([None not in level for level in levels], bool)
    flags += [holding[step.where]] if step.where else []
    own = _weights_of(step, values)
    counts &= own > 0
    counts &= np.array([all(cell[flag] != 0 for flag in flags) for cell in values], bool)
    if not counts.any():
        raise ParameterError(
            f"{step.title!r}: no row counts in the design as it was realised; give a condition "
            "that holds for some"
        )
    told = [tuple(level) if use else None for level, use in zip(levels, counts, strict=True)]
    if step.unit is not None or step.shown:  # squares are centred by what public columns tell apart
        rest_of = [key != _ROWS_OF for key in absorbed]
        told = [
            None if not use else (*W[:, at], *(x for x, keep in zip(level, rest_of, strict=True)
                                               if keep))
            for at, (level, use) in enumerate(zip(levels, counts, strict=True))
        ]  # fmt: skip
    places = {level: i for i, level in enumerate(dict.fromkeys(x for x in told if x is not None))}
    blocks = np.array([-1 if level is None else places[level] for level in told], np.int64)
    n = np.where(counts, sizes, 0)
    own = np.where(counts, own, 0.0) / own[counts].max()
    if step.within:  # arms of blocks are told apart by weights over loads, which are on the grid
        own = np.rint(own * GRID) / GRID
    wanted, assigned, owner = clustered
    rest, rank = _less_public(step, T, W, n * own, levels, counts)
    if owner is not None and step.unit in step.absorbed and step.counted:
        rank += len(np.unique(owner[counts[codes]])) - 1
    inner = (rest * n * own) @ rest.T
    scale = np.sqrt((np.where(counts, T, 0.0) ** 2 * n * own).sum(axis=1))
    if not (scale > 0).all() or np.linalg.eigvalsh(inner / np.outer(scale, scale))[0] < 1e-9:
        said = ", ".join(one.name for one in step.treatment)
        raise ParameterError(
            f"{step.title!r}: coefficients of {said} are not identified, because they are "
            "collinear with each other, the constant or the blocks in the design as it was "
            "realised; leave out what is collinear"
        )
    weights = float(n.sum()) * np.linalg.solve(inner, rest * own)
    loads = None if step.shown_weights is None else np.rint(own * GRID).astype(np.int64)
    k = rank + len(step.terms) + len(step.covariates)
    if n.sum() <= k:
        raise ParameterError(
            f"{step.title!r}: {n.sum()} rows for {k} coefficients leave nothing to estimate "
            "errors from; use fewer regressors"
        )
    spread = np.array([(weights**2 * n).sum(1)] * 2)
    groups, joint, ways = 0, True, tuple[tuple[int, Any], ...]()
    if step.clusters and arms > 1:  # a person's arm is nobody else's: sums of a vary as of rows
        inside = np.logical_or.reduce(counts.reshape(-1, arms), axis=1)[codes]
        groups, joint = len({*wanted[0][inside].tolist()}), False
    elif step.clusters:
        inside = counts[codes]
        alike = np.vstack([weights, blocks]) if step.within else weights
        found = [_of_clusters(weights, of[inside], codes[inside], number[inside], alike)
                 for of in wanted]  # fmt: skip
        groups, joint, spread[1] = found[0]
        if step.two_ways:
            ways, joint = tuple((one[0], one[2]) for one in found), False
            groups = min(one[0] for one in found)
            spread[1] = np.maximum(ways[0][1] + ways[1][1] - ways[2][1], 0.0)
        if assigned is not None and not any(assigned is of for of in wanted):
            # people of an assigned cluster are alike within larger ones too
            finer = _of_clusters(weights, assigned[inside], codes[inside], number[inside], weights)[
                2
            ]
            spread[1] = np.maximum(spread[1], finer)
    least = LEAST_OF_TWO_WAYS if step.two_ways else 3
    if step.clusters and groups < least:
        raise ParameterError(
            f"{step.title!r}: {groups} clusters are too few for errors"
            + (f" in two ways, which need {least} of each; cluster in one" if least > 3 else "")
        )
    chosen = step.unit is not None and step.choosing is not None
    return BoundStep(
        step, weights, np.where(counts, T, 0.0), n, blocks, k, groups,
        joint or bool(step.products) or step.unit is not None, spread.T, rest, loads, ways=ways,
        controls=_controls(step, W, n * own, levels, counts) if chosen else None,
    )  # fmt: skip


def _weights_of(step: Step, values: Sequence[Mapping[str, Any]]) -> Array:
    """Public weight of a row of every cell; 0 where it has none, and does not count."""
    name = step.shown_weights
    if name is None:
        return np.ones(len(values))
    told = [0.0 if cell[name] is None else float(cell[name]) for cell in values]
    found: Array = np.nan_to_num(np.array(told), nan=0.0)
    if not np.isfinite(found).all() or found.min(initial=0.0) < 0:
        raise ParameterError(
            f"{step.title!r}: the weights in {name!r} are below 0 or not finite for some rows; "
            "give a column of sampling weights, 0 or above"
        )
    return found


def _asked_of(values: pd.Series[Any]) -> NDArray[Any]:
    """Return the numbers of a public column, NaN where one is missing; or its texts."""
    return values.astype(object).to_numpy() if is_factor(values) else numbers_of(values)


def _of_clusters(
    weights: Array, clusters: NDArray[np.int64], cells: NDArray[np.int64], number: NDArray[Any],
    alike: Array,
) -> tuple[int, bool, Array]:  # fmt: skip
    """Return G, whether rows of a cluster are alike, and sums of (sum a)^2; (q,)."""
    size = weights.shape[1]
    pair, place = np.unique(clusters * size + _same_columns(alike)[cells], return_inverse=True)
    rows = np.bincount(place, number, minlength=len(pair))
    of, at = np.divmod(pair, size)
    member = np.unique(of, return_inverse=True)[1]
    total = np.array([np.bincount(member, rows * row[at]) for row in weights])
    groups = total.shape[1]
    return groups, groups == len(pair), (total**2).sum(axis=1)


def _same_columns(weights: Array) -> NDArray[np.int64]:
    first: dict[bytes, int] = {}
    keys = [np.rint(c * 2.0**30).tobytes() for c in (weights / np.abs(weights).max()).T]
    return np.array([first.setdefault(key, at) for at, key in enumerate(keys)], np.int64)


def _less_public(
    step: Step, T: Array, W: Array, n: NDArray[Any], levels: Sequence[Sequence[Any]],
    counts: NDArray[np.bool_],
) -> tuple[Array, int]:  # fmt: skip
    """Return T less its weighted projection on public columns, 0 where rows do not count; rank."""
    columns = [np.where(counts, row, 0.0) for row in (*T, *W)]
    for place in range(1, len(step.absorbed)):
        there = dict.fromkeys(
            one[place] for one, use in zip(levels, counts, strict=True) if use
        )  # fmt: skip
        columns += [np.array([one[place] == x for one in levels]) * counts for x in [*there][1:]]
    found, groups = np.array(columns, float), 0
    size = np.sqrt((found**2 * n).sum(axis=1))
    if step.absorbed:  # means within the blocks, or persons, of the first
        found, blocks = _less_means(found, n, levels, counts)
        one = step.unit in step.absorbed or not step.counted
        groups = 1 if one else blocks
    left = np.sqrt((found**2 * n).sum(axis=1)) > 1e-9 * size
    rest, others = found[: len(T)], found[len(T) :][left[len(T) :]]
    if not len(others):
        return rest, groups
    root = np.sqrt(n.astype(float))
    slopes, _, rank, _ = np.linalg.lstsq((others * root).T, (rest * root).T, rcond=1e-10)
    return np.where(counts, rest - (others.T @ slopes).T, 0.0), groups + int(rank)


def _less_means(
    found: Array, n: NDArray[Any], levels: Sequence[Sequence[Any]], counts: NDArray[np.bool_]
) -> tuple[Array, int]:
    """Return functions of cells less their means within the first blocks, and how many count."""
    block = {x: i for i, x in enumerate(dict.fromkeys(one[0] for one in levels))}
    at = np.array([block[one[0]] for one in levels])
    rows = np.bincount(at, n, minlength=len(block))
    means = np.array([np.bincount(at, n * row, minlength=len(block)) for row in found])
    left: Array = np.where(counts, found - (means / np.where(rows > 0, rows, 1))[:, at], 0.0)
    return left, int((rows > 0).sum())


def _controls(
    step: Step, W: Array, n: Array, levels: Sequence[Sequence[Any]], counts: NDArray[np.bool_]
) -> Array:
    """Return controls and periods, less means of persons with effects, orthogonal; (K, C)."""
    columns = [*W]
    own = step.unit in step.absorbed
    for place in range(int(own), len(step.absorbed)):
        there = dict.fromkeys(one[place] for one, use in zip(levels, counts, strict=True) if use)
        if len(there) <= _MOST_PERIODS:
            columns += [np.array([one[place] == x for one in levels]) for x in there]
    found = np.where(counts, np.array(columns, float), 0.0)
    size = np.sqrt((found**2 * n).sum(axis=1, keepdims=True))
    found = found / np.where(size > 0, size, 1.0)
    if own:
        found, _ = _less_means(found, n, levels, counts)
    w, V = np.linalg.eigh((found * n) @ found.T)
    keep = w > 1e-9
    found = (V[:, keep] / np.sqrt(w[keep])).T @ found
    scaled: Array = found / max(*np.sqrt((found**2).sum(axis=0)).tolist(), 1e-9)
    return scaled


@dataclass(frozen=True, eq=False)
class Clips:
    """What one declared regression is clipped at; public."""

    most: int  # H of the fit, in half steps
    # Of residuals or of clusters, as :meth:`dprct.queries.one_step.Score.squares` takes them.
    squares: tuple[int, ...]
    # Of a regression with products, what its rows or clusters are clipped at, in half steps; of
    # people whom private columns choose, what their clip follows from besides what is released.
    scales: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SharedAllocation(Allocation):
    """The mechanisms of a release of several parts."""

    shares: Mapping[str, Fraction]  # of mu squared


@dataclass(frozen=True, kw_only=True)
class StepAllocation(SharedAllocation):
    """The mechanisms of a release with declared regressions, and what these are clipped at."""

    clips: tuple[Clips, ...]
    # (q,): the expected squared standard error of each coefficient, in squared units of the
    # outcome.
    planned: tuple[Planned, ...] = field(compare=False)


@dataclass(frozen=True, eq=False)
class Planned:
    """The errors to expect of one declared regression, from public facts."""

    # error, noise, alone, unadjusted: (q,), standard errors: expected; of the noise alone; without
    # privacy, with covariates; without privacy and covariates.
    error: Array
    noise: Array
    alone: Array
    unadjusted: Array
    kept: float  # of the guessed R squared, what the released fit keeps
    enough: bool = True  # whether people whom private columns choose are planned to be enough
    # Of errors clustered in two ways, the noise of their variance over the variance.
    doubt: float = 0.0


@dataclass(frozen=True)
class Chosen:
    """The shares that are planned to have the least error, and what follows from them."""

    moments: Fraction
    squares: Fraction
    totals: Fraction
    clips: tuple[Clips, ...]
    planned: tuple[Planned, ...]
    left: Fraction  # what all of these have

    def worth(self, whole: Fraction, others: Fraction) -> float:
        """Sum over regressions of the mean logarithm of errors, where others have so much of mu^2.

        Moments stay what they are.
        """
        left = whole - others - self.moments
        if left < _LEAST_OF_STEPS:
            return math.inf
        found, times = 0.0, float(left / (self.left - self.moments))
        for one in self.planned:
            sampling = one.unadjusted**2 * (1 - max(one.kept, 0.0))
            more = np.maximum(one.error**2 - sampling, 0.0) / times
            found += float(np.log(sampling + more).mean()) / 2
        return found


def declared_of(bound: BoundStep, bounds: tuple[float, float]) -> Declared:
    """Return what a result has to know of a declared regression."""
    step = bound.step
    return Declared(
        step.title, step.text, step.outcome, bounds, step.names,
        tuple(one.name for one in step.covariates), bound.n, bound.coefficients, step.clusters,
        bound.clusters, bound.joint, step.regression.condition, step.regression.weights,
        bound.average, bound.amounts or None, "nonrobust" if bound.classical else None,
        step.counted if step.absorbed else None,
        tuple(groups for groups, _ in bound.ways[:2]) or None,
    )  # fmt: skip


def place_of(layout: Layout, name: str) -> Place:
    """Return the place of an outcome."""
    return next(place for place in layout.places if place.name == name)


def residual_of(place: Place, fit: Fit | None) -> Residual:
    """Return the residual of an outcome with a fit."""
    (part,) = place.variable.parts
    return Residual(part, fit)


def chosen_shares(
    steps: Steps, layout: Layout, mu: float, left: Fraction, design: Design | None, guess: float, *,
    read: bool, noise_of: Callable[[float], tuple[float, float]], least: Fraction = Fraction(0),
) -> Chosen:  # fmt: skip
    """Shares of the least planned error: a function of public facts alone.

    ``mu`` is of the whole release, of whose square scores of other regressions leave ``left``.  The
    design has the correlation within clusters, where it is declared; ``guess`` is the R squared of
    covariates; ``read`` says that something else is read off the moments, which have ``least`` of
    mu squared; ``noise_of`` gives s1 and s2 of moments that have a mu.
    """
    adjusts = [
        bool(b.step.covariates) and len(b.step.covariates) <= MOST_PER_ROW * b.n
        for b in steps.bound
    ]
    parts = (_CENTRE, _WITH_PRODUCTS) if steps.features else (_CENTRE,)
    if all(bound.chosen is not None and not bound.step.products for bound in steps.bound):
        parts = (Fraction(0),)  # their effects have the totals
    first = (READ_MOMENTS,) if read else (LEAST_MOMENTS, *(_MOMENTS if any(adjusts) else ()))
    best: tuple[float, tuple[Fraction, Fraction, Fraction], list[_Ahead]] | None = None
    planners = [_planner(bound, layout, design, guess) for bound in steps.bound]
    several, of_squares = (together(steps.bound, both=both) for both in (False, True))
    # in units of what a person moves them by, products add as much as the squares of a regression
    less = math.hypot(of_squares, math.sqrt(len(steps.crosses)))
    to_tell = told_above(steps, layout)
    for share in first:
        a = max(share * left, min(least, left / 2))
        s2 = noise_of(math.sqrt(a) * mu)[1]
        kept = [
            kept_of(b, layout, s2, guess) if use and a > LEAST_MOMENTS * left else 0.0
            for b, use in zip(steps.bound, adjusts, strict=True)
        ]
        fits = [
            _fits_of(place_of(layout, b.step.outcome), r2, guess)
            for b, r2 in zip(steps.bound, kept, strict=True)
        ]
        for c, part in product(_SQUARES, parts):
            effects = left - a - c
            if effects <= 0:
                continue
            of_effects = math.sqrt(effects) * mu / several
            own = math.sqrt(c * (1 - part)) * mu * of_squares / less / of_squares
            found = [
                min((planner(most, r2, of_effects, own) for most, r2 in of), key=_worth)
                for planner, of in zip(planners, fits, strict=True)
            ]
            worth = float(np.mean(np.log(np.concatenate([one.error for _, one in found]))))
            if any(math.sqrt(c * part) * mu <= least for least in to_tell):
                worth += _UNSURE
            if best is None or worth < best[0] - 1e-9:
                best = worth, (a, c - c * part, c * part), found
    assert best is not None
    clips, planned = zip(*((clip(), one) for clip, one in best[2]), strict=True)
    return Chosen(*best[1], clips, planned, left)


def _worth(found: _Ahead) -> float:
    return float(np.log(found[1].error).sum())


def told_above(steps: Steps, layout: Layout) -> list[float]:
    """Return the mu above which covariates multiplied by treatment stand out from noise."""
    several = math.sqrt(len(steps.bound) + len(steps.grams()))
    return [
        gram_told_above(bound, layout, steps.gram(bound), several)
        for bound in steps.bound
        if bound.step.products
    ]


def icc_of(design: Design | None, outcome: str, persons: bool = False) -> float:
    """Return the declared correlation of an outcome within clusters, or the typical one."""
    known = declared_icc(design, outcome)
    if known is None:
        return TYPICAL_ICC_OF_PERSONS if persons else TYPICAL_ICC
    return float(known)


def declared_icc(design: Design | None, outcome: str) -> float | None:
    """Return the correlation of an outcome within clusters, None where none is declared."""
    declared = getattr(design, "icc", None)
    return declared.get(outcome) if isinstance(declared, Mapping) else declared


def kept_of(bound: BoundStep, layout: Layout, s2: float, guess: float) -> float:
    """Return the R squared that a ridge fit from noisy moments is expected to have.

    Columns of variance v in units of z, with noise of s2 / sqrt 2 on products: of a slope the ridge
    leaves n v / (n v + s2 sqrt d), and noise adds s2^2 / 2 over that squared, times v.  Of rows in
    a ball v is smaller, as of normal ones.
    """
    places = [p for p in layout.places if p.name != bound.step.outcome]
    q = len(bound.step.covariates)
    weight = place_of(layout, bound.step.outcome).weight
    free = sum(not place.exempt for place in layout.places)
    inside = float(square_within(free, layout.shrunk_radius)) / free if free else 1.0
    v = (
        float(np.mean([p.weight**2 * (1.0 if p.exempt else inside) for p in places]))
        if places
        else 1.0
    )
    rows = bound.n * v
    bent = s2 * math.sqrt(q) / (rows + s2 * math.sqrt(q))
    added = q * s2**2 / 2 * v / (rows + s2 * math.sqrt(q)) ** 2 / weight**2
    return guess * (1 - bent**2) - added


def _fits_of(place: Place, r2: float, guess: float) -> list[tuple[int, float]]:
    """Return the bounds H that a fit may have, each with the R squared that it keeps there.

    Of a normal fit of standard deviation s, clipped at h = k s, the part 2 ((1 + k^2) Phi(-k) -
    k phi(k)) of its variance is lost.
    """
    sd, found = _in_half_steps(place), dict[int, float]()
    for times in _FITS if r2 > 0 else _FITS[:1]:
        k = times / math.sqrt(guess)
        tail, density = float(special.ndtr(-k)), math.exp(-k * k / 2) / math.sqrt(2 * math.pi)
        most = min(math.floor(times * sd), GRID)
        found[most] = r2 * (1 - 2 * ((1 + k * k) * tail - k * density)) if most else 0.0
    return list(found.items())


def _in_half_steps(place: Place) -> float:
    """Return the planned standard deviation of an outcome in half steps."""
    return place.scale / residual_of(place, None).half_step


def _planned_one(bound: BoundStep, place: Place, icc: float, guess: float) -> _Planner:
    """Return what plans one regression of which fits are within some half steps."""
    n, sd, k, longest = bound.n, _in_half_steps(place), bound.most_rows, bound.farthest
    rows, whole = bound.spread.T
    unadjusted = sd**2 * (rows if not bound.clusters else (1 - icc) * rows + icc * whole) / n**2
    errors = _errors(place, unadjusted, guess if bound.step.covariates else 0.0)
    clips_at, inflation = _clips(bound, place, sd, icc), bound.inflation

    def planned(most: int, kept: float, effects: float, squares: float) -> _Ahead:
        reach = GRID + most
        noise = np.full(len(rows), (2 * longest * reach / effects / n) ** 2)
        clips = clips_at(reach, squares)
        c, d = clips[0], 2 * longest * reach
        move = sum(_moved(d, one) for one in clips) if bound.clusters else c * c
        om: Any = inflation * move / squares / n**2
        if bound.classical:
            om = k * c * c / squares / (n - bound.coefficients) * rows / n**2
        found = errors(om, noise, kept)
        if bound.ways:
            found = replace(found, doubt=max((om / unadjusted).tolist()))
        return lambda: Clips(most, _squares_clip(bound, clips, reach)), found

    return planned


def _errors(
    place: Place, unadjusted: Array, ideal: float
) -> Callable[[Any, Array, float], Planned]:
    """Return what says the errors to expect, from the noise of a variance, that of an effect, R^2.

    Variances are in half steps.
    """
    half = residual_of(place, None).half_step
    alone, plain = np.sqrt(unadjusted * (1 - ideal)) * half, np.sqrt(unadjusted) * half

    def planned(spread: Any, noise: Array, kept: float) -> Planned:
        kap = planned_kappa(spread / noise)
        error = unadjusted * (1 - max(kept, 0.0)) + kap * spread + noise
        return Planned(np.sqrt(error) * half, np.sqrt(noise) * half, alone, plain, kept)

    return planned


def _moved(d: float, c: float) -> float:
    """By how much the square of a number clipped to c moves if that moves by d."""
    return d * (2 * c - d) if d <= c else c * c


def _planned_products(
    bound: BoundStep, place: Place, ahead: SlopesAhead, guess: float, most: int, kept: float,
    effects: float, squares: float,
) -> _Ahead:  # fmt: skip
    """Return clips and errors of a regression with products of treatment and covariates."""
    found = planned_slopes(
        bound, ahead, _in_half_steps(place), GRID + most, effects, squares, _times(bound.clusters)
    )
    errors = _errors(place, np.diag(found.sampling), guess)(found.spread, found.noise**2, kept)
    return lambda: Clips(most, found.most, tuple(map(float, found.scales))), errors


def _planner(bound: BoundStep, layout: Layout, design: Design | None, guess: float) -> _Planner:
    """Return what plans a regression by a fit's bound, what it keeps, and mu; clips when asked."""
    place = place_of(layout, bound.step.outcome)
    icc = icc_of(design, bound.step.outcome, bound.step.unit in bound.step.clusters)
    if bound.step.products:
        return partial(_planned_products, bound, place, slopes_ahead(bound, layout, icc), guess)
    of = _planned_one if bound.chosen is None else _planned_members
    return of(bound, place, icc, guess)


def _planned_members(bound: BoundStep, place: Place, icc: float, guess: float) -> _Planner:
    """The same of a regression of people whom private columns choose, of whom some share is."""
    chosen = bound.chosen
    assert chosen is not None
    n, sd, share = bound.n, _in_half_steps(place), chosen.share
    level = (place.centre - sum(place.variable.bounds) / 2) / residual_of(place, None).half_step
    mean, square = chosen.loads
    rows, whole = _spread_of(bound, share)
    rows, whole = square * rows, mean**2 * (whole - rows) + square * rows
    unadjusted = sd**2 * (rows if not bound.clusters else (1 - icc) * rows + icc * whole)
    unadjusted = unadjusted / (n * share * mean) ** 2
    errors = _errors(place, unadjusted, guess if bound.step.covariates else 0.0)
    few, longest, counted = _of_members(bound, share), bound.longest, bound.informative * share
    clip_at = _clip_at(bound, place, sd, icc, (rows.sum() / few, whole.sum() / few, longest))
    classical_at = _clip_at(bound, place, sd, icc, (counted, counted, 1.0))
    inflation, left = bound.inflated(n * share), max(counted - bound.coefficients, 1.0)
    moved = longest if bound.members is None else bound.farthest

    @cache
    def of_reach(reach: int) -> tuple[Law, Array, float]:
        law = planned_law(bound, reach, level)
        between = chosen.arms > 1
        d = between_arms(bound, reach, level) if between else 2 * moved * reach
        return law, np.diag(law.covariance), d

    def planned(most: int, kept: float, effects: float, squares: float) -> _Ahead:
        reach = GRID + most
        law, noise, d = of_reach(reach)
        c = clip_at(reach, squares)
        move = _moved(d, c) if bound.clusters else c * c
        om: Any = inflation * move / squares / (n * share * mean) ** 2
        if bound.classical:
            c = classical_at(reach, squares)
            om = c * c / squares / left * rows / (n * share) ** 2
        found = replace(errors(om, noise / effects**2, kept), enough=law.least < effects)
        return lambda: Clips(most, _squares_clip(bound, [c], reach), (squares, icc)), found

    return planned


def _spread_of(bound: BoundStep, share: float) -> tuple[Array, Array]:
    """Sums of a^2 over members, and of (sum a)^2 over clusters, where a share of rows are these."""
    rows, whole = bound.spread.T
    if bound.members is not None:  # persons come with all of their rows
        return share * rows, share * whole
    return share * rows, share**2 * whole + share * (1 - share) * rows


def _of_members(bound: BoundStep, share: float) -> float:
    """Return the planned share of clusters that have members."""
    own = bound.members is not None and bound.step.clusters == (bound.step.unit,)
    return share if own else 1.0


def _times(groups: int) -> float:
    """Planned standard deviations of the sum of one of these clusters that it is clipped at."""
    return 5.0 if groups >= _MANY else 3.0 if groups < _FEW_CLUSTERS else 4.0


def together(bounds: Sequence[BoundStep], *, both: bool) -> float:
    """Return by how much longer all regressions together move than the one that moves most.

    ``both`` is as :func:`dprct.queries.one_step.most_together` takes it: who leaves one of them and
    joins another moves the squares of both.
    """
    holds = [None if bound.chosen is None else bound.chosen.holds for bound in bounds]
    moved = [bound.moved / bound.moved.max() for bound in bounds]
    return math.sqrt(float(most_together(moved, holds, both=both)))


def _clips(
    bound: BoundStep, place: Place, sd: float, icc: float
) -> Callable[[int, float], list[float]]:
    """Return c of a e, or of its sum in a cluster: what keeps noise below half of the variance.

    It is a function of what residuals reach and of the squares' mu.  Of classical errors it is that
    of e; of two ways those of each and of both together.
    """
    rows, whole = bound.spread.sum(axis=0)
    if bound.ways:
        own = [(groups, (1 - icc) * rows + icc * of.sum()) for groups, of in bound.ways]
        found = [_times(groups) * math.sqrt(one / groups) * sd for groups, one in own]
        return lambda *_: found
    weights, most = (rows, whole, bound.longest), 1
    if bound.classical:
        weights, most = (bound.n, bound.n, 1.0), bound.most_rows
    at = _clip_at(bound, place, sd, icc, weights)
    return lambda reach, squares: [at(reach, squares / most)]


def _clip_at(
    bound: BoundStep, place: Place, sd: float, icc: float, weights: tuple[float, float, float]
) -> Callable[[int, float], float]:
    """The same of weights of which sums of squares, over rows and clusters, and the longest are."""
    rows, whole, longest = weights
    if bound.clusters:
        times = _times(bound.clusters)
        own = (1 - icc) * rows + icc * whole
        if bound.members is not None:  # what a person's rows share may be nothing
            if bound.step.clusters == (bound.step.unit,):  # no sum is beyond what a person moves
                most = times * math.sqrt(max(own, rows) / bound.clusters) * sd
                farthest = bound.farthest
                return lambda reach, _: min(most, 2 * reach * farthest)
            # people may share what a period brings, though their weights add up to nothing
            share = 1.0 if bound.chosen is None else bound.chosen.share
            alike = share * float(bound.persons.sum()) / bound.clusters
            own = max(own, rows * (1 + icc * max(alike - 1, 0.0)))
        c = times * math.sqrt(own / bound.clusters) * sd
        return lambda *_: c
    two_valued = place.variable.two_valued

    def found(reach: int, squares: float) -> float:
        all_of_it = 2 * reach * longest
        if two_valued and all_of_it**2 / squares <= rows * sd**2:
            return all_of_it
        return min(all_of_it, max(4 * sd * longest, math.sqrt(0.5 * squares * rows) * sd))

    return found


def _squares_clip(
    bound: BoundStep, clips: Sequence[float], reach: int, weights: Array | None = None
) -> tuple[int, ...]:
    """Return whole clips: of e in every cell, or of the sum of a e for every coefficient."""
    c = clips[0]
    if bound.classical:
        return tuple(min(2 * reach, math.floor(c)) if n else 0 for n in bound.sizes.tolist())
    weights = bound.weights if weights is None else weights
    length = np.sqrt((weights**2).sum(axis=0))
    if not bound.joint or bound.members is not None:
        share = np.sqrt(bound.spread.sum(axis=1) / bound.spread.sum())
        finest = FINEST / length.max()
        return tuple(max(1, math.floor(one * s * finest)) for one in clips for s in share)
    most = 2 * reach * (1 if not bound.clusters else 1 << 28)
    return tuple(min(most, math.floor(c / x)) if x > 0 else 0 for x in length.tolist())


def vectors_of(steps: Steps, clips: Sequence[Clips]) -> tuple[list[Score], dict[str, Vector]]:
    """Return the scores and what is released of them; public."""
    features = steps.features
    scores = [b.score(GRID + c.most, features) for b, c in zip(steps.bound, clips, strict=True)]
    most = [c.squares for c in clips]
    squares = [
        one.squares(c, joint=b.joint) for one, b, c in zip(scores, steps.bound, most, strict=True)
    ]
    squares += [cross.moves(scores, most) for cross in steps.crosses]
    found = {
        EFFECTS: Vector(tuple(one.effects for one in scores)),
        TOTALS: Vector((
            *(one.totals for one in scores), *(one.on_grid for one in steps.grams().values()),
        )),
        SQUARES: Vector(tuple(squares)),
    }  # fmt: skip
    return scores, {name: vector for name, vector in found.items() if vector.size}


def fit_of(bound: BoundStep, layout: Layout, cell: NoisyMoments, most: int) -> Fit | None:
    """Return the fit of an outcome by covariates, from released moments of everybody.

    Ridge for prediction: the noise of moments, s2 sqrt d, is added to those of covariates.
    """
    known = {place.variable.key: j for j, place in enumerate(layout.places)}
    at = [known[key_of(one.atoms)] for one in bound.step.covariates]
    if not at or not most:
        return None
    y = next(j for j, p in enumerate(layout.places) if p.name == bound.step.outcome)
    n = max(cell.n, 1.0)
    S = cell.totals / n
    M = cell.cross - n * np.outer(S, S)
    ridge = cell.s2 * math.sqrt(len(at))
    w, V = np.linalg.eigh(M[np.ix_(at, at)] + ridge * np.eye(len(at)))
    w = np.maximum(w, max(ridge, 1e-9 * n))
    slopes = (V / w) @ (V.T @ M[at, y])
    place = layout.places[y]
    half = residual_of(place, None).half_step
    # half steps of the outcome for a step of z
    by = slopes * layout.step * place.scale / place.weight / half
    level = float(slopes @ S[at]) * place.scale / place.weight / half
    largest = max(float(np.abs(by).sum()), abs(level) / FARTHEST)
    if not math.isfinite(largest) or largest <= 0:
        return None
    shift = min(max(0, math.floor(math.log2(_FIT_BITS / largest))), 200)
    scaled = [int(x) for x in np.rint(by * 2.0**shift)]
    offset = round(level * 2.0**shift)
    if sum(map(abs, scaled)) * FARTHEST + abs(offset) >= EXACT:
        return None
    return Fit(tuple(layout.grid.columns[j] for j in at), tuple(scaled), offset, shift, most)


def drawn_steps(
    table: BoundTable, steps: Steps, layout: Layout, everybody: NoisyMoments,
    allocation: StepAllocation, noise: NoiseSource,
) -> tuple[tuple[DrawnStep, ...], tuple[DrawnCross, ...]]:  # fmt: skip
    """Add up residuals and draw effects, totals and squares; the caller has charged them."""
    clips = allocation.clips
    each = [
        residual_of(
            place_of(layout, bound.step.outcome), fit_of(bound, layout, everybody, clip.most)
        )
        for bound, clip in zip(steps.bound, clips, strict=True)
    ]
    residuals = list(dict.fromkeys(each))
    which = [residuals.index(one) for one in each]
    rows = ResidualRows.of(table.frame, residuals, steps.cells, steps.features, steps.kinds)
    scores, vectors = vectors_of(steps, clips)
    laws = {name: _law(allocation, name) for name in vectors}
    effects = _split(
        laws[EFFECTS].release(rows.effects(which, scores), noise).units, vectors[EFFECTS]
    )
    grams = steps.grams()
    of_totals, totals, sd = tuple(one.totals for one in scores), [list[int]()] * len(scores), 0.0
    if TOTALS in vectors:
        sums = rows.totals(which, scores, list(grams.values()))
        totals = _split(laws[TOTALS].release(sums, noise).units, vectors[TOTALS])
        of_totals, sd = vectors[TOTALS].parts, laws[TOTALS].noise_sd
    of_grams = {
        key: (one, part, units, sd)
        for (key, one), part, units in zip(
            grams.items(), of_totals[len(scores) :], totals[len(scores) :], strict=True
        )
    }
    read_effects, centres = list[Any](), list[Any]()
    for bound, score, part, units, of_total, total, clip in zip(
        steps.bound, scores, vectors[EFFECTS].parts, effects,
        of_totals[: len(scores)], totals[: len(scores)], clips, strict=True,
    ):  # fmt: skip
        if isinstance(score, Members):
            law = read_members(bound, score, part, units, laws[EFFECTS].noise_sd)
            read_effects.append(law)
            ends = np.clip(law.centres, -score.reach, score.reach)
            centres.append([int(x) for x in np.rint(ends)])  # M of every cell
        elif isinstance(score, Slopes):
            flat, level = np.zeros(len(bound.treated)), [0] * len(bound.sizes)
            if not score.hides:
                level = _centres(bound, score, of_total.unit / GRID, total, sd, flat)
            one = read_slopes(
                bound, score, (part, units, laws[EFFECTS].noise_sd), (of_total, total, sd),
                of_grams[steps.gram(bound).key], level, np.array(clip.scales),
            )  # fmt: skip
            read_effects.append(one)
            centres.append(one.influence)
        else:
            theta, own = _effects(bound, part, units, laws[EFFECTS].noise_sd)
            read_effects.append((theta, own))
            centres.append(_centres(bound, score, of_total.unit / GRID, total, sd, theta))
    joint = [bound.joint for bound in steps.bound]
    later = [_later(*one, layout, allocation.clips[at]) for at, one in
             enumerate(zip(steps.bound, scores, read_effects, centres, strict=True))]  # fmt: skip
    weighted, most = [one[0] for one in later], [one[1] for one in later]
    sums = rows.squares(which, weighted, centres, most, joint, steps.crosses)
    squares = _split(laws[SQUARES].release(sums, noise).units, vectors[SQUARES])
    found, several = [], len(steps.bound)
    parts = [one.squares(c, joint=b) for one, c, b in zip(weighted, most, joint, strict=True)]
    parts += vectors[SQUARES].parts[several:]
    for bound, score, part, units, one, k, clip in zip(
        steps.bound, scores, parts[:several], squares[:several], read_effects, which, clips,
        strict=True,
    ):  # fmt: skip
        half = residuals[k].half_step
        if isinstance(one, ReadSlopes):
            found.append(drawn_slopes(
                bound, one, (part, units, laws[SQUARES].noise_sd), score.pairs,
                np.array(clip.scales), half,
            ))  # fmt: skip
            continue
        if isinstance(one, Law):
            found.append(
                _drawn_members(bound, score, one, (part, units, laws[SQUARES].noise_sd), half)
            )
            continue
        theta, own = one
        if bound.classical:
            unit = part.unit / GRID * half**2 / (bound.n - bound.coefficients)
            sampling, spread = (x * unit * bound.gram for x in (*units, laws[SQUARES].noise_sd))
            found.append(DrawnStep(theta * half, sampling, spread, own * half))
            continue
        scale = part.unit / GRID * (bound.longest / FINEST * half / bound.n) ** 2 * bound.inflation
        sampling, spread = _matrices(bound, score, units, laws[SQUARES].noise_sd, scale)
        found.append(DrawnStep(theta * half, sampling, spread, own * half))
    crosses = []
    sd = laws[SQUARES].noise_sd
    for cross, part, units in zip(steps.crosses, parts[several:], squares[several:], strict=True):
        unit = part.unit / GRID
        for at in (cross.first, cross.second):
            bound, half = steps.bound[at], residuals[which[at]].half_step
            unit *= bound.longest / FINEST / bound.n * half * math.sqrt(bound.inflation)
        crosses.append(_drawn_cross(cross, scores, units, sd, unit))
    return tuple(found), tuple(crosses)


def _drawn_cross(
    cross: Cross, scores: Sequence[Score], units: Sequence[int], sd: float, unit: float
) -> DrawnCross:
    """Return released products of two regressions as a matrix, and what its noise is."""
    one, other = scores[cross.first], scores[cross.second]
    alike = np.array_equal(one.weights, other.weights)
    found = np.empty((one.size, other.size))
    for (j, k), value in zip(cross.entries(scores), units, strict=True):
        found[j, k] = value * unit
        if alike:
            found[k, j] = found[j, k]
    return DrawnCross(cross.first, cross.second, found, np.full(found.shape, sd * unit), alike)


def _later(
    bound: BoundStep, score: Score, read: Any, centre: Any, layout: Layout, clip: Clips
) -> tuple[Score, Sequence[int]]:
    """Return the score of squares, and its clips: of members they are known after the effects."""
    if isinstance(score, Members):
        score = replace(score, centre=tuple(centre))
    if not isinstance(read, Law) or not read.usable or bound.classical:
        return score, clip.squares
    first = dict[tuple[int, ...], int]()  # cells that are alike have the same bits
    loads = score.weights[0] * 0 if score.loads is None else score.loads
    blocks = bound.blocks if bound.chosen and bound.chosen.within else bound.blocks * 0
    keys = [tuple(map(int, key)) for key in np.vstack([score.weights, loads, blocks]).T]
    own = read.psi[:, [first.setdefault(key, at) for at, key in enumerate(keys)]]
    length = float(np.sqrt((own**2).sum(axis=0)).max())
    assert isinstance(score, Members)
    # cells that do not count move nothing, as was claimed before the draw
    whole = np.where(score.counts, np.rint(own * (FINEST / length)), 0)
    whole = whole.astype(np.int64).astype(object)
    assert bound.chosen is not None
    heavy = bound.chosen.loads[1] / bound.chosen.loads[0]
    share = min(max(read.share, 1e-6), 1.0)
    rows, of_clusters = (
        heavy * one / _of_members(bound, share) for one in _spread_of(bound, share)
    )
    squares, icc = clip.scales
    n = bound.n * read.share
    place = place_of(layout, bound.step.outcome)
    weights = rows.sum(), of_clusters.sum(), length * n
    c = _clip_at(bound, place, _in_half_steps(place), icc, weights)(score.reach, squares)
    return replace(score, weights=whole), _squares_clip(bound, [c], score.reach, own * n)


def _drawn_members(
    bound: BoundStep, score: Score, law: Law, squares: tuple[OnGrid, Sequence[int], float],
    half: float,
) -> DrawnStep:  # fmt: skip
    """What was released of people whom private columns choose, in units of the outcome."""
    part, units, sd = squares
    q = score.size
    assert bound.chosen is not None
    rows = float(bound.n)
    if not bound.chosen.everybody:
        rows *= law.share / bound.chosen.loads[0]
    covariance = law.covariance * half**2
    noise = np.sqrt(np.diag(covariance))
    basis = np.eye(q) if law.usable else np.full((q, q), math.nan)
    if bound.classical:
        left = max(bound.informative * law.share - bound.coefficients, 1.0)
        unit = part.unit / GRID * half**2 / left
        sampling, spread = (x * unit * law.gram for x in (*units, sd))
        return DrawnStep(law.theta * half, sampling, spread, noise, basis, covariance, rows)
    length = float(np.sqrt((law.psi**2).sum(axis=0)).max()) if law.usable else 1.0
    scale = part.unit / GRID * (length / FINEST * half) ** 2
    scale *= bound.inflated(rows) if law.usable else 1.0
    sampling, spread = _matrices(bound, score, units, sd, scale)
    return DrawnStep(law.theta * half, sampling, spread, noise, basis, covariance, rows)


def _law(allocation: Allocation, name: str) -> AnalyticGaussian:
    mechanism = allocation[name]
    assert isinstance(mechanism, AnalyticGaussian)
    return mechanism


def _split(units: Any, vector: Vector) -> list[list[int]]:
    found, at = [], 0
    for part in vector.parts:
        size = len(part.reach)
        found.append([int(x) for x in units[at : at + size]])
        at += size
    return found


def _effects(bound: BoundStep, part: Any, units: Sequence[int], sd: float) -> tuple[Array, Array]:
    """Return the coefficients in half steps, and the standard deviations of their noise."""
    scale = part.unit / GRID * bound.longest / FINEST / bound.n
    return np.array(units, float) * scale, np.full(len(units), sd * scale)


def _centres(
    bound: BoundStep, score: Score, scale: float, units: Sequence[int], sd: float, theta: Array
) -> list[int]:
    """Return m of every cell: the level of its block and the effect of its arm, as released.

    Levels of blocks are drawn towards that of all by their noise over how much they vary beyond it:
    of many small blocks hardly anything is known.
    """
    blocks, n = bound.blocks, bound.loaded
    inside = blocks >= 0
    count = len(units)
    rows = np.bincount(blocks[inside], n[inside], minlength=count)
    T = bound.treated
    mean_T = (
        np.array([np.bincount(blocks[inside], (n * t)[inside], minlength=count) for t in T]) / rows
    )
    level = np.array(units, float) * scale / rows - theta @ mean_T
    noise = (sd * scale / rows) ** 2
    whole = float(rows @ level) / rows.sum()
    between = max(0.0, float(rows @ ((level - whole) ** 2 - noise)) / rows.sum())
    if count > 1:
        level = whole + (level - whole) * between / (between + noise)
    found = np.where(inside, level[np.maximum(blocks, 0)] + theta @ T, 0.0)
    return [int(x) for x in np.rint(np.clip(found, -score.reach, score.reach))]


def _matrices(
    bound: BoundStep, score: Score, units: Sequence[int], sd: float, scale: float
) -> tuple[Array, Array]:
    """Return released squares as a matrix, and the standard deviations of its noise."""
    q = score.size
    sampling = np.full((q, q), math.nan)
    pairs = score.pairs if bound.joint else [(j, j) for j in range(q)]
    for (j, k), value in zip(pairs, units, strict=True):
        sampling[j, k] = sampling[k, j] = value * scale
    return sampling, np.full((q, q), sd * scale)
