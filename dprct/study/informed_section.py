"""The study-file section ``[informed]``: options of Hybrid and GenModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from dprct.errors import DprctError, StudyError, marked
from dprct.published.allocation import Allocation
from dprct.published.covariates import XMethod  # noqa: TC001 -- read by section
from dprct.published.genmodel import From, GenModel, Sigma
from dprct.published.informed import Hybrid, MissingOutcomes, Roles, roles
from dprct.published.karwa_vadhan import NoiseOn  # noqa: TC001 -- read by section
from dprct.published.outcomes import Family, families_of
from dprct.records import dataclass
from dprct.release.release import modelled
from dprct.study.asked import Asked
from dprct.study.sections import absent, design_from, section

if TYPE_CHECKING:
    from dprct.assignment import Design
    from dprct.model import Facts
    from dprct.privacy.budget import Budget
    from dprct.published.informed import ModelInformed
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema
    from dprct.study.sections import ReleaseSection

_PASSED_ON = ("B", "v", "alpha", "sigma", "confidential_from", "noise_on")
_OF_GEN_MODEL = (*_PASSED_ON, "allocation", "epsilon_x")


@dataclass(frozen=True)
class InformedSection:
    """Options of Hybrid and GenModel; what is left out has the method's default.

    Parameters
    ----------
    x_method : {"published", "strict", "marginals"}
        How the covariates are made.
    missing_outcomes : {"reproduce", "drop"}
        Whether rows without an outcome are kept so, or left out.
    attrition : bool
        Rows were lost after the assignment: shares are not checked against it.
    families : table of texts
        By outcome.
    B, sigma, confidential_from, noise_on
        For GenModel alone, as :class:`dprct.published.GenModel` takes them.
    v, alpha
        For GenModel alone, one number or a table of numbers by coefficient.
    allocation : {"section4", "section5"}
        For GenModel alone: the preset by which epsilon is divided.
    epsilon_x : number
        For ``allocation = "section5"``: epsilon of the covariates.
    """

    x_method: XMethod = "published"
    missing_outcomes: MissingOutcomes = "reproduce"
    attrition: bool = False
    families: Mapping[str, Family] | None = None
    B: int | None = None
    v: float | Mapping[str, float] | None = None
    alpha: float | Mapping[str, float] | None = None
    allocation: Literal["section4", "section5"] | None = None
    epsilon_x: float | None = None
    sigma: Sigma | None = None
    confidential_from: From | None = None
    noise_on: NoiseOn | None = None


@dataclass(frozen=True)
class InformedAsked(Asked):
    """What a study file asks of Hybrid or GenModel, whose roles are known with the columns alone.

    Parameters
    ----------
    spec : ReleaseSection
        ``zeta`` and ``keep`` are options.
    """

    formula: str | None
    design: Design | None  # none of the two is None once nothing is open
    informed: InformedSection

    def noted(self, schema: Schema) -> Self:
        """Return the same: no budget is tried before the data are opened."""
        return self

    def protects(self, schema: Schema) -> Unit:
        """Who is meant, though nobody is protected."""
        return schema.unit

    def unaffordable(self, facts: Facts, budget: Budget, *, confirm: bool) -> DprctError | None:
        """Return None: what is planned depends on the fit of the confidential outcomes."""
        return None

    def open_points(self, schema: Schema, rows: int | None) -> list[str]:
        """Return open points, and options that do not fit the columns of the file, in words."""
        found = absent(self.formula, self.design)
        if found:
            return found
        try:
            parts = self._roles(schema)
            families_of(parts.outcomes, self.informed.families)
        except DprctError as error:
            return [marked(error)]
        used = parts.columns
        found = [
            f"column {name!r} is used by the formula or the design, but its fate is "
            f'{schema.column(name).fate!r}; give fate = "modelled"'
            for name in used
            if schema.column(name).fate not in (None, "modelled")
        ]
        found += [
            f"column {name!r} is modelled, but neither in the formula nor in the design; give it "
            "another fate or put it into the formula"
            for name in modelled(schema)
            if name not in used
        ]
        return found

    def encoded(self, schema: Schema) -> list[str]:
        """Return the columns that need a public domain: covariates of a strict method."""
        if self.informed.x_method == "published" or self.formula is None or self.design is None:
            return []
        try:
            return list(self._roles(schema).covariates)
        except DprctError:
            return []

    def model(self, data: Any, schema: Schema) -> ModelInformed[Any]:
        """Return the method, bound to the data."""
        assert self.formula is not None
        assert self.design is not None
        spec = self.informed
        options: dict[str, Any] = {
            "formula": self.formula,
            "treatment": self.design.columns,
            "assignment": self.design,
            "families": spec.families,
            "x_method": spec.x_method,
            "zeta": self.spec.zeta,
            "missing_outcomes": spec.missing_outcomes,
            "attrition": spec.attrition,
            "keep": self.spec.keep,
        }
        if self.method == "published_hybrid":
            return Hybrid(data, schema, **options)
        for name in _PASSED_ON:
            if getattr(spec, name) is not None:
                options[name] = getattr(spec, name)
        share = spec.epsilon_x
        allocation = Allocation.section4() if share is None else Allocation.section5(share)
        return GenModel(data, schema, allocation=allocation, **options)

    def _roles(self, schema: Schema) -> Roles:
        assert self.formula is not None
        assert self.design is not None
        return roles(self.formula, schema, self.design.columns, self.design)


def informed_from(document: Mapping[str, Any], release: ReleaseSection) -> InformedAsked:
    """Specification that a parsed study file makes of Hybrid and GenModel.

    Examples
    --------
    >>> from dprct.study.sections import ReleaseSection
    >>> release = ReleaseSection(1.0, "published_hybrid", formula="y ~ treat + age")
    >>> document = {"design": {"kind": "block", "arms": ["treat"], "block": "site"}}
    >>> informed_from(document, release).design.uses
    ('site',)
    """
    spec = section(InformedSection, document.get("informed", {}), "[informed]")
    _check_informed(spec, release)
    design = design_from(document)
    return InformedAsked(release.method, release, release.formula, design, spec)


def _check_informed(spec: InformedSection, release: ReleaseSection) -> None:
    method, epsilon = release.method, release.epsilon
    for name in _OF_GEN_MODEL if method == "published_hybrid" else ():
        if getattr(spec, name) is not None:
            raise StudyError(f"[informed] {name} does not belong to method = {method!r}; remove it")
    if spec.x_method == "marginals" and release.zeta is not None:
        raise StudyError('[release] zeta sets the bins of a histogram; remove it, as [informed] '
                         'x_method = "marginals"')  # fmt: skip
    if spec.B is not None and spec.B < 2:
        raise StudyError(f"[informed] B = {spec.B}; give at least 2, such as 5000")
    for v in _numbers(spec.v):
        if v <= 0:
            raise StudyError(f"[informed] v = {v}; give a number above 0, such as 50")
    for alpha in _numbers(spec.alpha):
        if not 0 < alpha < 1:
            raise StudyError(f"[informed] alpha = {alpha}; give a number between 0 and 1")
    if (spec.epsilon_x is not None) != (spec.allocation == "section5"):
        raise StudyError('[informed] epsilon_x and allocation = "section5" go together; give both')
    if spec.epsilon_x is not None and not 0 < spec.epsilon_x < epsilon:
        raise StudyError(
            f"[informed] epsilon_x = {spec.epsilon_x}; give a number above 0 and below "
            f"[release] epsilon = {epsilon}"
        )


def _numbers(given: float | Mapping[str, float] | None) -> list[float]:
    if given is None:
        return []
    return [*given.values()] if isinstance(given, Mapping) else [given]
