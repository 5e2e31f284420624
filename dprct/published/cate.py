"""CATE as published: the meta-algorithm on interpret's DP-EBM, behind a fence."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd

from dprct.defaults import TRIM
from dprct.errors import (
    ColumnError,
    ConfirmationError,
    ParameterError,
    SchemaError,
)
from dprct.estimate.additive.model import AdditiveSpec, clip_of
from dprct.estimate.base import EstimateModel
from dprct.estimate.cate.model import check_treatment, known_propensity, treatment_code, trim_of
from dprct.estimate.cate.release import partition, shares_of, sizes_of
from dprct.estimate.door import check_columns, table_of
from dprct.model import Facts
from dprct.privacy.budget import Budget
from dprct.privacy.guarantee import Guarantee
from dprct.published.charging import charged_or_noted
from dprct.published.ebm import CONDITIONS, READ_OFF, EBMFit, fitted_ebm, installed_version
from dprct.queries import CodedRows, doubly_robust, residual_ratio
from dprct.results.plan import Plan
from dprct.schema.arguments import check_choice, distinct_names, one_name
from dprct.schema.legal import validate
from dprct.schema.table import eager, numbers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.base import Design
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Real
    from dprct.privacy.noise import NoiseSource
    from dprct.results.charging import Receipt
    from dprct.schema import Schema

    Array = NDArray[np.float64]

Learner = Literal["dr", "r", "s"]
TREATED = "treated"


class CATE(EstimateModel[dict[str, EBMFit], "PublishedCATEResults"]):
    """The published private CATE: nuisances and second stage are interpret's DP-EBMs.

    Its guarantee is **as claimed by interpret, under the conditions that are enforced here, and not
    certified**: residuals may drift out of the range that the noise is calibrated to, and that
    calibration is for adding or removing a person.  Use :class:`dprct.CATE` to protect people.

    Parameters
    ----------
    data, schema, outcome, features, treatment, assignment, propensity, parts, trim, missing
        As for :class:`dprct.CATE`.  Every feature must be a number with bounds that is never
        missing.
    learner : {"dr", "r", "s"}
        ``"r"`` only where the probability of treatment is known to be one half: elsewhere it needs
        sample weights, with which the noise of DP-EBM scales with the data.
    clip : number, optional
        Range of the second stage's target; (U - L) over the smallest propensity if not given, as
        published.
    accept_uncertified : bool
        Must be True.

    Raises
    ------
    ConfirmationError
        Without ``accept_uncertified=True``.
    SchemaError, ColumnError, ParameterError

    Notes
    -----
    Deviations from the paper: propensities are a regression of T - 1/2 (the classifier takes its
    classes from the data, and shows if nobody in its part was treated); targets are clipped and
    centred; bounds are declared.

    References
    ----------
    Niu, Nori, Quistorff, Caruana, Ngwe and Kannan (2022), "Differentially Private Estimation of
    Heterogeneous Causal Effects".
    Nori, Caruana, Bu, Shen and Kulkarni (2021), "Accuracy, interpretability, and differential
    privacy via explainable boosting".

    Examples
    --------
    >>> CATE(None, None, outcome="y", features=["x"], treatment="t")
    Traceback (most recent call last):
    ...
    dprct.errors.ConfirmationError: the guarantee of DP-EBM is claimed by interpret and not
    certified; say accept_uncertified=True, or use dprct.CATE
    """

    method = "published.CATE (DP-EBM, not certified)"

    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str,
        features: Sequence[str],
        treatment: str,
        assignment: Design | None = None,
        propensity: float | None = None,
        learner: Learner = "dr",
        parts: Mapping[str, Real] | None = None,
        trim: float = TRIM,
        clip: float | None = None,
        missing: float | None = None,
        accept_uncertified: bool = False,
    ) -> None:
        if accept_uncertified is not True:
            raise ConfirmationError(
                "the guarantee of DP-EBM is claimed by interpret and not certified; say "
                "accept_uncertified=True, or use dprct.CATE"
            )
        self.version = installed_version()
        schema = schema.seal_beside_data()
        spec = AdditiveSpec(
            outcome=one_name(outcome, "outcome"), features=distinct_names(features, "features"),
            bins=2, missing=missing,
        )  # fmt: skip
        self._frame = table_of(data)  # interpret takes arrays of all rows
        facts = Facts(schema, len(self._frame))
        names = (*spec.columns, one_name(treatment, "treatment"))
        check_columns(self._frame, names, None, None)
        spec.require(facts)
        check_treatment(treatment, outcome, spec.features)
        self._treatment, target = treatment_code(schema, treatment), spec.target(facts)
        self.bounds = tuple(_bounds(schema, name) for name in spec.terms(facts).names)
        validate(schema, self._frame, names)
        self.e = known_propensity(schema, facts.n, treatment, assignment, propensity)
        _check_learner(learner, self.e)
        self.schema, self.outcome, self.treatment = schema, outcome, treatment
        self.features, self.n, self.learner = spec.features, facts.n, learner
        self.column, self.fill, self.trim = target.column, target.fill, trim_of(trim)
        shares = shares_of(
            parts or _default_parts(learner, self.e), known=self.e is not None,
            constant=learner == "s",
        )  # fmt: skip
        self.sizes = sizes_of(shares, self.n)
        self.low, self.high = target.bounds
        least = self.trim if self.e is None else float(min(self.e, 1 - self.e))
        self.clip = clip_of(clip, (self.high - self.low) / least)

    def plan(self, epsilon: Real, delta: Real = 0) -> Plan:
        """Return what is fitted and what is claimed; free.

        Parameters
        ----------
        epsilon, delta : number
            Both above 0.
        """
        budget = Budget.asked(epsilon, delta)
        self._check(budget)
        facts = {
            "guarantee": self.guarantee(budget).sentence(),
            "rows by part": ", ".join(f"{name} {size:,}" for name, size in self.sizes.items()),
            "target of stage 2": f"-{self.clip:g} to {self.clip:g}",
        }
        return Plan(self.method, budget, facts)

    def guarantee(self, budget: Budget) -> Guarantee:
        """Return that nothing is certified, with the claim of interpret; free."""
        conditions = "; ".join(CONDITIONS)
        other = "" if self.version == READ_OFF else f" (the conditions are those of {READ_OFF})"
        return Guarantee.none(
            f"{budget} is as claimed by interpret {self.version}{other}, under these conditions: "
            f"{conditions}; it is not certified (its noise is calibrated to adding or removing a "
            "person, and its residuals may leave the range that it is calibrated to)",
            not_covered=("anybody, by a certified bound",),
        )

    def _check(self, budget: Budget) -> None:
        if not budget.delta:
            raise ParameterError(
                "DP-EBM draws Gaussian noise and needs delta > 0; give one below 1/n"
            )

    def _charge(
        self, guarantee: Guarantee, accountant: Accountant | None, noise: NoiseSource
    ) -> Receipt:
        return charged_or_noted(self.schema, guarantee, self.method, accountant, noise)

    def _draw(self, budget: Budget, noise: NoiseSource) -> dict[str, EBMFit]:
        rows = CodedRows.of(self._frame, [], self.column, self.fill, self._treatment)
        X = np.column_stack([self._numbers(name) for name in self.features])
        found: dict[str, EBMFit] = {}
        for name, places in partition(self.sizes, noise).items():
            seed = noise.uniform_below(2**31) if noise.simulation else None
            part = slice(None) if places is None else places
            found[name] = self._stage(name, X[part], rows.rows(places), found, budget, seed)
        return found

    def _state(self, found: dict[str, EBMFit]) -> dict[str, Any]:
        return {}  # there is no charge with which anything could be kept

    def _results(
        self, found: dict[str, EBMFit], guarantee: Guarantee, ledger: str
    ) -> PublishedCATEResults:
        return PublishedCATEResults(
            fits=found,
            learner=self.learner,
            features=self.features,
            treatment=self.treatment,
            outcome=self.outcome,
            nobs=self.n,
            guarantee=guarantee,
            ledger=ledger,
        )

    def _stage(
        self,
        name: str,
        X: Array,
        rows: CodedRows,
        found: Mapping[str, EBMFit],
        budget: Budget,
        seed: int | None,
    ) -> EBMFit:
        """Fit one part, given what was fitted on others."""
        names, bounds, target = [*self.features], [*self.bounds], (self.low, self.high)
        with_treatment = self.learner == "s" or (name == "outcome" and self.learner == "dr")
        if with_treatment:
            names, bounds = [*names, TREATED], [*bounds, (0.0, 1.0)]
            return fitted_ebm(
                _with(X, rows.treated), rows.outcome, names, bounds, target, budget, seed
            )
        if name == "propensity":
            return fitted_ebm(X, rows.treated, names, bounds, (0.0, 1.0), budget, seed)
        if name == "outcome":
            return fitted_ebm(X, rows.outcome, names, bounds, target, budget, seed)
        psi = self._pseudo(X, rows, found)
        return fitted_ebm(X, psi, names, bounds, (-self.clip, self.clip), budget, seed)

    def _pseudo(self, X: Array, rows: CodedRows, found: Mapping[str, EBMFit]) -> Array:
        """Return the pseudo-outcomes (n,); nuisances are within public bounds."""
        e: Array | float = 0.5 if self.e is None else float(self.e)
        if "propensity" in found:
            e = np.clip(found["propensity"].at(X), self.trim, 1 - self.trim)
        middle: Array | float = self.low / 2 + self.high / 2
        mu = found.get("outcome")
        if self.learner == "r":
            mean = middle if mu is None else np.clip(mu.at(X), self.low, self.high)
            return residual_ratio(rows, mean, e)[0]
        if mu is None:
            return doubly_robust(rows, middle, middle, e)
        control, treated = (
            np.clip(mu.at(_with(X, np.full(len(X), arm))), self.low, self.high) for arm in (0, 1)
        )
        return doubly_robust(rows, control, treated, e)

    def _numbers(self, name: str) -> Array:
        return np.asarray(numbers_of(self._frame, name)[0], np.float64)

    def __repr__(self) -> str:
        return f"published.CATE(n={self.n}, outcome: {self.outcome}, learner: {self.learner})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PublishedCATEResults:
    """An effect function of DP-EBMs; no interval is proved for any of it.

    Parameters
    ----------
    fits : mapping of part to EBMFit
    learner : {"dr", "r", "s"}
    features : tuple of str
    treatment, outcome : str
    nobs : int
    guarantee : Guarantee
        None, with the claim of interpret as the reason.
    ledger : str
    """

    fits: Mapping[str, EBMFit]
    learner: str
    features: tuple[str, ...]
    treatment: str
    outcome: str
    nobs: int
    guarantee: Guarantee
    ledger: str = ""

    @property
    def models(self) -> dict[str, EBMFit]:
        """Every fitted DP-EBM by part."""
        return dict(self.fits)

    def effect(self, new_data: Any) -> Array:
        """Return the effect (m,) at public rows; numbers outside bounds count as the nearest.

        Raises
        ------
        ColumnError
            If a feature is not there.
        """
        frame = eager(new_data)
        for name in self.features:
            if name not in frame.columns:
                raise ColumnError.unknown(name, frame.columns, "the new data")
        X = np.column_stack(
            [np.asarray(numbers_of(frame, name)[0], np.float64) for name in self.features]
        )
        fit = self.fits["effect"]
        if self.learner != "s":
            return fit.at(X)
        ones = np.ones(len(X))
        return fit.at(_with(X, ones)) - fit.at(_with(X, 0 * ones))

    def shape(self, feature: str) -> pd.DataFrame:
        """Return the score of a feature of the second stage by bin: ``low, high, estimate``."""
        fit = self.fits["effect"]
        if feature not in fit.names:
            raise ColumnError.unknown(feature, fit.names, "the features")
        j = fit.names.index(feature)
        edges = [fit.bounds[j][0], *fit.cuts[j].tolist(), fit.bounds[j][1]]
        return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "estimate": fit.scores[j]})

    def tidy(self) -> pd.DataFrame:
        """Return the scores of every feature of the second stage, one row per bin."""
        tables = [self.shape(name).assign(term=name) for name in self.fits["effect"].names]
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> str:
        """Return what was fitted, and what is (not) promised, as text."""
        fit = self.fits["effect"]
        lines = [
            f"Published CATE ({self.learner} on DP-EBM): effect of {self.treatment} on "
            f"{self.outcome}, {self.nobs:,} rows",
            f"Intercept of stage 2: {fit.intercept:.4g}",
            *(
                f"  {name}: scores {scores.min():.4g} to {scores.max():.4g} in {len(scores)} bins"
                for name, scores in zip(fit.names, fit.scores, strict=True)
            ),
            "No interval is proved for any of these numbers.",
            str(self.guarantee),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def _with(X: Array, column: Array) -> Array:
    return np.column_stack([X, column])


def _bounds(schema: Schema, name: str) -> tuple[float, float]:
    column = schema.column(name)
    if column.is_text or column.missing != ():
        raise SchemaError(
            f"feature {name!r} is text or may be missing; DP-EBM shows whether somebody has a "
            "listed level: give numbers with bounds that are never missing, or use dprct.CATE"
        )
    if column.bounds is not None:
        return float(column.bounds[0]), float(column.bounds[1])
    levels = sorted(float(level) for level in column.levels or ())
    return levels[0], levels[-1]


def _check_learner(learner: object, e: Fraction | None) -> None:
    check_choice("learner", learner, get_args(Learner))
    if learner == "r" and e != Fraction(1, 2):
        raise ParameterError(
            "learner='r' needs sample weights unless treatment has probability one half, and with "
            "them the noise of DP-EBM scales with the data; use learner='dr', or dprct.CATE"
        )


def _default_parts(learner: str, e: Fraction | None) -> dict[str, Fraction] | None:
    """Return the parts as published: outcomes are always estimated, but for the S-learner."""
    if learner == "s" or e is None:
        return None
    return {"outcome": Fraction(1, 2), "effect": Fraction(1, 2)}
