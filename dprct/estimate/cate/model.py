"""CATE: how an effect varies with features, under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003  # read from annotations
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dprct.arguments import (
    check_not_named,
    checked,
    distinct_names,
    given,
    number_between,
    one_name,
)
from dprct.assignment.groups import Design
from dprct.defaults import ADDITIVE_BINS, TRIM, effect_clip
from dprct.encoding import encodings
from dprct.errors import ParameterError, SchemaError
from dprct.estimate.additive.model import ShapesSpec, as_additive, clip_of
from dprct.estimate.additive.release import (
    AdditiveSums,
    Cells,
    guarantee_of,
    noise_warnings,
    planned_noise,
)
from dprct.estimate.additive.terms import distinct_pairs
from dprct.estimate.cate.logit import TreatmentSums
from dprct.estimate.cate.release import (
    EFFECT,
    ONE_RELEASE,
    Learner,
    LearnerForm,
    PropensityModel,
    asked_effect,
    released,
    shares_of,
    sizes_of,
)
from dprct.estimate.cate.results import LEARNERS, CATEResults
from dprct.estimate.experiment import check_hidden, hidden_arms
from dprct.lazy import narwhals as nw
from dprct.model import Facts, Model
from dprct.queries.additive import Block, CompactRows, EngineRows
from dprct.records import dataclass
from dprct.results.plan import ESTIMAND, Contents, Plan, PlannedNumber, errors_of_estimate, notes
from dprct.schema.schema import check_fixed_before
from dprct.schema.tables import check_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dprct.encoding import Coded
    from dprct.estimate.additive.release import AdditiveAllocation
    from dprct.model import Paid
    from dprct.privacy.budget import Budget, Guarantee, Real
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.schema import Column, Schema


Released = AdditiveSums | TreatmentSums


@dataclass(frozen=True, kw_only=True)
class CATESpec(ShapesSpec):
    """What a private CATE is asked for; the fields are the options of :class:`CATE`."""

    key: ClassVar[str] = "cate"
    page: ClassVar[str] = "heterogeneous_effects.md"
    method: ClassVar[str] = "CATE (one-step additive learner)"

    treatment: str
    assignment: Design | None = None
    propensity: float | None = None
    propensity_model: PropensityModel = "additive"
    learner: Learner = "dr"
    parts: Mapping[str, Real] | None = None
    trim: float = TRIM

    @property
    def columns(self) -> tuple[str, ...]:
        """Outcome, features, subgroups and treatment."""
        return tuple(dict.fromkeys((*super().columns, self.treatment)))

    def checks(self, facts: Facts) -> Iterator[Callable[[], object]]:
        """Yield what must hold of options, columns and number of rows."""
        yield from super().checks(facts)
        yield lambda: treatment_code(facts.schema, self.treatment)
        yield lambda: check_treatment(
            self.treatment, self.outcome, (*self.features, *self.subgroups)
        )
        yield lambda: check_fixed_before(
            facts.schema, (*self.features, *self.subgroups), [self.treatment]
        )
        yield lambda: self.known(facts)
        yield self.check_plug_in
        yield lambda: self.check_propensity_model(facts)
        yield lambda: clip_of(self.clip, 1.0)
        yield lambda: number_between("trim", self.trim, 0, 0.5, ", such as 0.1")
        yield lambda: self.sizes(facts)

    def known(self, facts: Facts) -> Fraction | None:
        """Return the probability of treatment that is a public fact; None if there is none."""
        e = known_propensity(
            facts.schema, facts.n, self.treatment, self.assignment, self.propensity
        )
        if self.learner == "s" and e is None:
            raise ParameterError(
                "``learner='s'`` compares the means of treated and untreated, which is an effect "
                "where treatment was randomised; give ``assignment=`` or ``propensity=``, or use "
                "``learner='dr'`` or ``'t'``; one effect for everybody, where treatment was "
                "chosen, is estimated by ``IPW(estimator='aipw')``"
            )
        return e

    def check_plug_in(self) -> None:
        """Refuse what the difference of two functions has no proved law of."""
        asked = {
            "subgroups": set(self.subgroups) - set(self.features),
            "projection": self.projection,
        }
        named = next((name for name, columns in asked.items() if columns), None)
        if self.learner == "t" and named:
            raise ParameterError(
                f"``learner='t'`` has no ``{named}=``: it is the difference of two additive "
                "functions of the features; use ``learner='dr'``"
            )

    def check_propensity_model(self, facts: Facts) -> None:
        """Refuse a model of a propensity that is not estimated."""
        if self.propensity_model == "additive":
            return
        needless = self.learner in ONE_RELEASE
        if needless or self.known(facts) is not None:
            why = f"``learner={self.learner!r}`` needs none" if needless else "it is known here"
            raise ParameterError(
                f"``propensity_model={self.propensity_model!r}`` is for a propensity that is "
                f"estimated, and {why}; leave it out"
            )

    def sizes(self, facts: Facts) -> dict[str, int]:
        """Number of rows of each part."""
        known = self.known(facts) is not None
        shares = shares_of(self.parts, known=known, constant=self.learner in ONE_RELEASE)
        return sizes_of(shares, facts.n)

    def form(self, facts: Facts) -> LearnerForm:
        """Form of a release, and its parts of the rows."""
        bounds = self.target(facts).bounds
        return LearnerForm(
            self.learner, self.terms(facts), self.sizes(facts), bounds,
            clip_of(self.clip, effect_clip(*bounds)),
            None if self.learner == "t" else self.known(facts), self.trim,
            self.propensity_model,
        )  # fmt: skip

    def allocation(self, facts: Facts, budget: Budget) -> AdditiveAllocation:
        """Return the mechanisms that a budget buys, one for each disjoint part of the rows."""
        return self.form(facts).allocation(budget)

    def guarantee(self, facts: Facts, allocation: Allocation) -> Guarantee:
        """Guarantee of a fit."""
        form = self.form(facts)
        more = [f"the sizes of the parts: {', '.join(map(str, form.sizes.values()))}"]
        if form.e is not None:
            more.append(f"the probability of treatment, {form.e}")
        return guarantee_of(as_additive(allocation), facts, form.terms, self.outcome, more)

    def plan(self, facts: Facts, allocation: Allocation) -> Plan:
        """Return prices and noise, and what no interval will contain."""
        bought = as_additive(allocation)
        return Plan(self.method, bought.budget, partial(self._contents, facts, bought))

    def _contents(self, facts: Facts, bought: AdditiveAllocation) -> Contents:
        form, target = self.form(facts), self.target(facts)
        rows = form.sizes[EFFECT]
        e = 0.5 if form.e is None else float(form.e)
        sampling = target.sd / math.sqrt(rows * e * (1 - e))
        noise = form.planned_noise(bought, e)
        estimand = f"mean effect of {self.treatment} on {self.outcome} at the levels of features, "
        estimand += {
            "s": "taken to be the same for everybody",
            "t": "by the difference of two functions of the outcome",
        }.get(self.learner, f"of pseudo-outcomes clipped to +-{form.clip:g}")
        numbers = (
            *notes({ESTIMAND: estimand, "outcome": target.said}),
            *errors_of_estimate(
                math.hypot(noise, sampling), sampling, noise,
                why=f"{target.sd_from}; {e:.3g} of the rows treated",
                outcome=self.outcome, term=self.treatment,
            ),
            *notes({"learner": LEARNERS[self.learner]}),
            *(PlannedNumber("n", size, "rows", name) for name, size in form.sizes.items()),
            *notes({"propensity": form.propensity}),
            *planned_noise(form.terms, bought, rows),
        )  # fmt: skip
        lacking = form.no_sampling
        consequences = (f"no interval contains sampling: {lacking}",) if lacking else ()
        warnings = *noise_warnings(form.terms, bought, rows), *form.warnings(bought)
        return Contents(numbers, consequences, warnings)


class CATE(Model[CATESpec, Facts, dict[str, Released], CATEResults]):
    """How the effect of a treatment varies with features, under differential privacy.

    Parameters
    ----------
    data : data frame
        A table with one row per person in pandas, Polars (eager or lazy), DuckDB or PySpark.  If it
        lives in an engine and there is one part, rows stay there, and only sums within the levels
        of features are asked for.  With several parts, the codes of all rows are read once (one
        byte per feature and row, plus five bytes per row).
    schema : Schema
        Public facts: bounds for the outcome, bounds or levels for the features, and levels 0 and 1
        for the treatment.
    outcome : str
        A numeric column with bounds.
    features : sequence of str
        Columns that the effect may vary with.
    treatment : str
        A 0/1 column.  Treatment is confidential.
    assignment : Design, optional
        The design of a randomised experiment in which everybody has the same probability of
        treatment; the propensity is then known.
    propensity : number, optional
        The known probability of treatment, instead of a design.
    propensity_model : {"additive", "logit"}
        How a propensity that is not known is estimated: by an additive regression of treatment, or
        by a logit that is linear in the features.
    learner : {"dr", "r", "s", "t"}
        ``"dr"`` uses doubly robust pseudo-outcomes, ``"r"`` regresses residuals on residuals,
        ``"s"`` makes treatment a feature of an additive model of the outcome, which gives everybody
        the same effect, and ``"t"``, the plug-in learner, takes the difference of two additive
        functions of the outcome, one for each arm: it needs no propensity.
    clip : number, optional
        R: pseudo-outcomes are clipped to [-R, R], and noise is proportional to R. It must come from
        public knowledge, never from the data.  By default, the width of the outcome's bounds
        (:func:`dprct.defaults.effect_clip`).
    parts : mapping from {"propensity", "outcome", "effect"} to number, optional
        Shares of the rows, which sum to one.  By default, all rows are used for the effect if the
        propensity is known or not needed; otherwise a quarter each for propensity and outcome, and
        half for the effect.
    trim : number
        Estimated propensities are kept within [trim, 1 - trim].
    bins, categorical, pairs, subgroups, projection
        As for :class:`dprct.PrivateAdditive`; each subgroup gets its own average effect.
    neighbors : {"replace-one"}
        Which data sets are neighbours.

    Raises
    ------
    SchemaError, ColumnError, ParameterError
        If a public fact is missing, or the data do not fit the schema.  Nothing is spent.

    Notes
    -----
    Relation: one person's whole row (treatment too) is replaced by any other admissible one; n is
    public.  Rows are divided at random into parts of fixed sizes, independently of their values.
    Each part spends the whole budget once, on one joint release (:class:`dprct.PrivateAdditive`).
    Because each person is in one part, all of it together costs that budget (parallel composition).

    - *DR*: psi = mu1 - mu0 + T (y - mu1) / e - (1 - T)(y - mu0) / (1 - e); without an outcome part
      mu0 = mu1 is the middle of the bounds.  With known e its mean given x is the effect.
    - *R*: (y - m) / (T - e) with weights (T - e)^2. These weights depend on the data, so their sums
      are released instead of counts, which costs nothing in L2 (see
      :class:`~dprct.queries.additive.AdditiveLayout`).
    - *S*: the difference of the means of treated and untreated.
    - *T* (plug-in): mu1 - mu0 of one release of the outcome, every count and sum apart for each
      arm, of all rows.

    Intervals contain sampling error if the propensity is known and the learner is ``"dr"`` or
    ``"s"``.
    Otherwise such intervals are refused, because none is proved.

    References
    ----------
    The published form is ``dprct.published.CATE``.
    Kennedy (2023), "Towards optimal doubly robust estimation of heterogeneous causal effects".

    Examples
    --------
    >>> import numpy as np, pandas as pd, dprct
    >>> schema = dprct.Schema((dprct.Column("y", bounds=(0, 2), missing=()),
    ...     dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
    ...     dprct.Column("x", bounds=(0, 1), missing=())))
    >>> x, t = np.tile(np.linspace(0, 1, 100), 200), np.repeat([0.0, 1.0], 10_000)
    >>> data = pd.DataFrame({"y": t * x + 0.5, "t": t, "x": x})
    >>> model = CATE.from_formula("y ~ x", data, schema, treatment="t", propensity=0.5)
    >>> result = model.fit(epsilon=8)
    >>> old, young = result.effect(pd.DataFrame({"x": [0.9, 0.1]}))
    >>> bool(old - young > 0.4), result.guarantee.relation
    (True, 'replace-one')
    """

    saved_types = (AdditiveSums, Cells, Block, TreatmentSums)

    @checked
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
        propensity_model: PropensityModel = "additive",
        learner: Learner = "dr",
        clip: float | None = None,
        parts: Mapping[str, Real] | None = None,
        trim: float = TRIM,
        bins: int = ADDITIVE_BINS,
        categorical: Iterable[str] = (),
        pairs: Iterable[Sequence[str]] = (),
        subgroups: Iterable[str] = (),
        projection: Sequence[str] = (),
        neighbors: str = "replace-one",
    ) -> None:
        spec = CATESpec(
            outcome=one_name(outcome, "outcome"), features=distinct_names(features, "features"),
            treatment=one_name(treatment, "treatment"), assignment=assignment,
            propensity=propensity, propensity_model=propensity_model, learner=learner, clip=clip,
            parts=parts, trim=trim, bins=bins,
            categorical=distinct_names(categorical, "categorical"), pairs=distinct_pairs(pairs),
            subgroups=distinct_names(subgroups, "subgroups"),
            projection=distinct_names(projection, "projection"),
            neighbors=neighbors,
        )  # fmt: skip
        self.facts = self._bind(spec, data, schema)

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of ``"y ~ x1 + C(x2) + x1:C(x2)"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If the formula has anything but columns, ``C()`` and pairs.  It lists the features that
            the effect may vary with; the treatment is an argument of its own.
        """
        check_not_named(options, ("outcome", "features"))
        return cls(data, schema, **{**CATESpec.of_formula(formula), **options})

    def _read_as(self, form: LearnerForm) -> tuple[Sequence[Coded], Column, float | None, Coded]:
        target = self.spec.target(self.facts)
        treatment = treatment_code(self.schema, self.spec.treatment)
        return form.terms.encodings, target.column, target.fill, treatment

    def _asked(self, allocation: Allocation) -> Callable[[NoiseSource], dict[str, Released]]:
        form, frame = self.spec.form(self.facts), self._table.frame
        if not (form.one_step and isinstance(frame, nw.LazyFrame)):
            return super()._asked(allocation)
        rows = EngineRows.of(frame, self.n, *self._read_as(form)).with_arm()
        effect = asked_effect(form, as_additive(allocation), rows, {})
        return lambda noise: {EFFECT: effect(noise)}

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> dict[str, Released]:
        bought, form = as_additive(allocation), self.spec.form(self.facts)
        rows = CompactRows.of(self._table.frame, *self._read_as(form))
        check_rows(len(rows), self.n)
        if noise.simulation and not form.one_step:
            rows = rows.in_canonical_order()  # with a seed, the same people in every part
        return released(form, bought, rows, noise)

    def _read(self, drawn: dict[str, Released], paid: Paid) -> CATEResults:
        spec, form = self.spec, self.spec.form(self.facts)
        nuisances = form.fits(drawn)
        return CATEResults(
            fit=nuisances.pop(EFFECT),
            nuisances=nuisances,
            guarantee=paid.guarantee,
            outcome=spec.outcome,
            what=f"effect of {spec.treatment} on {spec.outcome}",
            ledger=paid.ledger,
            no_sampling=form.no_sampling,
            learner=spec.learner,
            sizes=dict(form.sizes),
            propensity=form.propensity,
        )

    def __repr__(self) -> str:
        spec = self.spec
        return (
            f"CATE(n={self.n}, outcome: {spec.outcome}, treatment: {spec.treatment}, features: "
            f"{', '.join(spec.features)}, learner: {spec.learner})"
        )


