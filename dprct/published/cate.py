"""CATE as published: the meta-algorithm on interpret's DP-EBM, behind a fence."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd
from scipy.special import expit

from dprct.arguments import check_choice, distinct_names, one_name
from dprct.defaults import TRIM
from dprct.errors import (
    ColumnError,
    ConfirmationError,
    MissingDependencyError,
    ParameterError,
    SchemaError,
)
from dprct.estimate.additive.model import AdditiveSpec, clip_of
from dprct.estimate.cate.model import check_treatment, known_propensity, treatment_code, trim_of
from dprct.estimate.cate.release import partition, shares_of, sizes_of
from dprct.model import Facts, Spec
from dprct.privacy.budget import Budget, Guarantee
from dprct.published.charging import PublishedModel, Unpriced
from dprct.queries import CodedRows, doubly_robust, residual_ratio
from dprct.results.plan import Plan
from dprct.schema.tables import eager, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.privacy.budget import Budget, Real
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Schema
    from dprct.schema.tables import Frame

    Array = NDArray[np.float64]


CONDITIONS = (
    "bounds of every feature are declared",
    "every feature is a number (listed or nominal levels show whether somebody has them)",
    "no sample weights (the noise would scale with the data's largest weight)",
    "targets are clipped to a public range and centred at its middle",
    "no seed",
)
"""What the claim is known to need; all of it is enforced here."""

READ_OFF = "0.7.8"
"""The version of interpret-core from which the conditions were read."""


@dataclass(frozen=True, slots=True, eq=False)
class EBMFit:
    """A fitted DP-EBM as tables: cuts and scores of every feature, and an intercept.

    Parameters
    ----------
    names : tuple of str
    bounds : tuple of (float, float)
    cuts : tuple of arrays
        Inner edges of the bins of each feature.
    scores : tuple of arrays
        One more than there are cuts.
    intercept : float
        The middle of the target's range included.
    levels : mapping from place to array
        The levels of features that interpret took for nominal, in place of cuts; the last score of
        such a feature is that of any other value.  Only as printed.
    classifies : bool
        Whether the function is the log odds of a probability.
    """

    names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    cuts: tuple[Array, ...]
    scores: tuple[Array, ...]
    intercept: float
    levels: Mapping[int, Array] = field(default_factory=dict)
    classifies: bool = False

    def at(self, X: Array) -> Array:
        """Return the function (m,) at rows (m, p); outside bounds it is that at the nearest."""
        found = np.full(len(X), self.intercept)
        for j, (cuts, scores) in enumerate(zip(self.cuts, self.scores, strict=True)):
            if j in self.levels:
                found += scores[_level_at(self.levels[j], X[:, j])]
            else:
                within = np.clip(X[:, j], *self.bounds[j])
                found += scores[np.searchsorted(cuts, within, side="right")]
        return np.asarray(expit(found)) if self.classifies else found


def fitted_ebm(
    X: Array,
    y: Array,
    names: Sequence[str],
    bounds: Sequence[tuple[float, float]],
    target: tuple[float, float],
    budget: Budget,
    seed: int | None = None,
) -> EBMFit:
    """Fit a DP-EBM under every condition of :data:`CONDITIONS`.

    Parameters
    ----------
    X : (n, p) array
        Clipped to ``bounds`` here.
    y : (n,) array
        Clipped to ``target`` and centred at its middle here.
    names : sequence of str
    bounds : sequence of (low, high)
        Public.
    target : (low, high)
        Public range of the target.
    budget : Budget
        With delta above 0.
    seed : int, optional
        For simulation only.

    Returns
    -------
    EBMFit

    Raises
    ------
    ParameterError
        If a public fact is missing.
    MissingDependencyError
        If interpret is not installed.

    Notes
    -----
    There is no parameter for weights, types of features or initial scores: what is not asked for
    cannot be passed.
    """
    _check(names, bounds, target, budget)
    low, high = target
    middle = low / 2 + high / 2
    clipped = np.column_stack([np.clip(X[:, j], *b) for j, b in enumerate(bounds)])
    model = _regressor()(
        feature_names=list(names),
        feature_types=["continuous"] * len(names),
        privacy_bounds=dict(zip(names, bounds, strict=True)),
        privacy_target_min=low - middle,
        privacy_target_max=high - middle,
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        composition="gdp",
        random_state=seed,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        if seed is not None:  # a simulation says so itself
            warnings.filterwarnings("ignore", "Privacy violation: using a fixed random_state")
        model.fit(clipped, np.clip(y, low, high) - middle)
    cuts = tuple(np.array(model.bins_[j][0], np.float64) for j in range(len(names)))
    # the first score is of missing values and the last of unknown ones, of which there are none
    scores = tuple(np.array(s[1:-1], np.float64) for s in model.term_scores_)
    intercept = float(np.asarray(model.intercept_).ravel()[0]) + middle
    return EBMFit(tuple(names), tuple(bounds), cuts, scores, intercept)


def printed_ebm(
    X: Array,
    y: Array,
    names: Sequence[str],
    budget: Budget,
    *,
    weights: Array | None = None,
    classifies: bool = False,
    seed: int | None = None,
) -> EBMFit:
    """Fit a DP-EBM with "all hyperparameters set to their default values" (section 5.1.1).

    Ranges of features and of the target, kinds of features, and classes are taken from the data.

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array
    names : sequence of str
    budget : Budget
        Interpret's parameter; no guarantee.
    weights : (n,) array, optional
    classifies : bool
        Whether y is a class, 0 or 1, as treatment is.
    seed : int, optional
        For simulation only.

    Raises
    ------
    ParameterError
        If a class has nobody in it.
    MissingDependencyError
        If interpret is not installed.
    """
    if classifies and len(np.unique(y)) < 2:
        raise ParameterError(
            "nobody, or everybody, in the part of the propensity was treated, and a classifier "
            "needs both; give a larger share to it by parts="
        )
    model = _regressor(classifies)(
        feature_names=list(names), epsilon=float(budget.epsilon), delta=float(budget.delta),
        random_state=seed, n_jobs=1,
    )  # fmt: skip
    with warnings.catch_warnings():
        # what they say, the guarantee says: that there is none, and why
        warnings.filterwarnings("ignore", "Possible privacy violation")
        if seed is not None:
            warnings.filterwarnings("ignore", "Privacy violation: using a fixed random_state")
        model.fit(X, y.astype(np.int64) if classifies else y, sample_weight=weights)
    everywhere = (-math.inf, math.inf)
    cuts, scores, levels = [], [], {}
    for j, ((bins, *_), table) in enumerate(zip(model.bins_, model.term_scores_, strict=True)):
        if isinstance(bins, dict):
            levels[j] = np.array(sorted(bins, key=bins.__getitem__), np.float64)
        # the first score is of missing values, and the last one of levels that were not there
        cuts.append(np.zeros(0) if j in levels else np.array(bins, np.float64))
        scores.append(np.array(table[1:] if j in levels else table[1:-1], np.float64))
    intercept = float(np.asarray(model.intercept_).ravel()[0])
    return EBMFit(
        tuple(names), (everywhere,) * len(cuts), tuple(cuts), tuple(scores), intercept, levels,
        classifies,
    )  # fmt: skip


def _level_at(levels: Array, x: Array) -> NDArray[np.intp]:
    """Return the place of each value among levels, one beyond the last where it is none."""
    order = np.argsort(levels)
    near = np.minimum(np.searchsorted(levels[order], x), len(levels) - 1)
    return np.where(levels[order][near] == x, order[near], len(levels))


def installed_version() -> str:
    """Return the version of interpret-core.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("interpret-core")
    except PackageNotFoundError:
        raise _missing() from None


