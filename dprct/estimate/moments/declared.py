"""Declared regressions: what a paper prints, as a value, and which of them one step serves."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dprct.annotations import Count  # noqa: TC001 -- read by DOCUMENT
from dprct.arguments import checked, given, is_data
from dprct.certificate.valid_regressions import ADJUSTED, DIFFERENCE
from dprct.errors import ParameterError
from dprct.estimate.moments.variables import (
    INTERCEPT,
    Regressor,
    check_outcome,
    instrumented,
    key_of,
    listed_terms,
    main_part,
    regressors_of,
    variable_of,
)
from dprct.formula import parse
from dprct.queries.group_moments import Part
from dprct.queries.index_scores import (
    Family as IndexFamily,  # noqa: TC001 -- read by @checked
)
from dprct.queries.one_step import Feature
from dprct.records import dataclass
from dprct.schema.columns import ancestors, parents_of
from dprct.schema.conditions import (
    asked_of,
    columns_asked,
    condition,
    divided_by,
    named,
    reduced,
    texts,
)
from dprct.schema.schema import FIXED_ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from dprct.assignment.groups import Design
    from dprct.estimate.moments.variables import Key
    from dprct.formula.syntax import Formula
    from dprct.schema import Column, Schema

    Array = NDArray[np.floating[Any]]

_INSTRUMENTS = re.compile(r"\[(?P<endogenous>[^~\]]+)~(?P<by>[^\]]+)\]")

StepErrors = Literal["HC1", "CR1", "nonrobust"]

_KINDS = {"HC1": "robust", "CR1": "clustered", "nonrobust": "classical"}


@checked
@dataclass(frozen=True)
class Regression:
    """A regression of a do-file, declared before the data are read.

    Parameters
    ----------
    formula : str
        As in :func:`dprct.ols`: ``"index ~ treat + age"``, ``"y ~ treat | block"``.
    where : str, optional
        Its rows, as after Stata's ``if``: ``"female == 1 & region <= 3"``, ``'town != "A"'``,
        ``"inlist(wave, 1, 3) & wage < ."``.  Columns of the design, those with ``fate="public"``,
        and whether a value with ``missing_policy="public"`` exists are public.  Other columns must
        be fixed before treatment and compared with numbers or texts; who meets the condition is
        then protected.  Of persons with several rows, those count all of whose rows meet what is
        asked of private columns.  Regressions on disjoint rows, such as those of women and of men,
        cost as much as one.  Comparisons with a missing value are false, and so are their
        negations; ``x > 3`` of Stata, where missing values are large, is ``x > 3 | missing(x)``.
    weights : str, optional
        The column of its sampling weights, as Stata's ``[pweight=w]`` or ``[aweight=w]`` with
        robust or clustered errors.  A column of the design or with ``fate="public"`` is public, and
        rows without a weight, or with 0, are left out.  Any other column must have bounds of 0 or
        above and be fixed before treatment; weights are then protected, and noise grows with the
        ratio of the largest to the mean weight.
    cluster : str or pair of str, optional
        The column by which errors are clustered, of the design or with ``fate="public"``; by
        default, the assigned clusters.  With two columns, errors are clustered in two ways, as by
        ``cluster(village year)`` of Stata's ``reghdfe`` and ``ivreg2``.
    name : str, optional
        Name by which its results are requested.
    family : {"logit", "probit", "cloglog", "poisson"}, optional
        Least squares by default.  For the others, the coefficients of all regressors are released
        by three steps of Newton's method (:meth:`dprct.Moments.glm`), with private covariates
        projected onto the ball of the release.
    joint : str, optional
        Label of regressions whose coefficients are tested together, as after Stata's ``suest``.
    cov_type : {"HC1", "CR1", "nonrobust"}, optional
        Its errors, if not those of the design: robust, as with Stata's ``robust``, or
        classical, as those of ``regress`` without an option.
    count_effects : bool, optional
        Whether the effects after ``|`` count as coefficients in the degrees of freedom, as in
        ``areg`` but not in ``xtreg, fe`` with clusters.  By default, those of blocks count and
        those of persons do not.

    Raises
    ------
    FormulaError, ParameterError
        If the formula is not in the language, or an option is not offered.

    Examples
    --------
    >>> Regression("y ~ treat + age", name="adjusted").title
    'adjusted'
    """

    formula: str
    where: str | None = None
    weights: str | None = None
    cluster: str | tuple[str, str] | None = None
    name: str | None = None
    family: IndexFamily | None = None
    joint: str | None = None
    cov_type: StepErrors | None = None
    count_effects: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.cluster, (str, type(None))):
            object.__setattr__(self, "cluster", tuple(sorted(self.cluster)))  # in any order
        self._check_errors()
        if self.joint is not None and (not self.joint.strip() or self.parsed.endogenous):
            raise ParameterError(
                f"``joint={given(self.joint)}``; give the name of a family of regressions without "
                "instruments, which are tested together"
            )
        self.parsed, self.condition  # noqa: B018 -- refuses what is no formula or condition

    def _check_errors(self) -> None:
        """Refuse errors that contradict another option, or that Stata does not have either."""
        asked = f"``cov_type={given(self.cov_type)}``"
        if self.cov_type in ("HC1", "nonrobust") and self.cluster is not None:
            raise ParameterError(f"{asked} and ``cluster=`` are both given; give one of them")
        if len({*self.ways}) < len(self.ways):
            raise ParameterError(
                f"``cluster=`` names {self.ways[0]!r} twice; name each column once"
            )
        if self.cov_type != "nonrobust":
            return
        for there, what, instead in (
            (self.weights is not None, "sampling weights", "robust errors, as Stata has"),
            (self.joint is not None, "``joint=``", "robust errors, as after ``suest``"),
            (self.parsed.endogenous, "instruments", "robust errors"),
        ):
            if there:
                raise ParameterError(
                    f"{asked} is not offered with {what}; leave it out, for {instead}"
                )

    @property
    def ways(self) -> tuple[str, ...]:
        """The one or two columns by which errors are clustered; empty for assigned clusters."""
        return (self.cluster,) if isinstance(self.cluster, str) else self.cluster or ()

    @property
    def parsed(self) -> Formula:
        """The formula."""
        return _parsed(self.formula)

    @property
    def condition(self) -> str | None:
        """Its condition in canonical form."""
        return None if self.where is None else condition(self.where)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The columns of its condition."""
        return () if self.condition is None else tuple(sorted(named(self.condition)))

    def inside(self, schema: Schema) -> str | None:
        """Return the condition on rows with values in its columns; None if it always holds.

        Columns that are never missing, and those of the regression, have a value wherever a row
        counts.
        """
        if self.condition is None:
            return None
        there = {one.name for one in schema.columns if one.missing == ()}
        there |= {
            name for name in self.parsed.names
            if not isinstance(schema.column(name).missing_policy, float)
        }  # fmt: skip
        found = reduced(self.condition, there)
        if found is None:
            raise ParameterError(
                f"{self.title!r}: ``where=`` holds for no row that has a value of its columns; "
                "give a condition that holds for some"
            )
        return found or None

    @property
    def bare(self) -> bool:
        """Whether it has no option besides its formula."""
        return self == Regression(self.formula)

    @property
    def stages(self) -> tuple[Regression, Regression] | None:
        """Its reduced form and its first stage, both on the instruments; None without any.

        Examples
        --------
        >>> [one.formula for one in Regression("y ~ age + [d ~ treat]").stages]
        ['y ~ age + treat', 'd ~ age + treat']
        """
        found = _INSTRUMENTS.search(self.formula)
        if found is None or not self.parsed.endogenous:
            return None
        left, _, right = self.formula.partition("~")
        right = _INSTRUMENTS.sub(found["by"].strip(), right).strip()
        outcomes = left.strip(), found["endogenous"].strip()
        reduced, first = (
            replace(self, formula=f"{outcome} ~ {right}", name=None) for outcome in outcomes
        )
        return reduced, first

    def of(self, outcome: str) -> Regression:
        """Return the regression of one of its outcomes."""
        right = self.parsed.text.partition("~")[2].strip()
        name = self.name
        if name and len(self.parsed.outcome_names) > 1:
            name = f"{name}: {outcome}"
        return replace(self, formula=f"{_quoted(outcome)} ~ {right}", name=name)

    @property
    def title(self) -> str:
        """Its name, or its formula and options."""
        if self.name:
            return self.name
        more = {"family": self.family, "where": self.condition, "weights": self.weights,
                "cluster": " and ".join(self.ways) or None}  # fmt: skip
        said = [f"{key} {value}" for key, value in more.items() if value is not None]
        said += [] if self.cov_type is None else [f"{_KINDS[self.cov_type]} errors"]
        if self.count_effects is not None:
            said.append(f"effects {'' if self.count_effects else 'not '}counted")
        return ", ".join([self.parsed.text, *said])


