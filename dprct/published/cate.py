"""CATE as published: the meta-algorithm on interpret's DP-EBM, behind a fence."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dprct.arguments import Checked, distinct_names, number_between, one_name
from dprct.defaults import TRIM
from dprct.errors import (
    ColumnError,
    ConfirmationError,
    ParameterError,
    SchemaError,
)
from dprct.estimate.additive.model import AdditiveSpec, clip_of
from dprct.estimate.cate.model import check_treatment, known_propensity, treatment_code
from dprct.estimate.cate.release import partition, shares_of, sizes_of
from dprct.lazy import pandas as pd
from dprct.model import Facts, Spec
from dprct.privacy.budget import Budget, Guarantee
from dprct.published.base_learners import (
    Part,
    Plugged,
    budgets_of,
    check_within,
    checked_learner,
    plugged,
)
from dprct.published.charging import PublishedModel, Unpriced
from dprct.published.ebm import (
    CONDITIONS,
    READ_OFF,
    EBMFit,
    fitted_ebm,
    installed_version,
    printed_ebm,
)
from dprct.queries.additive import CodedRows, doubly_robust, residual_ratio
from dprct.records import dataclass
from dprct.results.plan import Contents, Plan, PlannedNumber, notes
from dprct.schema.columns import extent_of
from dprct.schema.schema import check_fixed_before
from dprct.schema.tables import eager, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.model import Paid
    from dprct.privacy.budget import Budget, Real
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.published.base_learners import BaseLearner
    from dprct.schema import Schema
    from dprct.schema.tables import Frame

    Array = NDArray[np.float64]


Learner = Literal["dr", "r", "s"]
TREATED = "treated"


@dataclass(frozen=True)
class PublishedCATEFacts(Facts):
    """What is public of a table that DP-EBMs are fitted to.

    Parameters
    ----------
    schema, n
        As of :class:`~dprct.model.Facts`.
    """

    bounds: tuple[tuple[float, float], ...]  # of the features
    e: Fraction | None  # the probability of treatment, where it is known
    sizes: Mapping[str, int]  # rows of each part
    # low, high: bounds of the outcome.
    low: float
    high: float
    version: str  # of interpret


@dataclass(frozen=True, kw_only=True)
class PublishedCATESpec(Spec[PublishedCATEFacts]):
    """What the published CATE is asked for; the fields are options of :class:`CATE`."""

    key: ClassVar[str] = "published_cate"
    page: ClassVar[str] = "papers.md"
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
    as_printed: bool = False
    base: Callable[[Part], BaseLearner] | None = None
    part_budgets: Mapping[str, Any] | None = None

    @property
    def additive(self) -> AdditiveSpec:
        """What is asked of outcome and features."""
        return AdditiveSpec(outcome=self.outcome, features=self.features, bins=2)

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcome, features and treatment."""
        return tuple(dict.fromkeys((*self.additive.columns, self.treatment)))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of columns and options."""
        schema = facts.schema
        yield from self.additive.checks(facts)
        yield lambda: check_treatment(self.treatment, self.outcome, self.features)
        yield lambda: check_fixed_before(schema, self.features, [self.treatment])
        yield lambda: treatment_code(schema, self.treatment)
        for name in self.additive.terms(facts).names:
            yield partial(_bounds, schema, name)
        if self.as_printed:
            yield self._check_printed
        else:
            yield lambda: _check_learner(self.learner, self.probability(facts))
            yield lambda: self.target_bound(facts)

    def _check_printed(self) -> None:
        if self.base is not None:
            raise ParameterError(
                "``base=`` is for the corrected form; leave it out with ``as_printed=True``"
            )
        if self.clip is not None:
            raise ParameterError(
                "``clip=`` is for the corrected form; leave it out with ``as_printed=True``"
            )

    def probability(self, facts: Facts) -> Fraction | None:
        """Return the probability of treatment, None where it is not known."""
        return known_propensity(
            facts.schema, facts.n, self.treatment, self.assignment, self.propensity
        )

    def target_bound(self, facts: Facts) -> float:
        """Return the range of the second stage's target, to both sides of zero."""
        low, high = self.additive.target(facts).bounds
        e = self.probability(facts)
        trim = number_between("trim", self.trim, 0, 0.5, ", such as 0.1")
        least = trim if e is None else float(min(e, 1 - e))
        return clip_of(self.clip, (high - low) / least)

    def allocation(self, facts: Facts, budget: Budget) -> Unpriced:
        """Return the budget as the parameter of the algorithm."""
        if not budget.delta:
            raise ParameterError(
                "DP-EBM draws Gaussian noise and needs delta > 0; give one below 1/n"
            )
        if isinstance(facts, PublishedCATEFacts):
            check_within(budgets_of(self.part_budgets, list(facts.sizes)), budget)
        return Unpriced(budget=budget)

    def parted(self, name: str, facts: PublishedCATEFacts, budget: Budget) -> Part:
        """Public facts of a part: its budget, and the ranges of features and target."""
        bounds, target = facts.bounds, (facts.low, facts.high)
        if self.with_treatment(name):
            bounds = (*bounds, (0.0, 1.0))
        elif name == "propensity":
            target = (0.0, 1.0)
        elif name == "effect":
            clip = self.target_bound(facts)
            target = (-clip, clip)
        own = budgets_of(self.part_budgets, list(facts.sizes)).get(name, budget)
        return Part(name, own, bounds, target)

    def with_treatment(self, name: str) -> bool:
        """Whether treatment is a feature of a part."""
        return self.learner == "s" or (name == "outcome" and self.learner == "dr")

    def guarantee(self, facts: PublishedCATEFacts, allocation: Allocation) -> Guarantee:
        """Return that nothing is certified, with what interpret or a base learner claims."""
        if self.base is not None:
            claims = [
                f"{name}: "
                + checked_learner(
                    self.base(self.parted(name, facts, allocation.budget)), name
                ).guarantee
                for name in facts.sizes
            ]
            return Guarantee.none(
                f"the base learners claim ({'; '.join(claims)}), on disjoint parts of the rows "
                "(Theorem 3.3), and nothing of it is certified here",
                not_covered=("anybody, by a certified bound",),
            )
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
        numbers = [
            *notes({"guarantee": self.guarantee(facts, allocation).sentence()}),
            *(PlannedNumber("rows by part", size, name) for name, size in facts.sizes.items()),
        ]
        if not self.as_printed:
            clip = self.target_bound(facts)
            numbers.append(PlannedNumber("target of stage 2", clip, why="at most, in size"))
        return Plan(self.method, allocation.budget, Contents(tuple(numbers)))


