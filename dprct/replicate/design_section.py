"""The study-file sections ``[design]`` and ``[informed]``: for Hybrid and GenModel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial, Simple
from dprct.errors import DprctError, ParameterError, StudyError
from dprct.published.allocation import Allocation
from dprct.published.covariates import XMethod
from dprct.published.genmodel import GenModel
from dprct.published.genmodel_draws import From, Sigma
from dprct.published.hybrid import Hybrid
from dprct.published.informed import MissingOutcomes
from dprct.published.outcomes import Family, families_of
from dprct.published.roles import Roles, roles
from dprct.release.model import modelled
from dprct.replicate.sections import section

if TYPE_CHECKING:
    from dprct.assignment import Design
    from dprct.published.informed import ModelInformed
    from dprct.replicate.study import ReleaseSpec
    from dprct.schema.schema import Schema

Arms = tuple[str, ...] | Mapping[str, tuple[str, ...]]
Names = str | tuple[str, ...]
Numbers = float | tuple[float, ...]
Texts = Mapping[str, str]
Parts = Mapping[str, Mapping[str, Any]]
InformedMethod = Literal["published_hybrid", "published_gen_model"]

_DESIGNS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "simple": (Simple, ()),
    "complete": (Complete, ()),
    "block": (Block, ("block",)),
    "cluster": (Cluster, ("cluster",)),
    "block_cluster": (BlockCluster, ("block", "cluster")),
}
"""The design of each kind, and the keys that it needs besides arms."""

_KINDS = (*_DESIGNS, "factorial")
_OF_GEN_MODEL = ("B", "v", "allocation", "epsilon_x", "sigma", "confidential_from")


@dataclass(frozen=True, slots=True)
class DesignSpec:
    """How treatments were assigned.

    Parameters
    ----------
    kind : {"simple", "complete", "block", "cluster", "block_cluster", "factorial"}
    arms : list of str, or table
        The 0/1 columns of the arms; of a factorial design, optionally, from the column of each
        combination to the arms of the factors in it.
    shares : number or list of numbers
        Of the arms; equal for all groups, the control group included, if not given.
    control_share : number
        Of no arm; 0 if there is no such group.
    block, cluster : str or list of str
        Columns whose combinations these are.
    factors : table of tables
        ``[design.factors.NAME]`` for each factor, with the keys of a design of its own; its arms
        are the one column NAME, if not given.
    """

    kind: str
    arms: Arms | None = None
    shares: Numbers | None = None
    control_share: float | None = None
    block: Names | None = None
    cluster: Names | None = None
    factors: Parts | None = None


@dataclass(frozen=True, slots=True)
class InformedSpec:
    """Options of Hybrid and GenModel; what is left out has the method's default.

    Parameters
    ----------
    x_method : {"published", "strict", "marginals"}
    missing_outcomes : {"reproduce", "drop"}
    attrition : bool
    families : table of texts
        By outcome; for Hybrid alone.
    B, v, sigma, confidential_from
        For GenModel alone, as :class:`dprct.published.GenModel` takes them.
    allocation : {"section4", "section5"}
        For GenModel alone: the preset by which epsilon is divided.
    epsilon_x : number
        For ``allocation = "section5"``: epsilon of the covariates.
    """

    x_method: str = "published"
    missing_outcomes: str = "reproduce"
    attrition: bool = False
    families: Texts | None = None
    B: int | None = None
    v: float | None = None
    allocation: str | None = None
    epsilon_x: float | None = None
    sigma: str | None = None
    confidential_from: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """What a study file says to Hybrid or GenModel.

    Parameters
    ----------
    method : {"published_hybrid", "published_gen_model"}
    formula : str or None
    design : Design or None
        None of the two is None once nothing is open.
    informed : InformedSpec
    """

    method: str
    formula: str | None
    design: Design | None
    informed: InformedSpec

    def problems(self, schema: Schema) -> list[str]:
        """Return what is open or does not fit the columns of the file, in words."""
        found = []
        if self.formula is None:
            found.append('[release] formula is missing; write formula = "y ~ treat + x"')
        if self.design is None:
            found.append('[design] is missing; write kind = "complete" and arms = ["treat"]')
        if found:
            return found
        try:
            parts = self._roles(schema)
            families_of(parts.outcomes, self.informed.families)
        except DprctError as error:
            return [str(error)]
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

    def model(
        self, data: Any, schema: Schema, *, zeta: float | None, keep: tuple[str, ...]
    ) -> ModelInformed:
        """Return the method, bound to the data.

        Raises
        ------
        FormulaError, ColumnError, SchemaError, ParameterError
            As :class:`dprct.published.Hybrid` and :class:`dprct.published.GenModel` do.
        """
        assert self.formula is not None
        assert self.design is not None
        spec = self.informed
        options: dict[str, Any] = {
            "formula": self.formula,
            "treatment": self.design.columns,
            "assignment": self.design,
            "x_method": spec.x_method,
            "zeta": zeta,
            "missing_outcomes": spec.missing_outcomes,
            "attrition": spec.attrition,
            "keep": keep,
        }
        if self.method == "published_hybrid":
            return Hybrid(data, schema, families=spec.families, **options)
        for name in ("B", "v", "sigma", "confidential_from"):
            if getattr(spec, name) is not None:
                options[name] = getattr(spec, name)
        return GenModel(data, schema, allocation=_allocation(spec), **options)

    def _roles(self, schema: Schema) -> Roles:
        assert self.formula is not None
        assert self.design is not None
        return roles(self.formula, schema, self.design.columns, self.design)


def experiment_from(document: Mapping[str, Any], release: ReleaseSpec) -> Experiment | None:
    """Return the experiment of a parsed study file, None where the method knows of none.

    Raises
    ------
    StudyError
        If a key is unknown, of a wrong type, not allowed, or belongs to another method.

    Examples
    --------
    >>> from dprct.replicate.study import ReleaseSpec
    >>> release = ReleaseSpec(1.0, "published_hybrid", formula="y ~ treat + age")
    >>> document = {"design": {"kind": "block", "arms": ["treat"], "block": "site"}}
    >>> experiment_from(document, release).design.uses
    ('site',)
    """
    method = release.method
    if method not in get_args(InformedMethod):
        said = {
            "[release] formula": release.formula is not None,
            "[design]": "design" in document,
            "[informed]": "informed" in document,
        }
        for where, given in said.items():
            if given:
                raise StudyError(
                    f"{where} is for method = {' or '.join(map(repr, get_args(InformedMethod)))}; "
                    f"remove it, as method = {method!r}"
                )
        return None
    design = None
    if "design" in document:
        design = _design(section(DesignSpec, document["design"], "[design]"), "[design]")
    spec = section(InformedSpec, document.get("informed", {}), "[informed]")
    _check_informed(spec, release)
    return Experiment(method, release.formula, design, spec)


def _design(spec: DesignSpec, where: str) -> Design:
    """Return the design that a section spells."""
    _check_choice(spec.kind, _KINDS, f"{where} kind")
    try:
        return _factorial(spec, where) if spec.kind == "factorial" else _plain(spec, where)
    except ParameterError as error:
        raise StudyError(f"{where} {error}") from None


def _plain(spec: DesignSpec, where: str) -> Design:
    kind, needed = _DESIGNS[spec.kind]
    _check_belongs(spec, ("arms", "shares", "control_share", *needed), where)
    _check_there(spec, ("arms", *needed), where)
    if isinstance(spec.arms, Mapping):
        raise StudyError(f"{where} arms is a table, which is for a factorial design; give a list")
    options = {name: getattr(spec, name) for name in needed}
    design: Design = kind(
        spec.arms, shares=spec.shares, control_share=spec.control_share, **options
    )
    return design


def _factorial(spec: DesignSpec, where: str) -> Design:
    _check_belongs(spec, ("arms", "factors"), where)
    _check_there(spec, ("factors",), where)
    assert spec.factors is not None
    if spec.arms is not None and not isinstance(spec.arms, Mapping):
        raise StudyError(
            f"{where} arms is a list; of a factorial design give a table, such as "
            '{both = ["cash", "therapy"]}, or leave it out'
        )
    found = []
    for name, table in spec.factors.items():
        place = f"{where[:-1]}.factors.{name}]"
        factor = section(DesignSpec, {"arms": [name], **table}, place)
        _check_choice(factor.kind, tuple(_DESIGNS), f"{place} kind")
        found.append(_design(factor, place))
    return Factorial(found, spec.arms)


def _check_belongs(spec: DesignSpec, known: tuple[str, ...], where: str) -> None:
    for f in fields(spec):
        if f.name not in ("kind", *known) and getattr(spec, f.name) is not None:
            raise StudyError(
                f"{where} {f.name} does not belong to kind = {spec.kind!r}, which takes "
                f"{', '.join(known)}; remove it"
            )


def _check_there(spec: DesignSpec, needed: tuple[str, ...], where: str) -> None:
    for name in needed:
        if getattr(spec, name) is None:
            raise StudyError(f"{where} of kind = {spec.kind!r} lacks {name}; write {name} = ...")


def _check_choice(value: object, allowed: tuple[str, ...], where: str) -> None:
    if value not in allowed:
        raise StudyError(f"{where} = {value!r}; allowed: {', '.join(allowed)}")


def _check_informed(spec: InformedSpec, release: ReleaseSpec) -> None:
    method, epsilon = release.method, release.epsilon
    foreign = ("families",) if method == "published_gen_model" else _OF_GEN_MODEL
    for name in foreign:
        if getattr(spec, name) is not None:
            raise StudyError(f"[informed] {name} does not belong to method = {method!r}; remove it")
    for name, allowed in (
        ("x_method", get_args(XMethod)),
        ("missing_outcomes", get_args(MissingOutcomes)),
        ("allocation", ("section4", "section5")),
        ("sigma", get_args(Sigma)),
        ("confidential_from", get_args(From)),
    ):
        if getattr(spec, name) is not None:
            _check_choice(getattr(spec, name), allowed, f"[informed] {name}")
    for outcome, family in (spec.families or {}).items():
        _check_choice(family, get_args(Family), f"[informed] families {outcome}")
    if spec.x_method == "marginals" and release.zeta is not None:
        raise StudyError('[release] zeta sets the bins of a histogram; remove it, as [informed] '
                         'x_method = "marginals"')  # fmt: skip
    if spec.B is not None and spec.B < 2:
        raise StudyError(f"[informed] B = {spec.B}; give at least 2, such as 5000")
    if spec.v is not None and spec.v <= 0:
        raise StudyError(f"[informed] v = {spec.v}; give a number above 0, such as 50")
    if (spec.epsilon_x is not None) != (spec.allocation == "section5"):
        raise StudyError('[informed] epsilon_x and allocation = "section5" go together; give both')
    if spec.epsilon_x is not None and not 0 < spec.epsilon_x < epsilon:
        raise StudyError(
            f"[informed] epsilon_x = {spec.epsilon_x}; give a number above 0 and below "
            f"[release] epsilon = {epsilon}"
        )


def _allocation(spec: InformedSpec) -> Allocation:
    if spec.epsilon_x is None:
        return Allocation.section4()
    return Allocation.section5(spec.epsilon_x)
