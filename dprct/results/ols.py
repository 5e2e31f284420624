"""Ordinary least squares with Stata's inference, for released or confidential data."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dprct.arguments import checked
from dprct.certificate.valid_declared import condition_of
from dprct.certificate.valid_groups import level_of
from dprct.certificate.valid_regressions import (
    Specification,
    Validity,
    column_named,
    shown_levels,
    terms_of,
)
from dprct.errors import DprctWarning, FormulaError, ParameterError
from dprct.formula import Design, Formula, complete_cases, design, parse
from dprct.formula.design_matrix import INTERCEPT, columns_of, is_factor, is_missing, numbers_of
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.privacy.budget import Guarantee
from dprct.records import dataclass
from dprct.results.base import (
    LinearResults,
    Provenance,
    binned_notes,
    provenance,
    table_given,
    void_notes,
)
from dprct.results.covariance import (
    HETEROSKEDASTIC,
    Array,
    Codes,
    FeRule,
    FixedEffects,
    LeastSquares,
    Weighting,
    WeightsType,
    check_weights,
    check_weights_type,
    least_squares,
    taken_out,
)
from dprct.results.ordinary import OrdinaryResults
from dprct.results.typeset import number, p_value, statistic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narwhals.typing import IntoFrame
    from numpy.typing import ArrayLike

    from dprct.formula import Design
    from dprct.formula.design_matrix import Mask
    from dprct.results.covariance import Absorbed, Array, Codes
    from dprct.schema import Schema

COV_TYPES = (*HETEROSKEDASTIC, "cluster")


def covariance_named(cov_type: str, cluster: object) -> str:
    """The name of a covariance as this package spells it; ``CR1`` is another name for ``cluster``.

    Examples
    --------
    >>> covariance_named("hc1", None), covariance_named("HC1", "village")
    ('HC1', 'cluster')
    """
    known = {name.lower(): name for name in COV_TYPES} | {"cr1": "cluster"}
    name = known.get(str(cov_type).lower())
    if name is None:
        raise ParameterError(
            f"``cov_type={cov_type!r}``; allowed: {', '.join(COV_TYPES)} "
            "(Stata's robust is HC1, vce(cluster v) is ``cluster='v'``)"
        )
    if cluster is None and name == "cluster":
        raise ParameterError(
            "``cov_type='cluster'`` needs ``cluster=``, a column or one value per row"
        )
    if cluster is not None and name not in ("HC1", "cluster"):
        raise ParameterError(f"``cov_type={name!r}`` has no clusters; leave out one of the two")
    return "cluster" if cluster is not None else name


def one_per_row(values: str | ArrayLike, data: IntoFrame, rows: int, option: str) -> pd.Series[Any]:
    """A column by name, or one value per row as given; messages call it ``option``.

    Examples
    --------
    >>> one_per_row([1, 2], pd.DataFrame({"a": [0, 0]}), 2, "cluster").tolist()
    [1, 2]
    """
    if isinstance(values, str):
        return columns_of(data, [values])[values]
    column = pd.Series(cast("Any", values)).reset_index(drop=True)
    if len(column) != rows:
        raise ParameterError(f"{option} has {len(column)} values for {rows} rows; give one per row")
    return column


def weights_of(
    weights: str | ArrayLike, weights_type: str, data: IntoFrame, complete: Mask
) -> Array:
    """The weights of all rows, checked among those that are complete.

    Examples
    --------
    >>> rows = pd.DataFrame({"w": [1.0, 2.0]})
    >>> weights_of("w", "aweight", rows, np.ones(2, bool)).tolist()
    [1.0, 2.0]
    """
    column = one_per_row(weights, data, len(complete), "weights")
    name = f"the weights {weights!r}" if isinstance(weights, str) else "the weights"
    if is_factor(column):
        raise ParameterError(f"{name} hold text, not numbers; give numbers from 0 up")
    numbers = numbers_of(column)
    if complete.any():
        check_weights(numbers[complete], weights_type, name)
    return numbers


def cluster_codes(groups: pd.Series[Any], keep: Mask) -> Codes:
    """Return the clusters of the rows used, coded from 0; at least two.

    Examples
    --------
    >>> cluster_codes(pd.Series(["a", "b", "a"]), np.array([True, True, False])).tolist()
    [0, 1]
    """
    codes, distinct = pd.factorize(groups if keep.all() else groups[keep])
    if len(distinct) < 2:
        raise ParameterError(
            "``cluster=`` has one cluster in the rows used; give a column with at least two"
        )
    return codes.astype(np.intp, copy=False)


def ways_of(cluster: object, rows: int) -> tuple[Any, ...]:
    """Return the one or two ways in which rows are clustered: columns by name, or values by row.

    A list of one or two texts is that of columns, unless the data have as many rows.

    Examples
    --------
    >>> ways_of("village", 9), ways_of(["village", "year"], 9), ways_of(["a", "b"], 2)
    (('village',), ('village', 'year'), (['a', 'b'],))
    >>> ways_of(None, 9)
    ()
    """
    if cluster is None:
        return ()
    is_names = isinstance(cluster, (list, tuple)) and all(isinstance(c, str) for c in cluster)
    if not is_names or len(cast("list[str]", cluster)) == rows:
        return (cluster,)
    named = tuple(cast("list[str]", cluster))
    if len(named) not in (1, 2):
        raise ParameterError(
            f"``cluster=`` has {len(named)} values for {rows} rows; give one per row, or one or "
            "two columns, for errors clustered in three ways are not offered"
        )
    if len(set(named)) < len(named):
        raise ParameterError(f"``cluster=`` names {named[0]!r} twice; name each column once")
    return named


def check_finite(frame: Design) -> None:
    """Refuse a design with an infinite number, naming its column."""
    for name, column in zip(
        (*frame.outcomes, *frame.columns), (*frame.y.T, *frame.X.T), strict=True
    ):
        if not np.isfinite(column).all():
            raise ParameterError(f"{name!r} is infinite in some row; recode or drop those rows")


def fit_as_a_whole(
    fit: LeastSquares, y: Array, weighting: Weighting, cov: Array, df: float, intercept: bool
) -> dict[str, Any]:
    """R-squared, root MSE and F of a fit without absorbed effects."""
    weight = weighting.root**2 * weighting.copies
    centre = np.average(y, weights=weight) if intercept else 0.0
    total = float(weight @ (y - centre) ** 2)
    unexplained = float(fit.copies @ fit.resid**2)
    df_total = fit.nobs - intercept
    slopes = slice(int(intercept), None)
    fvalue = wald(fit.beta[slopes], cov[slopes, slopes], df)
    df_model = fit.rank - intercept
    share = unexplained / total if total > 0 else np.nan
    return {
        "df_model": df_model,
        "rsquared": 1 - share,
        "rsquared_adj": 1 - share * df_total / fit.df_resid,
        "rmse": float(np.sqrt(unexplained / fit.df_resid)),
        "fvalue": fvalue,
        "f_pvalue": float(special.fdtrc(df_model, df, fvalue)) if df_model else np.nan,
    }


def with_effects(
    fit: LeastSquares, left: Array, y: Array, weighting: Weighting, absorbed: Absorbed
) -> dict[str, Any]:
    """Return R-squared around the mean and within, and the root MSE, for absorbed effects.

    How well they fit does not depend on a counting rule: all levels are parameters here.

    ``left`` is what the effects leave of the outcome.
    """
    weight = weighting.root**2 * weighting.copies
    unexplained = float(fit.copies @ fit.resid**2)
    total = float(weight @ (y - np.average(y, weights=weight)) ** 2)
    varies = float(weight @ left**2)
    df = max(fit.nobs - fit.rank - absorbed.rank, 0)
    share = unexplained / total if total > 0 else np.nan
    return {
        "rsquared": 1 - share,
        "rsquared_adj": 1 - share * (fit.nobs - 1) / df if df else np.nan,
        "rsquared_within": 1 - unexplained / varies if varies > 0 else np.nan,
        "rmse": float(np.sqrt(unexplained / df)) if df else np.nan,
    }


def wald(beta: Array, cov: Array, df: float) -> float:
    """Return ``b' V^-1 b / q``, or NaN where ``V`` has no inverse, as with few clusters."""
    scale = np.sqrt(np.diag(cov))
    if not 0 < len(beta) <= df or not np.all(scale > 0):
        return float("nan")
    correlation = cov / np.outer(scale, scale)
    if np.linalg.cond(correlation) > 1e12:
        return float("nan")
    standard = beta / scale
    return float(standard @ np.linalg.solve(correlation, standard) / len(beta))


