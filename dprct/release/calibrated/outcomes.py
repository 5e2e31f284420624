"""From released effects and synthetic covariates to the rows of a file.

All of it is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dprct.assignment.groups import narrow, units_of
from dprct.certificate.valid_arms import ValidArms
from dprct.certificate.valid_groups import ValidGroups, spelled
from dprct.certificate.valid_regressions import Validity
from dprct.errors import ParameterError, SchemaError
from dprct.formula import design
from dprct.lazy import pandas as pd
from dprct.missing import tagged
from dprct.privacy.noise import repeatedly, source
from dprct.records import dataclass
from dprct.release.calibrated.groups import Groups, joined, same_shares, weights_of
from dprct.release.calibrated.layout import right_side
from dprct.release.calibrated.residuals import Residuals, Specification, largest, residuals
from dprct.release.columns import Packed, assembled
from dprct.results.covariance import give_back
from dprct.results.ols import ols
from dprct.schema.columns import stored
from dprct.schema.tables import NumPyTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dprct.assignment.groups import Design
    from dprct.release.calibrated.covariates import Target
    from dprct.release.calibrated.layout import Layout, Regressions, TermSet
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class PublicRows:
    """The public facts of n rows, in one order."""

    columns: Mapping[str, NDArray[Any]]  # (n,): the public columns, the treatment's among them
    arms: NDArray[Any]  # (n,): arm of each row, 0 for control; in few bits
    # (n,): for each outcome, who has a value where that is public; everybody where it is not.
    observed: tuple[NDArray[np.bool_], ...]
    clusters: NDArray[np.int64] | None  # (n,): cluster of each row, where clusters were assigned
    groups: Groups | None = None  # public groups whose own effects were released

    def shuffled(self, rng: np.random.Generator) -> PublicRows:
        """Return the same rows in a random order."""
        order = rng.permutation(len(self.arms))
        return PublicRows(
            Packed(self.columns).taken(order),
            self.arms[order],
            tuple(mask[order] for mask in self.observed),
            None if self.clusters is None else self.clusters[order],
            None if self.groups is None else self.groups.taken(order),
        )

    def weights(self) -> list[Array | None]:
        """Weights of means by group and arm in regressions with factors of the groups.

        Of every outcome; None where arms have the same shares in all groups.
        """
        found: list[Array | None] = []
        for mask in self.observed:
            assert self.groups is not None
            arms, codes = self.arms[mask], self.groups.codes[mask]
            found.append(None if same_shares(arms, codes) else weights_of(arms, codes))
        return found

    def reassigned(self, design: Design, rng: np.random.Generator) -> PublicRows:
        """Return the rows with a fresh draw of treatment by the design.

        Notes
        -----
        Arm sizes are public, in every block and among those with an outcome, and the released
        effects rest on them.  A draw that has others (where shares are not whole, rows were lost,
        or sizes are random) is replaced by the assignment that was realised: with the rows in
        random order beside fresh covariates it is a draw of the design as well.
        """
        used = dict.fromkeys((*design.columns, *design.uses))
        rows: Any = NumPyTable({name: self.columns[name] for name in used}, len(self.arms))
        names = design.groups.names
        arm_of = np.zeros(len(names), self.arms.dtype)
        arm_of[design.groups.codes(rows)] = self.arms
        there = narrow(design.draw(rows, source(rng).post_processing_rng()), len(names))
        drawn = arm_of[there]
        strata = units_of(rows, design.block_columns, ()).block
        give_back(len(drawn))
        every = (np.ones(len(drawn), bool), *self.observed)
        if not all(_same_sizes(drawn[m], self.arms[m], strata[m], len(names)) for m in every):
            return self
        new = design.groups.columns_of(there)
        return replace(self, columns=Packed(self.columns).with_others(new), arms=drawn)


def _same_sizes(
    arms: NDArray[Any], were: NDArray[Any], strata: NDArray[np.int64], count: int
) -> bool:
    """Whether each of ``count`` arms has in each stratum as many rows as it had."""
    return all(
        np.array_equal(np.bincount(strata[arms == arm]), np.bincount(strata[were == arm]))
        for arm in range(count)
    )


Array = NDArray[np.float64]

_EXACT = 1e-12
_FEW = 1000
_FEWEST = 10
"""Rows with a value that an arm has beyond one for each column of covariates."""


@dataclass(frozen=True, eq=False)
class Constructed:
    """One outcome of the file."""

    values: Array  # (n,): missing where nobody has a value
    exact: tuple[bool, ...]  # per covariate set: whether the errors equal the released ones
    ratios: tuple[Array, ...]  # (K - 1,): errors over released errors
    # Per covariate set: classical error over released error, where there is one effect.
    classical: tuple[float | None, ...] = ()
    # Error of the control mean over its released error, where it has a target.
    control: float | None = None
    whole: bool = True  # whether arms have the same shares in all groups
    # Per covariate set: whether the regression on all rows returns released effects; all if empty.
    held: tuple[bool, ...] = ()
    # (n,): zero where nobody has a value; None where other outcomes are not to know them.
    residuals: Array | None = None
    # Earlier outcomes whose effects have the released covariance with this one's.
    shared: tuple[int, ...] = ()


def covariate_matrices(
    sets: Sequence[TermSet], table: pd.DataFrame | NumPyTable, schema: Schema
) -> tuple[list[Array], NDArray[np.bool_]]:
    """Intercept and covariates of each set, and the rows that are complete in all; zero in others.

    A derived covariate is missing where its column cannot hold the value.
    """
    found, used = [], np.ones(len(table), bool)
    for terms in sets:
        matrix = design(right_side(terms), table, schema, levels="data")
        whole = matrix.X
        if not matrix.used.all():
            whole = np.zeros((len(table), matrix.X.shape[1]))
            whole[matrix.used] = matrix.X
        found.append(whole)
        used &= matrix.used
    return found, used


def check_room(
    regressions: Regressions, table: NumPyTable, schema: Schema, public: Iterable[str], rows: int
) -> None:
    """Refuse covariates that may leave no residuals, whatever is drawn of them.

    The table has admissible values of the columns that are not ``public``: of these, all declared
    levels may be drawn.  ``rows`` are the fewest that an outcome has.
    """
    known = set(public)
    terms = tuple(dict.fromkeys(term for terms in regressions.covariates for term in terms))
    drawn = [term for term in terms if not known & set(right_side([term]).regressor_names)]
    fixed = [term for term in terms if term not in drawn]
    most = _width(fixed, table, schema, "data") + _most(drawn, table, schema) - 1
    if most + len(regressions.arms) >= rows:
        raise ParameterError(
            f"{rows} rows leave no degree of freedom beside {len(regressions.arms)} effects and up "
            f"to {most} columns of covariates ({', '.join(terms)}); leave covariates out, or "
            "declare fewer levels"
        )


def _most(terms: Sequence[str], table: NumPyTable, schema: Schema) -> int:
    try:
        return _width(terms, table.head(_FEW), schema, "schema")  # whatever is in the rows
    except SchemaError:  # a factor of a numeric column without levels
        return _width(terms, table, schema, "data")


def _width(
    terms: Sequence[str], table: NumPyTable, schema: Schema, levels: Literal["data", "schema"]
) -> int:
    return int(design(right_side(terms), table, schema, levels=levels).X.shape[1])


def constructed(
    target: Target,
    matrices: Iterable[Array],
    rows: PublicRows,
    observed: NDArray[np.bool_],
    rng: np.random.Generator,
    without: Array | None = None,
    others: Mapping[int, tuple[Array, float]] | None = None,
) -> Constructed:
    """An outcome whose regressions return the released effects and errors.

    Residuals start from noise of ``rng`` and know nothing of the columns ``without``; ``others``
    are residuals of earlier outcomes, each with the covariance of the one effect with theirs.

    Notes
    -----
    ``y = m_0 + (X - mean_control X) g + sum_j tau_j T_j + e`` (docs/methods.md, section 5), with e
    orthogonal to the arms, so that the control group's mean is m_0.  X g is an index of which only
    what the first covariate set explains is used.  Where the control mean has an error to be found,
    the robust error of the constant in the regression on the arms alone is a condition on e besides
    those of the effects, in place of the classical error; where no residuals meet all of them, the
    effects come first.
    """
    there = slice(None) if observed.all() else observed  # which copies nothing
    arms = rows.arms[there]
    treated = np.column_stack([arms == arm for arm in range(1, len(target.effects) + 1)])
    groups = None if rows.clusters is None else rows.clusters[observed]
    shared = tuple((e[observed], covariance) for e, covariance in (others or {}).values())
    specifications = (
        Specification(treated, matrix[there], target.covariance, groups, shared)
        for matrix in matrices
    )
    start = repeatedly(partial(_start, len(arms), groups), rng)
    error = target.control_error if target.index is None and groups is None else None
    found, control = _with_control(
        specifications, treated, error, start,
        None if without is None else without[observed],
    )  # fmt: skip
    y = np.full(len(arms), float(target.control))
    for here, effect in zip(treated.T, target.effects, strict=True):
        y[here] += effect
    y += found.values
    if target.index is not None:
        X = next(iter(matrices))[observed]
        # the part that the regression explains by covariates leaves the effects where they are
        explained = X @ np.linalg.lstsq(X, target.index[observed], rcond=None)[0]
        y = y + explained - explained[arms == 0].mean()
    values, known = y, found.values
    if not observed.all():
        values, known = np.full(len(observed), tagged(0)), np.zeros(len(observed))
        values[observed], known[observed] = y, found.values
    return Constructed(
        values, found.exact, found.ratios, found.classical, control,
        residuals=known if target.index is None else None,
        shared=tuple(others or ()) if found.shared else (),
    )  # fmt: skip


_DEARER = 1.01
"""By how much larger the errors of effects may be for the control mean to have its own."""


def _with_control(
    specifications: Iterable[Specification],
    treated: NDArray[np.bool_],
    error: float | None,
    start: Callable[[], Array],
    without: Array | None,
) -> tuple[Residuals, float | None]:
    """Return residuals, and the error of the control mean that they lead to over its target."""
    if error is None:
        return residuals(specifications, start, without=without), None
    ones = np.broadcast_to(1.0, (len(treated), 1))  # takes no memory
    mean = Specification(ones, treated, np.array([[error**2]]))
    specifications = [*specifications]
    given = [*specifications, mean]
    both = residuals(given, start, classical=False, without=without)
    if not all(both.exact):
        alone = residuals(specifications, start, classical=False, without=without)
        if all(alone.exact) or _worst(both.ratios) > _DEARER * _worst(alone.ratios):
            control = treated.sum(axis=1) == 0
            here = alone.values[control]
            factor = len(treated) / (len(treated) - 1 - treated.shape[1])
            return alone, math.sqrt(factor * float(here @ here)) / len(here) / error
    of_sets = slice(len(specifications))
    found = Residuals(both.values, both.exact[of_sets], both.ratios[of_sets],
                      both.classical[of_sets], both.shared)  # fmt: skip
    return found, float(both.ratios[-1][0])


def _worst(ratios: Sequence[Array]) -> float:
    return largest(np.concatenate(ratios))


def constructed_in_groups(
    target: Target,
    matrices: Sequence[Array],
    rows: PublicRows,
    observed: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Constructed:
    """An outcome whose regressions within groups return the effects released of these.

    Arguments are those of :func:`constructed`; within groups regressions are on the arms alone.
    """
    assert rows.groups is not None
    constant, values = [np.ones((len(observed), 1))], np.full(len(observed), np.nan)
    every = np.column_stack(matrices)
    for code, one in enumerate(target.within):
        here = observed & (rows.groups.codes == code)
        try:
            part = constructed(one, constant, rows, here, rng, every)
        except ParameterError as error:
            column, level = rows.groups.column, spelled(rows.groups.levels[code])
            raise ParameterError(f"within {column} = {level}: {error}") from None
        values[here] = part.values[here]
    found = joined(
        values[observed], target, [matrix[observed] for matrix in matrices],
        rows.arms[observed], rows.groups.codes[observed], rows.groups.column,
    )  # fmt: skip
    values[observed] = found.values
    ratios = (*found.within, *found.ratios)
    exact = all(largest(ratio - 1) <= _EXACT for ratio in ratios)
    missing = tagged(np.zeros(len(observed)))
    return Constructed(
        np.where(observed, values, missing), (exact,), ratios,
        control=found.control, whole=found.whole, held=found.held,
    )  # fmt: skip


def constructed_anywhere(
    target: Target,
    matrices: Sequence[Array],
    rows: PublicRows,
    used: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Constructed:
    """An outcome of which it is private who has a value, at random ``used`` rows of each arm.

    Notes
    -----
    Post-processing of released counts, public arms, synthetic covariates and fresh randomness: no
    row stands where somebody has a value in the confidential table.  An arm has as many values as
    were released, but enough of them for the regressions: ten more than columns of covariates, and
    where their effects or errors do not exist on the rows that were drawn, half of the others too,
    until there is room.
    """
    everybody = np.bincount(rows.arms[used], minlength=len(target.counts))
    least = _FEWEST + sum(matrix.shape[1] for matrix in matrices)
    wanted = np.minimum(np.maximum(target.counts, least), everybody)
    while True:
        observed = np.zeros(len(used), bool)
        for arm, count in enumerate(wanted.tolist()):
            there = np.flatnonzero(used & (rows.arms == arm))
            observed[rng.choice(there, count, replace=False)] = True
        try:
            return constructed(target, matrices, rows, observed, rng)
        except ParameterError:
            if (wanted == everybody).all():
                raise
        wanted = (wanted + everybody + 1) // 2


def _start(n: int, groups: NDArray[np.int64] | None, rng: np.random.Generator) -> Array:
    """Return normal noise, with a part that clusters share."""
    noise = rng.standard_normal(n)
    if groups is None:
        return noise
    codes, known = pd.factorize(groups)
    noise += rng.standard_normal(len(known))[codes]
    return noise


def legalised(column: Column, values: Array) -> Array:
    """The nearest admissible value of each number; what is missing stays so.

    Examples
    --------
    >>> from dprct.schema import Column
    >>> got = Column("got", "byte", levels=(0.0, 1.0))
    >>> legalised(got, np.array([-0.4, 0.7])).tolist()
    [0.0, 1.0]
    """
    known = ~np.isnan(values)
    y = values[known]
    if column.levels is not None:
        levels = np.array(sorted(float(level) for level in column.levels))
        y = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, y)]
    else:
        assert column.bounds is not None
        y = np.clip(y, *column.bounds)
        if column.step is not None:
            per_unit = float(1 / column.step)
            low, high = column.bounds
            first, last = np.ceil(low * per_unit - 1e-9), np.floor(high * per_unit + 1e-9)
            y = np.clip(np.rint(y * per_unit), first, last) / per_unit
    found = values.copy()
    found[known] = stored(column, y)
    return found


_EQUAL = 1e-9
"""How near to 1 the ratio of classical errors is where they are said to be valid."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The rows of a calibrated file, and how well they return what was released."""

    layout: Layout
    held: NumPyTable
    outcomes: tuple[Constructed, ...]
    rows: tuple[int, ...]  # rows with each outcome
    clusters: str | None  # column of the clusters
    # With admissible values only, for each outcome: the largest gap of an effect in released
    # standard errors, and the ratio of errors that is farthest from 1.
    errors: tuple[tuple[float, float], ...] = ()
    groups: ValidGroups | None = None  # groups whose own regressions return released effects, too
    # Rows of every arm, where regressions on the rows of some arms return released effects.
    sizes: ValidArms | None = None
    # Outcomes of which two-stage least squares of the first on the second has its error.
    ratios: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(
        cls,
        layout: Layout,
        columns: Mapping[str, NDArray[Any]],
        rows: PublicRows,
        targets: Sequence[Target],
        clusters: str | None,
        rng: np.random.Generator,
    ) -> Calibration:
        """Make the rows: post-processing of what was released."""
        n, names = len(rows.arms), layout.regressions.outcomes
        known = {**columns, **rows.columns, **dict.fromkeys(names, np.zeros(n))}
        unsorted = replace(layout.schema, file=replace(layout.schema.file, sorted_by=()))
        first = assembled(unsorted, {}, {}, n, rng, given=known)
        matrices, used = covariate_matrices(layout.regressions.covariates, first, layout.schema)
        rest = Packed({name: first[name] for name in first.arrays if name not in names})
        del known, first  # their numbers are not needed again before the file
        made: list[Constructed] = []
        for target, mask in zip(targets, rows.observed, strict=True):
            others = _others(target, targets, made, mask, rows.observed)
            last = len(made) + 1 == len(targets) and target.index is None
            given = _let_go(matrices) if last else matrices
            made.append(_made(target, given, rows, mask, used, rng, others))
        values = {
            column.name: legalised(column, one.values) if layout.strict else one.values
            for column, one in zip(layout.outcomes, made, strict=True)
        }
        table = assembled(layout.schema, {}, {}, n, rng, given={**rest, **values})
        counts = tuple(int((~np.isnan(one.values)).sum()) for one in made)
        errors = _errors(layout, table.native, targets, clusters) if layout.strict else ()
        groups = _groups_of(rows, made, targets)
        sizes = None if errors else _sizes_of(layout.regressions, rows, made)
        pairs = [(late, early) for late, one in enumerate(made) for early in one.shared]
        pairs = [] if errors else [*pairs, *((early, late) for late, early in pairs)]
        ratios = tuple(pair for pair in pairs if targets[pair[1]].is_strong)
        done = tuple(replace(one, residuals=None) for one in made)
        return cls(layout, table, done, counts, clusters, errors, groups, sizes, ratios)

    @property
    def table(self) -> pd.DataFrame:
        """The rows as a frame."""
        return self.held.native

    @property
    def exact(self) -> bool:
        """Whether every declared regression returns the released errors, to the last digit."""
        return not self.errors and all(flag for one in self.outcomes for flag in one.exact)

    @property
    def largest(self) -> float:
        """The largest ratio of an error to the released one, before any rounding."""
        ratios = [np.asarray(ratio) for one in self.outcomes for ratio in one.ratios]
        return largest(np.concatenate(ratios))

    def words(self) -> str:
        """Sentence on what a reader's regression returns."""
        kind = "HC1" if self.clusters is None else f"CR1 (clusters {self.clusters})"
        if self.errors:
            gap = max(gap for gap, _ in self.errors)
            ratio = max((ratio for _, ratio in self.errors), key=_distance)
            return (
                f"outcomes were rounded and clipped to admissible values: a regression misses the "
                f"released effects by up to {gap:.2g} standard errors, its {kind} errors are "
                f"{ratio:.3g} times the released ones; intervals computed from the file are not "
                "valid, those of the estimates are"
            )
        within = self._within()
        if self.exact:
            return (
                f"the declared regressions{within} return the released effects and {kind} errors "
                "exactly"
            )
        return (
            f"the declared regressions{within} return the released effects exactly, and {kind} "
            f"errors of "
            f"at least the released ones, up to {100 * (self.largest - 1):.2g} % larger: "
            "conservative"
        )

    def control_words(self) -> str:
        """Control means as a reader finds them, where these have released errors."""
        if self.errors:
            return "those of the estimates; rounding to admissible values moved those of the file"
        if self.groups is not None and not self.groups.whole:
            return (
                f"the constant of each outcome on the arms alone, within a level of "
                f"{self.groups.column}, is the released mean of its control group; that of "
                "everybody is in the estimates"
            )
        names = self.layout.regressions.outcomes
        found = {name: one.control for name, one in zip(names, self.outcomes, strict=True)}
        other = [
            f"{name} has {ratio:.3g} times the released error"
            for name, ratio in found.items()
            if ratio is not None and abs(ratio - 1) >= _EQUAL
        ]
        other += [f"{name} has another error" for name, ratio in found.items() if ratio is None]
        return (
            "the constant of each outcome on the arms alone is the released mean of the control "
            "group, and its robust error is the released one, sampling and privacy noise together"
            + (f", except: {'; '.join(other)}" if other else "")
        )

    def valid(
        self,
        levels: tuple[float, ...],
        *,
        subsets: bool,
        control_errors: Sequence[float | None] = (),
        ratios: tuple[tuple[int, int], ...] | None = None,
    ) -> Validity:
        """Validity that the file states; ``subsets``: fewer covariates, the same effects."""
        regressions = self.layout.regressions
        held = [all(flags) for flags in zip(*(one.held for one in self.outcomes), strict=True)]
        sets = [
            part
            for part, is_held in zip(regressions.covariates, held or [True], strict=False)
            if is_held and (self.groups is None or self.groups.holds(part))
        ]
        alike = [ratio for one in self.outcomes for ratio in one.classical]
        return Validity(
            outcomes=regressions.outcomes,
            arms=regressions.arms,
            covariates=tuple(sets) if held and sets else regressions.covariates,
            cov_type="HC1" if self.clusters is None else "CR1",
            cluster=self.clusters,
            levels=levels,
            subsets_valid=subsets,
            rows=self.rows,
            classical=all(ratio is not None and abs(ratio - 1) < _EQUAL for ratio in alike),
            rounded=bool(self.errors),
            # of several groups with other shares no constant is the control mean of everybody
            control_errors=() if self.groups and not self.groups.whole else tuple(control_errors),
            control_found=all(abs((one.control or 0) - 1) < _EQUAL for one in self.outcomes),
            groups=self.groups,
            sizes=self.sizes,
            ratios=self.ratios if ratios is None else ratios,
        )

    def _within(self) -> str:
        if self.groups is None:
            return ""
        where = f"within levels of {self.groups.column}"
        if self.groups.whole:
            return f", on all rows and {where},"
        return f" {where}, and on all rows those with C({self.groups.column}),"


