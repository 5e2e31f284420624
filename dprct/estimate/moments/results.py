"""Released moments: effects, regressions and tests are read off them; no row is."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from dprct.arguments import check_choice, given, listed_names
from dprct.errors import FormulaError, ParameterError, instead_of, shortened
from dprct.estimate.moments.declared import Regression, outcome_unlike
from dprct.estimate.moments.declared_results import (
    declared_results,
    instrumented_results,
    joint_results,
)
from dprct.estimate.moments.document import document_of, read_document, write_document
from dprct.estimate.moments.groups import names_of, public_rows
from dprct.estimate.moments.index_models import FAMILIES, start_of
from dprct.estimate.moments.index_results import (
    Averages,
    ReadMoments,
    index_results,
    saturated_results,
)
from dprct.estimate.moments.indices import index_of
from dprct.estimate.moments.instruments import iv_of
from dprct.estimate.moments.reading import COUNTED, ReleasedMoments
from dprct.estimate.moments.regression import RegressionResults, regression_of
from dprct.estimate.moments.release import Clipped, clipped_of
from dprct.estimate.moments.robust_errors import Scored, meat_of, score_map, whitened
from dprct.estimate.moments.system import Regressor, rows_of
from dprct.estimate.moments.variables import (
    WITHIN,
    check_outcome,
    clipped_words,
    filled_words,
    instrumented,
    key_of,
    less_means,
    listed_terms,
    main_part,
    name_within,
    product_in,
    regressors_of,
    unit_effects,
    unit_of,
    within_words,
)
from dprct.formula import parse
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.results.itt import ITTTable, laid_out
from dprct.results.joint import positive
from dprct.results.tables import style_named
from dprct.schema.conditions import asked_of, named

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.certificate.certificate import Certificate
    from dprct.estimate.moments.declared import Declared, Instrumented
    from dprct.estimate.moments.declared_results import DeclaredResults, JointResults
    from dprct.estimate.moments.effects import EffectResults, GaussianResults
    from dprct.estimate.moments.groups import Value
    from dprct.estimate.moments.index_models import Coding, DrawnIndex, IndexModel, Start
    from dprct.estimate.moments.index_results import IndexResults
    from dprct.estimate.moments.instruments import IVResults
    from dprct.estimate.moments.layout import Layout
    from dprct.estimate.moments.noisy import NoisyMoments
    from dprct.estimate.moments.release import DrawnMoments, MomentsFacts
    from dprct.estimate.moments.variables import Regressor as Term
    from dprct.formula.syntax import Formula
    from dprct.privacy.budget import Guarantee
    from dprct.queries.index_scores import Family
    from dprct.queries.scores import ScoreMap
    from dprct.results.joint import WaldTest

_WIDTH, _NARROWEST = 88, 10


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Moments(ReleasedMoments):
    """What :meth:`dprct.PrivateMoments.fit` released: every linear regression is post-processing.

    Parameters
    ----------
    schema : Schema
        Public facts of the columns that are released or make groups.
    layout : Layout
        Centres, scales, weights and radius; public.
    groups : tuple of Group
        Public groups in order, each with its private cells.
    totals : tuple of int
        Rows of each public group.
    arms : tuple of str
        The control group first; empty without a design.
    treatment, subgroups : tuple of str
        The columns that define the groups.
    outcomes : tuple of str
        Outcomes whose :meth:`effects` are reported by default.
    n : int
        Rows of the table; public.
    drawn : DrawnMoments
        The released numbers.
    guarantee : Guarantee
    ledger : str
        What was charged, and where.
    alphas : tuple of float
        Test sizes at which the standard errors of effects are valid.
    method : str
    facts_sha256, sealed : str
        Digest and date of the sealed schema.
    declared : tuple of Declared
        The declared regressions.
    withheld : str
        Why the moments give no standard errors; empty if they do.

    Notes
    -----
    It holds no rows and may be published (:meth:`save`).  Everything computed from it is
    post-processing and costs nothing more.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import dprct
    >>> schema = dprct.Schema((dprct.Column("y", bounds=(0, 4), missing=()),
    ...                        dprct.Column("t", "byte", levels=(0.0, 1.0), missing=())))
    >>> t = np.tile([0.0, 1.0], 2000)
    >>> model = dprct.PrivateMoments(pd.DataFrame({"y": 1 + 2 * t, "t": t}), schema,
    ...                              formulas=["y ~ t"], assignment=dprct.Complete("t", shares=0.5))
    >>> m = model.fit(epsilon=4, delta=1e-6)
    >>> bool(1.8 < m.effects().params["t"] < 2.2)
    True
    """

    holds_moments: ClassVar[bool] = True
    """What :func:`dprct.ols` knows released moments by."""

    @classmethod
    def of(
        cls, facts: MomentsFacts, drawn: DrawnMoments, guarantee: Guarantee, ledger: str,
        method: str, outcomes: Sequence[str],
    ) -> Self:  # fmt: skip
        """Result from the drawn numbers and the public facts."""
        grouping, layout = facts.grouping, facts.layout
        used = [name for place in layout.places for name in place.variable.columns]
        used += [] if layout.grid.weight is None else [layout.grid.weight.column.name]
        schema = facts.schema
        asked = [
            where
            for where in [*(x.where for x in facts.declared), *(x.where for x in facts.models)]
            if where is not None
        ]
        used += [x for one in asked for x in sorted(named(one)) if schema.public_labels(x)]
        names = list(dict.fromkeys([*used, *grouping.treatment, *grouping.subgroups]))
        released = [name for name in outcomes if name in layout.names]
        return cls(
            schema=schema.select(tuple(names)), layout=layout, groups=grouping.groups,
            totals=grouping.totals, arms=grouping.arms, treatment=grouping.treatment,
            subgroups=grouping.subgroups, outcomes=tuple(released or _plain(layout)), n=facts.n,
            drawn=drawn, guarantee=guarantee, ledger=ledger, method=method,
            facts_sha256=schema.digest(), sealed=str(schema.seal().seal_of),
            declared=facts.declared if drawn.steps else (), withheld=facts.withheld,
            instrumented=facts.steps.instrumented if drawn.steps else (),
            families=facts.steps.families if drawn.steps else (),
            models=facts.models if drawn.models else (),
        )  # fmt: skip

    @property
    def within(self) -> str | None:
        """The column of the units whose means were subtracted (fixed effects), or None."""
        return next(filter(None, (one.variable.within for one in self.layout.places)), None)

    @property
    def weights(self) -> str | None:
        """The column of weights, or None."""
        weight = self.layout.grid.weight
        return None if weight is None else weight.column.name

    @property
    def clipped(self) -> Clipped | None:
        """The share of rows outside the ball, by arm; None if ``clipped=`` was not given."""
        if self.drawn.clipped is None and not self.layout.grid.projects_nobody:
            return None
        return clipped_of(self.layout, self.drawn, self.groups, [cell.n for cell in self.cells])

    def effects(
        self,
        outcomes: str | Sequence[str] | None = None,
        *,
        where: str | Mapping[str, Value] | None = None,
    ) -> EffectResults:
        """Return the effect of every arm on every outcome, with their joint covariance.

        See :meth:`ReleasedGroups.effects`.
        """
        self._check_withheld("effects")
        if len(self.arms) < 2:
            raise ParameterError(
                "the release has no arms, so no effects; regress the outcome on a released column "
                "with ``ols(...)``, or release again with ``assignment=``"
            )
        self._check_units("effects")
        asked = self.outcomes if outcomes is None else listed_names(outcomes, "outcomes")
        self._check_explained([self._place(name) for name in asked])
        return super().effects(asked, where=where)

    def outcome_index(
        self,
        outcomes: Sequence[str],
        *,
        scales: Mapping[str, float] | None = None,
        signs: Mapping[str, int] | None = None,
        name: str = "index",
        where: Mapping[str, Value] | None = None,
    ) -> EffectResults:
        """Return the effects on the mean of outcomes, each in units of its scale.

        Parameters
        ----------
        outcomes : sequence of str
        scales : mapping of outcome to number, optional
            Public standard deviations; by default, the released ones of the control group.
        signs : mapping of outcome to 1 or -1, optional
            -1 where less is better.
        name : str
        where : mapping from subgroup to level, optional
            Restricts the sample to these people.

        References
        ----------
        Kling, Liebman and Katz (2007), Econometrica 75.
        """
        asked = listed_names(outcomes, "outcomes")
        found = self.effects(asked, where=where)
        if scales is None and self.blocks:
            raise ParameterError(
                "the control group is in several blocks, so that no one standard deviation is "
                "released; give public ``scales=`` of the outcomes"
            )
        # without blocks there is one cell for each arm, in their order of appearance
        pooled = self._pooled((), asked, where, arms=True)
        control = [label[0] for label, _ in pooled].index(self.arms[0])
        return index_of(found, asked, scales=scales, control=control, signs=signs, name=name)

    def itt_table(
        self,
        outcomes: Sequence[str] | Mapping[str, str] | None = None,
        *,
        arms: Mapping[str, str] | None = None,
        adjust: bool = False,
        where: Mapping[str, Value] | None = None,
        style: str = "paper",
        title: str = "",
    ) -> ITTTable:
        """Return :meth:`effects` in the layout of experimental papers, as :func:`dprct.itt_table`.

        Parameters
        ----------
        outcomes : list of str, or mapping of str to str, optional
            Columns, or a mapping from columns to labels; by default those of :meth:`effects`.
        arms : mapping of str to str, optional
            Labels of the arms.
        adjust : bool
            Print family-wise p-values over all effects of the table (max-t) instead.
        where : mapping from subgroup to level, optional
        style : {"paper", "econ", "aer", "esttab"}
        title : str
        """
        names = list(self.outcomes if outcomes is None else outcomes)
        labels = {name: self.schema.column(name).label or name if name in self.schema.names
                  else name for name in names}  # fmt: skip
        labels |= dict(outcomes) if isinstance(outcomes, Mapping) else {}
        return _table_of(
            self.effects(names, where=where), labels, {arm: arm for arm in self.arms[1:]}
            | dict(arms or {}), adjust=adjust, style=style, title=title,
        )  # fmt: skip

    def ols(
        self,
        formula: str | Regression,
        *,
        cov_type: str | None = None,
        where: Mapping[str, Value] | None = None,
    ) -> RegressionResults | DeclaredResults:
        """Return a declared regression, or least squares of a released column on others.

        Parameters
        ----------
        formula : str or Regression
            A regression on treatment that the release declared, as its formula, its ``Regression``
            or its name, gives the coefficients of treatment by one step.  Any other formula is as
            in :func:`dprct.ols`; products of released columns must have been released, those with
            treatment and subgroups are always available, and ``| person`` is if a formula of the
            release had it.
        cov_type : {"scores", "by group", "nonrobust"}, optional
            ``"scores"``, the default if these were released for the regression (``cov_type=`` of
            the release): robust errors.  ``"by group"``, the default if the formula names treatment
            or subgroups: a variance for each group that the formula distinguishes.
        where : mapping from treatment or subgroup to level, optional
            Restricts the sample to these people.

        Returns
        -------
        RegressionResults or DeclaredResults

        Raises
        ------
        FormulaError
            If the formula is not in the language, or has several outcomes.
        ColumnError
            If a column or a product was not released.
        """
        one = self._declared(formula)
        if one is not None and where is None and cov_type in (None, one.cov_type):
            return declared_results(
                self.drawn.steps[self.declared.index(one)],
                one,
                self.guarantee,
                self._notes_on(one),
            )
        if isinstance(formula, Regression):
            raise ParameterError(
                f"{formula.title!r} was not declared for this release; declared: "
                f"{self._declared_said()}"
            )
        if _only(formula, _alike(formula, self.instrumented)) is not None:
            raise ParameterError(
                f"{formula!r} is a declared regression with an instrument; ask for it with ``iv()``"
            )
        models = _alike(formula, self.models)
        if any(self.withheld or one.title == formula.strip() for one in models):
            raise ParameterError(
                f"{formula!r} was declared with ``family=``, not as least squares; ask for it "
                "with ``Moments.glm()``"
            )
        parsed = self._parsed(formula, "ols")
        self._check_withheld(f"ols({parsed.text!r})")
        if parsed.endogenous:
            raise FormulaError(f"{parsed.text!r} has instruments; fit it with iv")
        terms, used = self._terms(parsed)
        self._check_explained(self._names(terms[:1]))
        cells, found = self._system(terms, used, where)
        counted = self._counted(used, self._names(terms), where)
        meat = self._meat(parsed, terms, cells, found, cov_type, where)
        return regression_of(
            cells,
            found[0],
            found[1:],
            guarantee=self.guarantee,
            by_cell=meat is None and _by_group(cov_type, used),
            meat=meat,
            counted=counted,
            formula=parsed.text,
            notes=(
                *self._fit_notes(where, cells, self._names(terms)),
                *within_words(unit_of(terms[0].atoms)),
            ),
        )

    def margins(self, formula: str | Regression, *, family: str = "logit") -> DeclaredResults:
        """Return average marginal effects of the arms, which ``margins, dydx(treat)`` estimates.

        Parameters
        ----------
        formula : str or Regression
            A declared regression, or its name.
        family : {"logit", "poisson"}
            The model after which ``margins`` is run, with treatment as a factor (``i.treat``).

        Returns
        -------
        DeclaredResults
            Those of :meth:`ols`; nothing is charged.

        Raises
        ------
        ParameterError
            If the regression was not declared, its outcome is not that of the family, or the
            family's link is not canonical.

        Notes
        -----
        After a logit or Poisson with a randomised factor the mean difference of predictions is
        consistent for the effect on the outcome's scale, whether or not the model is right, because
        fitted means of each arm are its means.  So is least squares: the two estimates differ by
        less than their errors, and not at all without covariates.  This fails for a probit.  The
        model's own coefficients are not released; declare ``family=`` for them.

        References
        ----------
        Freedman (2008), "Randomization does not justify logistic regression", Statistical Science.
        """
        if family not in ("logit", "poisson"):
            raise ParameterError(
                f"``family={given(family)}``; allowed: logit, poisson, whose fitted means are "
                "those of the arms"
            )
        one = self._declared(formula)
        if one is None and _alike(formula, self.models):
            raise ParameterError(
                f"{_title(formula)!r} was declared with ``family=``; ask for it with "
                "``Moments.glm()``, and for its average effects with ``margins`` of that"
            )
        if one is None:
            raise ParameterError(
                "``margins`` are those of a regression declared with covariates or blocks; "
                "without any, ask for the effects, which are differences in means; declared: "
                f"{self._declared_said()}"
            )
        if any(":" in term for term in one.terms):
            raise ParameterError(
                f"{one.title!r} has interactions, of which margins are means over people; declare "
                "the regression without them"
            )
        if not one.average:
            raise ParameterError(
                f"the coefficients of {one.title!r} are not average effects over all people: "
                "shares of the arms differ between blocks, or treatment is not a 0/1 column; read "
                "them as what they are, with ``ols()``"
            )
        if (why := outcome_unlike(self.schema.column(one.outcome), family)) is not None:
            raise ParameterError(f"{why}; declare it as what it is, or give another ``family=``")
        found: Any = self.ols(formula)
        said = f"Average marginal effects, as after {family}: differences of the outcome's mean."
        title = f"Margins ({family}): {found.title}"
        made: DeclaredResults = replace(found, title=title, notes=(said, *found.notes))
        return made

    def iv(
        self,
        formula: str | Regression,
        *,
        cov_type: str | None = None,
        where: Mapping[str, Value] | None = None,
    ) -> IVResults:
        """Return the effect of an endogenous column, by two-stage least squares.

        Parameters
        ----------
        formula : str or Regression
            ``"y ~ age + [d ~ z]"``; d and z may be released columns, treatment or subgroups.  A
            declared one, given as its formula, ``Regression`` or name, is computed from the
            coefficients of treatment in its reduced form and first stage, and their covariance.
        cov_type, where
            As of :meth:`ols`.

        Returns
        -------
        IVResults
            Its confidence sets are those of Anderson and Rubin, valid however weak the instruments
            are; unbounded sets are shown as such.

        Raises
        ------
        FormulaError
            If the formula is not in the language, or names no instruments.
        ColumnError
            If a column or a product was not released.
        """
        one = _only(formula, _alike(formula, self.instrumented))
        if one is not None and where is None and cov_type is None:
            of = self.declared[one.reduced]
            steps = self.drawn.steps
            crossed = self.drawn.cross(one.reduced, one.first)
            drawn = steps[one.reduced], steps[one.first], crossed
            return instrumented_results(drawn, one, of, self.guarantee, self._notes_on(of))
        if isinstance(formula, Regression):
            raise ParameterError(
                f"{formula.title!r} was not declared for this release; declared: "
                f"{'; '.join(one.title for one in self.instrumented) or 'none'}"
            )
        self._check_units("iv")
        parsed = self._parsed(formula, "iv")
        self._check_withheld(f"iv({parsed.text!r})")
        parts = instrumented(parsed)
        if parts is None:
            raise FormulaError(
                f"{parsed.text!r} names no instruments; write y ~ x + [d ~ z], "
                "z being the instrument"
            )
        used = self._grouped(parsed)
        endogenous, instruments = (
            [one for one in regressors_of(part, self.schema) if one.atoms] for part in parts
        )
        if len(endogenous) != 1:
            raise FormulaError(
                f"{endogenous[0].name.partition('[')[0]!r} is a factor; name one endogenous number"
            )
        included = regressors_of(main_part(parsed), self.schema)
        outcome = listed_terms(parsed.outcome_names, self.schema)
        self._check_explained(self._names([*outcome, *endogenous]))
        terms = [*outcome, *endogenous, *included, *instruments]
        cells, found = self._system(terms, used, where)
        last = 2 + len(included)
        return iv_of(
            cells, found[0], found[1], found[2:last], found[last:], guarantee=self.guarantee,
            by_cell=_by_group(cov_type, used), formula=parsed.text,
            notes=self._fit_notes(where, cells, self._names(terms)),
        )  # fmt: skip

    def glm(self, formula: str | Regression, *, family: Family | None = None) -> IndexResults:
        """Return a declared logit, probit, cloglog or Poisson regression, by private scoring.

        Parameters
        ----------
        formula : str or Regression
            One that the release declared with ``family=``: its formula, its ``Regression`` or its
            name.  If a formula contains only treatment and subgroups and is saturated, its
            coefficients follow from released means, declared or not.
        family : {"logit", "probit", "cloglog", "poisson"}, optional
            Needed if the formula was declared with several families, or with none.

        Returns
        -------
        IndexResults
            With ``params``, ``bse``, ``conf_int()``, ``odds_ratios()`` and ``margins()``, as
            :func:`dprct.logit` has on rows.

        Raises
        ------
        ParameterError
            If it was not declared.
        """
        if family is not None:
            check_choice("family", family, FAMILIES)
        among = [one for one in self.models if family in (None, one.family)]
        one = _only(formula, _alike(formula, among))
        if one is None and family is not None and isinstance(formula, str) and "~" in formula:
            found = self._saturated(formula, family)
            if found is not None:
                return found
        if one is None:
            said = formula.title if isinstance(formula, Regression) else formula
            raise ParameterError(
                f"{said!r} was not declared as a {family or 'model of an index'} for this release; "
                f"declared: {'; '.join(one.title for one in self.models) or 'none'}; name it in "
                "``formulas=`` as ``dprct.Regression(..., family=...)``"
            )
        return self._model(one, self.drawn.models[self.models.index(one)])

    def _saturated(self, formula: str, family: Family) -> IndexResults | None:
        """Model with a coefficient for each group of the release; None if it is none."""
        terms, used = self._terms(self._parsed(formula, "glm"))
        if not used or any(name is not None for name in self._columns(terms[1:])):
            return None
        like = "poisson" if family == "poisson" else "logit"
        if (why := outcome_unlike(self.schema.column(terms[0].name), like)) is not None:
            raise ParameterError(f"{why}; declare it as what it is, or give another ``family=``")
        cells, found = self._system(terms, used, None)
        linear = self.ols(formula)
        if not isinstance(linear, RegressionResults):
            return None
        there = [one for one in found[1:] if one.name in linear.params.index]
        X = np.array([one.by_cell or (1.0,) * len(cells) for one in there], float).T
        if X.shape[0] != X.shape[1]:
            return None
        return saturated_results(linear, X, family, self._averages(cells, found), linear.eta2)

    def _model(self, model: IndexModel, drawn: DrawnIndex) -> IndexResults:
        terms, used = self._terms(self._parsed(model.formula, "glm"))
        cells, found = self._system(terms, used, None)
        notes = (
            *self._labels_note(model.where), *self._fit_notes(None, cells, self._names(terms))
        )  # fmt: skip
        averages = self._averages(cells, found)
        if drawn.mean is not None and drawn.spread is not None:
            averages = replace(averages, mean=drawn.mean, cov=drawn.spread, moments=None)
        return index_results(drawn, model, averages, self.guarantee, notes)

    def _averages(self, cells: Sequence[NoisyMoments], found: Sequence[Regressor]) -> Averages:
        """Means and covariance of the regressors of a model, as released."""
        n = max(float(sum(cell.n for cell in cells)), 1.0)
        rows = np.array([rows_of(cells, one) for one in found]).swapaxes(0, 1)  # (G, k + 1, d)
        P = np.array([cell.matrix for cell in cells])
        moments = ReadMoments(
            np.einsum("gid,gde,gje->ij", rows, P, rows) / n, rows,
            np.array([cell.s2 for cell in cells]),
            np.array([cell.n_is_public for cell in cells]), n,
        )  # fmt: skip
        mean = moments.matrix[1, 1:]
        places = {place.name: place.variable for place in self.layout.places}
        two: dict[str, tuple[float, float]] = {}
        for one in found[1:]:
            values = {*(one.by_cell or ())}
            if one.column is None and len(values) == 2:
                two[one.name] = min(values), max(values)
            elif one.column is not None and one.by_cell is None and places[one.column].two_valued:
                two[one.name] = places[one.column].bounds
        cov = positive(moments.matrix[1:, 1:] - np.outer(mean, mean))
        return Averages(mean, cov, two, moments)

    @property
    def regressions(self) -> tuple[DeclaredResults, ...]:
        """The declared regressions, in the order of declaration."""
        return tuple(
            declared_results(drawn, one, self.guarantee, self._notes_on(one))
            for drawn, one in zip(self.drawn.steps, self.declared, strict=True)
        )

    def _declared(self, asked: str | Regression) -> Declared | None:
        """Return the declared regression of a name, a formula or a Regression; None if none is."""
        found, title = _alike(asked, self.declared), _title(asked)
        if title in [one.title for one in found]:
            return _only(asked, found)
        whole = [one for one in found if one.where is None and one.weights is None]
        if found and not whole and self.withheld:
            weighs = " or with weights" * any(one.weights for one in found)
            raise ParameterError(
                f"{title!r} was declared under a condition{weighs} alone; ask for "
                f"{' or '.join(repr(one.title) for one in found)}, or declare it for everybody"
            )
        return _only(asked, whole)

    def _declared_said(self) -> str:
        return "; ".join(one.said for one in self.declared) or "none"

    def _all_declared_said(self) -> str:
        said = [one.said for one in self.declared]
        said += [one.title for one in self.instrumented] + [one.title for one in self.models]
        return "; ".join(said) or "none"

    def _notes_on(self, one: Declared) -> tuple[str, ...]:
        said = filled_words(p.variable for p in self.layout.places if p.name == one.outcome)
        notes = [f"{said[2:3].upper()}{said[3:]}."] if said else []
        chosen = self.drawn.steps[self.declared.index(one)].rows is not None
        if chosen and self.layout.grid.rows > 1:
            unit = self.schema.unit.name
            notes.append(f"A {unit} with several rows counts if all of them meet the condition.")
        return (*self._labels_note(one.where), *notes)

    def _labels_note(self, where: str | None) -> tuple[str, ...]:
        """Say what the codes of a condition stand for, where their labels are public."""
        asked = {} if where is None else asked_of(where) or {}
        said = []
        for name in [name for name in sorted(asked) if name in self.schema.names]:
            labels = self._labels(name)
            codes = sorted(x for x in labels if not isinstance(x, str) and x in asked[name])
            each = (f"{code:g} is {labels[code]}" for code in codes)
            said += [f"of {name}, {', '.join(each)}"] if codes else []
        return (f"Value labels: {'; '.join(said)}.",) if said else ()

    def _check_withheld(self, what: str) -> None:
        """Refuse errors that would take people to be independent."""
        if self.withheld:
            raise ParameterError(
                f"{what}: {self.withheld}, so that no effects and no errors are read off the "
                "moments; name what else is to be read in ``columns=`` of the release, or in "
                f"``formulas=``; declared are {self._all_declared_said()}"
            )

    def _terms(self, parsed: Formula) -> tuple[list[Term], tuple[str, ...]]:
        """Return outcome and regressors of a formula, and the group columns in it."""
        bare, unit = unit_effects(parsed, self.within)
        outcome = listed_terms(bare.outcome_names, self.schema)
        terms = less_means([*outcome, *regressors_of(main_part(bare), self.schema)], unit)
        return list(terms), self._grouped(parsed)

    def _grouped(self, parsed: Formula) -> tuple[str, ...]:
        return tuple(name for name in parsed.names if name in self.group_columns)

    def _meat(
        self, parsed: Formula, terms: Sequence[Term], cells: Sequence[NoisyMoments],
        found: Sequence[Regressor], cov_type: str | None, where: Mapping[str, Value] | None,
    ) -> Any:  # fmt: skip
        """Return the released scores of a regression; None where errors are of another kind."""
        unit = unit_of(terms[0].atoms)
        explained = name_within(parsed.outcome_names[0], unit)
        key = Scored(explained, tuple(term.name for term in terms[1:]))
        known = {Scored(one.outcome, one.regressors): one for one in self.drawn.scores}
        there = key in known and not where
        rows, weighted = self.layout.grid.rows, self.weights is not None
        if cov_type == "scores" or ((rows > 1 or weighted) and not there):
            if not there or cov_type not in (None, "scores"):
                said = "; ".join(f"{k.outcome} on {', '.join(k.regressors)}" for k in known)
                raise ParameterError(
                    f"the scores of {parsed.text!r}{' with where=' if where else ''} were not "
                    f"released; released: {said or 'none'}"
                )
        elif cov_type is not None and rows == 1 and not weighted:
            return None
        if cov_type not in (None, "scores"):
            self._check_units(f"cov_type={cov_type!r}")
        if not there:
            return None
        counted = self._counted(self._grouped(parsed), self._names(terms), where)
        of = whitened(cells, found[0], found[1:], rows, known[key].sigma, counted)
        return meat_of(of, known[key], rows, absorbed=0 if unit is None else 1)

    def _counted(
        self, used: Sequence[str], columns: Sequence[str], where: Mapping[str, Value] | None
    ) -> float | None:
        """Return the public number of rows of a regression where cells have sums of weights."""
        if self.weights is None:
            return None
        groups = [g for _, gs in self._members(used, columns, where) for g in gs]
        return float(public_rows(self.groups, self.totals, groups))

    def _check_explained(self, names: Sequence[str]) -> None:
        """Refuse to explain a covariate, whose values are those of rows projected onto a ball."""
        inside = {place.name for place in self.layout.places if not place.exempt}
        if self.layout.grid.projects_nobody:
            return
        for name in names:
            if name in inside:
                raise ParameterError(
                    f"{name!r} was released as a covariate, so that a regression of it would "
                    "be about projected rows; release again with it in "
                    "``columns=`` or on the left of a formula"
                )

    def _check_units(self, what: str) -> None:
        """Refuse errors that take rows to be independent, where units have several."""
        self._check_withheld(what)
        alike = "of one unit to be independent" if self.layout.grid.rows > 1 else ""
        alike = alike or ("to have equal weights" if self.weights is not None else "")
        if alike:
            raise ParameterError(
                f"{what}: errors would take the rows {alike}; use ols with a regression whose "
                "scores were released"
            )

    def _parsed(self, formula: str, fit: str) -> Formula:
        """Return a formula of one outcome whose columns are all in the release."""
        try:
            parsed = check_outcome(parse(formula, structural=True))
        except FormulaError:
            names = [one.title for one in self.declared]
            names += [one.title for one in self.instrumented]
            names += [one.title for one in self.models]
            if names and ("~" not in formula or "," in formula):
                raise ParameterError(
                    f"{shortened(formula)} is neither a declared regression nor a formula "
                    f"such as 'y ~ x'; {instead_of(formula, names)}"
                ) from None
            raise
        if len(parsed.outcomes) != 1:
            raise FormulaError(
                f"{fit} fits one outcome, {parsed.text!r} has {len(parsed.outcomes)}; write "
                "y ~ x + z"
            )
        bare, _ = unit_effects(parsed, self.within)
        for name in bare.names:
            if name not in self.schema.names:
                self._place(name)
        return parsed

    def _system(
        self, terms: Sequence[Term], used: Sequence[str], where: Mapping[str, Value] | None
    ) -> tuple[list[NoisyMoments], list[Regressor]]:
        """Return the groups that a formula distinguishes, and its terms as functions of them.

        ``used`` are the treatment and subgroup columns in the formula.

        Raises
        ------
        ColumnError
            If a column or a product was not released.
        """
        columns = self._columns(terms)
        pooled = self._pooled(used, self._names(terms), where)
        # a row whose treatment or subgroup is missing is left out, as for any other column
        pooled = [(label, cell) for label, cell in pooled if None not in label]
        if not pooled:
            raise ParameterError("no group of the release has values of all these columns")
        found = []
        for term, column in zip(terms, columns, strict=True):
            inside = [atom for atom in term.atoms if atom.column in self.group_columns]
            by_cell = tuple(
                product_in(inside, dict(zip(used, label, strict=True))) for label, _ in pooled
            )
            found.append(Regressor(term.name, column, by_cell if inside else None))
        return [cell for _, cell in pooled], found

    def _columns(self, terms: Sequence[Term]) -> list[str | None]:
        """Return the released column of each term; None for one that is a function of groups."""
        known = {place.variable.key: place.variable.name for place in self.layout.places}
        columns: list[str | None] = []
        for term in terms:
            rest = term.without(self.group_columns)
            if rest and key_of(rest) not in known:
                said = ":".join(atom.column for atom in rest if atom.level != WITHIN)
                name = term.name if len(rest) == len(term.atoms) else said
                self._place(name_within(name, unit_of(rest)))
            columns.append(known[key_of(rest)] if rest else None)
        return columns

    def _names(self, terms: Sequence[Term]) -> list[str]:
        return [name for name in self._columns(terms) if name is not None]

    def joint(self, name: str | None = None) -> JointResults:
        """Return the coefficients of regressions declared with ``joint=``, and their covariance.

        Parameters
        ----------
        name : str, optional
            Their ``joint=`` label; not needed if there is only one.

        Returns
        -------
        JointResults
            With ``wald_test()`` and ``lincom()`` across regressions.

        Raises
        ------
        ParameterError
            If no regressions were declared with this label.
        """
        known = [one.name for one in self.families]
        if name is None and len(known) == 1:
            name = known[0]
        if name not in known:
            raise ParameterError(
                f"``joint={given(name)}``; families of declared regressions that are tested "
                f"together: {', '.join(known) or 'none'}; declare them with ``joint=``"
            )
        family = self.families[known.index(name)]
        crosses = [self.drawn.cross(*pair) for pair in family.pairs]
        return joint_results(
            self.drawn.steps, self.declared, crosses, family, self.guarantee, self.n
        )

    def wald_test(
        self, hypothesis: str | Sequence[str] | None = None, *, joint: str | None = None
    ) -> WaldTest:
        """Return the joint test of restrictions on :meth:`effects`, such as ``"t1 = t2"``.

        By default, it tests that all are 0.  With ``joint``, of the coefficients of :meth:`joint`,
        across declared regressions.
        """
        found = self.effects() if joint is None else self.joint(joint)
        wanted = [f"`{name}` = 0" for name in found.params.index]
        return found.wald_test(wanted if hypothesis is None else hypothesis)

    def lincom(
        self, combination: str | Mapping[str, float], *, joint: str | None = None
    ) -> GaussianResults:
        """Return a linear combination of :meth:`effects`, such as ``"t1 - t2"``.

        With ``joint``, of the coefficients of :meth:`joint`, across declared regressions.
        """
        return (self.effects() if joint is None else self.joint(joint)).lincom(combination)

    def _there(self) -> str:
        declared = f"; declared regressions: {self._declared_said()}" if self.declared else ""
        return super()._there() + declared

    def save(self, path: str | Path) -> Path:
        """Write the release as a document, which may be published; see ``moments.schema.json``.

        Raises
        ------
        SimulationError
            If a seed was given.
        FileError
            If it cannot be written.
        """
        return write_document(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the release that :meth:`save` wrote.

        Raises
        ------
        FileError
            If it cannot be read, is no such document, or was changed after it was written.
        """
        return cls(**read_document(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the document as JSON-ready values."""
        return document_of(self)

    def certificate(self) -> Certificate:
        """Return the certificate of the release, as of a protected file.

        Raises
        ------
        SimulationError
            If a seed was given.
        """
        from dprct.certificate.certificate import Certificate

        return Certificate(
            guarantee=self.guarantee,
            method=self.method,
            facts={name: words for name, words in self.facts() if name != "ledger"},
            dataset_id=self.schema.dataset_id,
            seal=self.sealed,
            seal_sha256=self.facts_sha256,
            header="what is released are numbers, and no row of the data",
            ledger=self.ledger,
            fates={},
            differences=(),
            limits=(self._estimand(),),
        )

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Public facts of the release, in words."""
        s1, s2 = self.layout.noise(self.drawn.sigma)
        size = self.layout.grid.numbers(len(self.groups))
        scored = [f"{one.outcome} on {', '.join(one.regressors)}" for one in self.drawn.scores]
        facts = {
            "n": f"{self.n:,}",
            "columns": ", ".join(self.columns),
            "groups": "; ".join(names_of(self.groups, self.schema)),
            "released": f"{size:,} numbers",
            "noise": f"s1 {s1:.4g}, s2 {s2:.4g}, in units of z; h {self.layout.h:.4g}",
            "scores": "; ".join(scored),
            "declared regressions": self._declared_said() if self.declared else "",
            "models of an index": "; ".join(one.title for one in self.models),
            "weights": "".join(self._weights_note()),
            "rows outside the ball": str(self.clipped) if self.drawn.clipped else "",
        }
        return (*((name, said) for name, said in facts.items() if said), ("ledger", self.ledger))

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return one row per coefficient of declared regressions, or per effect if there are none.

        Raises
        ------
        ParameterError
            If no arms were declared, so that there are no effects.
        """
        if not self.declared and not self.models:
            return self.effects().tidy(alpha)
        asked = [one.title for one in self.declared] + [one.title for one in self.models]
        fits = [*self.regressions, *map(self._model, self.models, self.drawn.models)]
        tables = [one.tidy(alpha) for one in fits]
        for table, title in zip(tables, asked, strict=True):
            table.insert(0, "regression", title)
        return pd.concat(tables, ignore_index=True)

    def summary(self) -> str:
        """Release, its noise and the guarantee, as text."""
        return self.as_text()

    def as_text(self, width: int = _WIDTH) -> str:
        """:meth:`summary` in lines of at most ``width`` characters."""
        if width < _NARROWEST:
            raise ParameterError(f"``width={given(width)}``; give {_NARROWEST} characters or more")
        lines = ["Released moments"]
        room = max(len(key) for key, _ in self.facts())
        for key, value in self.facts():
            text, after = f"{key:<{room}}  {value}", " " * (room + 4)
            lines.append(textwrap.fill(text, width, initial_indent="  ", subsequent_indent=after))
        notes = (self._estimand(), *str(self.guarantee).splitlines())
        lines += [textwrap.fill(note, width) for note in notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _estimand(self, names: Sequence[str] | None = None) -> str:
        """Estimands of a fit of these columns, or of all that explain."""
        used = [place for place in self.layout.places if names is None or place.name in names]
        declared = {one.outcome for one in self.declared}
        columns = clipped_words(
            place.variable
            for place in used
            if names is not None or place.exempt or place.name in declared
        )
        filled = filled_words(place.variable for place in used)
        said = f"Estimands are those of {columns or 'columns within their bounds'}{filled}."
        if self.withheld or self.layout.grid.projects_nobody or all(p.exempt for p in used):
            return said
        return (
            f"{said} Covariates further from their centres than {self.layout.shrunk_radius:.4g} "
            "scales together are projected to that distance: effects of a randomised treatment "
            "stay what they are, slopes of covariates are those of projected rows."
        )

    def _weights_note(self) -> tuple[str, ...]:
        weight = self.layout.grid.weight
        if weight is None:
            return ()
        return (f"Rows are weighted by {weight.column.name}, {weight.bounds[1]:g} at most.",)

    def _jointly_note(self, outcomes: Sequence[str]) -> tuple[str, ...]:
        """Say whose effects several outcomes have together, where each may lack other rows."""
        gone = {name for group in self.groups for name in group.absent}
        if len(outcomes) < 2 or not gone & self._columns_of(outcomes):
            return ()
        said = ", ".join(outcomes)
        return (f"Among those with values of all of {said}; ask for one to use all of its rows.",)

    def _fit_notes(
        self,
        where: Mapping[str, Value] | None,
        cells: Sequence[NoisyMoments],
        names: Sequence[str],
    ) -> tuple[str, ...]:
        """Notes below every fit of these columns."""
        private = self.weights is None and any(not cell.n_is_public for cell in cells)
        counted = (COUNTED,) if private else ()
        return (self._estimand(names), *self._weights_note(), *self._where_note(where), *counted)

    def _notes(self, outcomes: Sequence[str]) -> tuple[str, ...]:
        return (self._estimand(outcomes), *self._jointly_note(outcomes))


Named = TypeVar("Named", "Declared", "Instrumented", "IndexModel")


def _title(asked: str | Regression) -> str:
    return asked.title if isinstance(asked, Regression) else asked.strip()


def _alike(asked: str | Regression, among: Sequence[Named]) -> list[Named]:
    """The regressions of a name or Regression; if there are none, those of a formula."""
    found = [one for one in among if one.title == _title(asked)]
    if not found and isinstance(asked, str):
        key = _spelled(_title(asked))
        found = [one for one in among if _spelled(one.formula) == key]
    return found


def _only(asked: str | Regression, found: Sequence[Named]) -> Named | None:
    """The one regression that was found; None if there is none."""
    if len(found) > 1:
        raise ParameterError(
            f"{_title(asked)!r} is the formula of several declared regressions; ask for one by its "
            f"name: {', '.join(repr(one.title) for one in found)}"
        )
    return found[0] if found else None


def _spelled(formula: str) -> object:
    """Meaning of a formula, however it is spaced and its terms are ordered; else its text."""
    try:
        found = parse(formula, structural=True)
    except FormulaError:
        return formula
    terms = frozenset(map(frozenset, found.terms))
    instruments = frozenset(map(frozenset, found.instruments))
    return found.outcomes, terms, found.intercept, found.endogenous, instruments, found.effects


def _by_group(cov_type: str | None, used: Sequence[str]) -> bool:
    if cov_type is None:
        return bool(used)
    check_choice("cov_type", cov_type, ("by group", "nonrobust"))
    return cov_type == "by group"


def _plain(layout: Layout) -> list[str]:
    """Return the released columns that are no indicators and no products."""
    found = [
        place.variable.name
        for place in layout.places
        if len(place.variable.parts) == 1 and place.variable.parts[0].level is None
    ]
    return found or list(layout.names)


def _table_of(
    effects: EffectResults,
    outcomes: Mapping[str, str],
    arms: Mapping[str, str],
    *,
    adjust: bool,
    style: str,
    title: str,
) -> ITTTable:
    """Return the table of an experimental paper: a row per outcome, a column per arm."""
    shape = style_named(style)
    known = {name for _, names, _ in effects.facets for name in names}
    for name in arms:
        if name not in known:
            raise ParameterError(
                f"``arms=`` names {name!r}; the arms are {', '.join(sorted(known))}"
            )
    cells = [(y, arm, len(names) + 1) for y, names, _ in effects.facets for arm in names]
    of, arm, rank = zip(*cells, strict=True)
    tidy, mean = effects.tidy(), effects.control["mean"]
    estimates = pd.DataFrame({
        "covariates": "", "outcome": of, "arm": arm, "control_mean": mean[[*of]].array,
        **{name: tidy[name] for name in ("estimate", "std.error", "statistic")}, "df": np.inf,
        "p.value": tidy["p.value"], "p.adjusted": effects.adjusted_pvalues().to_numpy(),
        "family": "all", "family_size": len(tidy), "nobs": effects.nobs, "rank": rank,
        "n_groups": np.nan, "std.error.noise": tidy["std.error.noise"],
    })  # fmt: skip
    adjusted = "all" if adjust else None
    columns, rows, parts = laid_out(estimates, outcomes, arms, adjusted, absent=set())
    return ITTTable(
        columns=columns,
        rows=rows,
        title=title,
        corner="Outcome",
        parts=parts,
        style=shape,
        notes=(
            "Differences in means from released moments; errors contain the noise of the release."
            + (" p-values: family-wise, step-down, largest t." if adjust else ""),
            *effects.notes,
            *str(effects.guarantee).splitlines(),
        ),
        estimates=estimates,
        guarantee=effects.guarantee,
    )


def scores_by(moments: Moments, formula: str, sigma: float) -> ScoreMap:
    """Scores of a regression as functions of rows, computed from the release.

    ``sigma`` is the standard deviation of the noise on the sums of their products.
    """
    terms, used = moments._terms(moments._parsed(formula, "ols"))
    cells, found = moments._system(terms, used, None)
    counted = moments._counted(used, moments._names(terms), None)
    of = whitened(cells, found[0], found[1:], moments.layout.grid.rows, sigma, counted)
    members = [groups for _, groups in moments._members(used, moments._names(terms), None)]
    return score_map(of, members, moments.layout, len(moments.groups), len(terms) - 1)


def start_by(moments: Moments, model: IndexModel, coding: Coding) -> Start:
    """Starting coefficients of a declared logit or its like, from the moments alone."""
    terms, used = moments._terms(moments._parsed(model.formula, "glm"))
    cells, found = moments._system(terms, used, None)
    return start_of(model, cells, found[0], found[1:], coding)
