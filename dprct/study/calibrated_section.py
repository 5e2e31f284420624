"""The study-file section ``[calibrated]``: the specification of a calibrated release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

from dprct.certificate.valid_groups import ValidGroups
from dprct.certificate.valid_regressions import Validity
from dprct.defaults import MOMENT_SHARE
from dprct.errors import DprctError, FormulaError, ParameterError, StudyError
from dprct.estimate.ate import check_relation
from dprct.estimate.experiment import cluster_unit, levels_of
from dprct.model import Facts, Spec
from dprct.privacy.budget import exact
from dprct.privacy.mechanisms import split as split_budget
from dprct.release.calibrated.layout import check_arms
from dprct.release.calibrated.model import Calibrated
from dprct.release.calibrated.spec import (
    COVARIATES,
    MOMENTS,
    CalibratedSpec,
    Wanted,
    written_of,
)
from dprct.study.sections import absent, check_index, design_from, section
from dprct.study.wording import in_toml

if TYPE_CHECKING:
    from dprct.assignment import Design
    from dprct.privacy.budget import Budget, Real
    from dprct.release.calibrated.layout import TermSet
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema
    from dprct.study.sections import ReleaseSection

GIVEN: tuple[str, ...] = ("outcome", "covariates", "treatment", "assignment", "keep")
"""Options that ``[release]`` and ``[design]`` give, and that are no keys of ``[calibrated]``."""

_WHERE = "[calibrated]"
_RENAMED = {
    "weights": "budget_shares",
    "unit": "privacy_unit",
    "covariates": "covariate_release",
    "levels": "alphas",
}
"""Old names of keys, which are still read."""


@dataclass(frozen=True, slots=True)
class CalibratedExperiment:
    """What a study file says to the calibrated release.

    Parameters
    ----------
    formula : str or None
        The reader's regression; None while it is missing.
    calibrated : CalibratedSpec
        Without what the formula says; without a design while that is missing.
    """

    formula: str | None
    calibrated: CalibratedSpec

    @property
    def design(self) -> Design | None:
        """How treatment was assigned."""
        return self.calibrated.assignment

    @property
    def clusters(self) -> Unit | None:
        """Who is protected, where whole clusters are."""
        spec = self.calibrated
        if spec.privacy_unit != "cluster" or spec.assignment is None:
            return None
        largest = spec.largest_cluster
        return None if largest is None else cluster_unit(spec.assignment, largest)

    def spec(self) -> CalibratedSpec:
        """Return the whole specification.

        Raises
        ------
        FormulaError
            If the formula is none of this method.
        """
        return self._written()[0]

    def _written(self) -> tuple[CalibratedSpec, TermSet]:
        """Return the specification, and the arms as the formula names them."""
        assert self.formula is not None
        assert self.design is not None
        columns = tuple(self.design.columns)
        written, arms = written_of(self.formula, columns)
        return replace(self.calibrated, **written, treatment=columns), arms

    def problems(self, schema: Schema, rows: int | None) -> list[str]:
        """Return open points, and options that do not fit the columns of the file, in words."""
        found = absent(self.formula, self.design)
        if found:
            return found
        try:
            spec, arms = self._written()
        except DprctError as error:
            return [_said(error)]
        asked: Spec[Any] = spec
        found = [_said(e) for e in asked.problems(Facts(_decided(spec, schema), rows or 1))]
        try:
            check_arms(arms, spec.arms)
        except FormulaError as error:
            return [*found, _said(error)]
        except DprctError:  # the design is wrong, which is among what was found
            return found
        return found

    def unaffordable(self, facts: Facts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Return why no table of this header can be released at a budget."""
        return self.spec().unaffordable(facts, budget, confirm=confirm)

    def encoded(self, schema: Schema) -> list[str]:
        """Return no column: outcomes need no bins, covariates get them by default."""
        return []

    def model(
        self, data: Any, schema: Schema, *, zeta: float | None, keep: tuple[str, ...]
    ) -> Calibrated:
        """Return the method, bound to the data.

        Raises
        ------
        FormulaError, ColumnError, SchemaError, ParameterError
            As :class:`dprct.Calibrated` does.
        """
        spec, arms = self._written()
        check_arms(arms, spec.arms)
        return Calibrated(data, schema, **{**spec.options(), "keep": keep})

    def valid(self) -> Validity:
        """Return what the planned file will be valid for, from public facts alone.

        Raises
        ------
        FormulaError, ParameterError
            If the formula is not one that can be calibrated.
        """
        spec = self.spec()
        regressions = spec.regressions
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
    text = in_toml(str(error))
    if isinstance(error, FormulaError):
        return f"[release] formula: {text}"
    return f"{_WHERE} {text}" if isinstance(error, ParameterError) else text