def _made(
    target: Target,
    matrices: Iterable[Array],
    rows: PublicRows,
    observed: NDArray[np.bool_],
    used: NDArray[np.bool_],
    rng: np.random.Generator,
    others: Mapping[int, tuple[Array, float]],
) -> Constructed:
    if target.counts:
        return constructed_anywhere(target, [*matrices], rows, used, rng)
    if target.within:
        return constructed_in_groups(target, [*matrices], rows, observed & used, rng)
    return constructed(target, matrices, rows, observed & used, rng, others=others)


def _let_go(matrices: list[Array]) -> Iterator[Array]:
    """Yield matrices that nobody else will ask for."""
    while matrices:
        yield matrices.pop(0)


def _others(
    target: Target,
    targets: Sequence[Target],
    made: Sequence[Constructed],
    mask: NDArray[np.bool_],
    observed: Sequence[NDArray[np.bool_]],
) -> dict[int, tuple[Array, float]]:
    """Return the earlier outcomes on the same rows with whose effects a covariance was released."""
    found = {}
    for place, (covariance, one) in enumerate(zip(target.shared, made, strict=False)):
        most = 0.98**2 * target.covariance[0, 0] * targets[place].covariance[0, 0]
        same = np.array_equal(mask, observed[place]) and all(one.exact)
        if one.residuals is not None and same and covariance**2 <= most and target.index is None:
            found[place] = one.residuals, covariance
    return found