@lru_cache(maxsize=1024)
def _parsed(formula: str) -> Formula:
    return check_outcome(parse(formula, structural=True))


@lru_cache(maxsize=1024)
def _alone(regression: Regression, outcome: str) -> Regression:
    return regression.of(outcome)


def listed_regressions(formulas: object) -> tuple[str | Regression, ...]:
    """Declared regressions of ``formulas=``, each once; a formula alone stays text."""
    one = isinstance(formulas, (str, Regression))
    found: Iterable[Any] = (formulas,) if one else ()
    if not one and hasattr(formulas, "__iter__") and not is_data(formulas):
        found = tuple(formulas)
    elif not one:
        found = (formulas,)
    for value in found:
        if not isinstance(value, (str, Regression)):
            raise ParameterError(
                f"``formulas=`` has ``{type(value).__name__}``; give formulas as text, or "
                "``dprct.Regression(formula, where=...)``"
            )
    listed = tuple(dict.fromkeys(
        r.formula if isinstance(r, Regression) and r.bare else r for r in found
    ))  # fmt: skip
    names = [r.name for r in listed if isinstance(r, Regression) and r.name]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"two regressions are named {name!r}; give each its own name")
    return listed


@dataclass(frozen=True)
class Step:
    """One outcome of a declared regression on treatment, which one step serves."""

    regression: Regression
    outcome: str
    # Functions of public columns that have treatment in them: their coefficients are released.
    treatment: tuple[Regressor, ...]
    controls: tuple[Regressor, ...]  # other functions of public columns, the constant among them
    absorbed: tuple[str, ...]  # public columns each level of which has an effect: blocks
    covariates: tuple[Regressor, ...]  # of private columns, which were fixed before treatment
    clusters: tuple[str, ...]  # public columns of the clusters of its errors; none for robust ones
    # What its condition asks, of public columns, of rows that have a value of its columns.
    where: str | None = None
    # Products of a treatment and a private covariate: name, which treatment, and which of
    # ``features``, the covariates in these.
    products: tuple[tuple[str, int, int], ...] = ()
    features: tuple[Feature, ...] = ()
    feature_keys: tuple[Key, ...] = ()
    # Outcomes of regressions on the same rows: who has none of these does not count either.
    beside: tuple[str, ...] = ()
    unit: str | None = None  # public column of whose a row is, where a person may have several
    # Public columns besides those of the design, such as the period: those that treatment is
    # multiplied by; with ``unit`` all of them.
    shown: tuple[str, ...] = ()
    # What its condition asks of private columns: how many meet it is released with noise.
    choosing: str | None = None
    # Columns of which it is private who has a value, as who counts must.
    present: tuple[str, ...] = ()
    weighing: Feature | None = None  # the weight of a row, where that is private

    @property
    def hides(self) -> bool:
        """Whether it is private who counts, or how much."""
        return bool(self.choosing or self.present or self.weighing)

    @property
    def within(self) -> bool:
        """Whether treatment may have moved who counts in a block, so that each is held apart."""
        return self.outcome in self.present and bool(self.absorbed)

    @property
    def shown_weights(self) -> str | None:
        """The column of public weights."""
        return None if self.weighing else self.regression.weights

    @property
    def made(self) -> bool:
        """Whether some treatment is a public column that is made of those of the design."""
        return any({a.column for a in one.atoms} <= {*self.shown} for one in self.treatment)

    @property
    def meaning(self) -> tuple[Any, ...]:
        """Identity without names and the order of terms; equal regressions are drawn once."""
        regressors = self.treatment, self.controls, self.covariates
        of = self.regression
        return (
            self.outcome, *(frozenset(key_of(one.atoms) for one in part) for part in regressors),
            frozenset(self.absorbed), self.clusters, self.two_ways, self.cov_type, self.counted,
            self.where, self.choosing, of.weights, self.beside, self.products, self.unit,
        )  # fmt: skip

    @property
    def terms(self) -> tuple[tuple[int, int], ...]:
        """Which treatment each coefficient is of, and which feature it is multiplied by, or -1."""
        alone = [(k, -1) for k in range(len(self.treatment))]
        return (*alone, *((k, j) for _, k, j in self.products))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients of treatment."""
        return (*(one.name for one in self.treatment), *(name for name, _, _ in self.products))

    @property
    def text(self) -> str:
        """Its formula, of this outcome."""
        return _alone(self.regression, self.outcome).formula

    @property
    def title(self) -> str:
        """Its name, or its formula."""
        return _alone(self.regression, self.outcome).title

    @property
    def cov_type(self) -> StepErrors:
        """Classical, robust to variances that vary, or to dependence within clusters too."""
        if self.regression.cov_type == "nonrobust":
            return "nonrobust"
        return "CR1" if self.clusters else "HC1"

    @property
    def two_ways(self) -> bool:
        """Whether errors are clustered in two ways."""
        return len(self.regression.ways) > 1

    @property
    def clusterings(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each partition into clusters; of two ways each and both together."""
        one = (self.clusters,) if self.clusters else ()
        return (*((name,) for name in self.regression.ways), *one) if self.two_ways else one

    @property
    def counted(self) -> bool:
        """Whether errors count the effects of blocks or persons among the coefficients."""
        asked = self.regression.count_effects
        return self.unit not in self.absorbed if asked is None else asked

    @property
    def needed(self) -> bool:
        """Whether moments of arms would give something else, or at more noise."""
        return bool(
            self.covariates or self.absorbed or self.clusters or self.unit or self.made
            or not self.regression.bare
        )  # fmt: skip


