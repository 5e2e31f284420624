"""The study-file section ``[calibrated]``: what a study asks of the calibrated release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from dprct.certificate.valid_arms import ValidArms
from dprct.certificate.valid_groups import ValidGroups
from dprct.certificate.valid_regressions import Validity
from dprct.errors import DprctError, FormulaError, ParameterError, StudyError, marked
from dprct.estimate.ate.model import check_relation
from dprct.estimate.effects import levels_of
from dprct.estimate.experiment import cluster_unit
from dprct.model import Facts, Spec
from dprct.records import dataclass
from dprct.release.calibrated.carried import planned
from dprct.release.calibrated.layout import check_arms
from dprct.release.calibrated.model import Calibrated
from dprct.release.calibrated.spec import CalibratedSpec, written_of
from dprct.study.asked import (
    DESIGN,
    REGRESSION,
    Asked,
    given_elsewhere,
    titled,
    with_regressions,
)
from dprct.study.sections import absent, check_index, design_from, section
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.assignment import Design
    from dprct.privacy.budget import Budget
    from dprct.release.calibrated.layout import TermSet
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema
    from dprct.study.sections import ReleaseSection

_CALIBRATED = "[calibrated]"


@dataclass(frozen=True)
class CalibratedAsked(Asked):
    """What a study file asks of the calibrated release, while parts of it may be missing.

    Parameters
    ----------
    spec : CalibratedSpec
        Without what the formula says; without a design while that is missing.
    """

    formula: str | None = None  # the reader's regression; None while it is missing

    @property
    def design(self) -> Design | None:
        """How treatment was assigned."""
        found: Design | None = self.spec.assignment
        return found

    def noted(self, schema: Schema) -> Self:
        """Return the same with the whole specification, as formula and design say it."""
        return self if self.absent else replace(self, spec=self._written()[0])

    @property
    def absent(self) -> list[str]:
        """What is missing before there is a specification, in words."""
        if self.spec.formulas:
            return absent("", self.design)
        return [
            line.replace('"y ~ treat + x"', f'"y ~ treat + x", or declare {titled(REGRESSION)}')
            for line in absent(self.formula, self.design)
        ]

    def protects(self, schema: Schema) -> Unit:
        """Who is protected: whole clusters, where that was asked for."""
        spec: CalibratedSpec = self.spec
        if spec.privacy_unit != "cluster" or spec.assignment is None:
            return schema.unit
        largest = spec.assignment.cluster_facts.largest
        return schema.unit if largest is None else cluster_unit(spec.assignment, largest)

    def _written(self) -> tuple[CalibratedSpec, TermSet]:
        """Return the specification, and the arms as the formula names them."""
        assert self.design is not None
        if self.spec.formulas:
            return self.spec, ()
        assert self.formula is not None
        columns = tuple(self.design.columns)
        written, arms = written_of(self.formula, columns)
        return replace(self.spec, **written, treatment=columns), arms

    def open_points(self, schema: Schema, rows: int | None) -> list[str]:
        """Return open points, and options that do not fit the columns of the file, in words."""
        found = self.absent
        if found:
            return found
        try:
            spec, arms = self._written()
        except DprctError as error:
            return [_said(error)]
        asked: Spec[Any] = spec
        found = [_said(e) for e in asked.problems(Facts(_decided(spec, schema), rows or 1))]
        if spec.formulas:
            return found
        try:
            check_arms(arms, spec.arms)
        except FormulaError as error:
            return [*found, _said(error)]
        except DprctError:  # the design is wrong, which is among what was found
            return found
        return found

    def unaffordable(self, facts: Facts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Reason why no release with this header can be paid at a budget."""
        spec = self._written()[0]
        return spec.unaffordable(facts, budget, confirm=confirm)

    def encoded(self, schema: Schema) -> list[str]:
        """Return no column: outcomes need no bins, covariates get them by default."""
        return []

    def model(self, data: Any, schema: Schema) -> Calibrated:
        """Return the method, bound to the data."""
        spec, arms = self._written()
        if not spec.formulas:
            check_arms(arms, spec.arms)
        return Calibrated(data, schema, **spec.options())

    def valid(self) -> Validity:
        """Validity of the planned file, from public facts alone."""
        spec = self._written()[0]
        regressions = spec.regressions
        if regressions.declared:
            declared = planned(regressions.declared)
            return Validity(
                outcomes=regressions.outcomes, arms=regressions.arms,
                covariates=regressions.covariates, cov_type=declared[0].cov_type,
                cluster=declared[0].cluster, levels=tuple(spec.alphas), declared=declared,
            )  # fmt: skip
        return Validity(
            outcomes=regressions.outcomes,
            arms=regressions.arms,
            covariates=regressions.covariates,
            cov_type="HC1" if spec.cluster is None else "CR1",
            cluster=spec.cluster,
            levels=tuple(spec.alphas),
            subsets_valid=not spec.has_slopes,
            rounded=spec.legal == "strict",
            groups=ValidGroups(column=spec.subgroups[0]) if spec.subgroups else None,
            sizes=ValidArms(columns=regressions.arms)
            if regressions.serve_some_arms and spec.legal != "strict"
            else None,
        )


def _decided(spec: CalibratedSpec, schema: Schema) -> Schema:
    """Return a schema without open fates, each of which a study lists by itself."""
    try:
        prepared = spec.prepared(schema)
    except DprctError:
        return schema
    still = [c for c in prepared.columns if c.fate is None and c.derived is None]
    return prepared.with_columns([replace(column, fate="withheld") for column in still])


def _said(error: DprctError) -> str:
    """Return a refusal in the words of a study file, with the section that it is about."""
    text = in_toml(error)
    if isinstance(error, FormulaError):
        return f"[release] formula: {text}"
    return f"{_CALIBRATED} {text}" if isinstance(error, ParameterError) else text


def calibrated_from(document: Mapping[str, Any], release: ReleaseSection) -> CalibratedAsked:
    """Specification that a parsed study file makes of the calibrated release.

    Examples
    --------
    >>> from dprct.study.sections import ReleaseSection
    >>> release = ReleaseSection(1.0, "calibrated", formula="y ~ treat + age")
    >>> document = {"calibrated": {"covariate_release": "filler", "alphas": [0.05, 0.01]}}
    >>> calibrated_from(document, release).spec.alphas
    (0.05, 0.01)
    """
    design = design_from(document)
    table = document.get("calibrated", {})
    given: dict[str, Any] = dict.fromkeys(given_elsewhere(release.method), ())
    given |= {"treatment": None, DESIGN: design, "keep": release.keep}
    spec: CalibratedSpec = section(CalibratedSpec, table, _CALIBRATED, given=given)
    check_index(spec.index, _CALIBRATED)
    spec = with_regressions(spec, document, release.method)
    if spec.formulas and release.formula is not None:
        raise StudyError(
            f"{titled(REGRESSION)} declares regressions one by one, and [release] formula those of "
            "differences in means; remove one of the two"
        )
    try:
        levels_of(spec.alphas)
        check_relation(spec.neighbors)
    except ParameterError as error:
        raise StudyError(f"{_CALIBRATED} {marked(error)}") from None
    return CalibratedAsked(release.method, spec, release.formula)