def _groups_of(
    rows: PublicRows, made: Sequence[Constructed], targets: Sequence[Target]
) -> ValidGroups | None:
    """Return the groups as the file says them."""
    if rows.groups is None:
        return None
    there = [~np.isnan(one.values) for one in made]
    codes, levels = rows.groups.codes, rows.groups.levels
    return ValidGroups(
        column=rows.groups.column,
        levels=levels,
        rows=tuple(
            tuple(int((codes[mask] == code).sum()) for mask in there) for code in range(len(levels))
        ),
        control_errors=tuple(
            tuple(target.within[code].control_known for target in targets)
            for code in range(len(levels))
        ),
        whole=all(one.whole for one in made),
    )


def _sizes_of(
    regressions: Regressions, rows: PublicRows, made: Sequence[Constructed]
) -> ValidArms | None:
    """Return the rows of every arm, where the regression on some arms alone is calibrated."""
    if not regressions.serve_some_arms:
        return None
    arms, there = rows.arms, [~np.isnan(one.values) for one in made]
    each = range(1 + len(regressions.arms))
    return ValidArms(
        columns=regressions.arms,
        rows=tuple(tuple(int((arms[mask] == arm).sum()) for arm in each) for mask in there),
        clusters=() if rows.clusters is None else tuple(
            tuple(len(np.unique(rows.clusters[mask & (arms == arm)])) for arm in each)
            for mask in there
        ),
    )  # fmt: skip