@dataclass(frozen=True)
class Declared:
    """What is public of one declared regression that a release has."""

    title: str  # its name, or its formula and options
    formula: str
    outcome: str
    bounds: tuple[float, float]  # at which the outcome was clipped
    terms: Annotated[tuple[str, ...], {"minItems": 1}]  # the coefficients of treatment
    covariates: tuple[str, ...]
    nobs: Count  # rows that count
    coefficients: Count  # k of the do-file
    clusters: tuple[str, ...] = ()  # the columns of the clusters of its errors
    groups: Count = 0  # clusters, of two ways the smaller number; 0 where errors are those of rows
    joint: bool = True  # whether covariances of the coefficients are released
    where: (
        Annotated[str, "the condition on public columns that holds for the rows that count"] | None
    ) = None
    weights: Annotated[str, "the public column of sampling weights of the rows"] | None = None
    # Over all rows that count: shares of the arms are declared alike in all blocks.
    average: Annotated[bool, "whether coefficients are average effects of 0/1 columns: margins"] = (
        False
    )
    amounts: (
        Annotated[tuple[str, ...], "treatments that are no 0/1 columns: coefficients are per unit"]
        | None
    ) = None
    errors: (
        Annotated[
            Literal["nonrobust"],
            "classical errors, where they are not robust: all of the covariance is one draw",
        ]
        | None
    ) = None
    count_effects: (
        Annotated[bool, "whether errors count absorbed effects, where there are any"] | None
    ) = None
    ways: (
        Annotated[
            tuple[Count, ...],
            "of errors clustered in two ways, by one column each: clusters of each",
            {"minItems": 2, "maxItems": 2},
        ]
        | None
    ) = None

    @property
    def clustered(self) -> str:
        """Its clusters in words, such as "200 clusters of village"; empty without."""
        if self.ways is None:
            return f"{self.groups} clusters of {', '.join(self.clusters)}" if self.groups else ""
        each = zip(self.ways, self.clusters, strict=True)
        return " and ".join(f"{groups} clusters of {name}" for groups, name in each)

    @property
    def classical(self) -> bool:
        """Whether its errors are classical: one number, the mean square of residuals."""
        return self.errors == "nonrobust"

    @property
    def cov_type(self) -> str:
        """HC1, CR1 or nonrobust."""
        return self.errors or ("CR1" if self.groups else "HC1")

    @property
    def df(self) -> int:
        """Degrees of freedom of its errors, as Stata has them."""
        return self.groups - 1 if self.groups else self.nobs - self.coefficients

    @property
    def estimand(self) -> str:
        """What the coefficients are of."""
        low, high = self.bounds
        inside = f" where {self.where}" if self.where else ""
        inside += f", weighted by {self.weights}" if self.weights else ""
        return f"{self.outcome} clipped to [{low:g}, {high:g}]{inside}"

    @property
    def said(self) -> str:
        """Its title, and its condition where a name does not tell it."""
        told = self.where is None or self.where in self.title
        return self.title if told else f"{self.title} (where {self.where})"