def calibrated_from(document: Mapping[str, Any], release: ReleaseSection) -> CalibratedExperiment:
    """Return the experiment of a parsed study file for the calibrated release.

    Raises
    ------
    StudyError
        If a key is unknown, of a wrong type or not allowed.

    Examples
    --------
    >>> from dprct.study.sections import ReleaseSection
    >>> release = ReleaseSection(1.0, "calibrated", formula="y ~ treat + age")
    >>> document = {"calibrated": {"covariate_release": "filler", "alphas": [0.05, 0.01]}}
    >>> calibrated_from(document, release).calibrated.alphas
    (0.05, 0.01)
    """
    design = design_from(document)
    table = _of_this_version(document.get("calibrated", {}))
    share = table.pop("share", None) if isinstance(table, dict) else None
    given = dict.fromkeys(GIVEN, ()) | {"treatment": None, "assignment": design}
    spec: CalibratedSpec = section(CalibratedSpec, table, _WHERE, given=given)
    check_index(spec.index, _WHERE)
    try:
        levels_of(spec.alphas)
        check_relation(spec.neighbors)
        if share is not None:
            spec = replace(spec, budget_shares=_with_share(spec, share, release.formula))
    except ParameterError as error:
        raise StudyError(f"{_WHERE} {error}") from None
    return CalibratedExperiment(release.formula, spec)


def _of_this_version(table: Any) -> Any:
    """Return a table with the keys of this version; those of earlier ones are still read."""
    if not isinstance(table, Mapping):
        return table
    if "covariates" in table and table["covariates"] not in get_args(Wanted):
        raise StudyError(
            f"{_WHERE} covariates = {table['covariates']!r}; the covariates are the terms of "
            "[release] formula, and covariate_release says how they are drawn: "
            f"{', '.join(get_args(Wanted))}"
        )
    for old, new in _RENAMED.items():
        if old in table and new in table:
            raise StudyError(f"{_WHERE} has {old} and {new}, which are the same; keep {new}")
    found = {_RENAMED.get(key, key): value for key, value in table.items()}
    alphas = found.get("alphas")
    if isinstance(alphas, (int, float)) and not isinstance(alphas, bool):
        found["alphas"] = [alphas]
    return found


def _with_share(
    spec: CalibratedSpec, share: object, formula: str | None
) -> Mapping[str, Real] | None:
    """Return the shares that the key ``share`` of earlier study files means.

    It was the share of epsilon of covariates; moments got their default, and outcomes divided the
    rest.
    """
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
        raise ParameterError(
            f"share = {share!r} is that of covariates in earlier study files, between 0 and 1; "
            "write budget_shares = {covariates = ..., y = ...}"
        )
    if spec.covariate_release == "filler":
        raise ParameterError(
            'share is that of covariates, and covariate_release = "filler" costs nothing; remove it'
        )
    if formula is None or spec.assignment is None:
        return spec.budget_shares  # either is missing, which problems() says
    outcomes = written_of(formula, spec.assignment.columns)[0]["outcome"]
    if spec.budget_shares is not None and not set(spec.budget_shares) <= set(outcomes):
        raise ParameterError(
            "share and a budget_shares that names more than outcomes say the same; keep "
            "budget_shares"
        )
    moments = MOMENT_SHARE if spec.has_slopes else Fraction(0)
    mine = exact(share, "share")
    if mine + moments >= 1:
        raise ParameterError(
            f"share={float(mine):g} plus {float(moments):g} for gamma='moments' leaves nothing for "
            "the effects; lower it"
        )
    inner = split_budget(spec.budget_shares, dict.fromkeys(outcomes, 1))
    found = {COVARIATES: mine} | ({MOMENTS: moments} if moments else {})
    return found | {name: inner[name] * (1 - mine - moments) for name in outcomes}