def _regressor(classifies: bool = False) -> Any:
    try:
        from interpret import privacy
    except ImportError:
        raise _missing() from None
    if classifies:
        return privacy.DPExplainableBoostingClassifier
    return privacy.DPExplainableBoostingRegressor


def _missing() -> MissingDependencyError:
    return MissingDependencyError.extra("interpret-core", "ebm", "DP-EBM")


def _check(
    names: Sequence[str],
    bounds: Sequence[tuple[float, float]],
    target: tuple[float, float],
    budget: Budget,
) -> None:
    if not budget.delta:
        raise ParameterError("DP-EBM draws Gaussian noise and needs delta > 0; give one below 1/n")
    if len(bounds) != len(names) or not all(_is_range(b) for b in (*bounds, target)):
        raise ParameterError(
            "every feature, and the target, needs a public range (low, high); declare them"
        )


def _is_range(bounds: Any) -> bool:
    return len(bounds) == 2 and all(map(math.isfinite, bounds)) and bounds[0] < bounds[1]


Learner = Literal["dr", "r", "s"]
TREATED = "treated"


@dataclass(frozen=True, slots=True)
class PublishedCATEFacts(Facts):
    """What is public of a table that DP-EBMs are fitted to.

    Parameters
    ----------
    schema, n
        As of :class:`~dprct.model.Facts`.
    bounds : tuple of (float, float)
        Of the features.
    e : Fraction or None
        The probability of treatment, where it is known.
    sizes : mapping from part to int
        Rows of each part.
    low, high : float
        Bounds of the outcome.
    version : str
        Of interpret.
    """

    bounds: tuple[tuple[float, float], ...]
    e: Fraction | None
    sizes: Mapping[str, int]
    low: float
    high: float
    version: str


