"""The regressions behind a table of effects: one decomposition per design, all outcomes at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dprct.arguments import check_choice
from dprct.errors import ParameterError
from dprct.formula import complete_cases, design, parse
from dprct.formula.design_matrix import columns_of, is_factor, is_missing, numbers_of
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.covariance import Weighting, check_weights_type, fit_several
from dprct.results.multiple_testing import (
    RESAMPLED,
    Adjust,
    Family,
    Resampled,
    bonferroni,
    holm,
    step_down,
    wild_draws,
)
from dprct.results.ols import check_finite, cluster_codes, covariance_named, one_per_row, weights_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narwhals.typing import IntoFrame
    from numpy.typing import ArrayLike

    from dprct.formula import Design
    from dprct.formula.design_matrix import Array, Mask
    from dprct.results.covariance import SharedFit, WeightsType
    from dprct.schema import Schema


@dataclass(frozen=True)
class Assignment:
    """The arms of all rows."""

    names: tuple[str, ...]
    members: Mask  # (N, a): who is in which arm
    control: Mask  # (N,): who is in the control group

    @property
    def assigned(self) -> Mask:
        """Who is in an arm or in the control group; (N,) array."""
        return self.control | self.members.any(axis=1)

    def check(self, rows: Mask, outcome: str) -> None:
        """Refuse rows among which the control group or an arm is empty."""
        where = f"the rows used for {outcome!r}"
        if not (self.control & rows).any():
            raise ParameterError(
                f"the control group is empty in {where}; leave an arm out of ``arms=``, or choose "
                "other covariates"
            )
        for name, members in zip(self.names, self.members.T, strict=True):
            if not (members & rows).any():
                raise ParameterError(f"arm {name!r} is empty in {where}; leave it out of ``arms=``")


def assignment_of(
    frame: pd.DataFrame, arms: Sequence[str], control: str | None = None
) -> Assignment:
    """The assignment that columns of 0 and 1 describe; a row with a missing one is in no group.

    Without a column of the control group, everybody who is in no arm is in it.

    Examples
    --------
    >>> import pandas as pd
    >>> assignment_of(pd.DataFrame({"a": [1, 0, 0], "b": [0, 1, 0]}), ["a", "b"]).control.tolist()
    [False, False, True]
    """
    names = _groups(arms, control)
    known = np.ones(len(frame), bool)
    for name in names:
        known &= ~is_missing(frame[name])
    inside = np.column_stack([_indicator(name, frame[name]) for name in names]) & known[:, None]
    _check_apart(names, inside)
    members = inside[:, : len(arms)]
    alone = known & ~members.any(axis=1) if control is None else inside[:, -1]
    return Assignment(tuple(arms), members, alone)


def _groups(arms: Sequence[str], control: str | None) -> list[str]:
    """Return the columns of the arms and of the control group, each named once."""
    names = [*arms, *([control] if control is not None else [])]
    if len(set(names)) < len(names):
        raise ParameterError(f"arms {names} name a column twice; name each once")
    return names


def refuse_twice(option: str, named: Sequence[str]) -> None:
    """Refuse a column that an option names twice."""
    if len(set(named)) < len(named):
        raise ParameterError(f"{option} name a column twice; name each once")


def refuse_sizes(adjust: str | None, family_sizes: Mapping[str, int] | None) -> None:
    """Refuse sizes of families where the hypotheses that are here are resampled."""
    if adjust in RESAMPLED and family_sizes:
        raise ParameterError(
            f"``adjust={adjust!r}`` resamples the hypotheses that are here; leave out family_sizes"
        )


def covariates_apart(
    outcomes: Sequence[str],
    arms: Sequence[str],
    control: str | None,
    panels: Mapping[str, str],
    blocks: Sequence[str],
) -> list[str]:
    """Return the columns of the right-hand sides, after no outcome was found among them.

    Examples
    --------
    >>> covariates_apart(["y"], ["t"], None, panels_of(["t"], {"": ["age"]}, []), [])
    ['t', 'age']
    """
    groups = _groups(arms, control)
    for name in outcomes:
        if name in (*groups, *blocks):
            raise ParameterError(f"outcome {name!r} is also an arm or a block; leave it in one")
    named = [name for side in panels.values() for name in parse(f"~ {side}", functions=True).names]
    for name in outcomes:
        if name in named:
            raise ParameterError(f"outcome {name!r} is also a covariate; leave it in one")
    return named


def _indicator(name: str, column: pd.Series[float]) -> Mask:
    if is_factor(column):
        raise ParameterError(f"arm {name!r} holds text or categories; give a column of 0 and 1")
    numbers = numbers_of(column)
    if not np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0)).all():
        raise ParameterError(
            f"arm {name!r} holds numbers other than 0 and 1; give one such column per arm"
        )
    return np.equal(numbers, 1.0)


def _check_apart(names: Sequence[str], inside: Mask) -> None:
    together = inside.T.astype(float) @ inside.astype(float)
    for i in range(len(names)):
        for j in range(i):
            if together[i, j] > 0:
                raise ParameterError(
                    f"arms {names[j]!r} and {names[i]!r} overlap: some rows are in both; give "
                    "columns of which at most one is 1, with one of its own for those in both"
                )


def panels_of(
    arms: Sequence[str],
    covariates: Sequence[str] | Mapping[str, Sequence[str]],
    blocks: Sequence[str],
) -> dict[str, str]:
    """The right side of the regressions with each set of covariates.

    Examples
    --------
    >>> panels_of(["t"], {"few": ["age"]}, ["site"])
    {'few': '`t` + age + C(`site`)'}
    """
    if isinstance(covariates, str):
        raise ParameterError(
            f"``covariates={covariates!r}``; give a list, or a ``mapping`` of lists"
        )
    sets = covariates if isinstance(covariates, Mapping) else {"": covariates}
    if not sets:
        raise ParameterError("covariates is an empty ``mapping``; name at least one set")
    own, factors = [f"`{arm}`" for arm in arms], [f"C(`{name}`)" for name in blocks]
    return {name: " + ".join([*own, *terms, *factors]) for name, terms in sets.items()}


_EXACT = 1e-12  # a standard error below this share of the largest outcome is rounding


@dataclass(frozen=True)
class Inference:
    """How estimates become standard errors and p-values; see :func:`dprct.itt_table`."""

    cov_type: str = "HC1"
    weights_type: WeightsType = "aweight"
    alternative: Literal["two-sided", "one-sided"] = "two-sided"
    distribution: Literal["t", "normal"] = "t"
    adjust: Adjust | None = None
    draws: int = 2000
    rng: object = None

    def __post_init__(self) -> None:
        check_choice("alternative", self.alternative, ("two-sided", "one-sided"))
        check_choice("distribution", self.distribution, ("t", "normal"))
        if self.adjust is not None:
            known = ("bonferroni", "holm", *sorted(RESAMPLED), "``None``")
            check_choice("adjust", self.adjust, known)
        if self.resamples and self.alternative == "one-sided":
            raise ParameterError(
                f"``adjust={self.adjust!r}`` has no side chosen after the estimate; "
                "leave out ``alternative='one-sided'``"
            )

    @property
    def resamples(self) -> bool:
        """Whether the adjustment draws from the rows."""
        return self.adjust in RESAMPLED

    def p_values(self, t: Array, df: Array | float) -> Array:
        """Return the p-values of t statistics."""
        degrees = df if self.distribution == "t" else np.inf
        tail = special.stdtr(degrees, -np.abs(t))
        return np.asarray(tail * (1 if self.alternative == "one-sided" else 2), np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Regressions:
    """What is regressed on what; holds the rows, and is dropped when the table is made.

    Parameters
    ----------
    frame : (N, ...) DataFrame
    groups : (N,) Series or None
    groups_name : str
        Of their column, where they have one.
    weights : (N,) array, name of a column, or None
    one_sample : bool
        Whether all regressions use the rows that are complete in all of them.
    """

    frame: pd.DataFrame
    schema: Schema | None
    outcomes: tuple[str, ...]
    assignment: Assignment
    panels: Mapping[str, str]
    groups: pd.Series[Any] | None
    groups_name: str
    weights: ArrayLike | str | None
    one_sample: bool

    @classmethod
    def of(
        cls,
        data: IntoFrame,
        schema: Schema | None,
        *,
        outcomes: tuple[str, ...],
        arms: tuple[str, ...],
        covariates: Sequence[str] | Mapping[str, Sequence[str]],
        blocks: tuple[str, ...],
        control: str | None,
        groups: ArrayLike | str | None,
        weights: ArrayLike | str | None,
        one_sample: bool,
    ) -> Regressions:
        """Take the columns that are needed, and check who was assigned to what."""
        panels = panels_of(arms, covariates, blocks)
        named = covariates_apart(outcomes, arms, control, panels, blocks)
        given = [name for name in (control, groups, weights) if isinstance(name, str)]
        frame = columns_of(data, [*outcomes, *arms, *blocks, *named, *given])
        return cls(
            frame=frame,
            schema=schema,
            outcomes=outcomes,
            assignment=assignment_of(frame, arms, control),
            panels=panels,
            groups=None if groups is None else one_per_row(groups, frame, len(frame), "cluster"),
            groups_name=groups if isinstance(groups, str) else "",
            weights=weights,
            one_sample=one_sample,
        )

    def samples(self) -> dict[tuple[str, str], Mask]:
        """Return the rows that each regression could use but for clusters, by (set, outcome)."""
        present = {name: ~is_missing(self.frame[name]) for name in self.outcomes}
        found = {}
        for panel, side in self.panels.items():
            right = complete_cases(parse(f"~ {side}", functions=True), self.frame)
            for outcome in self.outcomes:
                found[panel, outcome] = right & present[outcome] & self.assignment.assigned
        if self.one_sample:
            shared: Mask = np.logical_and.reduce(list(found.values()))
            found = {key: shared for key in found}
        return found


class Estimated(NamedTuple):
    """What :func:`estimated` finds: see :class:`~dprct.results.itt.ITTTable`."""

    estimates: pd.DataFrame
    omitted: dict[tuple[str, str], tuple[str, ...]]
    rows_without_group: int


class Fitted(NamedTuple):
    """Regressions of some outcomes on one design."""

    panel: str
    outcomes: tuple[str, ...]
    rows: Mask
    design: Design
    fit: SharedFit
    weight: Array  # of the rows used
    weighting: Weighting

    def columns(self, *, kept: bool) -> list[str]:
        """Columns of the design that are kept, or those that are not."""
        columns = zip(self.design.columns, self.fit.kept, strict=True)
        return [name for name, keep in columns if keep == kept]


def fitted(
    panel: str,
    outcomes: tuple[str, ...],
    formula: str,
    frame: pd.DataFrame,
    schema: Schema | None,
    rows: Mask,
    check: Callable[[Mask], None],
    *,
    cov_type: str,
    groups: pd.Series[Any] | None,
    weights: ArrayLike | str | None,
    weights_type: WeightsType,
) -> Fitted:
    """Fit the outcomes of a formula on some rows, those with a weight; ``check`` may refuse these.

    ``rows`` is an (N,) array.
    """
    weight = None
    if weights is not None:
        every = weights_of(weights, weights_type, frame, rows)
        rows = rows & (every > 0)
        weight = every[rows]
    check(rows)
    found = design(parse(formula, functions=True), frame, schema, keep=rows)
    check_finite(found)
    codes = None if groups is None else cluster_codes(groups, rows)
    number = int(rows.sum())
    weighting = Weighting.of(weight, weights_type, number)
    fit = fit_several(found.X, found.y, weighting, cov_type, codes)
    weight = np.ones(number) if weight is None else weight
    return Fitted(panel, outcomes, rows, found, fit, weight, weighting)


def estimated(
    regressions: Regressions, inference: Inference, families: Sequence[Family]
) -> Estimated:
    """Fit everything and adjust the p-values of each family."""
    cov_type = covariance_named(inference.cov_type, regressions.groups)
    check_weights_type(inference.weights_type, cov_type, given=regressions.weights is not None)
    samples = regressions.samples()
    grouped = (
        np.ones(len(regressions.frame), bool)
        if regressions.groups is None
        else ~is_missing(regressions.groups)
    )
    fits = [
        fitted(
            panel, outcomes,
            f"{' + '.join(f'`{name}`' for name in outcomes)} ~ {regressions.panels[panel]}",
            regressions.frame, regressions.schema, rows & grouped,
            partial(regressions.assignment.check, outcome=outcomes[0]),
            cov_type=cov_type, groups=regressions.groups, weights=regressions.weights,
            weights_type=inference.weights_type,
        )
        for (panel, rows), outcomes in by_rows(samples)
    ]  # fmt: skip
    estimates = pd.DataFrame([record for one in fits for record in _records(regressions, one)])
    estimates["p.value"] = inference.p_values(
        estimates["statistic"].to_numpy(), estimates["df"].to_numpy()
    )
    null = _null(regressions, inference, fits) if inference.resamples else None
    adjust(estimates, [*regressions.panels], inference, families, null)
    order = {key: position for position, key in enumerate(samples)}
    places = [order[key] for key in zip(estimates["covariates"], estimates["outcome"], strict=True)]
    return Estimated(
        estimates.iloc[np.argsort(places, kind="stable")].reset_index(drop=True),
        {
            (one.panel, outcome): names
            for one in fits
            for outcome in one.outcomes
            if (names := tuple(one.columns(kept=False)))
        },
        int((np.logical_or.reduce(list(samples.values())) & ~grouped).sum()),
    )


def by_rows(
    samples: Mapping[tuple[str, str], Mask],
) -> list[tuple[tuple[str, Mask], tuple[str, ...]]]:
    """Bring together the outcomes of a covariate set that use the same rows."""
    groups: dict[tuple[str, bytes], list[str]] = {}
    for (panel, outcome), rows in samples.items():
        groups.setdefault((panel, rows.tobytes()), []).append(outcome)
    return [
        ((panel, np.frombuffer(rows, bool)), tuple(outcomes))
        for (panel, rows), outcomes in groups.items()
    ]


def _records(regressions: Regressions, one: Fitted) -> list[dict[str, Any]]:
    """Return one record per outcome and arm."""
    controls = regressions.assignment.control[one.rows]
    places = _arm_places(regressions, one)
    records = []
    for j, outcome in enumerate(one.outcomes):
        fit = one.fit.fits[j]
        errors = np.sqrt(np.diag(one.fit.cov(j)))
        mean = np.average(one.design.y[controls, j], weights=one.weight[controls])
        for arm, place in zip(regressions.assignment.names, places, strict=True):
            estimate, error = float(fit.beta[place]), float(errors[place])
            if not error > _EXACT * np.abs(one.design.y[:, j]).max():
                raise ParameterError(
                    f"the standard error of arm {arm!r} on {outcome!r} is zero: the fit is exact; "
                    "leave the outcome out"
                )
            records.append(
                {
                    "covariates": one.panel,
                    "outcome": outcome,
                    "arm": arm,
                    "control_mean": float(mean),
                    "estimate": estimate,
                    "std.error": error,
                    "statistic": estimate / error,
                    "df": one.fit.df,
                    "nobs": int(fit.nobs),
                    "rank": fit.rank,
                    "n_groups": None if one.fit.groups is None else int(one.fit.groups.max()) + 1,
                }
            )
    return records


def _arm_places(regressions: Regressions, one: Fitted) -> list[int]:
    """Return the places of the arms among the columns that are kept."""
    names = one.columns(kept=True)
    return [names.index(arm) for arm in regressions.assignment.names]


def adjust(
    estimates: pd.DataFrame,
    panels: Sequence[str],
    inference: Inference,
    families: Sequence[Family],
    null: Array | None = None,
) -> None:
    """Add ``p.adjusted``, ``family`` and ``family_size`` to the estimates."""
    keys = list(zip(estimates["outcome"], estimates["arm"], strict=True))
    p = estimates["p.value"].to_numpy()
    adjusted, names = np.full(len(p), np.nan), np.empty(len(p), object)
    sizes = np.zeros(len(p), int)
    for panel in panels:
        inside = (estimates["covariates"] == panel).to_numpy()
        for family in families:
            members = set(family.members)
            rows = np.flatnonzero(inside & np.array([key in members for key in keys]))
            names[rows], sizes[rows] = family.name, family.size
            if inference.adjust == "bonferroni":
                adjusted[rows] = bonferroni(p[rows], family.size)
            elif inference.adjust == "holm":
                adjusted[rows] = holm(p[rows], family.size)
            elif null is not None:
                adjusted[rows] = _resampled(estimates.iloc[rows], null[:, rows], inference)
    estimates["p.adjusted"], estimates["family"], estimates["family_size"] = adjusted, names, sizes


def _null(regressions: Regressions, inference: Inference, fits: Sequence[Fitted]) -> Array:
    """Return draws of all statistics, in the order of the estimates."""
    from dprct.privacy.noise import source  # loads opendp, which few tables need

    units: Any = np.arange(len(regressions.frame))
    if regressions.groups is not None:
        units = pd.factorize(regressions.groups, use_na_sentinel=False)[0]
    samples = [
        Resampled(one.fit, one.rows, np.array(_arm_places(regressions, one))) for one in fits
    ]
    rng = source(inference.rng).post_processing_rng()
    return wild_draws(samples, units, inference.draws, rng)


def _resampled(family: pd.DataFrame, null: Array, inference: Inference) -> Array:
    t, df = family["statistic"].to_numpy(), family["df"].to_numpy()
    if inference.adjust == "romano-wolf":
        return step_down(np.abs(t), np.abs(null))
    return step_down(-inference.p_values(t, df), -inference.p_values(null, df))
