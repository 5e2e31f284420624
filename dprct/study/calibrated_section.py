"""The study-file section ``[calibrated]``: options of the calibrated release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from dprct.certificate.valid_regressions import Validity
from dprct.defaults import MOMENT_SHARE
from dprct.errors import DprctError, ParameterError, StudyError
from dprct.estimate.ate.facts import indexes_of, is_file
from dprct.estimate.ate.model import policy_of
from dprct.estimate.experiment import cluster_unit, compared, constant_of, levels_of, with_bounds
from dprct.privacy.budget import Real, exact
from dprct.privacy.mechanisms import split as split_budget
from dprct.release.calibrated.covariates import covariates_of
from dprct.release.calibrated.layout import (
    Layout,
    Regressions,
    check_slopes,
    cluster_column,
    design_problems,
    prepared_schema,
    regressions_of,
    split,
)
from dprct.release.calibrated.model import (
    COVARIATES,
    MOMENTS,
    Calibrated,
    Wanted,
    shares_of,
)
from dprct.study.sections import absent, check_choice, design_from, section

if TYPE_CHECKING:
    from dprct.assignment import Design
    from dprct.estimate.experiment import BlockRule, UnitRule
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema
    from dprct.study.sections import ReleaseSpec

Numbers = float | tuple[float, ...]
Level = str | float
Indexes = str | Mapping[str, str]
Pairs = tuple[float, float] | Mapping[str, tuple[float, float]]
Shares = Mapping[str, Real]
Policies = str | float | Mapping[str, str | float]

_RELEASES = get_args(Wanted)
_LEGAL = ("calibrated", "strict")
_GAMMA = ("zero", "moments")
_BLOCKS = ("weight", "ignore")
_UNITS = ("person", "cluster")
_POLICIES = ("public", "private")
_OPTIONS = (
    "budget_shares",
    "sd",
    "missing",
    "blocks",
    "privacy_unit",
    "largest_cluster",
    "control",
    "covariate_release",
    "legal",
    "gamma",
    "index",
    "index_bounds",
)
"""Keys that are arguments of the class under the same name."""

_RENAMED = {
    "weights": "budget_shares",
    "unit": "privacy_unit",
    "covariates": "covariate_release",
    "levels": "alphas",
}
"""Old names of keys, which are still read."""


@dataclass(frozen=True, slots=True)
class CalibratedSpec:
    """Options of the calibrated release; what is left out has the method's default.

    Parameters
    ----------
    covariate_release : {"auto", "histogram", "marginals", "filler"}
        How the covariates are drawn.
    specifications : list of str
        Further covariate sets that readers may use, each as the right side of a formula
        (``"age + C(town)"``; ``""`` is none).
    alphas : number or list of numbers
        Sizes of tests at which intervals are to be valid, such as ``[0.05, 0.01]``.
    legal : {"calibrated", "strict"}
        Whether released outcomes may be real numbers, or are rounded to legal values.
    gamma : {"zero", "moments"}
        Whether outcomes move with covariates; ``"moments"`` costs a part of epsilon and a delta.
    index : text, or table of texts
        By outcome: a formula with fixed coefficients of covariates, by which the outcome is
        adjusted before it is clipped.
    index_bounds : [low, high], or table of these
        Bounds of the outcome less its index.
    budget_shares : table of numbers
        Shares of epsilon, of sum one: of ``covariates`` unless they are filler, of ``moments`` with
        ``gamma = "moments"``, and of each outcome; or of the outcomes alone, which divide what the
        others leave.
    sd : table of numbers
        Standard deviations of outcomes, known from elsewhere, for the plan.
    clip : list of str
        Outcomes whose values beyond their bounds are moved to the bound, row by row, before
        anything is computed; effects are then those on the clipped outcome.  By default, such
        values are refused.
    missing : "public", "private", number, or table of these
        What to do with missing outcomes.
    blocks : {"weight", "ignore"}
        Average over the blocks of the design, or leave them out.
    privacy_unit : {"person", "cluster"}
        What is protected where clusters were assigned.
    largest_cluster : int
        Most rows that a cluster can have; for ``privacy_unit = "cluster"``.
    control : str or number
        The group to compare with, where the design has no group that is in no arm.
    attrition : bool
        Rows were lost after the assignment: shares are not held against it.
    """

    covariate_release: str | None = None
    specifications: tuple[str, ...] = ()
    alphas: Numbers | None = None
    legal: str | None = None
    gamma: str | None = None
    index: Indexes | None = None
    index_bounds: Pairs | None = None
    budget_shares: Shares | None = None
    sd: Mapping[str, float] | None = None
    clip: tuple[str, ...] = ()
    missing: Policies | None = None
    blocks: str | None = None
    privacy_unit: str | None = None
    largest_cluster: int | None = None
    control: Level | None = None
    attrition: bool = False


@dataclass(frozen=True, slots=True)
class CalibratedExperiment:
    """What a study file says to the calibrated release.

    Parameters
    ----------
    formula : str or None
        The reader's regression.
    design : Design or None
        None of the two is None once nothing is open.
    calibrated : CalibratedSpec
    """

    formula: str | None
    design: Design | None
    calibrated: CalibratedSpec

    @property
    def clusters(self) -> Unit | None:
        """Who is protected, where whole clusters are."""
        largest = self.calibrated.largest_cluster
        if self.calibrated.privacy_unit != "cluster" or self.design is None or largest is None:
            return None
        return cluster_unit(self.design, largest)

    def problems(self, schema: Schema) -> list[str]:
        """Return what is open or does not fit the columns of the file, in words."""
        found = absent(self.formula, self.design)
        if found:
            return found
        try:
            self._check_rules()
        except DprctError as error:
            found = [f"[calibrated] {error}"]
        try:
            regressions = self._regressions()
            found += self._of_outcomes(schema, regressions)
            return found + self._of_columns(schema, regressions)
        except DprctError as error:
            return [*found, str(error)]

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
        assert self.formula is not None
        assert self.design is not None
        spec = self.calibrated
        options = {
            name: getattr(spec, name) for name in _OPTIONS if getattr(spec, name) is not None
        }
        if spec.alphas is not None:
            options["alphas"] = _listed(spec.alphas)
        return Calibrated.from_formula(
            self.formula,
            _clipped(data, schema, spec.clip),
            schema,
            treatment=self.design.columns,
            assignment=self.design,
            specifications=spec.specifications,
            attrition=spec.attrition,
            keep=keep,
            **options,
        )

    def valid(self) -> Validity:
        """Return what the planned file will be valid for, from public facts alone.

        Raises
        ------
        FormulaError, ParameterError
            If the formula is not one that can be calibrated.
        """
        assert self.design is not None
        regressions = self._regressions()
        cluster = cluster_column(self.design)
        return Validity(
            outcomes=regressions.outcomes,
            arms=regressions.arms,
            covariates=regressions.covariates,
            cov_type="HC1" if cluster is None else "CR1",
            cluster=cluster,
            levels=_listed(self.calibrated.alphas or 0.05),
            subsets_valid=self.calibrated.gamma in (None, "zero"),
            rounded=self.calibrated.legal == "strict",
        )

    def _check_rules(self) -> None:
        """Refuse what the declared design does not allow, before the data are opened."""
        assert self.design is not None
        spec = self.calibrated
        compared(
            None,
            self.design,
            control=spec.control,
            blocks=cast("BlockRule", spec.blocks or "weight"),
            privacy_unit=cast("UnitRule", spec.privacy_unit or "person"),
            largest_cluster=spec.largest_cluster,
        )

    def _regressions(self) -> Regressions:
        assert self.formula is not None
        assert self.design is not None
        columns = self.design.columns
        outcomes, arms, terms = split(self.formula, columns)
        return regressions_of(outcomes, arms, terms, self.calibrated.specifications, columns)

    def _of_outcomes(self, schema: Schema, regressions: Regressions) -> list[str]:
        """Return what the outcomes lack: bounds, a missing policy, a share that is theirs."""
        spec, found = self.calibrated, []
        for name in regressions.outcomes:
            try:
                column = with_bounds(schema.column(name))
                policy = policy_of(column, spec.missing)
                if policy is not None and policy not in _POLICIES:
                    constant_of(policy, column)
            except DprctError as error:
                found.append(str(error))
        release = cast("Wanted", spec.covariate_release or "auto")
        moments = spec.gamma == "moments"
        shares_of(spec.budget_shares, release, regressions.outcomes, moments=moments)
        if spec.gamma == "moments":
            check_slopes(regressions)
        assert self.design is not None
        outcomes = regressions.outcomes
        indexes_of(spec.index, spec.index_bounds, (), outcomes, self.design, schema)
        for key in ("sd", "missing", "clip"):
            named = getattr(spec, key)
            by_name = isinstance(named, (Mapping, tuple))
            others = set(named) - set(regressions.outcomes) if by_name else set()
            found += [
                f"[calibrated] {key} names {name!r}, which is not an outcome of the formula"
                for name in sorted(others)
            ]
        return found

    def _of_columns(self, schema: Schema, regressions: Regressions) -> list[str]:
        """Return what contradicts the part that a column plays, or keeps it from being drawn."""
        assert self.design is not None
        public = dict.fromkeys((*self.design.columns, *self.design.uses))
        problems = design_problems(schema, public)
        if problems:
            return problems
        prepared = prepared_schema(schema, regressions, public)
        drawn = Layout(prepared, regressions, strict=False).covariates
        covariates_of(None, drawn, frozenset(), 1, filler=True)
        return []


def calibrated_from(document: Mapping[str, Any], release: ReleaseSpec) -> CalibratedExperiment:
    """Return the experiment of a parsed study file for the calibrated release.

    Raises
    ------
    StudyError
        If a key is unknown, of a wrong type or not allowed.

    Examples
    --------
    >>> from dprct.study.sections import ReleaseSpec
    >>> release = ReleaseSpec(1.0, "calibrated", formula="y ~ treat + age")
    >>> document = {"calibrated": {"covariate_release": "filler", "alphas": [0.05, 0.01]}}
    >>> calibrated_from(document, release).calibrated.alphas
    (0.05, 0.01)
    """
    design = design_from(document)
    table = _renamed(document.get("calibrated", {}))
    share = table.pop("share", None) if isinstance(table, dict) else None
    spec: CalibratedSpec = section(CalibratedSpec, table, "[calibrated]")
    for key, allowed in (
        ("covariate_release", _RELEASES),
        ("legal", _LEGAL),
        ("gamma", _GAMMA),
        ("blocks", _BLOCKS),
        ("privacy_unit", _UNITS),
    ):
        if getattr(spec, key) is not None:
            check_choice(getattr(spec, key), allowed, f"[calibrated] {key}")
    rules = spec.index.values() if isinstance(spec.index, Mapping) else [spec.index]
    if any(is_file(rule) for rule in rules if rule is not None):
        raise StudyError(
            "[calibrated] index names a file; a study file states the index itself, as a formula "
            'with numbers such as "0.8 * before"'
        )
    try:
        if spec.alphas is not None:
            levels_of(_listed(spec.alphas))
        if share is not None:
            spec = replace(spec, budget_shares=_with_share(spec, share, release.formula, design))
    except ParameterError as error:
        raise StudyError(f"[calibrated] {error}") from None
    return CalibratedExperiment(release.formula, design, spec)


def _renamed(table: Any) -> Any:
    """Return a table with the keys of this version; those of earlier ones are still read."""
    if not isinstance(table, Mapping):
        return table
    if "covariates" in table and table["covariates"] not in _RELEASES:
        raise StudyError(
            f"[calibrated] covariates = {table['covariates']!r}; the covariates are the terms of "
            "[release] formula, and covariate_release says how they are drawn: "
            f"{', '.join(_RELEASES)}"
        )
    for old, new in _RENAMED.items():
        if old in table and new in table:
            raise StudyError(f"[calibrated] has {old} and {new}, which are the same; keep {new}")
    return {_RENAMED.get(key, key): value for key, value in table.items()}


def _with_share(
    spec: CalibratedSpec, share: object, formula: str | None, design: Design | None
) -> Shares | None:
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
    if formula is None or design is None:
        return spec.budget_shares  # either is missing, which problems() says
    outcomes, _, _ = split(formula, design.columns)
    if spec.budget_shares is not None and not set(spec.budget_shares) <= set(outcomes):
        raise ParameterError(
            "share and a budget_shares that names more than outcomes say the same; keep "
            "budget_shares"
        )
    moments = MOMENT_SHARE if spec.gamma == "moments" else Fraction(0)
    mine = exact(share, "share")
    if mine + moments >= 1:
        raise ParameterError(
            f"share={float(mine):g} plus {float(moments):g} for gamma='moments' leaves nothing for "
            "the effects; lower it"
        )
    inner = split_budget(spec.budget_shares, dict.fromkeys(outcomes, 1))
    found = {COVARIATES: mine} | ({MOMENTS: moments} if moments else {})
    return found | {name: inner[name] * (1 - mine - moments) for name in outcomes}


def _listed(alphas: Numbers) -> tuple[float, ...]:
    return alphas if isinstance(alphas, tuple) else (alphas,)


def _clipped(data: Any, schema: Schema, names: tuple[str, ...]) -> Any:
    """Return data whose outcomes lie within their public bounds; missing codes stay.

    Row by row and by public constants: one record still changes one record.
    """
    new = {}
    for name in names:
        bounds = with_bounds(schema.column(name)).bounds
        assert bounds is not None
        values = data[name].to_numpy(np.float64)
        new[name] = np.where(np.isnan(values), values, np.clip(values, *bounds))
    return data.assign(**new)
