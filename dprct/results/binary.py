"""Logit, probit and Poisson with the standard errors that Stata prints, for ordinary fits."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dprct.arguments import checked
from dprct.errors import ParameterError
from dprct.formula import complete_cases, design, parse
from dprct.formula.design_matrix import INTERCEPT, is_missing
from dprct.lazy import pandas as pd
from dprct.lazy import special
from dprct.records import dataclass
from dprct.results.base import provenance, table_given, void_notes
from dprct.results.covariance import group_sums, independent
from dprct.results.ols import (
    ORDINARY_FIT,
    RELEASED_NOTE,
    check_finite,
    check_outcome,
    check_rows,
    cluster_codes,
    one_per_row,
)
from dprct.results.ordinary import OrdinaryResults
from dprct.results.typeset import number, p_value, statistic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dprct.privacy.budget import Guarantee
    from dprct.results.covariance import Array, Codes
    from dprct.schema import Schema

Link = Literal["logit", "probit", "poisson"]
COV_TYPES = ("nonrobust", "HC1", "cluster")


class WithRatios:
    """Exponentiated coefficients of a logit or a Poisson regression, fitted or released."""

    __slots__ = ()

    if TYPE_CHECKING:
        params: pd.Series[float]

        @property
        def bse(self) -> pd.Series[float]:
            """Standard errors."""

        @property
        def _family(self) -> str: ...

        @staticmethod
        def _remedy(family: str) -> str: ...

        def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
            """Intervals."""

    def odds_ratios(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return exp of the coefficients of a logit, as Stata's ``logistic`` prints them.

        Returns
        -------
        DataFrame
            Columns ``estimate``, ``std.error`` (by the delta method), ``conf.low``, ``conf.high``
            (the ends of the coefficients' intervals, mapped), one row per coefficient.

        Raises
        ------
        ParameterError
            If the model is no logit.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"y": [0, 0, 1, 0, 1, 1, 1, 0], "t": [0, 0, 0, 0, 1, 1, 1, 1]})
        >>> float(logit("y ~ t", rows).odds_ratios().loc["t", "estimate"].round(6))
        9.0
        """
        return self._ratios("logit", "odds ratios", alpha)

    def rate_ratios(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return exp of the coefficients of a Poisson regression; Stata's ``irr``.

        Returns
        -------
        DataFrame
            As of :meth:`odds_ratios`.

        Raises
        ------
        ParameterError
            If the model is no Poisson regression.
        """
        return self._ratios("poisson", "rate ratios", alpha)

    def _ratios(self, family: Link, what: str, alpha: float) -> pd.DataFrame:
        if self._family != family:
            raise ParameterError(f"a {self._family} has no {what}; {self._remedy(family)}")
        ratio = np.exp(self.params)
        ends = np.exp(self.conf_int(alpha).to_numpy())
        found = {"estimate": ratio, "std.error": ratio * self.bse}
        return pd.DataFrame(found | {"conf.low": ends[:, 0], "conf.high": ends[:, 1]})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BinaryResults(WithRatios, OrdinaryResults):
    """A logit, probit or Poisson regression; see :func:`logit` and :func:`poisson`.

    Parameters
    ----------
    link : {"logit", "probit", "poisson"}
    llf, llnull : float
        Log likelihood, and that of the intercept alone.
    """

    link: Link
    llf: float
    llnull: float

    @property
    def prsquared(self) -> float:
        """McFadden's pseudo R-squared."""
        return 1 - self.llf / self.llnull if self.llnull else math.nan

    @property
    def llr(self) -> float:
        """The likelihood ratio of all coefficients but the intercept, chi-square; Stata's LR."""
        return 2 * (self.llf - self.llnull)

    @property
    def _family(self) -> str:
        return self.link

    @staticmethod
    def _remedy(family: str) -> str:
        return f"fit dprct.{family} for them"

    def _mean(self, index: Any) -> Array:
        return mean_at(self.link, index)

    def _density(self, index: Array) -> Array:
        return slope_at(self.link, index)

    def _slope_of_density(self, index: Array) -> Array:
        if self.link == "poisson":
            return np.asarray(np.exp(index))
        if self.link == "probit":
            return -index * self._density(index)
        return np.asarray(self._density(index) * (1 - 2 * special.expit(index)))

    def glance(self) -> pd.DataFrame:
        """Return one row about the fit as a whole, with the column names of R's broom."""
        return OrdinaryResults.glance(self).drop(columns="df.inference")  # the law is normal

    def _fit_as_a_whole(self) -> dict[str, float]:
        k = len(self.params)
        return {
            "logLik": self.llf,
            "AIC": 2 * k - 2 * self.llf,
            "BIC": k * math.log(self.nobs) - 2 * self.llf,
            "pseudo.r.squared": self.prsquared,
            "statistic": self.llr,
        }

    def _own_facts(self) -> tuple[tuple[str, str], ...]:
        slopes = sum(str(name) != INTERCEPT for name in self.params.index)
        p = float(special.chdtrc(slopes, self.llr)) if slopes else math.nan
        return (
            ("Log likelihood", number(self.llf)),
            (f"LR chi2({slopes})", statistic(self.llr)),
            ("Prob > chi2", p_value(p)),
            ("Pseudo R-squared", number(self.prsquared)),
        )


def mean_at(link: str, index: Any) -> Array:
    """Mean of an outcome at an index, of a logit, probit, cloglog or Poisson."""
    if link == "poisson":
        return np.asarray(np.exp(np.minimum(index, 700.0)))
    if link == "cloglog":
        return np.asarray(-np.expm1(-np.exp(np.minimum(index, 60.0))))
    return np.asarray(special.expit(index) if link == "logit" else special.ndtr(index))


def slope_at(link: str, index: Array) -> Array:
    """Derivative of :func:`mean_at`."""
    if link == "poisson":
        return mean_at(link, index)
    if link == "cloglog":
        return np.exp(index - np.exp(np.minimum(index, 60.0)))
    if link == "probit":
        return np.exp(-(index**2) / 2) / math.sqrt(2 * math.pi)
    return np.asarray(special.expit(index) * special.expit(-index))


@checked
def logit(
    formula: str,
    data: Any,
    schema: Schema | None = None,
    cov_type: str = "nonrobust",
    cluster: str | ArrayLike | None = None,
    *,
    guarantee: Guarantee | None = None,
) -> BinaryResults:
    """Fit a logit by maximum likelihood, with the standard errors that Stata prints.

    Nothing about this fit is private: on confidential data its results are confidential.  Effects
    of a calibrated file hold for least squares only.

    Parameters
    ----------
    formula : str
        ``"took_up ~ treat + C(village)"``; the outcome is 0 or 1.
    data, schema, guarantee
        As of :func:`dprct.ols`.  Of released moments the logit that they were declared with, as
        :meth:`dprct.Moments.glm` returns it.
    cov_type : {"nonrobust", "HC1", "cluster"}
        From the observed information; ``HC1`` is Stata's ``vce(robust)``.
    cluster : str or (N,) array, optional
        Clusters; implies ``cov_type="cluster"``.

    Returns
    -------
    BinaryResults

    Raises
    ------
    FormulaError, ColumnError
    ParameterError
        If the outcome is not 0 and 1, both of which occur, if regressors predict it perfectly, or
        an option is not one of those above.

    Notes
    -----
    Inference is normal.  Robust covariances are scaled by n / (n - 1), with clusters G / (G - 1).
    Stata drops rows that a regressor predicts perfectly; here such a fit is refused.

    References
    ----------
    StataCorp, manual entries ``logit`` and ``_robust``.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"y": [0, 0, 1, 0, 1, 1, 1, 0], "t": [0, 0, 0, 0, 1, 1, 1, 1]})
    >>> fit = logit("y ~ t", rows)
    >>> fit.params.round(4).to_dict()
    {'Intercept': -1.0986, 't': 2.1972}
    """
    return _fit("logit", formula, data, schema, cov_type, cluster, guarantee)


@checked
def probit(
    formula: str,
    data: Any,
    schema: Schema | None = None,
    cov_type: str = "nonrobust",
    cluster: str | ArrayLike | None = None,
    *,
    guarantee: Guarantee | None = None,
) -> BinaryResults:
    """Fit a probit by maximum likelihood; everything else as of :func:`logit`.

    Parameters
    ----------
    formula, data, schema, cov_type, cluster, guarantee
        As of :func:`logit`.

    Returns
    -------
    BinaryResults

    Raises
    ------
    FormulaError, ColumnError, ParameterError
        As of :func:`logit`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"y": [0, 0, 1, 0, 1, 1, 1, 0], "t": [0, 0, 0, 0, 1, 1, 1, 1]})
    >>> fit = probit("y ~ t", rows)
    >>> fit.params.round(4).to_dict()
    {'Intercept': -0.6745, 't': 1.349}
    """
    return _fit("probit", formula, data, schema, cov_type, cluster, guarantee)


@checked
def poisson(
    formula: str,
    data: Any,
    schema: Schema | None = None,
    cov_type: str = "nonrobust",
    cluster: str | ArrayLike | None = None,
    *,
    guarantee: Guarantee | None = None,
) -> BinaryResults:
    """Fit a Poisson regression by maximum likelihood; everything else as of :func:`logit`.

    Parameters
    ----------
    formula : str
        ``"visits ~ treat + age"``; the outcome is 0 or above, a count or not.
    data, schema, cov_type, cluster, guarantee
        As of :func:`logit`.  If the outcome is not Poisson distributed, use ``HC1``.

    Returns
    -------
    BinaryResults

    Raises
    ------
    FormulaError, ColumnError
    ParameterError
        If the outcome is below 0 or always 0, if a regressor predicts zeros perfectly, or an option
        is not one of those above.

    References
    ----------
    StataCorp, manual entry ``poisson``.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"y": [0, 2, 1, 1, 4, 2, 5, 1], "t": [0, 0, 0, 0, 1, 1, 1, 1]})
    >>> fit = poisson("y ~ t", rows, cov_type="HC1")
    >>> float(fit.rate_ratios().loc["t", "estimate"].round(6))
    3.0
    """
    return _fit("poisson", formula, data, schema, cov_type, cluster, guarantee)


def _fit(
    link: Link,
    formula: str,
    data: Any,
    schema: Schema | None,
    cov_type: str,
    cluster: Any,
    guarantee: Guarantee | None,
) -> BinaryResults:
    if getattr(type(data), "holds_moments", False):
        if (cov_type, cluster, schema, guarantee) != ("nonrobust", None, None, None):
            raise ParameterError(
                f"released moments have the errors of a {link} that it was declared with; give "
                "them alone"
            )
        read: BinaryResults = data.glm(formula, family=link)
        return read
    data, schema, guarantee = table_given(data, schema, guarantee)
    kind = "cluster" if cluster is not None else cov_type
    if kind not in COV_TYPES or (cov_type == "cluster" and cluster is None):
        raise ParameterError(
            f"``cov_type={cov_type!r}``; allowed: nonrobust, HC1, or ``cluster=`` with a column"
        )
    parsed = parse(formula, functions=True)
    check_outcome(parsed, link)
    complete = complete_cases(parsed, data)
    groups = None if cluster is None else one_per_row(cluster, data, len(complete), "cluster")
    if groups is not None:
        complete = complete & ~is_missing(groups)
    check_rows(parsed, data, complete)
    frame = design(parsed, data, schema, keep=complete)
    check_finite(frame)
    y = frame.y[:, 0]
    _check_values(link, frame.outcomes[0], y)
    kept = independent(frame.X)
    X = frame.X[:, kept]
    codes = None if groups is None else cluster_codes(groups, complete)
    fit = _maximised(link, y, X)
    cov = _covariance(fit, X, kind, codes)
    names = [name for name, keep in zip(frame.columns, kept, strict=True) if keep]
    by_name = [cluster] if isinstance(cluster, str) else []
    known = provenance(
        data, schema, (*parsed.names, *by_name), guarantee,
        by_row=cluster is not None and not by_name,
    )  # fmt: skip
    return BinaryResults(
        params=pd.Series(np.asarray(fit.params), index=names),
        cov=pd.DataFrame(cov, index=names, columns=names),
        df_inference=math.inf,
        df_resid=float(len(y) - len(names)),
        nobs=len(y),
        cov_type=kind,
        guarantee=known.guarantee or ORDINARY_FIT,
        outcome=frame.outcomes[0],
        formula=parsed.text,
        title=link.capitalize(),
        layout=frame.columns,
        levels=frame.levels,
        link=link,
        llf=float(fit.llf),
        llnull=_of_the_mean(link, y),
        n_groups=None if codes is None else int(codes.max()) + 1,
        rows_dropped=int((~complete).sum()),
        notes=(*void_notes(schema), *([RELEASED_NOTE] if known.is_released else [])),
    )


def _check_values(link: Link, outcome: str, y: Array) -> None:
    if link == "poisson":
        if not (y >= 0).all() or not (y > 0).any():
            raise ParameterError(
                f"{outcome!r} must be 0 or above in the rows used, and above 0 in some"
            )
    elif not np.array_equal(np.unique(y), [0.0, 1.0]):
        raise ParameterError(f"{outcome!r} must be 0 and 1 in the rows used, both of which occur")


def _of_the_mean(link: Link, y: Array) -> float:
    """Log likelihood of the intercept alone."""
    mean = float(y.mean())
    if link == "poisson":
        return float((special.xlogy(y, mean) - mean - special.gammaln(y + 1)).sum())
    return len(y) * float(special.xlogy(mean, mean) + special.xlogy(1 - mean, 1 - mean))


def _maximised(link: Link, y: Array, X: Array) -> Any:
    """Let statsmodels maximise the likelihood; refuse what has no maximum."""
    from statsmodels.discrete.discrete_model import Logit, Poisson, Probit
    from statsmodels.tools.sm_exceptions import PerfectSeparationError

    model = {"logit": Logit, "probit": Probit, "poisson": Poisson}[link](y, X)
    start = None
    if link == "poisson":  # from 0 the first step of Newton may go beyond what exp can hold
        start = np.linalg.lstsq(X, np.log(y + y.mean() / 10), rcond=None)[0]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what they say is checked below
        try:
            fit = model.fit(start, method="newton", maxiter=100, tol=1e-12, disp=False)
        except (PerfectSeparationError, np.linalg.LinAlgError):
            fit = None
    decided = fit is None or bool(
        (fit.predict() < 1e-9 * y.mean()).any()
        if link == "poisson"
        else (np.abs(fit.predict() - y) < 1e-9).any()
    )
    if fit is None or decided or not fit.mle_retvals["converged"]:
        raise ParameterError(
            "the regressors predict the outcome perfectly in some rows, so that the likelihood has "
            "no maximum; leave out the regressor, or the rows in which it decides"
        )
    return fit


def _covariance(fit: Any, X: Array, kind: str, codes: Codes | None) -> Array:
    bread = np.linalg.inv(-fit.model.hessian(fit.params))
    if kind == "nonrobust":
        return np.asarray(bread)
    scores = fit.model.score_obs(fit.params)
    if codes is not None:
        scores = group_sums(scores, codes)
    influence = scores @ bread
    return np.asarray(len(scores) / (len(scores) - 1) * influence.T @ influence)