def coefficient_words(amounts: Sequence[str], covariates: Sequence[str]) -> str:
    """What coefficients of treatment are, by one name in all documents.

    Examples
    --------
    >>> coefficient_words([], []), coefficient_words([], ["age"])
    ('difference in means', 'adjusted difference (age)')
    >>> coefficient_words(["price"], ["age"])
    'least-squares coefficient per unit of price, adjusted (age)'
    """
    listed = f" ({', '.join(covariates)})" if covariates else ""
    if not amounts:
        return (ADJUSTED if covariates else DIFFERENCE) + listed
    adjusted = f", adjusted{listed}" if covariates else ""
    return f"least-squares coefficient per unit of {', '.join(amounts)}{adjusted}"


def outcome_unlike(column: Column, family: str) -> str | None:
    """Why an outcome is not that of a family, by its declaration; None if it is."""
    two = {*(column.levels or ())} == {0.0, 1.0} or (
        column.integer and tuple(column.bounds or ()) == (0.0, 1.0)
    )
    if family == "logit" and not two:
        return f"a logit is of an outcome of 0 and 1, and {column.name} is declared as another"
    low = column.bounds[0] if column.bounds else sorted(map(float, column.levels or (0.0,)))[0]
    if family == "poisson" and low < 0:
        return f"a Poisson is of an outcome of at least 0, and {column.name} may be {low:g}"
    return None


