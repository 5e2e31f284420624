"""The same regressions on every table: confidential and released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from dprct.errors import FormulaError, ParameterError
from dprct.formula import Design, complete_cases, design, parse
from dprct.formula.design_matrix import INTERCEPT, Array, Mask, columns_of, is_missing
from dprct.results.arms import assignment_of
from dprct.results.options import check_finite, cluster_codes, covariance_named, weights_of
from dprct.results.several import SharedFit, fit_several
from dprct.results.weights import Weighting, WeightsType, check_weights_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dprct.custodian.sources import Source


_NUMBERS = ("estimate", "std.error", "conf.low", "conf.high", "df", "nobs")


class Residuals(NamedTuple):
    """Fitted values and residuals of the rows that a regression used, (n,) arrays."""

    fitted: Array
    resid: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Regressions:
    """What is regressed on what, and which coefficients are compared; holds no rows.

    Parameters
    ----------
    outcomes : tuple of str
        Left sides, as formulas spell them.
    panels : mapping of covariate set to the right side of its formula
    arms : tuple of str
        The coefficients that are compared; empty for all but the intercept.
    indicators : bool
        Whether ``arms`` are columns of 0 and 1 of which a row has at most one, to be checked.
    control : str or None
        Column of the control group; rows in neither are then left out.
    cov_type : str
    groups, weights : str or None
        Columns, so that every table has its own.
    weights_type : {"aweight", "fweight", "pweight"}
    alpha : float
        Intervals have level ``1 - alpha``.
    """

    outcomes: tuple[str, ...]
    panels: Mapping[str, str]
    arms: tuple[str, ...] = ()
    indicators: bool = False
    control: str | None = None
    cov_type: str = "HC1"
    groups: str | None = None
    weights: str | None = None
    weights_type: WeightsType = "aweight"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        for option in ("groups", "weights"):
            if not isinstance(getattr(self, option), str | None):
                raise ParameterError(f"{option} must be a column, which every table has its own of")
        if not 0 < self.alpha < 1:
            raise ParameterError(f"alpha={self.alpha!r}; give a number between 0 and 1")
        cov_type = covariance_named(self.cov_type, self.groups)
        check_weights_type(self.weights_type, cov_type, given=self.weights is not None)
        object.__setattr__(self, "cov_type", cov_type)

    @classmethod
    def from_formula(cls, formula: str, arms: tuple[str, ...], **options: Any) -> Regressions:
        """Return the regressions of one or several outcomes on one right side."""
        parsed = parse(formula, functions=True)
        if not parsed.outcomes:
            raise FormulaError(f"{parsed.text!r} names no outcome; write y ~ treat + x")
        side = formula.partition("~")[2].strip()
        labels = tuple(
            factor.label if factor.expression else _spelled(factor.label)
            for factor in parsed.outcomes
        )
        return cls(outcomes=labels, panels={"": side}, arms=arms, **options)

    @classmethod
    def of_arms(
        cls,
        outcomes: tuple[str, ...],
        arms: tuple[str, ...],
        covariates: Sequence[str] | Mapping[str, Sequence[str]] = (),
        blocks: tuple[str, ...] = (),
        control: str | None = None,
        **options: Any,
    ) -> Regressions:
        """Return the regressions of :func:`dprct.itt_table`."""
        if isinstance(covariates, str):
            raise ParameterError(f"covariates={covariates!r}; give a list, or a mapping of lists")
        sets = covariates if isinstance(covariates, Mapping) else {"": covariates}
        factors = [f"C(`{name}`)" for name in blocks]
        panels = {
            name: " + ".join([*(f"`{arm}`" for arm in arms), *terms, *factors])
            for name, terms in sets.items()
        }
        return cls(
            outcomes=tuple(_spelled(name) for name in outcomes),
            panels=panels,
            arms=arms,
            indicators=True,
            control=control,
            **options,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns used, outcomes first, each once."""
        sides = (name for side in self.panels.values() for name in _names(f"~ {side}"))
        outcomes = (name for outcome in self.outcomes for name in _names(f"{outcome} ~ 1"))
        others = (name for name in (self.control, self.groups, self.weights) if name)
        return tuple(dict.fromkeys([*outcomes, *sides, *others]))

    def effects(self, source: Source) -> tuple[pd.DataFrame, list[str]]:
        """Fit everything on one table.

        Parameters
        ----------
        source : Source

        Returns
        -------
        estimates : DataFrame
            One row per covariate set, outcome and arm: ``estimate``, ``std.error``,
            ``conf.low``, ``conf.high``, ``df``, ``nobs``; none where it could not be estimated.
        reasons : list of str
            Why not; on the confidential table that is raised instead.

        Raises
        ------
        ColumnError
            If a column does not exist.
        ParameterError
            If a regression on the confidential data cannot be run.
        """
        frame = columns_of(source.data, self.columns)
        found: list[dict[str, Any]] = []
        reasons: list[str] = []
        try:
            self._check_arms(frame)
        except ParameterError as refusal:
            return self._ordered(found), [_reason(source, refusal)]
        for panel, outcomes, rows in self._samples(frame):
            try:
                fitted = self._fitted(frame, source, panel, outcomes, rows)
            except ParameterError as refusal:
                reasons.append(_reason(source, refusal))
                continue
            for j, outcome in enumerate(outcomes):
                key = {"covariates": panel, "outcome": _plain(outcome)}
                records = self._records(fitted, j, strict=source.draw == 0)
                found += [{**key, **record} for record in records]
        return self._ordered(found), list(dict.fromkeys(reasons))

    def residuals(self, source: Source, outcome: str, panel: str) -> Residuals:
        """Return fitted values and residuals of one regression, neither weighted."""
        spelled = {_plain(one): one for one in self.outcomes}
        if outcome not in spelled or panel not in self.panels:
            raise ParameterError(
                f"no regression of {outcome!r} on covariates {panel!r}; outcomes: "
                f"{', '.join(spelled)}; covariates: {', '.join(map(repr, self.panels))}"
            )
        frame = columns_of(source.data, self.columns)
        name = spelled[outcome]
        rows = self._rows(frame, panel, name)
        fitted = self._fitted(frame, source, panel, (name,), rows)
        resid = fitted.shared.fits[0].resid / fitted.weighting.root
        return Residuals(fitted.design.y[:, 0] - resid, resid)

    def _samples(self, frame: pd.DataFrame) -> Iterator[tuple[str, tuple[str, ...], Mask]]:
        """Bring together the outcomes of a covariate set that use the same rows."""
        for panel in self.panels:
            together: dict[bytes, list[str]] = {}
            for outcome in self.outcomes:
                rows = self._rows(frame, panel, outcome)
                together.setdefault(rows.tobytes(), []).append(outcome)
            for rows_bytes, outcomes in together.items():
                yield panel, tuple(outcomes), np.frombuffer(rows_bytes, bool)

    def _rows(self, frame: pd.DataFrame, panel: str, outcome: str) -> Mask:
        rows = complete_cases(parse(f"{outcome} ~ {self.panels[panel]}", functions=True), frame)
        if self.groups is not None:
            rows = rows & ~is_missing(frame[self.groups])
        if self.control is not None:
            in_control = frame[self.control].to_numpy(np.float64, na_value=np.nan) == 1
            in_arm = frame[list(self.arms)].to_numpy(np.float64, na_value=np.nan) == 1
            rows = rows & (in_control | in_arm.any(axis=1))
        return rows

    def _check_arms(self, frame: pd.DataFrame) -> None:
        if self.indicators:
            assignment_of(frame, self.arms, self.control)

    def _fitted(
        self, frame: pd.DataFrame, source: Source, panel: str, outcomes: tuple[str, ...], rows: Mask
    ) -> _Fitted:
        weight = None
        if self.weights is not None:
            every = weights_of(self.weights, self.weights_type, frame, rows)
            rows = rows & (every > 0)
            weight = every[rows]
        if not rows.any():
            raise ParameterError(
                f"no row has a value in every variable of the regression of {_plain(outcomes[0])!r}"
            )
        formula = parse(f"{' + '.join(outcomes)} ~ {self.panels[panel]}", functions=True)
        found = design(formula, frame, source.schema, keep=rows)
        check_finite(found)
        groups = None if self.groups is None else cluster_codes(frame[self.groups], rows)
        weighting = Weighting.of(weight, self.weights_type, int(rows.sum()))
        shared = fit_several(found.X, found.y, weighting, self.cov_type, groups)
        return _Fitted(found, shared, weighting)

    def _records(self, fitted: _Fitted, j: int, *, strict: bool) -> list[dict[str, Any]]:
        fit, df = fitted.shared.fits[j], fitted.shared.df
        names = fitted.names
        errors = np.sqrt(np.diag(fitted.shared.cov(j)))
        reach = special.stdtrit(df, 1 - self.alpha / 2)
        wanted = self.arms or tuple(name for name in names if name != INTERCEPT)
        unknown = [arm for arm in wanted if arm not in names]
        if strict and unknown:
            raise ParameterError(
                f"the regression has no coefficient {unknown[0]!r}, or it is a linear combination "
                f"of others; it has {', '.join(names)}"
            )
        records = []
        for arm in wanted:
            if arm in unknown:
                continue
            place = names.index(arm)
            estimate, error = float(fit.beta[place]), float(errors[place])
            ends = estimate - reach * error, estimate + reach * error
            numbers = (estimate, error, *ends, df, int(fit.nobs))
            records.append({"arm": arm, **dict(zip(_NUMBERS, numbers, strict=True))})
        return records

    def _ordered(self, records: list[dict[str, Any]]) -> pd.DataFrame:
        """Return records in the order of the question, whichever were fitted together."""
        panels, outcomes = list(self.panels), [_plain(outcome) for outcome in self.outcomes]
        records = sorted(
            records, key=lambda r: (panels.index(r["covariates"]), outcomes.index(r["outcome"]))
        )
        return pd.DataFrame(records, columns=["covariates", "outcome", "arm", *_NUMBERS])


class _Fitted(NamedTuple):
    design: Design
    shared: SharedFit
    weighting: Weighting

    @property
    def names(self) -> list[str]:
        """Names of the coefficients that are kept."""
        pairs = zip(self.design.columns, self.shared.kept, strict=True)
        return [name for name, keep in pairs if keep]


def _reason(source: Source, refusal: ParameterError) -> str:
    """Return why a release has no effects; what is wrong with the confidential data is raised."""
    if source.draw == 0:
        raise refusal
    return f"{source}: {refusal}"


def _names(formula: str) -> tuple[str, ...]:
    return parse(formula, functions=True).names


def _spelled(label: str) -> str:
    return f"`{label}`"


def _plain(outcome: str) -> str:
    return outcome.strip("`")
