"""The covariates of a calibrated release: how they are drawn, and whether they are worth it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.defaults import (
    COVARIATE_BINS,
    LEAST_RESEMBLANCE,
    resembles_jointly,
    resembles_one_by_one,
)
from dprct.encoding import decoded, encodings
from dprct.errors import SchemaError
from dprct.privacy.allocation import Allocation
from dprct.privacy.composition import per_row
from dprct.privacy.histograms import (
    HistogramRelease,
    OneWayHistograms,
    OneWayRelease,
    SparseHistogram,
    StabilityHistogram,
    draw_independent_rows,
    draw_rows,
)
from dprct.queries import check_extent
from dprct.release.histogram import COUNTS, Marginals, MVHistogram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.encoding import Coded
    from dprct.privacy.budget import Budget
    from dprct.privacy.noise import NoiseSource
    from dprct.release.model import ReleaseFacts, ReleaseModel
    from dprct.results.plan import Plan
    from dprct.schema.columns import Column
    from dprct.schema.schema import Schema

Rule = Literal["histogram", "marginals", "filler"]
Drawn = HistogramRelease | OneWayRelease | None


@dataclass(frozen=True, slots=True)
class Covariates:
    """The modelled covariates of a release, before their values are drawn.

    Parameters
    ----------
    schema : Schema
        Of the covariates alone, with bins where they need some.
    complete : frozenset of str
        Those that a declared regression uses; a missing value would cost the reader the row.
    n : int
    engines : mapping from rule to release model
        The mechanisms that may draw them; none for filler.
    rows : int
        Most rows of one protected unit: those of a cluster, where clusters are protected.

    Notes
    -----
    A budget here is that of a unit, of which each row gets its part (group privacy).
    Replace-one is one of the changes under "replace-one with the design public", so the
    histogram's guarantee holds there too.  Filling is a function of public facts.
    """

    schema: Schema
    complete: frozenset[str]
    n: int
    engines: Mapping[Rule, ReleaseModel[Any, ReleaseFacts, Any]]
    rows: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The modelled columns."""
        return tuple(self.schema.names)

    def plan(self, rule: Rule, budget: Budget) -> Plan:
        """Return the plan of the mechanism of a rule; free."""
        each = per_row(budget, self.rows)
        return self.engines[rule].plan(each.epsilon, each.delta)

    def chosen(self, budget: Budget) -> tuple[Rule, str]:
        """Return the rule that is worth ``budget``, and why; a function of public facts.

        Parameters
        ----------
        budget : Budget
            What the covariates would get.
        """
        if not self.names:
            return "filler", "no covariate is modelled"
        budget = per_row(budget, self.rows)
        joint, single = self.engines["histogram"], self.engines["marginals"]
        cells = joint._allocated(budget)[COUNTS]
        counts = single._allocated(budget)[COUNTS]
        assert isinstance(cells, (SparseHistogram, StabilityHistogram))
        assert isinstance(counts, OneWayHistograms)
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
        each = self.engines[rule]._allocated(per_row(budget, self.rows))
        return Allocation(budget=budget, parts={rule: each}, rows=self.rows)

    def draw(self, rule: Rule, budget: Budget, noise: NoiseSource) -> tuple[dict[str, Any], Drawn]:
        """Return the released state, and what :meth:`columns` makes rows of; charged before."""
        if rule == "filler":
            return {"rule": rule}, None
        engine = self.engines[rule]
        drawn = engine._draw(engine._allocated(per_row(budget, self.rows)), noise)
        return {"rule": rule, **engine._state(drawn)}, drawn

    def revived(self, state: Mapping[str, Any]) -> Drawn:
        """Return what :meth:`draw` drew, from the state that it returned beside it."""
        rule = state["rule"]
        if rule == "filler":
            return None
        drawn: Drawn = self.engines[rule]._revived(state)
        return drawn

    def columns(self, drawn: Drawn, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return synthetic columns (n,) by name: post-processing, or filler."""
        codes = encodings(self.schema, self.names)
        if isinstance(drawn, HistogramRelease):
            rows = draw_rows(drawn, self.n, rng)
        elif drawn is not None:
            rows = draw_independent_rows(drawn, self.n, rng)
        else:
            drawn_at_once = [rng.integers(0, code.size, self.n) for code in codes]
            rows = np.array(drawn_at_once, np.int64).reshape(len(codes), self.n).T
        for j, code in enumerate(codes):
            if drawn is None or self.complete.intersection(c.name for c in code.columns):
                rows[:, j] = completed(rows[:, j], _regular(code, rng), rng)
        return decoded(codes, rows, rng)


def covariates_of(
    data: Any,
    schema: Schema,
    complete: frozenset[str],
    n: int,
    *,
    filler: bool,
    rows: int = 1,
) -> Covariates:
    """Return the modelled covariates of a table, checked at the door.

    Parameters
    ----------
    data : data frame
        Confidential; not looked at where they are to be filled.
    schema : Schema
        Of the covariates alone.
    complete : frozenset of str
        Names of those that a declared regression uses.
    n : int
    filler : bool
        Whether they are to be filled whatever the budget.
    rows : int
        Most rows of one protected unit.

    Raises
    ------
    SchemaError
        If a covariate has neither bounds nor levels, or no missing policy.
    """
    binned = replace(schema, columns=tuple(_binned(c, filler=filler) for c in schema.columns))
    if not schema.columns:
        return Covariates(binned, complete, n, {})
    try:
        encodings(binned, binned.names)
    except SchemaError as error:
        raise SchemaError(f"covariate: {error}") from None
    for column in schema.columns:
        ends = column.bounds or (() if column.is_text else column.levels or ())
        if column.name in complete and len(ends) > 1:
            check_extent(column.name, float(min(ends)), float(max(ends)))
    if filler:
        return Covariates(binned, complete, n, {})
    engines: dict[Rule, ReleaseModel[Any, ReleaseFacts, Any]] = {
        "histogram": MVHistogram(data, binned),
        "marginals": Marginals(data, binned),
    }
    return Covariates(binned, complete, n, engines, rows)


def completed(
    codes: NDArray[np.int64], regular: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return codes (n,) without missing ones, which take the code of another row.

    Parameters
    ----------
    codes : (n,) array of int
    regular : array of int
        The codes that are not missing.
    rng : numpy.random.Generator

    Examples
    --------
    >>> completed(np.array([0, 2, 0]), np.array([0, 1]), np.random.default_rng(1)).tolist()
    [0, 0, 0]
    """
    missing = ~np.isin(codes, regular)
    donors = codes[~missing] if not missing.all() else regular
    return np.where(missing, rng.choice(donors, len(codes)), codes)


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


def price_of(plan: Plan, names: Sequence[str]) -> dict[str, str]:
    """Return the lines of a mechanism's plan, as they stand in that of a calibrated release."""
    wanted = ("K", "t", "noise", "noise of a count", "columns")
    found = {f"covariates: {key}": plan.facts[key] for key in wanted if key in plan.facts}
    each = (
        f"each of {len(names)} columns adds 2 to the sensitivity of the counts"
        if "noise of a count" in plan.facts
        else "each column multiplies K by its levels and adds (2/epsilon) ln(levels) to t"
    )
    return {**found, "covariates: price of one": each}
