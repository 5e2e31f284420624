"""Calibrated: a synthetic file on which the unchanged regression returns the private effects."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dprct.arguments import checked
from dprct.assignment.groups import Design, Level, narrow, units_of
from dprct.certificate.valid_regressions import LONGEST_ERROR, NOT_RELEASED
from dprct.defaults import VALID_LEVELS
from dprct.errors import ParameterError
from dprct.estimate.ate.facts import Bounds, IndexRule  # noqa: TC001 -- read by @checked
from dprct.estimate.ate.joint import drawn_jointly, known_levels, with_pairs
from dprct.estimate.ate.joint import results as results_jointly
from dprct.estimate.ate.model import PrivateATE, public_facts
from dprct.estimate.ate.release import HiddenOutcome
from dprct.estimate.ate.release import released as released_effects
from dprct.estimate.ate.results import results_of
from dprct.estimate.experiment import BlockRule, UnitRule  # noqa: TC001 -- read by @checked
from dprct.estimate.moments.alone import check_joint, levels_of_outcomes
from dprct.estimate.moments.declared import DrawnStep, Regression
from dprct.estimate.moments.declared_results import DeclaredEstimates
from dprct.estimate.moments.model import drawn_with_steps, facts_of
from dprct.estimate.moments.release import DrawnMoments
from dprct.lazy import pandas as pd
from dprct.model import Facts
from dprct.privacy.budget import Budget
from dprct.privacy.histograms import HistogramRelease, OneWayRelease
from dprct.privacy.noise import source
from dprct.queries.sums import observed
from dprct.records import dataclass
from dprct.release.calibrated.carried import Aim, Carried, carried_of, masks_of
from dprct.release.calibrated.covariates import (
    FEWEST,
    Target,
    assigned,
    joint_targets,
    targets_of,
    with_groups,
)
from dprct.release.calibrated.groups import Groups
from dprct.release.calibrated.layout import check_arms, check_covariates, treatment_of
from dprct.release.calibrated.outcomes import (
    Calibration,
    PublicRows,
    check_room,
)
from dprct.release.calibrated.reading import reading_of
from dprct.release.calibrated.spec import (
    CalibratedAllocation,
    CalibratedFacts,
    CalibratedSpec,
    Gamma,
    Legal,
    Wanted,
    written_of,
)
from dprct.release.columns import Packed, key_limits
from dprct.release.release import Release, ReleaseModel, released
from dprct.results.covariance import give_back
from dprct.results.plan import notes
from dprct.schema.schema import check_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.certificate.valid_regressions import Validity
    from dprct.estimate.ate.release import AnyOutcome, Released
    from dprct.model import Paid
    from dprct.privacy.budget import Guarantee, Real
    from dprct.privacy.mechanisms import Allocation
    from dprct.privacy.noise import NoiseSource
    from dprct.release.calibrated.covariates import Rule
    from dprct.release.calibrated.layout import Layout, Regressions
    from dprct.release.histogram import Counts
    from dprct.schema.schema import Schema


FILLER = 0
"""Seed of the rehearsal before a fit, which reads public facts alone."""


@dataclass(frozen=True)
class Drawn:
    """What left the confidential table."""

    rule: Rule
    covariates: Counts | None
    slopes: NDArray[np.float64] | None
    effects: tuple[Released, ...] | DrawnMoments


class Calibrated(ReleaseModel[CalibratedSpec, CalibratedFacts, Drawn]):
    """A synthetic file on which the authors' own regression returns private treatment effects.

    Parameters
    ----------
    data : data frame
        Table of n rows in pandas, Polars (eager or lazy), DuckDB or PySpark, that fits ``schema``.
        If it lives in an engine, the columns of the design and other public columns are read into
        memory.
    schema : Schema
        Public facts: a fate for every column, and bounds or levels and a policy for missing values
        for outcomes and covariates; an outcome's ``sd`` and ``missing_policy`` are used as for
        :class:`dprct.PrivateATE`.
    outcome : str or sequence of str, optional
        One or more outcome columns, whose differences in means are released.  The noise of
        several outcomes is drawn jointly.
    formulas : str, Regression, or sequence of these, optional
        Instead of ``outcome``, the paper's own regressions, such as ``"y ~ treat + age | block"``
        (:class:`dprct.Regression` with ``name``, ``where`` and ``cluster``).  With a ``delta`` the
        coefficients of treatment in each are released by one step, adjusted for its covariates,
        with robust errors, or clustered ones where clusters were assigned; and the regression run
        on the file returns them.  It needs ``assignment``, and treatment that is public.
    treatment : str or sequence of str, optional
        0/1 treatment columns.  Rows with all zeros form the control group.
    covariates : sequence of str
        Covariate terms of the regression, such as ``["age", "C(block)"]``.
    assignment : Design, optional
        How treatment was assigned.  By default, complete randomisation of rows.
    covariate_release : {"auto", "histogram", "marginals", "filler"}
        How the modelled covariates are drawn: ``"histogram"`` from their joint histogram,
        ``"marginals"`` column by column, ``"filler"`` uniformly over their public domain, which
        costs nothing.  ``"auto"`` spends budget on them only if they will then resemble the
        originals (:func:`dprct.release.calibrated.covariates.resembles_jointly`).
    specifications : sequence of str or of sequences of str
        Further covariate sets for which the regression is to return the same effects; ``""`` is the
        regression without covariates.
    budget_shares : mapping from part to number, optional
        Shares of epsilon, which sum to one: for ``"covariates"`` unless they are filler, for
        ``"moments"`` with ``gamma="moments"``, and for each outcome.  By default, covariates and
        moments get a fifth each, and outcomes divide the rest equally.  A mapping that names the
        outcomes alone divides that rest.  If ``"auto"`` decides against private covariates, their
        share goes to the outcomes.
    alphas : sequence of float
        Test sizes at which ``coefficient -+ z error`` is a valid interval.
    legal : {"calibrated", "strict"}
        With ``"calibrated"``, synthetic outcomes are real numbers, stored as double.  With
        ``"strict"``, they are rounded and clipped to admissible values, so that the regression no
        longer returns the private effects exactly; the release reports by how much it differs.
    gamma : {"zero", "moments"}
        Whether synthetic outcomes vary with covariates: not at all, or by coefficients from noisy
        moments.  Moments take a fifth of epsilon and need a delta.  They make the file look more
        like the original, but do not improve the effects.
    control : str or float, optional
        The arm to compare the others with, if the design assigns every row to an arm.
    blocks : {"weight", "ignore"} or mapping from block to name of a pool
        ``"weight"`` averages the effects within blocks, weighted by block size; ``"ignore"`` leaves
        blocks out of the estimate; a mapping pools blocks, as for :class:`dprct.PrivateATE`.
    privacy_unit : {"person", "cluster"}
        Who is protected if whole clusters were assigned: a person, or a cluster with everybody in
        it, of which the design then needs the ``largest`` size.
    index : callable, str, path, or mapping from outcome to these, optional
        A public prediction of the outcome by which it is adjusted before it is clipped to
        ``index_bounds``, as for :class:`dprct.PrivateATE`.  A study file states it as a formula
        with fixed coefficients.
    index_columns : sequence of str, optional
        Covariates of the function or the pilot regression.  They stay private.
    index_bounds : (low, high), or mapping from outcome to such, optional
        Bounds of the outcome minus its index, from public knowledge; required with ``index``.
    subgroups : str or sequence of str, optional
        A column of the design's blocks: with ``delta``, regressions on the rows of one level, and
        those of the arms crossed with the levels, return released effects, too.
    attrition : bool
        Whether rows were lost after the assignment.  If so, arm sizes need not match the shares.
    keep : iterable of str
        Characteristics of the .dta file to keep in addition to those on the allow-list.
    neighbors : {"replace-one-design-public", "replace-one"}
        Which data sets are neighbours.  By default, treatment is public.  With ``"replace-one"`` it
        is private too, which needs a ``delta`` and a declared ``assignment`` whose probabilities
        are the same for everybody: arms of the file are then drawn at random, of sizes about the
        released noisy numbers.

    Raises
    ------
    SchemaError, ColumnError, ParameterError, FormulaError
        If a public fact is missing, the data contradict one, or the regression cannot be made to
        return the effects.  Nothing is spent.

    Notes
    -----
    Relation: replace-one with the design public, or replace-one where that is asked for.  The price
    of covariates (their histogram, replace-one) and that of the effects (and moments, with
    ``gamma="moments"``) add up by sequential composition.  Everything else is post-processing.
    With ``W = [T, 1, X]``, outcomes are ``y = m_0 + sum_j tau_j T_j + e``, where e is orthogonal to
    W and makes the HC1 errors (CR1 if clusters were assigned) equal to those of the released
    effects, which contain sampling and privacy noise.

    With a ``delta`` above 0, the effects are those of one Gaussian release of all outcomes and arms
    (:class:`dprct.PrivateATE` has the proof); every part of the budget gets its share of epsilon
    and of delta.  If covariates or moments can use the delta too and effects are more precise
    without it, they stay without it, unless ``subgroups`` or ``neighbors`` asks for that release.
    The file then returns the errors of the control means as well.

    With ``formulas``, the released coefficients and errors are those of
    :class:`dprct.PrivateMoments` (which has the proof), and the file carries the first of the
    regressions of an outcome that share rows; what it does not carry is in ``release.estimates``,
    and the file says so with the released numbers.

    With ``subgroups``, the moments of every block and arm are in that release anyway, each person
    being in one of them, so that effects within levels cost nothing.  Outcomes are constructed
    level by level; errors are then at least the released ones, and in most fits equal to them where
    levels are of one size (the certificate says).  Regressions on all rows return the effects of
    everybody where arms have the same shares in every level; where they do not, those with a factor
    of the levels return the mean of the levels' effects with the weights of least squares, and the
    others are artefacts, which :meth:`plan` and the file say.

    With ``missing_policy="private"``, rows with an outcome are drawn at random within arms, as many
    as the released noisy counts say and at least as many as the declared regressions need; this is
    post-processing too.  Columns of the design are written as they are.  A design is refused if the
    declared fate of one of its columns is not ``"public"``.

    Only the treatment coefficients of the declared regressions carry information.  Coefficients of
    covariates, R-squared, subgroup effects and interactions are artefacts.  Where take-up is an
    outcome too and there is one treatment, two-stage least squares returns the ratio of the two
    released effects; its error lacks their covariance, and is not valid.

    References
    ----------
    docs/methods.md, section 5.

    Examples
    --------
    >>> import pandas as pd
    >>> from dprct.schema import Column, Schema
    >>> facts = {"levels": (0.0, 1.0), "missing": ()}
    >>> schema = Schema((Column("y", bounds=(0, 1), missing=()), Column("t", "byte", **facts),
    ...                  Column("old", "byte", **facts)))
    >>> data = pd.DataFrame({"y": [0.0, 1.0, 1.0, 1.0] * 500, "t": [0.0, 1.0] * 1000,
    ...                      "old": [0.0] * 500 + [1.0] * 1500})
    >>> model = Calibrated.from_formula("y ~ t + old", data, schema, treatment="t")
    >>> release = model.fit(epsilon=1)
    >>> from dprct import ols
    >>> fit = ols("y ~ t + old", release.protected, release.schema)
    >>> bool(abs(fit.params["t"] - release.estimates.params["t"]) < 1e-10)
    True
    >>> bool(abs(fit.bse["t"] / release.estimates.bse["t"] - 1) < 1e-10)
    True
    """

    saved_types = (Drawn, HistogramRelease, OneWayRelease, DrawnStep, *PrivateATE.saved_types)

    @checked
    def __init__(
        self,
        data: Any,
        schema: Schema,
        *,
        outcome: str | Sequence[str] = (),
        formulas: str | Regression | Sequence[str | Regression] = (),
        treatment: str | Sequence[str] | None = None,
        covariates: Sequence[str] = (),
        assignment: Design | None = None,
        covariate_release: Wanted = "auto",
        specifications: Iterable[str | Sequence[str]] = (),
        budget_shares: Mapping[str, Real] | None = None,
        alphas: Sequence[float] = VALID_LEVELS,
        legal: Legal = "calibrated",
        gamma: Gamma = "zero",
        control: Level | None = None,
        blocks: BlockRule = "weight",
        privacy_unit: UnitRule = "person",
        index: IndexRule | Mapping[str, IndexRule] | None = None,
        index_columns: Sequence[str] = (),
        index_bounds: Bounds | Mapping[str, Bounds] | None = None,
        subgroups: Sequence[str] = (),
        attrition: bool = False,
        keep: Iterable[str] = (),
        neighbors: str = "replace-one-design-public",
    ) -> None:
        spec = CalibratedSpec.of(
            outcome=outcome, formulas=formulas, treatment=treatment, covariates=covariates,
            assignment=assignment, covariate_release=covariate_release,
            specifications=specifications, budget_shares=budget_shares, alphas=alphas,
            legal=legal, gamma=gamma, control=control, blocks=blocks, privacy_unit=privacy_unit,
            index=index, index_columns=index_columns, index_bounds=index_bounds,
            subgroups=subgroups, attrition=attrition, keep=keep, neighbors=neighbors,
        )  # fmt: skip
        check_schema(schema)
        declared = self._bind(spec, data, schema)
        prepared = spec.prepared(schema).seal_beside_data()
        effects, adjusted = public_facts(spec.effects, declared, self._table)
        present = [o.column for o in effects.outcomes if o.presence_public]
        here = self._read_public(prepared, [column.name for column in present])
        self._present = {column.name: observed(here, column) for column in present}
        self._table = adjusted
        self.facts = spec.known(Facts(prepared, declared.n), effects)
        if spec.declared is not None:
            moments, self._table = facts_of(spec.declared, declared, adjusted)
            check_joint(moments)
            self.facts = replace(self.facts, moments=moments)
        self.facts.layout.check_public(self._public)
        if spec.declared is not None:
            self._valid = self._carried(None, *self._filler()).longest(spec.alphas)
            return
        longest = [LONGEST_ERROR] * len(effects.outcomes)
        pairs = tuple(permutations(range(len(longest)), 2)) if len(effects.arms) == 2 else ()
        self._valid = self._rehearsed().valid(
            spec.alphas, subsets=not spec.has_slopes, control_errors=longest, ratios=pairs
        )

    @classmethod
    def from_formula(cls, formula: str, data: Any, schema: Schema, **options: Any) -> Self:
        """Return the model of ``"y ~ t1 + t2 + x"``; other arguments as for the class.

        Raises
        ------
        FormulaError
            If the outcome is not a column, there is no intercept, or the treatment is absent or
            interacted.
        """
        if "covariates" in options:
            check_covariates(options["covariates"])
            raise ParameterError(
                "``covariates=`` are the terms of the formula; leave ``covariates=`` out"
            )
        columns = treatment_of(formula, options.get("treatment"), options.get("assignment"))
        written, arms = written_of(formula, columns)
        model = cls(data, schema, **{**options, **written, "treatment": columns})
        check_arms(arms, model.spec.arms)
        return model

    def power(self, epsilon: Real, delta: Real = 0) -> pd.DataFrame:
        """Return expected errors, noise and detectable effects at this budget of the release.

        Parameters
        ----------
        epsilon : number
        delta : number, default 0

        Returns
        -------
        DataFrame
            As :meth:`dprct.PrivateATE.power`. Columns ``_half``, ``_double`` and ``equal_epsilon``
            assume that the budget is divided in the same way.
        """
        if self.spec.declared is not None:
            raise ParameterError(
                "``power`` is about differences in means, and regressions were declared in "
                "``formulas=``; ``plan`` has the expected error of each of them"
            )
        allocation = self._allocated(Budget.asked(epsilon, delta))
        assert isinstance(allocation, CalibratedAllocation)
        part = allocation.division
        if part.jointly:
            return self.spec.effects.power(self.facts.effects, allocation.effects)
        table = self.spec.effects.power(self.facts.effects, allocation.effects)
        table["equal_epsilon"] *= float(part.whole.epsilon / part.effects.epsilon)
        return table

    def _allocated(self, budget: Budget) -> Allocation:
        effects = self.facts.effects
        if (
            self.spec.declared is None
            and budget.delta
            and self.spec.effects.not_joint(effects) is None
        ):
            self.facts = replace(self.facts, effects=with_pairs(effects, self._table))
        return super()._allocated(budget)

    def _draw(self, allocation: Allocation, noise: NoiseSource) -> Drawn:
        assert isinstance(allocation, CalibratedAllocation)
        facts, rows, rule = self.facts, self._table, allocation.division.rule
        give_back(self.n)
        covariates, slopes = None, None
        if rule != "filler":
            covariates = facts.covariates.draw(rule, rows, allocation.covariates, noise)
        if facts.slopes is not None:
            slopes = facts.slopes.draw(rows, allocation.moments, noise)
        if self.spec.declared is not None:
            return Drawn(rule, covariates, slopes, self._drawn_regressions(allocation, noise))
        if allocation.division.jointly:
            layout = self.spec.effects.layout(facts.effects)
            moments = drawn_jointly(layout, facts.effects, rows, allocation.effects, noise)
            return Drawn(rule, covariates, slopes, moments)
        outcomes = facts.effects.outcomes
        effects = released_effects(outcomes, allocation.single_effects, rows, noise)
        return Drawn(rule, covariates, slopes, effects)

    def _drawn_regressions(
        self, allocation: CalibratedAllocation, noise: NoiseSource
    ) -> DrawnMoments:
        """Release the declared regressions; the caller has charged them."""
        declared, moments = self.spec.declared, self.facts.moments
        assert declared is not None
        assert moments is not None
        here = declared.at(moments, allocation.effects.budget)
        return drawn_with_steps(
            self._table, here, "replace-one-design-public", allocation.effects, noise
        )

    def _columns(self, drawn: Drawn, noise: NoiseSource) -> Mapping[str, NDArray[Any]]:
        """Return the synthetic covariates, by post-processing."""
        rng = noise.post_processing_rng()
        return Packed(self.facts.covariates.columns(drawn.covariates, rng))

    def _read(self, drawn: Drawn, paid: Paid) -> Release:
        rng = paid.noise.post_processing_rng()
        if self.spec.declared is not None:
            return self._read_regressions(drawn, paid)
        columns, indices = self._columns(drawn, paid.noise), None
        if self.facts.slopes is not None and drawn.slopes is not None:
            indices = self.facts.slopes.indices(columns, drawn.slopes)
        estimates, targets, sizes = self._told(drawn, indices, paid.guarantee, paid.ledger)
        found = self._calibrated(columns, targets, rng, sizes)
        schema = self.facts.layout.fated(drawn.rule)
        facts = {"calibration": found.words()}
        if isinstance(drawn.effects, DrawnMoments):
            facts["control means"] = found.control_words()
        else:
            errors = self._control_errors(targets)
            facts["control means"] = _control_words(self.facts.effects.outcomes, errors)
        facts |= _weighted_words(self.facts.regressions, targets)
        paid = replace(paid, plan=paid.plan.also(notes(facts)))
        valid = found.valid(
            self.spec.alphas, subsets=not self.spec.has_slopes,
            control_errors=self._control_errors(targets),
        )  # fmt: skip
        told = valid.rounded or valid.control_found or not valid.control_errors
        control = () if told else (valid.control_words(),)
        limits = (*self.spec.limits(self.facts), *control, *key_limits(schema))
        made = released(
            found.table, schema, paid, limits, self.spec.keep, self.facts.effects.schema
        )
        note = f"In the protected file {found.words()}."
        estimates = replace(estimates, notes=(*estimates.notes, note))
        made = replace(made, estimates=estimates)
        return _announced(made, valid, self.facts.layout, targets)

    def _read_regressions(self, drawn: Drawn, paid: Paid) -> Release:
        """Return the file that carries the released regressions."""
        declared, moments, found = self.spec.declared, self.facts.moments, drawn.effects
        assert declared is not None
        assert moments is not None
        assert isinstance(found, DrawnMoments)
        assert isinstance(paid.allocation, CalibratedAllocation)
        here = declared.at(moments, paid.allocation.effects.budget)
        rng = paid.noise.post_processing_rng()
        estimates = DeclaredEstimates.of(found.steps, here.declared, here.n, paid.guarantee)
        levels = levels_of_outcomes(found, here, self.spec.outcomes)
        file = self._carried((estimates, levels), self._columns(drawn, paid.noise), rng)
        schema = self.facts.layout.fated(drawn.rule)
        paid = replace(paid, plan=paid.plan.also(notes({"calibration": file.words()})))
        made = released(
            file.table, schema, paid,
            (*self.spec.limits(self.facts), *key_limits(schema)), self.spec.keep,
            self.facts.effects.schema,
        )  # fmt: skip
        note = f"In the protected file {file.words()}."
        made = replace(made, estimates=replace(estimates, notes=(*estimates.notes, note)))
        valid = file.valid(self.spec.alphas)
        return _announced(made, valid, self.facts.layout, [])

    def _carried(
        self,
        told: tuple[DeclaredEstimates, Mapping[str, float]] | None,
        columns: Mapping[str, NDArray[Any]],
        rng: np.random.Generator,
    ) -> Carried:
        """Return the file; without what was released, effects of zero, to try what it carries."""
        regressions, rows = self.facts.layout.regressions, self._rows()
        observed = dict(zip(regressions.outcomes, rows.observed, strict=True))
        listed = carried_of(
            regressions.declared, masks_of(regressions.declared, rows.columns, observed)
        )
        assert self.facts.moments is not None
        aims = []
        for place, (one, of) in enumerate(zip(listed, self.facts.moments.declared, strict=True)):
            if told is None:
                size = len(of.terms)
                aims.append(Aim(one, np.zeros(size), np.eye(size)))
                continue
            fit = told[0].fits[place]
            cov = fit.cov.to_numpy(np.float64)
            effects = np.asarray(fit.params, np.float64)
            aims.append(Aim(one, effects, cov, told[1][one.outcome]))
        design = self.facts.effects.experiment.design
        rows = rows.shuffled(rng).reassigned(design, rng)
        return Carried.of(self.facts.layout, columns, rows, aims, rng)

    def _filler(self) -> tuple[Mapping[str, NDArray[Any]], np.random.Generator]:
        """Return covariates that tell nothing, the same each time, and a source of noise."""
        rng = source(FILLER).post_processing_rng()
        return Packed(self.facts.covariates.columns(None, rng)), rng

    def _control_errors(self, targets: Sequence[Target]) -> list[float | None]:
        """Return the errors of control means; an index leaves another mean than the outcome's."""
        return [
            None if outcome.column.name in self.facts.effects.indexes else target.control_known
            for outcome, target in zip(self.facts.effects.outcomes, targets, strict=True)
        ]

    def _told(
        self,
        drawn: Drawn,
        indices: NDArray[np.float64] | None,
        guarantee: Guarantee,
        ledger: str,
    ) -> tuple[Any, list[Target], tuple[float, ...]]:
        """Return estimates, what regressions are to return, and released sizes of private arms."""
        facts, spec = self.facts.effects, self.spec
        if not isinstance(drawn.effects, DrawnMoments):
            single = results_of(drawn.effects, facts, spec.alphas, guarantee, ledger)
            return single, targets_of(single, drawn.effects, indices), ()
        layout = spec.effects.layout(facts)
        found = results_jointly(drawn.effects, facts, layout, spec.alphas, guarantee, ledger)
        outcomes = [outcome.column for outcome in facts.outcomes]
        sizes: tuple[float, ...] = ()
        if spec.treatment_private:  # else the sizes are public, and those of each outcome
            sizes = tuple(float(cell.rows) for cell in found.means.cells)
        targets = joint_targets(found, outcomes, indices)
        for name in spec.subgroups:
            weights = self._rows().weights()
            targets = with_groups(targets, found, name, outcomes, weights)
        return found, targets, sizes

    def _calibrated(
        self,
        columns: Mapping[str, NDArray[Any]],
        targets: Sequence[Target],
        rng: np.random.Generator,
        sizes: Sequence[float],
    ) -> Calibration:
        """Return the file; ``sizes`` are those of the arms, where these are private."""
        give_back(self.n)
        if not self.spec.treatment_private:
            design = self.facts.effects.experiment.design
            rows = self._rows().shuffled(rng).reassigned(design, rng)
            return self._constructed(columns, rows, targets, rng)
        compared, rows = self.facts.effects.comparison, self._rows().shuffled(rng)
        there = np.logical_and.reduce(rows.observed)
        least, most = FEWEST, self.n // len(sizes)
        while True:
            arms, treatment = assigned(there, compared.design, compared.order, sizes, least, rng)
            columns_of_arms = Packed({**rows.columns, **treatment})
            treated = replace(rows, arms=arms, columns=columns_of_arms)
            try:
                return self._constructed(columns, treated, targets, rng)
            except ParameterError:  # too few people for the regressions in some arm
                if least >= most:
                    raise
            least = (least + most + 1) // 2

    def _constructed(
        self,
        columns: Mapping[str, NDArray[Any]],
        rows: PublicRows,
        targets: Sequence[Target],
        rng: np.random.Generator,
    ) -> Calibration:
        return Calibration.of(self.facts.layout, columns, rows, targets, self.spec.cluster, rng)

    def _rows(self) -> PublicRows:
        """Return the public facts of the rows, in the order of the file."""
        everybody = np.ones(self.n, bool)
        with_value = [
            self._present.get(outcome.column.name, everybody)
            for outcome in self.facts.effects.outcomes
        ]
        if self.spec.treatment_private:
            nobody = np.zeros(self.n, np.int64)
            return PublicRows(self._public, nobody, tuple(with_value), None)
        codes, clusters = self._codes()
        groups = [Groups.of(name, self._public[name]) for name in self.spec.subgroups]
        arms = narrow(codes, 1 + len(self.facts.effects.arms))
        return PublicRows(self._public, arms, tuple(with_value), clusters, *groups)

    def _codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """Return the arm and, where clusters were assigned, the cluster of every row."""
        experiment = self.facts.effects.experiment
        if experiment.combinations is None:
            return experiment.codes, experiment.units.member if experiment.clustered else None
        rows = pd.DataFrame(
            {name: self._public[name] for name in self.facts.effects.design_columns}
        )
        place = np.empty(len(experiment.order), np.int64)
        place[list(experiment.order)] = np.arange(len(place))
        codes = place[experiment.design.groups.codes(rows)]
        clusters = getattr(experiment.design, "cluster_columns", ())
        return codes, units_of(rows, (), clusters).member if experiment.clustered else None

    def _rehearsed(self) -> Calibration:
        """Construct outcomes once from filler and effects of zero, before a cent is spent.

        What cannot be calibrated (a treatment that covariates explain, no degree of freedom left)
        is refused here, from public facts alone; the filler is the same each time, so that chance
        does not decide what is refused or announced either.
        """
        filler, rng = self._filler()
        effects = len(self.facts.regressions.arms)
        nothing = Target(np.zeros(effects), np.eye(effects), 0.0, control_known=LONGEST_ERROR)
        known = known_levels(self.facts.effects) if self.facts.effects.subgroups else {}
        for levels in known.values():
            # effects that differ, for sets of covariates contradict each other about these alone
            within = (
                replace(nothing, effects=nothing.effects + k, control=k)
                for k in range(1, 1 + len(levels))
            )
            nothing = replace(nothing, within=tuple(within))
        targets = [nothing] * len(self.facts.effects.outcomes)
        found = self._calibrated(filler, targets, rng, self._likely())
        fewest = min(found.rows)
        check_room(
            self.facts.regressions, found.held, self.facts.layout.schema, self._public, fewest
        )
        return found

    def _likely(self) -> tuple[float, ...]:
        """Return the sizes of arms that their declared probabilities make likely, where private."""
        if not self.spec.treatment_private:
            return ()
        (outcome, *_) = self.facts.effects.outcomes
        assert isinstance(outcome, HiddenOutcome)
        return tuple(float(outcome.arms.n * share) for share in outcome.arms.shares)

    def _announced(self, guarantee: Guarantee) -> Schema:
        """Return the schema that the protected file will have, its longest note included."""
        announced = self.facts.layout.released(super()._announced(guarantee))
        return self._valid.stamped(announced)