@dataclass(frozen=True, kw_only=True)
class PublishedCATESpec(Spec[PublishedCATEFacts]):
    """What the published CATE is asked for; the fields are options of :class:`CATE`."""

    method: ClassVar[str] = "published.CATE (DP-EBM, not certified)"

    outcome: str
    features: tuple[str, ...]
    treatment: str
    assignment: Design | None = None
    propensity: float | None = None
    learner: Learner = "dr"
    parts: Mapping[str, Real] | None = None
    trim: float = TRIM
    clip: float | None = None
    missing: float | None = None
    as_printed: bool = False

    @property
    def additive(self) -> AdditiveSpec:
        """What is asked of outcome and features."""
        return AdditiveSpec(
            outcome=self.outcome, features=self.features, bins=2, missing=self.missing
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcome, features and treatment."""
        return tuple(dict.fromkeys((*self.additive.columns, self.treatment)))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of columns and options."""
        schema = facts.schema
        yield from self.additive.checks(facts)
        yield lambda: check_treatment(self.treatment, self.outcome, self.features)
        yield lambda: treatment_code(schema, self.treatment)
        for name in self.additive.terms(facts).names:
            yield partial(_bounds, schema, name)
        yield lambda: check_choice("learner", self.learner, get_args(Learner))
        if self.as_printed:
            yield self._check_printed
        else:
            yield lambda: _check_learner(self.learner, self.probability(facts))
            yield lambda: self.target_bound(facts)

    def _check_printed(self) -> None:
        if self.clip is not None:
            raise ParameterError("clip= is of the mended form; leave it out with as_printed=True")

    def probability(self, facts: Facts) -> Fraction | None:
        """Return the probability of treatment, None where it is not known."""
        return known_propensity(
            facts.schema, facts.n, self.treatment, self.assignment, self.propensity
        )

    def target_bound(self, facts: Facts) -> float:
        """Return the range of the second stage's target, to both sides of zero."""
        low, high = self.additive.target(facts).bounds
        e, trim = self.probability(facts), trim_of(self.trim)
        least = trim if e is None else float(min(e, 1 - e))
        return clip_of(self.clip, (high - low) / least)

    def allocation(self, facts: Facts, budget: Budget) -> Unpriced:
        """Return the budget as the parameter of the algorithm."""
        if not budget.delta:
            raise ParameterError(
                "DP-EBM draws Gaussian noise and needs delta > 0; give one below 1/n"
            )
        return Unpriced(budget=budget)

    def guarantee(self, facts: PublishedCATEFacts, allocation: Allocation) -> Guarantee:
        """Return that nothing is certified, with the claim of interpret."""
        if self.as_printed:
            return Guarantee.none(
                f"interpret {facts.version} was run as the paper ran it, with its defaults "
                "(section 5.1.1): ranges of features and targets, kinds of features and classes "
                f"are read off the data, so that its own claim of {allocation.budget} does not "
                "hold" + "; residuals are weighted, and noise grows with the largest weight"
                * (self.learner == "r"),
                not_covered=("anybody",),
            )  # fmt: skip
        version, conditions = facts.version, "; ".join(CONDITIONS)
        other = "" if version == READ_OFF else f" (the conditions are those of {READ_OFF})"
        return Guarantee.none(
            f"{allocation.budget} is as claimed by interpret {version}{other}, under these "
            f"conditions: {conditions}; it is not certified (its noise is calibrated to adding or "
            "removing a person, and its residuals may leave the range that it is calibrated to)",
            not_covered=("anybody, by a certified bound",),
        )

    def plan(self, facts: PublishedCATEFacts, allocation: Allocation) -> Plan:
        """Return what is fitted and what is claimed."""
        said = {
            "guarantee": self.guarantee(facts, allocation).sentence(),
            "rows by part": ", ".join(f"{name} {size:,}" for name, size in facts.sizes.items()),
        }
        if not self.as_printed:
            clip = self.target_bound(facts)
            said["target of stage 2"] = f"-{clip:g} to {clip:g}"
        return Plan(self.method, allocation.budget, said)


class CATE(
    PublishedModel[PublishedCATESpec, PublishedCATEFacts, dict[str, EBMFit], "PublishedCATEResults"]
):
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
    as_printed : bool
        Run interpret as the paper's experiments did: its defaults, a classifier for propensities,
        the R-learner with sample weights, and targets neither clipped nor centred.  There is no
        guarantee, because ranges and classes are read off the data; errors are far smaller.
        Declared bounds of features are then not used.

    Raises
    ------
    ConfirmationError
        Without ``accept_uncertified=True``.
    SchemaError, ColumnError, ParameterError

    Notes
    -----
    By default this is the paper's algorithm, mended.  The paper ran interpret with "all
    hyperparameters set to their default values" (section 5.1.1), which takes ranges and classes
    from the data; ``as_printed=True`` does that.

    Deviations of the mended form from the paper: propensities are a regression of T - 1/2 (the
    classifier takes its classes from the data, and shows if nobody in its part was treated);
    targets are clipped and centred; bounds are declared.

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
        as_printed: bool = False,
    ) -> None:
        if accept_uncertified is not True:
            raise ConfirmationError(
                "the guarantee of DP-EBM is claimed by interpret and not certified; say "
                "accept_uncertified=True, or use dprct.CATE"
            )
        version = installed_version()
        spec = PublishedCATESpec(
            outcome=one_name(outcome, "outcome"), features=distinct_names(features, "features"),
            treatment=one_name(treatment, "treatment"), assignment=assignment,
            propensity=propensity, learner=learner, parts=parts, trim=trim, clip=clip,
            missing=missing, as_printed=as_printed,
        )  # fmt: skip
        known = self._bind(spec, data, schema, in_memory=True)  # interpret takes arrays of rows
        e, (low, high) = spec.probability(known), spec.additive.target(known).bounds
        shares = shares_of(
            parts or _default_parts(learner, e), known=e is not None, constant=learner == "s"
        )
        if as_printed and learner != "s" and "outcome" not in shares:
            raise ParameterError(
                "as printed, outcomes have a part of their own; give parts= an 'outcome'"
            )
        names = spec.additive.terms(known).names
        self.facts = PublishedCATEFacts(
            schema=known.schema, n=known.n, e=e, low=low, high=high, version=version,
            bounds=tuple(_bounds(known.schema, name) for name in names),
            sizes=sizes_of(shares, known.n),
        )  # fmt: skip

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> dict[str, EBMFit]:
        spec, table = self.spec, self._table.rows()
        target, code = spec.additive.target(self.facts), treatment_code(self.schema, spec.treatment)
        rows = CodedRows.of(table, [], target.column, target.fill, code)
        X = np.column_stack([_numbers(table, name) for name in spec.features])
        found: dict[str, EBMFit] = {}
        for name, places in partition(self.facts.sizes, noise).items():
            seed = noise.uniform_below(2**31) if noise.simulation else None
            part = slice(None) if places is None else places
            found[name] = self._stage(
                name, X[part], rows.rows(places), found, allocation.budget, seed
            )
        return found

    def _state(self, drawn: dict[str, EBMFit]) -> dict[str, Any]:
        return {}  # there is no charge with which anything could be kept

    def _read(
        self,
        drawn: dict[str, EBMFit],
        plan: Plan,
        allocation: Allocation,
        guarantee: Guarantee,
        ledger: str,
        noise: NoiseSource,
    ) -> PublishedCATEResults:
        spec = self.spec
        return PublishedCATEResults(
            fits=drawn,
            learner=spec.learner,
            features=spec.features,
            treatment=spec.treatment,
            outcome=spec.outcome,
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
        names, bounds, target = (
            [*self.spec.features],
            [*self.facts.bounds],
            (self.facts.low, self.facts.high),
        )
        with_treatment = self.spec.learner == "s" or (
            name == "outcome" and self.spec.learner == "dr"
        )
        if self.spec.as_printed:
            return self._as_printed(name, X, rows, found, budget, seed, with_treatment)
        if with_treatment:
            names, bounds = [*names, TREATED], [*bounds, (0.0, 1.0)]
            return fitted_ebm(
                _with(X, rows.treated), rows.outcome, names, bounds, target, budget, seed
            )
        if name == "propensity":
            return fitted_ebm(X, rows.treated, names, bounds, (0.0, 1.0), budget, seed)
        if name == "outcome":
            return fitted_ebm(X, rows.outcome, names, bounds, target, budget, seed)
        psi, clip = self._pseudo(X, rows, found), self.spec.target_bound(self.facts)
        return fitted_ebm(X, psi, names, bounds, (-clip, clip), budget, seed)

    def _as_printed(
        self,
        name: str,
        X: Array,
        rows: CodedRows,
        found: Mapping[str, EBMFit],
        budget: Budget,
        seed: int | None,
        with_treatment: bool,
    ) -> EBMFit:
        """Fit one part as Algorithm 2 (and section 3.1 for the R- and S-learner) prints it."""
        fit = partial(printed_ebm, names=self.spec.features, budget=budget, seed=seed)
        treated = rows.treated
        if with_treatment:
            names = (*self.spec.features, TREATED)
            return fit(_with(X, treated), rows.outcome, names=names)
        if name == "propensity":
            return fit(X, treated, classifies=True)
        if name == "outcome":
            return fit(X, rows.outcome)
        e: Array | float = 0.5 if self.facts.e is None else float(self.facts.e)
        if "propensity" in found:
            e = found["propensity"].at(X)
        mu = found["outcome"]
        if self.spec.learner == "r":
            ratio, weights = residual_ratio(rows, mu.at(X), e)
            return fit(X, ratio, weights=weights)
        control, arm = (mu.at(_with(X, np.full(len(X), a))) for a in (0.0, 1.0))
        return fit(X, doubly_robust(rows, control, arm, e))

    def _pseudo(self, X: Array, rows: CodedRows, found: Mapping[str, EBMFit]) -> Array:
        """Return the pseudo-outcomes (n,); nuisances are within public bounds."""
        low, high = self.facts.low, self.facts.high
        e: Array | float = 0.5 if self.facts.e is None else float(self.facts.e)
        if "propensity" in found:
            trim = trim_of(self.spec.trim)
            e = np.clip(found["propensity"].at(X), trim, 1 - trim)
        middle: Array | float = low / 2 + high / 2
        mu = found.get("outcome")
        if self.spec.learner == "r":
            mean = middle if mu is None else np.clip(mu.at(X), low, high)
            return residual_ratio(rows, mean, e)[0]
        if mu is None:
            return doubly_robust(rows, middle, middle, e)
        control, treated = (
            np.clip(mu.at(_with(X, np.full(len(X), arm))), low, high) for arm in (0, 1)
        )
        return doubly_robust(rows, control, treated, e)

    def __repr__(self) -> str:
        spec = self.spec
        return f"published.CATE(n={self.n}, outcome: {spec.outcome}, learner: {spec.learner})"


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
        if j in fit.levels:
            levels = fit.levels[j]
            return pd.DataFrame({"low": levels, "high": levels, "estimate": fit.scores[j][:-1]})
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


def _numbers(frame: Frame, name: str) -> Array:
    return np.asarray(numbers_of(frame, name)[0], np.float64)


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


def _check_learner(learner: str, e: Fraction | None) -> None:
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