def check_treatment(treatment: str, outcome: str, features: Sequence[str]) -> None:
    """Refuse a treatment that is the outcome or a feature, too."""
    if treatment == outcome:
        raise ParameterError(f"{treatment!r} is the treatment and the outcome; name each once")
    if treatment in features:
        raise ParameterError(f"{treatment!r} is the treatment and a feature; name it once")


def treatment_code(schema: Schema, treatment: object) -> Coded:
    """Return the code of a treatment column of levels 0 and 1."""
    if not isinstance(treatment, str):
        raise ParameterError(f"``treatment={given(treatment)}``; give the name of one 0/1 column")
    column = schema.column(treatment)
    levels = sorted(column.levels or (), key=str)
    if column.is_text or [float(x) for x in levels] != [0.0, 1.0] or column.missing != ():
        raise SchemaError(
            f"treatment {treatment!r} must have the declared levels 0 and 1 and "
            "``missing='never'``; several arms are compared two at a time"
        )
    return encodings(schema, [treatment])[0]


def known_propensity(
    schema: Schema, n: int, treatment: str, assignment: Design | None, propensity: object
) -> Fraction | None:
    """The probability of treatment that is a public fact; None if there is none.

    A design has two groups, of which the treated has 1 in the treatment column, and the same
    probability for everybody; or the probability itself is given.
    """
    if assignment is None:
        return None if propensity is None else _declared(propensity)
    if propensity is not None:
        raise ParameterError("``assignment=`` and ``propensity=`` are both given; give one of them")
    if not isinstance(assignment, Design):
        raise ParameterError(
            f"``assignment={given(assignment)}``; give a design, such as ``dprct.Simple('treat')``"
        )
    order = _groups(assignment, treatment)
    check_hidden(assignment, schema)
    return hidden_arms(assignment, order, n).shares[1]


def _declared(propensity: object) -> Fraction:
    number_between("propensity", propensity, 0, 1, ", the known probability of treatment")
    return Fraction(str(propensity))


def _groups(assignment: Design, treatment: str) -> Sequence[int]:
    """Return the places of the untreated and of the treated group."""
    groups = assignment.groups
    values = [row[0] for row in groups.values] if groups.columns == (treatment,) else []
    if sorted(values, key=str) != [0.0, 1.0]:
        raise ParameterError(
            f"the design assigns {', '.join(groups.columns)}; it must assign {treatment!r}, 0 or 1"
        )
    return [values.index(0.0), values.index(1.0)]