def _errors(
    layout: Layout, table: pd.DataFrame, targets: Sequence[Target], clusters: str | None
) -> tuple[tuple[float, float], ...]:
    """Amount by which regressions on admissible values miss effects and errors."""
    return tuple(
        _error(layout, table, name, target, clusters)
        for name, target in zip(layout.regressions.outcomes, targets, strict=True)
    )


def _error(
    layout: Layout, table: pd.DataFrame, outcome: str, target: Target, clusters: str | None
) -> tuple[float, float]:
    terms = (*layout.regressions.arms, *layout.regressions.covariates[0])
    fit = ols(
        f"{outcome} ~ {' + '.join(terms)}",
        table,
        layout.schema,
        cov_type="HC1" if clusters is None else "CR1",
        cluster=clusters,
    )
    effects = [name for name in fit.params.index if _is_effect(str(name), layout)]
    wanted = np.sqrt(np.diag(target.on_all_rows[1]))
    gaps = np.abs(fit.params[effects].to_numpy(np.float64) - target.on_all_rows[0]) / wanted
    ratios = fit.bse[effects].to_numpy(np.float64) / wanted
    return largest(gaps), float(max(ratios.tolist(), key=_distance))


def _distance(ratio: float) -> float:
    """Distance of a ratio from 1, twice and half being equally far."""
    return abs(math.log(ratio)) if ratio > 0 else math.inf


def _is_effect(name: str, layout: Layout) -> bool:
    arms = layout.regressions.arms
    return name in arms or any(name.startswith(f"{arm}[T.") for arm in arms)