class CATE(
    PublishedModel[
        PublishedCATESpec, PublishedCATEFacts, dict[str, EBMFit | Plugged], "PublishedCATEResults"
    ]
):
    """The published private CATE: nuisances and second stage are interpret's DP-EBMs.

    Its guarantee is **as claimed by interpret, under the conditions that are enforced here, and not
    certified**: residuals may drift out of the range that the noise is calibrated to, and that
    calibration is for adding or removing a person.  Use :class:`dprct.CATE` to protect people.

    Parameters
    ----------
    data, schema, outcome, features, treatment, assignment, propensity, parts, trim
        As for :class:`dprct.CATE`.  Every feature must be a number with bounds that is never
        missing.
    learner : {"dr", "r", "s"}
        ``"r"`` only where the probability of treatment is known to be one half: elsewhere it needs
        sample weights, with which the noise of DP-EBM scales with the data.
    clip : number, optional
        The second stage's target is clipped to [-clip, clip]; (U - L) over the smallest propensity
        if not given.  Algorithm 2 clips nothing, so that with ``as_printed=True`` it is refused.
    accept_uncertified : bool
        Must be True.
    as_printed : bool
        Run interpret as the paper's experiments did: its defaults, a classifier for propensities,
        the R-learner with sample weights, and targets neither clipped nor centred.  There is no
        guarantee, because ranges and classes are read off the data; errors are far smaller.
        Declared bounds of features are then not used.
    base : callable, optional
        Another base learner (the paper's Remark 3.6): called with the public facts of a part, a
        ``Part``, it returns an object with ``fit(X, y)``, ``predict(X)`` and ``guarantee``, what
        one fit claims.  docs/heterogeneous_effects.md has a worked example.
    part_budgets : mapping from part to (epsilon, delta), optional
        Budgets of parts that get less than ``fit`` is given (Theorem 3.3; what they come to is
        ``dprct.published.parallel_delta``).

    Raises
    ------
    ConfirmationError
        Without ``accept_uncertified=True``.
    SchemaError, ColumnError, ParameterError

    Notes
    -----
    By default this is the paper's algorithm, corrected.  The paper ran interpret with "all
    hyperparameters set to their default values" (section 5.1.1), which takes ranges and classes
    from the data; ``as_printed=True`` does that.

    Deviations of the corrected form from the paper: propensities are a regression of T - 1/2 (the
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
    certified; give accept_uncertified=True, or use dprct.CATE
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
        accept_uncertified: bool = False,
        as_printed: bool = False,
        base: Callable[[Part], BaseLearner] | None = None,
        part_budgets: Mapping[str, Any] | None = None,
    ) -> None:
        if accept_uncertified is not True:
            raise ConfirmationError(
                "the guarantee of DP-EBM is claimed by interpret and not certified; give "
                "``accept_uncertified=True``, or use ``dprct.CATE``"
            )
        version = "" if base is not None else installed_version()
        spec = PublishedCATESpec(
            outcome=one_name(outcome, "outcome"), features=distinct_names(features, "features"),
            treatment=one_name(treatment, "treatment"), assignment=assignment,
            propensity=propensity, learner=learner, parts=parts, trim=trim, clip=clip,
            as_printed=as_printed, base=base, part_budgets=part_budgets,
        )  # fmt: skip
        known = self._bind(spec, data, schema, in_memory=True)  # interpret takes arrays of rows
        e, (low, high) = spec.probability(known), spec.additive.target(known).bounds
        shares = shares_of(
            parts or _default_parts(learner, e), known=e is not None, constant=learner == "s"
        )
        if as_printed and learner != "s" and "outcome" not in shares:
            raise ParameterError(
                "as printed, outcomes have a part of their own; give ``parts=`` an 'outcome'"
            )
        names = spec.additive.terms(known).names
        self.facts = PublishedCATEFacts(
            schema=known.schema, n=known.n, e=e, low=low, high=high, version=version,
            bounds=tuple(_bounds(known.schema, name) for name in names),
            sizes=sizes_of(shares, known.n),
        )  # fmt: skip

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> dict[str, EBMFit | Plugged]:
        spec, table = self.spec, self._table.rows()
        target, code = spec.additive.target(self.facts), treatment_code(self.schema, spec.treatment)
        rows = CodedRows.of(table, [], target.column, target.fill, code)
        X = np.column_stack([_numbers(table, name) for name in spec.features])
        found: dict[str, EBMFit | Plugged] = {}
        for name, places in partition(self.facts.sizes, noise).items():
            seed = noise.uniform_below(2**31) if noise.simulation else None
            part = slice(None) if places is None else places
            found[name] = self._stage(
                name, X[part], rows.rows(places), found, allocation.budget, seed
            )
        return found

    def _read(self, drawn: dict[str, EBMFit | Plugged], paid: Paid) -> PublishedCATEResults:
        spec = self.spec
        return PublishedCATEResults(
            fits=drawn,
            learner=spec.learner,
            features=spec.features,
            treatment=spec.treatment,
            outcome=spec.outcome,
            nobs=self.n,
            guarantee=paid.guarantee,
            ledger=paid.ledger,
        )

    def _stage(
        self,
        name: str,
        X: Array,
        rows: CodedRows,
        found: Mapping[str, EBMFit | Plugged],
        budget: Budget,
        seed: int | None,
    ) -> EBMFit | Plugged:
        """Fit one part, given what was fitted on others."""
        spec = self.spec
        part, names = spec.parted(name, self.facts, budget), [*spec.features]
        y, weights = rows.treated if name == "propensity" else rows.outcome, None
        if spec.with_treatment(name):
            X, names = _with(X, rows.treated), [*names, TREATED]
        elif name == "effect":
            y, weights = self._pseudo(X, rows, found)
        if spec.as_printed:
            classifies = name == "propensity"
            return printed_ebm(
                X, y, names, part.budget, weights=weights, classifies=classifies, seed=seed
            )
        if spec.base is not None:
            return plugged(checked_learner(spec.base(part), name), part, X, y)
        return fitted_ebm(X, y, names, part.bounds, part.target, part.budget, seed)

    def _pseudo(
        self, X: Array, rows: CodedRows, found: Mapping[str, EBMFit | Plugged]
    ) -> tuple[Array, Array | None]:
        """Return the pseudo-outcomes (n,), and weights where Algorithm 2 has them.

        Nuisances are within public bounds, unless as printed (section 3.1 for the R-learner).
        """
        spec, (low, high) = self.spec, (self.facts.low, self.facts.high)
        e: Array | float = 0.5 if self.facts.e is None else float(self.facts.e)
        if "propensity" in found:
            e = found["propensity"].at(X)
            if not spec.as_printed:
                e = np.clip(e, spec.trim, 1 - spec.trim)
        middle: Array | float = low / 2 + high / 2

        def mean(*arm: Array) -> Array | float:
            if "outcome" not in found:
                return middle
            at = found["outcome"].at(np.column_stack([X, *arm]))
            return at if spec.as_printed else np.clip(at, low, high)

        if spec.learner == "r":
            return residual_ratio(rows, mean(), e)
        control, treated = mean(np.zeros(len(X))), mean(np.ones(len(X)))
        return doubly_robust(rows, control, treated, e), None

    def __repr__(self) -> str:
        spec = self.spec
        return f"published.CATE(n={self.n}, outcome: {spec.outcome}, learner: {spec.learner})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PublishedCATEResults(Checked):
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

    fits: Mapping[str, EBMFit | Plugged]
    learner: str
    features: tuple[str, ...]
    treatment: str
    outcome: str
    nobs: int
    guarantee: Guarantee
    ledger: str = ""

    @property
    def models(self) -> dict[str, EBMFit | Plugged]:
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
        fit = self._tabled()
        if feature not in fit.names:
            raise ColumnError.unknown(feature, fit.names, "the features")
        j = fit.names.index(feature)
        if j in fit.levels:
            levels = fit.levels[j]
            return pd.DataFrame({"low": levels, "high": levels, "estimate": fit.scores[j][:-1]})
        edges = [fit.bounds[j][0], *fit.cuts[j].tolist(), fit.bounds[j][1]]
        return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "estimate": fit.scores[j]})

    def _tabled(self) -> EBMFit:
        fit = self.fits["effect"]
        if isinstance(fit, Plugged):
            raise ParameterError("a base learner of your own has no shapes here; use effect(rows)")
        return fit

    def tidy(self) -> pd.DataFrame:
        """Return the scores of every feature of the second stage, one row per bin."""
        tables = [self.shape(name).assign(term=name) for name in self._tabled().names]
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> str:
        """Fit, and what is (not) promised, as text."""
        fit = self.fits["effect"]
        on, shapes = "DP-EBM", []
        if isinstance(fit, Plugged):
            on = type(fit.learner).__name__
        else:
            shapes = [f"Intercept of stage 2: {fit.intercept:.4g}"] + [
                f"  {name}: scores {scores.min():.4g} to {scores.max():.4g} in {len(scores)} bins"
                for name, scores in zip(fit.names, fit.scores, strict=True)
            ]
        lines = [
            f"Published CATE ({self.learner} on {on}): effect of {self.treatment} on "
            f"{self.outcome}, {self.nobs:,} rows",
            *shapes,
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
            "listed level: give numbers with bounds that are never missing, or use ``dprct.CATE``"
        )
    extent = extent_of(column)
    assert extent is not None  # of a feature that was encoded
    return extent


def _check_learner(learner: str, e: Fraction | None) -> None:
    if learner == "r" and e != Fraction(1, 2):
        raise ParameterError(
            "``learner='r'`` needs sample weights unless treatment has probability one half, and "
            "with them the noise of DP-EBM scales with the data; use ``learner='dr'``, or "
            "``dprct.CATE``"
        )


def _default_parts(learner: str, e: Fraction | None) -> dict[str, Fraction] | None:
    """Return the parts as published: outcomes are always estimated, but for the S-learner."""
    if learner == "s" or e is None:
        return None
    return {"outcome": Fraction(1, 2), "effect": Fraction(1, 2)}