def _control_words(outcomes: Sequence[AnyOutcome], errors: Sequence[float | None]) -> str:
    """Return the errors of control means, which the file's own do not contain."""
    told = [
        f"{outcome.column.name} {NOT_RELEASED if error is None else f'{error:.3g}'}"
        for outcome, error in zip(outcomes, errors, strict=True)
    ]
    return (
        "the constant of each outcome on the arms alone, with standard errors (sampling and "
        f"privacy noise together) {', '.join(told)}; dprct.ols and tables print them, other "
        "commands print errors that do not contain the noise"
    )


def _weighted_words(regressions: Regressions, targets: Sequence[Target]) -> dict[str, str]:
    """Return the effects of regressions with factors of groups, where estimates are others."""
    told = []
    for outcome, target in zip(regressions.outcomes, targets, strict=True):
        if target.weighted is None:
            continue
        effects, covariance = target.weighted
        errors = np.sqrt(np.diag(covariance)).tolist()
        told += [
            f"{outcome}: {arm} {effect:.6g} ({error:.4g})"
            for arm, effect, error in zip(regressions.arms, effects.tolist(), errors, strict=False)
        ]
    if not told:
        return {}
    said = "means of the levels' effects with the weights of least squares: "
    return {f"on all rows, with C({regressions.within})": said + "; ".join(told)}


def _announced(
    release: Release, valid: Validity, layout: Layout, released_as: Sequence[Target]
) -> Release:
    """Return the release with the columns' new facts, and what its readers will find."""
    coded = [c.name for c in layout.outcomes if c.is_integer or c.levels is not None]
    schema = valid.stamped(layout.released(release.schema), coded)
    issued = release.issued
    if issued is not None:
        # declared regressions say themselves what was released
        targets = _errors_of(valid.outcomes, released_as) if released_as else {}
        levels = zip(*(target.within for target in released_as), strict=True)
        within = [_errors_of(valid.outcomes, level) for level in levels]
        issued = replace(
            issued,
            differences=(*issued.differences, *layout.differences()),
            reading=reading_of(release.protected, schema, valid, targets, layout.schema, within),
        )
    return replace(release, schema=schema, issued=issued)


def _errors_of(outcomes: Sequence[str], targets: Sequence[Target]) -> dict[str, list[float]]:
    """Return the released errors of the effects on every outcome."""
    return {
        outcome: np.sqrt(np.diag(target.on_all_rows[1])).tolist()
        for outcome, target in zip(outcomes, targets, strict=True)
    }