ORDINARY_FIT = Guarantee.none("this is an ordinary fit of the data it was given")
_OF_MOMENTS = ("HC1", "by group", "nonrobust")

RELEASED_NOTE = (
    "Fitted on released data: the standard errors do not include the noise of the release."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OLSResults(OrdinaryResults):
    """An ordinary least-squares fit; see :func:`ols`.

    Parameters
    ----------
    df_model : int
        Rank, less one for the intercept.
    rsquared, rsquared_adj : float
        Around the mean if there is an intercept, else around zero.
    rmse : float
        Root of the residual variance, with ``n - rank`` degrees of freedom.
    fvalue, f_pvalue : float
        Wald test of all coefficients but the intercept, with ``cov``; NaN where it does not exist.
    rows_zero_weight : int
        How many of them had all values, and zero weight.
    rsquared_within : float
        Share explained of what the absorbed effects leave; NaN where nothing is absorbed.
    released : LinearResults or None
        The estimates of the calibrated release that the fit is of, with the law of their errors.
    places : tuple of int or None
        Which of them each coefficient is; None for none.
    valid_alphas : tuple of float
        Sizes of tests at which the errors of a calibrated file hold, where its release is not at
        hand; its p-values are then right at these alone.
    """

    df_model: int
    rsquared: float
    rsquared_adj: float
    rmse: float
    fvalue: float
    f_pvalue: float
    rows_zero_weight: int = 0
    rsquared_within: float = math.nan
    released: Any = None
    places: tuple[int | None, ...] = ()
    valid_alphas: tuple[float, ...] = ()

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided p-values; of released effects, those of the release."""
        found: pd.Series[float] = OrdinaryResults.pvalues.__get__(self)
        if self.released is not None:
            theirs = self.released.pvalues.to_numpy()
            for at, place in enumerate(self.places):
                found.iloc[at] = found.iloc[at] if place is None else theirs[place]
        return found

    @property
    def tvalues(self) -> pd.Series[float]:
        """Coefficients over standard errors; of released effects, what has their p-value."""
        found: pd.Series[float] = OrdinaryResults.tvalues.__get__(self)
        if self.released is not None:
            theirs = self.released.pvalues.to_numpy()
            for at, place in enumerate(self.places):
                if place is not None and theirs[place] > 0:
                    size = abs(special.stdtrit(self.df_inference, theirs[place] / 2))
                    found.iloc[at] = math.copysign(size, self.params.iloc[at])
        return found

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return intervals of level ``1 - alpha``; of released effects, those of the release.

        Warns
        -----
        DprctWarning
            On a calibrated file without its release, at a level at which its errors do not hold.
        """
        found = OrdinaryResults.conf_int(self, alpha)
        if self.released is not None:
            theirs = self.released.conf_int(alpha).to_numpy()
            for at, place in enumerate(self.places):
                if place is not None:
                    found.iloc[at] = theirs[place]
        elif (said := self._of_level(alpha)) is not None:
            warnings.warn(said, DprctWarning, stacklevel=2)
        return found

    def _of_level(self, alpha: float) -> str | None:
        """Note on intervals at a level for which a file was not calibrated."""
        if not self.valid_alphas or any(math.isclose(alpha, a) for a in self.valid_alphas):
            return None
        return (
            f"intervals of {100 * (1 - alpha):.6g} % are asked for, and those of this file hold at "
            f"{shown_levels(self.valid_alphas)} only: here they are too short or too long; take "
            "those of the release (``ols(formula, release)``, ``release.tidy(alpha)``)"
        )

    def residual_variance(self) -> float:
        """Return the variance of the residuals, with ``n - rank`` degrees of freedom."""
        return self.rmse**2

    def _fit_as_a_whole(self) -> dict[str, float]:
        return {
            "r.squared": self.rsquared,
            "adj.r.squared": self.rsquared_adj,
            "sigma": self.rmse,
            "statistic": self.fvalue,
            "p.value": self.f_pvalue,
            "df": self.df_model,
        }

    def _own_facts(self) -> tuple[tuple[str, str], ...]:
        return (
            ("R-squared", number(self.rsquared)),
            ("Root MSE", number(self.rmse)),
            ("F", statistic(self.fvalue)),
            ("Prob > F", p_value(self.f_pvalue)),
        )


@checked
def ols(
    formula: str,
    data: Any,
    schema: Schema | None = None,
    cov_type: str = "HC1",
    cluster: str | Sequence[str] | ArrayLike | None = None,
    weights: str | ArrayLike | None = None,
    weights_type: WeightsType = "aweight",
    *,
    absorb: str | Sequence[str] = (),
    fe_df: FeRule = "areg",
    guarantee: Guarantee | None = None,
) -> OLSResults:
    """Fit a linear regression with the standard errors that Stata prints.

    Nothing about this fit is private: on confidential data its results are confidential, on
    released data they are free.

    Parameters
    ----------
    formula : str
        ``"y ~ treat + C(village) + I(age ** 2)"``; ``log``, ``exp``, ``sqrt``, ``abs`` and
        comparisons inside ``I()`` are allowed.  ``"y ~ treat | village"`` absorbs the village.
    data : DataFrame, Release, path, (data, Schema) or Moments
        pandas, Polars, or another frame that narwhals can turn into pandas.  A release brings its
        schema and its guarantee, a file its schema.  Of released moments the fit is that of
        ``Moments.ols``, with their noise.
    schema : Schema, optional
        Gives the order of the levels of factors; the first one that occurs is the base.  That of
        a calibrated file also says whether its errors are valid, and a note says so.  If it was
        read from a file next to its certificate, the guarantee is that of the certificate,
        provided that its digests are those of the columns that the fit uses.
    cov_type : {"HC1", "HC0", "HC2", "HC3", "nonrobust", "cluster"}
        ``HC1`` is Stata's ``robust``; ``CR1`` is another name for ``cluster``.
    cluster : str, list of one or two str, or (N,) array, optional
        Clusters: a column, two columns for errors clustered in both ways, or one value per row.
        Implies ``cov_type="cluster"``.
    weights : str or (N,) array, optional
        A column or one number per row.
    weights_type : {"aweight", "fweight", "pweight"}
        Analytic (rescaled to sum to n), frequency (n is their sum), or sampling weights.
    absorb : str or sequence of str
        Columns whose levels are fixed effects, taken out before the fit; they are not printed.
    fe_df : {"areg", "reghdfe", "fixest", "xtreg"}
        Whose rule decides whether they count as parameters; see :mod:`dprct.results.covariance`.
        ``areg`` gives what dummies ``C(x)`` give.
    guarantee : Guarantee, optional
        That of the release which ``data`` come from, where they do not say it themselves.

    Returns
    -------
    OLSResults
        Coefficients, inference and counts; no row of the data.

    Raises
    ------
    FormulaError
        If the formula is not in the grammar, or names no or several outcomes.
    ColumnError
        If a column does not exist.
    ParameterError
        If an option is not one of those above, weights are negative or missing, no complete row
        is left, or none beyond the number of coefficients.

    Notes
    -----
    Inference uses t with ``n - rank`` degrees of freedom, with clusters ``G - 1``, G being the
    smaller number of two ways; HC1 is scaled
    by ``n / (n - rank)`` and the cluster covariance by ``G/(G-1) (n-1)/(n-rank)``.  Clustered in
    two ways it is ``V_a + V_b - V_ab``, each with the correction by its own number of clusters, as
    in R's sandwich; with absorbed effects only by the rule of ``areg``.  Absorbed fixed
    effects add to the rank what their rule says.  Rows with a
    missing value in any variable, or of zero weight, are left out and counted.  A regressor that
    is a linear combination of earlier ones is omitted and listed in ``omitted``.

    References
    ----------
    MacKinnon and White (1985), Journal of Econometrics 29; Cameron, Gelbach and Miller (2011),
    Journal of Business & Economic Statistics 29; StataCorp, manual entry ``regress``.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0, 6.0], "x": [0, 0, 1, 1, 1]})
    >>> fit = ols("y ~ x", rows)
    >>> fit.params.round(3).to_dict()
    {'Intercept': 1.5, 'x': 2.833}
    >>> fit.bse.round(4).to_dict()
    {'Intercept': 0.4564, 'x': 1.0356}
    """
    if getattr(type(data), "holds_moments", False):
        options = (schema, cluster, weights, guarantee, absorb or None)
        read: OLSResults = of_moments(data.ols, formula, cov_type, options)
        return read
    law = getattr(data, "estimates", None) if getattr(data, "holds_protected", False) else None
    data, schema, guarantee = table_given(data, schema, guarantee)
    cov_type = covariance_named(cov_type, cluster)
    check_weights_type(weights_type, cov_type, given=weights is not None)
    parsed = parse(formula, functions=True, structural=True)
    check_outcome(parsed, "ols")
    if parsed.endogenous:
        raise FormulaError(f"{parsed.text!r} names instruments, which ols does not take; use iv")
    effects = FixedEffects.read(absorbed_by(parsed, absorb), fe_df, cov_type, data)
    complete = effects.present(complete_cases(parsed, data))
    ways = ways_of(cluster, len(complete))
    if len(ways) > 1 and effects.names and effects.rule != "areg":
        raise ParameterError(
            f"``fe_df={effects.rule!r}`` has no rule for clusters of two ways; use ``fe_df='areg'``"
        )
    clusters = [one_per_row(way, data, len(complete), "cluster") for way in ways]
    for column in clusters:
        complete = complete & ~is_missing(column)
    weight = None if weights is None else weights_of(weights, weights_type, data, complete)
    weighted = complete if weight is None else complete & (weight > 0)
    keep = effects.usable(weighted)
    check_rows(parsed, data, keep)
    frame = design(parsed, data, schema, keep=keep)
    codes = [cluster_codes(column, keep) for column in clusters]
    used_weight = None if weight is None else weight[keep]
    weighting = Weighting.of(used_weight, weights_type, int(keep.sum()))
    results = _fit(parsed, frame, cov_type, weighting, codes, effects)
    valid = Validity.of(schema)
    spec = Specification(
        outcome=results.outcome,
        terms=terms_of(parsed, effects.names),
        cov_type=cov_type,
        cluster=" and ".join(filter(None, map(column_named, ways))) or None,
        rows=int(keep.sum()),
        weighted=weights is not None,
        intercept=parsed.intercept,
        fe_df=effects.rule if effects.names else "areg",
        within=None
        if valid is None or valid.groups is None
        else level_of(valid.groups, data, keep),
        among=None if valid is None or valid.sizes is None else valid.sizes.among(data, keep),
        where=None if valid is None else condition_of(valid.declared, results.outcome, data, keep),
    )
    given = [values for values in (*ways, weights) if values is not None]
    by_name = [values for values in given if isinstance(values, str)]
    used = (*parsed.names, *effects.names, *by_name)
    known = provenance(data, schema, used, guarantee, by_row=len(by_name) < len(given))
    if valid is not None and not known.contradicted:
        results = results.without(valid.not_carried(spec, results.params.index))
        results = _with_control_error(results, valid, spec)
        if valid.reason(spec) is None:
            results = with_law(results, law, valid.levels)
    return replace(
        results,
        guarantee=known.guarantee or ORDINARY_FIT,
        notes=(
            *results.notes,
            *void_notes(schema),
            *_release_notes(valid, spec, known),
            *binned_notes(schema, parsed.outcomes[0].names, known),
        ),
        rows_dropped=int((~keep).sum()),
        rows_zero_weight=int((complete & ~weighted).sum()),
    )


def check_outcome(parsed: Formula, fit: str) -> None:
    """Refuse a formula that has no outcome, or several."""
    if len(parsed.outcomes) != 1:
        raise FormulaError(
            f"{fit} fits one outcome, {parsed.text!r} has {len(parsed.outcomes)}; write y ~ x + z"
        )


def absorbed_by(parsed: Formula, absorb: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose levels are taken out: those after ``|``, then ``absorb=``."""
    return (*parsed.effects, *([absorb] if isinstance(absorb, str) else absorb))


def of_moments(
    fit: Callable[..., Any], formula: str, cov_type: str, options: tuple[object, ...]
) -> Any:
    """Return the fit that released moments hold: they know their schema and their guarantee."""
    if any(option is not None for option in options) or cov_type not in _OF_MOMENTS:
        raise ParameterError(
            "released moments take a formula and ``cov_type='by group'`` or 'nonrobust' alone: "
            "they hold their schema and guarantee, and clusters, weights and absorbed effects "
            "need rows"
        )
    return fit(formula, cov_type=None if cov_type == "HC1" else cov_type)


def _release_notes(
    valid: Validity | None, spec: Specification, known: Provenance
) -> tuple[str, ...]:
    """Notes on the errors: a calibrated file knows, others contain no noise."""
    if valid is not None:
        note = valid.note(spec)
        return () if known.contradicted and valid.reason(spec) is None else (note,)
    return (RELEASED_NOTE,) if known.is_released else ()


def _with_control_error(results: OLSResults, valid: Validity, spec: Specification) -> OLSResults:
    """Return a fit of a calibrated file whose constant has the error that was released of it.

    Where the file finds that error itself, the fit is as it was.  Else its covariances with other
    coefficients are NaN, for the file does not have them, and where the constant is not the mean of
    the control group, or its error was not released, its variance too.
    """
    names = {*results.params.index} - {*results.not_carried}
    if INTERCEPT not in names or not valid.tells_control(spec):
        return results
    error = valid.constant_error(spec)
    if error is not None and math.isclose(results.bse[INTERCEPT], error, rel_tol=_FOUND):
        return results
    cov = results.cov.copy()
    cov.loc[INTERCEPT, :] = cov.loc[:, INTERCEPT] = math.nan
    if error is None:
        return replace(results, cov=cov, not_released=(INTERCEPT,))
    cov.loc[INTERCEPT, INTERCEPT] = error**2
    params = results.params.copy()
    if abs(params[INTERCEPT]) < _ROUNDING * error:  # a mean at its bound of 0 is 0 but for rounding
        params[INTERCEPT] = 0.0
    return replace(results, params=params, cov=cov)


def with_law(results: OLSResults, law: Any, levels: tuple[float, ...]) -> OLSResults:
    """Return a valid fit with the law of the effects that were released, where it is known.

    An effect is known by its outcome, and by the release's number being the coefficient: means of
    effects in levels, say, are other numbers.
    """
    if not isinstance(law, LinearResults):
        return replace(results, valid_alphas=levels)
    index, places = list(map(str, law.params.index)), []
    for name in map(str, results.params.index):
        known = [k for k, one in enumerate(index) if one == name or one.endswith(f": {name}")]
        same = [
            k
            for k in known
            if math.isclose(law.params.iloc[k], results.params[name], rel_tol=_SAME, abs_tol=_SAME)
            and math.isclose(law.bse.iloc[k], results.bse[name], rel_tol=_SAME)
        ]
        places.append(same[0] if same else None)
    if not any(place is not None for place in places):
        return replace(results, valid_alphas=levels)
    return replace(results, released=law, places=tuple(places), valid_alphas=())


_SAME = 1e-6
_ROUNDING = 1e-10
_FOUND = 1e-8
"""How near an error must be to the released one to be it."""


def _fit(
    parsed: Formula,
    frame: Design,
    cov_type: str,
    weighting: Weighting,
    ways: Sequence[Codes],
    effects: FixedEffects,
) -> OLSResults:
    """Estimate on complete rows; everything that is returned is an aggregate."""
    check_finite(frame)
    y = frame.y[:, 0]
    factors = effects.of(frame.used)
    absorbed = effects.described(factors, ways[0] if len(ways) == 1 else None) if factors else None
    if absorbed is not None:
        frame = taken_out(frame, factors, weighting.total)
    (fit,), kept = least_squares(frame.X, frame.y, weighting)
    fit = replace(fit, absorbed=0 if absorbed is None else absorbed.parameters)
    X = _kept(frame.X, kept)
    if fit.df_resid <= 0:
        raise ParameterError(
            f"{fit.nobs:g} observations for {fit.rank + fit.absorbed} coefficients leave nothing "
            "to estimate errors from; use fewer regressors"
        )
    weighted = weighting.times(X)
    n_groups = tuple(int(codes.max()) + 1 for codes in ways)
    cov, df = fit.inference(weighted, cov_type, ways)
    names = [name for name, keep in zip(frame.columns, kept, strict=True) if keep]
    whole = fit_as_a_whole(fit, y, weighting, cov, df, INTERCEPT in names)
    if absorbed is not None:
        whole |= with_effects(fit, frame.y[:, 0], y, weighting, absorbed)
    return OLSResults(
        params=pd.Series(fit.beta, index=names),
        cov=pd.DataFrame(cov, index=names, columns=names),
        df_inference=df,
        df_resid=fit.df_resid,
        nobs=int(fit.nobs),
        cov_type=cov_type,
        guarantee=ORDINARY_FIT,
        outcome=frame.outcomes[0],
        formula=parsed.text,
        title="Least squares",
        layout=frame.columns,
        n_groups=min(n_groups, default=None),
        n_groups_each=n_groups,
        notes=() if absorbed is None else (absorbed.note(),),
        absorbed=absorbed,
        levels=frame.levels,
        **whole,
    )


def _kept(X: Array, kept: Mask) -> Array:
    """Return the columns that are kept, without a copy where all are."""
    return X if kept.all() else X[:, kept]


def check_rows(parsed: Formula, data: IntoFrame, keep: Mask) -> None:
    """Refuse a fit without rows, and say why it has none."""
    if keep.any():
        return
    frame = columns_of(data, parsed.names)
    if frame.empty:
        raise ParameterError("the data have no rows; give at least one more than coefficients")
    empty = [name for name in parsed.names if is_missing(frame[name]).all()]
    why = f"column {empty[0]!r} is missing in every row" if empty else "none has all its variables"
    raise ParameterError(f"no row can be used: {why}; choose other rows or columns")