@dataclass(frozen=True)
class Instrumented:
    """What is public of a declared regression with an instrument."""

    title: str
    formula: str
    endogenous: str  # what the instrument moves
    # Places of the reduced form and of the first stage among the declared regressions.
    reduced: Count
    first: Count


@dataclass(frozen=True)
class Family:
    """Declared regressions whose coefficients are tested together."""

    name: str
    # Places among the declared regressions.
    members: Annotated[tuple[Count, ...], {"minItems": 2}]

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of them."""
        return tuple(combinations(self.members, 2))


@dataclass(frozen=True, eq=False)
class DrawnCross:
    """What was released of how the coefficients of two declared regressions vary together."""

    # Places of the two among the declared regressions.
    first: int
    second: int
    sampling: Array  # (q, r)
    spread: Array  # (q, r): standard deviation of the noise of each entry
    # Whether both have the same weights: then entries across the diagonal are one draw.
    alike: bool = True


@dataclass(frozen=True, eq=False)
class DrawnStep:
    """What was released of one declared regression, in units of its outcome."""

    params: Array  # (q,)
    # (q, q): small-sample factor included; NaN off the diagonal where no covariances were released.
    sampling: Array
    spread: Array  # (q, q): standard deviation of the noise of each entry of it
    noise: Array  # (q,): standard deviation of the noise of each coefficient
    # (q, q): coefficients are these combinations of what ``sampling`` and ``spread`` are of.
    basis: Array | None = None
    covariance: Array | None = None  # (q, q): of the noise, where that is not independent
    # About how many rows count, where private columns choose them; NaN where they are too few.
    rows: float | None = None


def steps_of(
    regression: Regression, schema: Schema, design: Design, subgroups: Sequence[str],
    lacking: Sequence[str] = (), *, hidden: bool = False,
) -> tuple[Step, ...] | str:  # fmt: skip
    """Return a declared regression for one step, outcome by outcome; or why it is not served.

    Parameters
    ----------
    lacking : sequence of str
        Its columns of which it is private who has a value.
    hidden : bool
        Whether treatment is private.
    """
    parsed = regression.parsed
    made = _made_of_arms(parsed.regressor_names, schema, design)
    treatment, unit = {*design.columns, *made}, schema.unit.repeated_id
    if not treatment & set(parsed.regressor_names):
        return "it does not name the treatment that was assigned"
    if hidden and made:
        return f"treatment is private, and {made[0]} is made of it"
    public = treatment | {*design.uses}
    told = _told(schema, {*design.columns, *design.uses})
    if secret := [name for name in made if name not in told]:
        return f"{secret[0]} is made of treatment and a private column: write their product"
    if secret := [name for name in made if _lacks_in_private(schema.column(name))]:
        return f"{secret[0]} is made of treatment, and it is private who has a value of it"
    shown = (*made, *_shown(parsed, schema, treatment, public, several=unit is not None))
    public |= {*shown, *(() if unit is None else (unit,))}
    if instrumented(parsed) and unit is not None:
        return f"it has instruments, and one {schema.unit.name} may have several rows"
    weighing = _weighing(regression, schema, design)
    if instrumented(parsed):
        return _secret(hidden, lacking, weighing, "it has instruments") or _stages_of(
            regression, schema, design, subgroups
        )
    if set(parsed.outcome_names) & public:
        return "its outcome is public"
    if not parsed.intercept and not parsed.effects:
        return "it has no constant"
    private = set(parsed.regressor_names) - public
    if private & set(subgroups):
        return "it names a column of ``subgroups=``"
    absorbed = tuple(dict.fromkeys(
        [name for name in parsed.effects if name in public - treatment]
        + [t[0].names[0] for t in parsed.terms
           if len(t) == 1 and t[0].kind == "C" and t[0].names[0] in public - treatment]
    ))  # fmt: skip
    left = replace(
        parsed,
        terms=tuple(t for t in parsed.terms
                    if not (len(t) == 1 and t[0].kind == "C" and t[0].names[0] in absorbed)),
        effects=tuple(name for name in parsed.effects if name not in absorbed),
    )  # fmt: skip
    effects, controls, covariates = list[Regressor](), list[Regressor](), list[Regressor]()
    multiplied = list[Regressor]()
    for term in regressors_of(main_part(replace(left, intercept=True)), schema):
        columns = {atom.column for atom in term.atoms}
        if columns <= public:
            (effects if columns & treatment else controls).append(term)
        elif columns & treatment:
            multiplied.append(term)
        elif columns & public:
            return f"{term.name} is a product of a public column and a private covariate"
        else:
            covariates.append(term)
    assert any(term.name == INTERCEPT for term in controls)
    products = _products(multiplied, effects, covariates, public)
    if isinstance(products, str):
        return products
    if products and unit is not None:
        return f"{products[0][0]} is a product, and one {schema.unit.name} may have several rows"
    if products and regression.cov_type == "nonrobust":
        return (
            f"{products[0][0]} is a product of treatment and a private covariate, with classical "
            "errors"
        )
    features = tuple(dict.fromkeys(j for _, _, j in products))
    variables = [
        variable_of(covariates[j].name, covariates[j].atoms, schema, _fills(covariates[j], schema))
        for j in features
    ]
    clusters = tuple(getattr(design, "cluster_columns", ())) or (() if unit is None else (unit,))
    clusters = regression.ways or clusters
    if regression.cov_type in ("HC1", "nonrobust"):
        clusters = ()
    if regression.cov_type == "CR1" and not clusters:
        return "no clusters were assigned, and ``cluster=`` names none"
    if regression.cov_type == "HC1" and unit is not None:
        return f"one {schema.unit.name} may have several rows, which robust errors take for others"
    where, members = _divided(regression, schema, design)
    if members and unit is not None and regression.cov_type == "nonrobust":
        return "a person has several rows, with classical errors, and private columns choose people"
    if members and unit is not None and (late := sorted(named(members) & told)):
        return (
            f"all rows of a {schema.unit.name} would have to meet what it asks of {late[0]}, which "
            f"is made of public columns: declare {late[0]} public as well"
        )
    if unit in absorbed and regression.cov_type == "nonrobust":
        return f"each {schema.unit.name} has an effect, which classical errors would take for noise"
    if len(regression.ways) > 1 and (why := _in_two_ways(members, products, unit)):
        return f"its errors are clustered in two ways, and {why}"
    several = f"one {schema.unit.name} may have several rows" if unit is not None else ""
    crossed = ""
    if products and (hidden or lacking):
        crossed = f"{products[0][0]} is a product with a covariate"
    classical = "it has classical errors" if regression.cov_type == "nonrobust" else ""
    classical = classical or "it has errors clustered in two ways" * (len(regression.ways) > 1)
    if hidden and where and named(where) & treatment:
        return "treatment is private, and its condition names it"
    if reason := _secret(hidden, lacking, weighing, several or crossed or classical):
        return reason
    gone = [name for name in lacking if name in parsed.outcome_names]
    if gone and hidden and (absorbed or len(controls) > 1):
        return (
            f"treatment is private, it is private who has a value of {gone[0]}, and it has blocks "
            "or public controls: it is served without these, or where treatment is public"
        )
    if gone and (len(absorbed) > 1 or len(controls) > 1):
        return (
            f"it is private who has a value of {gone[0]}, and it has public controls, or blocks of "
            "several columns: it is served with blocks of one column, or where who has one is "
            "public"
        )
    return tuple(
        Step(regression, one.name, tuple(effects), tuple(controls), absorbed, tuple(covariates),
             clusters, where,
             tuple((name, k, features.index(j)) for name, k, j in products),
             tuple(Feature(v.parts, v.bounds, v.two_valued and not any(p.fill for p in v.parts))
                   for v in variables),
             tuple(key_of(covariates[j].atoms) for j in features), unit=unit, shown=shown,
             choosing=members, weighing=weighing, present=tuple(
                 n for n in lacking if n == one.name or n not in parsed.outcome_names))
        for one in listed_terms(parsed.outcome_names, schema)
    )  # fmt: skip


def _made_of_arms(names: Iterable[str], schema: Schema, design: Design) -> tuple[str, ...]:
    """Columns that are computed from treatment, such as an amount in another currency."""
    arms = {*design.columns}
    known = [name for name in dict.fromkeys(names) if name in schema.names and name not in arms]
    return tuple(n for n in known if arms & ancestors(schema.column(n), schema.columns).keys())


def _told(schema: Schema, public: set[str]) -> set[str]:
    """Columns that are public, or made of nothing but public columns, all of which are there."""
    found = public | {one.name for one in schema.columns if one.fate == "public"}
    made_of = {one.name: parents_of(one) for one in schema.columns}
    while more := {n for n, of in made_of.items() if of and n not in found and found >= {*of}}:
        found |= more
    return found


def _lacks_in_private(column: Column) -> bool:
    """Whether a column has no value in some rows, and it is not public in which."""
    shown = column.fate == "public" or column.missing_policy == "public"
    return column.missing != () and not shown


def _in_two_ways(members: str | None, products: Sequence[Any], unit: str | None) -> str:
    """Feature that two-way clustered errors cannot be combined with; empty if there is none."""
    if unit is not None:
        return "a person may have several rows"
    if members:
        return "private columns choose people"
    return f"{products[0][0]} is a product with a covariate" if products else ""


def _secret(hidden: bool, lacking: Sequence[str], weighing: Feature | None, why: str) -> str:
    """Reason why what is private is not offered with something else; empty if nothing is."""
    if not why:
        return ""
    if hidden:
        return f"treatment is private, and {why}"
    if lacking:
        return f"it is private who has a value of {', '.join(lacking)}, and {why}"
    return f"its weights are private, and {why}" if weighing else ""


def _weighing(regression: Regression, schema: Schema, design: Design) -> Feature | None:
    """The weight of a row, where it is private."""
    name = regression.weights
    if name is None or name in (*design.columns, *design.uses):
        return None
    column = schema.column(name)
    if column.fate == "public":
        return None
    policy = column.missing_policy
    part = Part(column, fill=float(policy) if isinstance(policy, float) else None)
    return Feature((part,), (0.0, part.bounds[1]))


def _shown(
    parsed: Formula, schema: Schema, treatment: set[str], known: set[str], *, several: bool
) -> tuple[str, ...]:
    """Public columns on the right side besides those of the design that tell cells apart.

    Where a person has ``several`` rows all are; else those with levels that treatment is multiplied
    by, if no product has them and a private column.
    """
    found = {
        name: schema.column(name)
        for name in dict.fromkeys((*parsed.regressor_names, *parsed.effects))
        if name not in known and name in schema.names and schema.column(name).fate == "public"
    }
    if several:
        return tuple(found)
    found = {name: column for name, column in found.items() if column.levels is not None}
    together = [{n for factor in term for n in factor.names} for term in parsed.terms]
    mixed = {n for names in together if names - treatment - known - found.keys() for n in names}
    used = {n for names in together if names & treatment for n in names} - mixed
    return tuple(name for name in found if name in used)


def _divided(
    regression: Regression, schema: Schema, design: Design
) -> tuple[str | None, str | None]:
    """What its condition asks of public columns, and what of private ones."""
    inside = regression.inside(schema)
    if inside is None:
        return None, None
    told = {*design.columns, *design.uses}
    told |= {one.name for one in schema.columns if one.fate == "public"}
    asked, present = columns_asked(inside)
    told |= {n for n in present - asked if schema.column(n).missing_policy == "public"}
    return divided_by(inside, told)


def _products(
    multiplied: Sequence[Regressor], effects: Sequence[Regressor],
    covariates: Sequence[Regressor], public: set[str],
) -> list[tuple[str, int, int]] | str:  # fmt: skip
    """Products of treatment and covariates as places of both, or what one of them lacks."""
    outer = {key_of(one.atoms): k for k, one in enumerate(effects)}
    inner = {key_of(one.atoms): j for j, one in enumerate(covariates)}
    found = []
    for term in multiplied:
        k = outer.get(key_of(a for a in term.atoms if a.column in public))
        j = inner.get(key_of(term.without(public)))
        if k is None or j is None:
            return (
                f"{term.name} needs both of its factors as terms of their own, unless all in it "
                "but treatment is declared public"
            )
        found.append((term.name, k, j))
    return found


def _fills(term: Regressor, schema: Schema) -> dict[str, float]:
    policies = {a.column: schema.column(a.column).missing_policy for a in term.atoms}
    return {name: one for name, one in policies.items() if isinstance(one, float)}


def _stages_of(
    regression: Regression, schema: Schema, design: Design, subgroups: Sequence[str]
) -> tuple[Step, ...] | str:
    """Reduced form and first stage of a regression with one instrument, or what it lacks."""
    if regression.stages is None or len(regression.parsed.outcome_names) > 1:
        return "it has instruments, and several outcomes"
    names = {n for t in regression.parsed.instruments for factor in t for n in factor.names}
    if unassigned := sorted(names - {*design.columns, *_made_of_arms(names, schema, design)}):
        return f"it has the instrument {unassigned[0]}, which was not assigned"
    found = [steps_of(one, schema, design, subgroups) for one in regression.stages]
    served = [one for one in found if not isinstance(one, str)]
    if len(served) < len(found):
        return next(one for one in found if isinstance(one, str))
    (reduced,), (first,) = served
    if len(reduced.terms) > 1:
        return f"it has {len(reduced.terms)} instruments, and one is served"
    if reduced.choosing:
        return "it has an instrument, among people of a private condition"
    where = regression.inside(schema)
    both = reduced.outcome, first.outcome
    beside = tuple(name for name in both if schema.column(name).missing != ())
    return tuple(
        replace(one, beside=tuple(name for name in beside if name != one.outcome), where=where)
        for one in (reduced, first)
    )


def check_options(
    regression: Regression, design: Design | None, schema: Schema, outcomes: Sequence[str] = ()
) -> None:
    """Refuse what a declared regression asks and no release serves.

    Parameters
    ----------
    outcomes : sequence of str
        Of all regressions of the release: treatment may have changed them.
    """
    known = () if design is None else (*design.columns, *design.uses)
    inside = regression.inside(schema) or "1"
    values, _ = columns_asked(inside)
    for name in sorted(values):
        column, said = schema.column(name), name in texts(inside)
        if column.is_text != said:
            each = [f"{x:g} is {y}" for x, y in schema.public_labels(name).items()
                    if not isinstance(x, str)]  # fmt: skip
            raise ParameterError(
                f"{regression.title!r}: ``where=`` compares {name!r} with text, but its values "
                "are numbers; write the number, not its label, without quotes"
                + (f": {', '.join(each)}" if each else "")
                if said
                else f"{regression.title!r}: ``where=`` treats {name!r} as a number, but it is "
                f'text; write ``{name} == "a"``, or give a column of codes'
            )
        if name in regression.parsed.outcome_names:
            raise ParameterError(
                f"{regression.title!r}: ``where=`` names its outcome; name columns that were fixed "
                "before treatment"
            )
    if design is not None:
        _check_members(regression, schema, design, outcomes)
    weights = regression.weights
    if weights is not None:
        column = schema.column(weights)
        if weights not in known and column.fate != "public":
            _check_weights(regression, schema, design, outcomes)
        if column.is_text or weights in regression.parsed.outcome_names:
            raise ParameterError(
                f"{regression.title!r}: ``weights={weights!r}`` is text, or its outcome; name a "
                "column of sampling weights"
            )
    known = () if design is None else design.uses
    if schema.unit.repeated_id is not None:
        known = (*known, schema.unit.repeated_id)
    for name in regression.ways:
        if name in known or schema.column(name).fate == "public":
            continue
        raise ParameterError(
            f"{regression.title!r}: ``cluster={name!r}`` is not a column of the design, and who is "
            "in which cluster must be public; declare ``fate='public'`` if it is; the design has "
            f"{', '.join(known) or 'none'}"
        )


def _check_weights(
    regression: Regression, schema: Schema, design: Design | None, outcomes: Sequence[str]
) -> None:
    """Refuse private weights without bounds, or that treatment may have changed."""
    name = regression.weights or ""
    column = schema.column(name)
    low, high = column.bounds or (-1.0, 0.0)
    if not column.is_text and not 0 <= low < high:
        raise ParameterError(
            f"{regression.title!r}: ``weights=`` names {name!r}, which is private and needs "
            "bounds, 0 or above; declare ``bounds=(0, high)`` from public knowledge (noise grows "
            "with high), or ``fate='public'`` where everybody may know it"
        )
    treatment = {*design.columns} if design is not None else set[str]()
    if (treatment | moved_in(schema, outcomes)) & {name, *ancestors(column, schema.columns)}:
        raise ParameterError(
            f"{regression.title!r}: ``weights=`` names {name!r}, which treatment may have changed; "
            "name sampling weights, which were fixed before treatment"
        )


def _check_members(
    regression: Regression, schema: Schema, design: Design, outcomes: Sequence[str]
) -> None:
    """Refuse a condition on private columns that are not known to be as before treatment."""
    _, members = _divided(regression, schema, design)
    if members is None:
        return
    if asked_of(members) is None:
        raise ParameterError(
            f"{regression.title!r}: ``where=`` computes with private columns ({members}); compare "
            "each with numbers or texts, or make what it computes a column before the release"
        )
    treatment = {*design.columns}
    for name in sorted(named(members)):
        if name in treatment:
            raise ParameterError(
                f"{regression.title!r}: ``where=`` joins treatment ({name!r}) and private columns "
                "by ``|``; declare a regression for each part"
            )
        column = schema.column(name)
        made_of = ancestors(column, schema.columns)
        if name in outcomes and column.role not in FIXED_ROLES:
            raise ParameterError(
                f"{regression.title!r}: ``where=`` names {name!r}, which treatment may have "
                "changed, because another regression has it as outcome; if it was fixed before "
                "treatment (as in a test of balance), declare ``role='covariate'``; otherwise name "
                "columns that were"
            )
        if (treatment | moved_in(schema, outcomes)) & {name, *made_of}:
            raise ParameterError(
                f"{regression.title!r}: ``where=`` names {name!r}, which treatment may have "
                "changed; name columns that were fixed before treatment"
            )


def moved_in(schema: Schema, outcomes: Iterable[str]) -> set[str]:
    """Columns that treatment may have changed: outcomes, and the one column that one is made of.

    Outcomes that are declared as covariates are not among them: those of tests of balance.
    """
    fixed = {one.name for one in schema.columns if one.role in FIXED_ROLES}
    found = {*outcomes, *(one.name for one in schema.columns if one.role == "outcome")} - fixed
    for name in found & {*schema.names}:
        made_of = ancestors(schema.column(name), schema.columns)
        if sum(not parents_of(one) for one in made_of.values()) == 1:
            found |= made_of.keys()
    return found


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"
