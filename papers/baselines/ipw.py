"""Inverse probability weighting without privacy, with the numbers of Stata's ``teffects``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import special

from dprct.arguments import given, numbers_given
from dprct.errors import ParameterError
from dprct.formula import design, parse
from dprct.formula.design_matrix import columns_of
from dprct.privacy.budget import Guarantee
from dprct.results.base import WATERMARK, Confidential, marked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    from collections.abc import Sequence

    from narwhals.typing import IntoFrame
    from numpy.typing import ArrayLike, NDArray

    from dprct.schema.schema import Schema

Estimand = Literal["ate", "att", "atc"]


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """Rows without missing values; confidential.

    Parameters
    ----------
    y : (n,) array
    t : (n,) array of bool
    X : (n, k) array
        Of the treatment model.
    M : (n, l) array or None
        Of the outcome model; None leaves it out.
    """

    y: Array
    t: Mask
    X: Array
    M: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Propensity:
    """A logit fitted by maximum likelihood.

    Parameters
    ----------
    coefficients : (k,) array
    e : (n,) array
        Propensities.
    influence : (n, k) array
        Of each row on the coefficients, so that their robust variance is
        ``influence.T @ influence / n^2``.
    """

    coefficients: Array
    e: Array
    influence: Array


@dataclass(frozen=True, slots=True, eq=False)
class PotentialMean:
    """The mean of one potential outcome among those an effect is about.

    Parameters
    ----------
    influence : (n,) array
    weights : (n,) array
        Of the rows of its arm, 0 for the others.
    """

    value: float
    influence: Array
    weights: Array


def propensity(study: Study) -> Propensity:
    """Return the logit of treatment."""
    t = study.t.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = sm.Logit(t, study.X).fit(method="newton", tol=1e-12, maxiter=100, disp=False)
        except np.linalg.LinAlgError as error:
            raise ParameterError(
                "the covariates of the treatment model are collinear; leave some out"
            ) from error
    e = np.asarray(fit.predict(), np.float64)
    if not fit.mle_retvals["converged"] or not np.isfinite(fit.params).all() or _ends(e):
        raise ParameterError(
            "the covariates tell some treated and untreated apart without error, so that weights "
            "are infinite; leave some out, or merge levels"
        )
    hessian = (study.X * (e * (1 - e))[:, None]).T @ study.X / len(t)
    influence = np.linalg.solve(hessian, (study.X * (t - e)[:, None]).T).T
    return Propensity(np.asarray(fit.params, np.float64), e, np.asarray(influence))


def potential_mean(
    study: Study, model: Propensity, arm: bool, estimand: Estimand, *, normalized: bool, known: bool
) -> PotentialMean:
    """Return the mean of the outcome under one arm, by weighting, augmented if M is there.

    Parameters
    ----------
    arm : bool
        Treated or not.
    estimand : {"ate", "att", "atc"}
        Whose mean: everybody's, that of the treated, that of the others.
    normalized : bool
        Weights add up to one (Hajek).
    known : bool
        Take the propensities as known in the influence.

    Notes
    -----
    With r = 1 (ATE), t (ATT) or 1 - t (ATC), weights w = r / P(arm) on the rows D of the arm and
    the regression m on M among them (0 without M), the mean is ``sum r m / sum r + nu``, where nu
    is ``sum D w (y - m)`` over ``sum D w`` if normalised and over ``sum r`` if not.  The equations
    of the logit, of m and of the mean are stacked; the influence is what M-estimation gives:
    that of the mean's own equation, plus its derivative in each model times the influence on that
    model.

    References
    ----------
    Lunceford and Davidian (2004), "Stratification and Weighting via the Propensity Score",
    sections 2.1 and 3.
    Stata Treatment-Effects Reference Manual, ``teffects ipw`` and ``teffects aipw``, Methods.
    """
    n, D, e = len(study.y), study.t == arm, model.e
    everyone = np.ones(n)
    r = {"ate": everyone, "att": study.t.astype(float), "atc": 1.0 - study.t}[estimand]
    weights, slope = _weights(arm, estimand, e)
    weights, slope = D * weights, D * slope
    m = np.zeros(n)
    if study.M is not None:
        m = study.M @ np.linalg.lstsq(study.M[D], study.y[D], rcond=None)[0]
    size = float(weights.mean() if normalized else r.mean())
    mean, resid = float(np.average(m, weights=r)), study.y - m
    nu = float((weights * resid).mean() / size)
    inner = resid - nu if normalized else resid
    influence = r * (m - mean) / r.mean() + weights * inner / size
    if not normalized:
        influence = influence - r * nu / r.mean()
    if not known:
        influence = influence + model.influence @ ((slope * inner) @ study.X / (n * size))
    if study.M is not None:
        along = (r / r.mean() - weights / size) @ study.M / n
        gram = (study.M * D[:, None]).T @ study.M / n
        influence = influence + D * resid * (study.M @ (np.linalg.pinv(gram) @ along))
    return PotentialMean(mean + nu, np.asarray(influence), np.asarray(weights))


def _weights(arm: bool, estimand: Estimand, e: Array) -> tuple[Array, Array]:
    """Return the weight of a row in its arm, and its derivative in the linear predictor."""
    odds = e / (1 - e) if not arm else (1 - e) / e
    sign = 1.0 if not arm else -1.0
    if estimand == "ate":
        return 1 + odds, sign * odds
    if (estimand == "att") is arm:
        return np.ones(len(e)), np.zeros(len(e))
    return odds, sign * odds


def _ends(e: Array) -> bool:
    return bool((e < 1e-8).any() or (e > 1 - 1e-8).any())


Estimator = Literal["ipw", "aipw"]
Errors = Literal["stacked", "known"]

NAMES = {"ate": ("ATE", "POmean"), "att": ("ATET", "POmean"), "atc": ("ATEC", "POmean")}
"""As Stata prints them; it has no effect on the controls."""


@dataclass(frozen=True, eq=False, repr=False)
class BaselineIPW(Confidential):
    """An effect without privacy: confidential, and marked so.

    Parameters
    ----------
    params : Series
        The effect (``ATE``, ``ATET`` or ``ATEC``) and ``POmean``, the mean without treatment.
    cov : DataFrame
        Their robust variance.
    treatment_model : Series
        Coefficients of the logit.
    propensities : (n,) array
    weights : (n,) array
        Each row's weight in the mean of its own arm.
    used : (N,) array of bool
        Rows without a missing value.
    title : str
    guarantee : Guarantee
    """

    params: pd.Series[float]
    cov: pd.DataFrame
    treatment_model: pd.Series[float]
    propensities: Array
    weights: Array
    used: NDArray[np.bool_]
    title: str
    guarantee: Guarantee

    @property
    def estimate(self) -> float:
        """The effect."""
        return float(self.params.iloc[0])

    @property
    def bse(self) -> pd.Series[float]:
        """Robust standard errors."""
        return pd.Series(np.sqrt(np.diag(self.cov)), index=self.params.index)

    @property
    def nobs(self) -> int:
        """Rows used."""
        return len(self.propensities)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return normal intervals of level ``1 - alpha``."""
        half = -special.ndtri(alpha / 2) * self.bse
        return pd.DataFrame({"conf.low": self.params - half, "conf.high": self.params + half})

    def tidy(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return one row per parameter, watermarked."""
        z = self.params / self.bse
        ends = self.conf_int(alpha)
        table = {
            "term": list(self.params.index),
            "estimate": self.params.to_numpy(),
            "std.error": self.bse.to_numpy(),
            "statistic": z.to_numpy(),
            "p.value": 2 * special.ndtr(-np.abs(z.to_numpy())),
            "conf.low": ends["conf.low"].to_numpy(),
            "conf.high": ends["conf.high"].to_numpy(),
        }
        return marked(pd.DataFrame(table))

    def summary(self) -> str:
        """Return the fit in a few lines, watermarked."""
        low, high = self.propensities.min(), self.propensities.max()
        table = self.tidy().to_string(index=False, float_format="%.6g")
        return "\n".join(
            (
                WATERMARK,
                f"{self.title} without privacy, {self.nobs:,} rows",
                f"Propensities from {low:.3g} to {high:.3g}",
                table,
                str(self.guarantee),
            )
        )

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<BaselineIPW: {self.title}, confidential>"


class IPW:
    """Effects by inverse probability weighting **without privacy**, to compare private ones with.

    Parameters
    ----------
    data : DataFrame
    schema : Schema, optional
        Gives the order of the levels of a factor.
    treatment, outcome : str
        Columns.
    covariates : sequence of str
        Terms of the treatment model, and of the outcome model unless ``adjust`` is given.
    treated : number or str, optional
        Code of the treated; the larger of two if not given.
    estimator : {"ipw", "aipw"}
        Weighting, or weighting augmented by regressions of the outcome in each arm.
    estimand : {"ate", "att", "atc"}
    normalized : bool, optional
        Weights of each arm add up to one (Hajek).  By default for ``"ipw"`` and not for
        ``"aipw"``, as in Stata.
    adjust : str, optional
        Right side of the outcome model of ``"aipw"``.
    cov_type : {"stacked", "known"}
        Standard errors that hold the estimation of the propensities, as Stata's, or that take
        them as known, as a survey package does with the weights it is given.

    Notes
    -----
    ``estimator="ipw"`` is ``teffects ipw (y) (t x)``, with ``atet`` for the ATT;
    ``estimator="aipw"`` is ``teffects aipw (y x) (t x)``.  Variances are those of M-estimation with
    all equations stacked, without a correction for small samples.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=2000)
    >>> t = rng.random(2000) < 1 / (1 + np.exp(-x))
    >>> fit = IPW.from_arrays(x, t, x + 2 * t + rng.normal(size=2000)).fit()
    >>> abs(fit.estimate - 2) < float(4 * fit.bse["ATE"])
    True
    """

    def __init__(
        self,
        data: IntoFrame,
        schema: Schema | None = None,
        *,
        treatment: str,
        outcome: str,
        covariates: Sequence[str],
        treated: Any = None,
        adjust: str | None = None,
        **options: Any,
    ) -> None:
        right = " + ".join(covariates)
        values = columns_of(data, (treatment,))[treatment]
        found = design(f"{outcome} ~ {adjust or right}", data, schema)
        keep = found.used & values.notna().to_numpy()
        used = design(f"~ {right}", data, schema, keep=keep).used
        X = design(f"~ {right}", data, schema, keep=used)
        M = design(f"{outcome} ~ {adjust or right}", data, schema, keep=used)
        t = _treated(values[used], treatment, treated)
        self._set_up(M.y[:, 0], t, X.X, M.X, X.columns, used, **options)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: IntoFrame,
        schema: Schema | None = None,
        *,
        outcome: str,
        **options: Any,
    ) -> Self:
        """Return the model of ``"treatment ~ covariates"``; options as for the class."""
        left, _, right = formula.partition("~")
        names = [factor.label for factor in parse(formula).outcomes]
        if len(names) != 1:
            raise ParameterError(
                f"``formula={given(formula)}`` has {len(names)} treatments; give one, as in 't ~ x'"
            )
        return cls(
            data, schema, treatment=left.strip(), outcome=outcome, covariates=(right,), **options
        )

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        t: ArrayLike,
        y: ArrayLike,
        *,
        adjust: ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Return the model of X (n, k), t (n) of 0 and 1, and y (n), all without missing values.

        ``adjust`` (n, l) are the covariates of the outcome model, X if not given; constants are
        added.
        """
        numbers, who = numbers_given(y, "y"), numbers_given(t, "t").astype(bool)
        matrix = _with_constant(X)
        other = matrix if adjust is None else _with_constant(adjust)
        if not len(numbers) == len(who) == len(matrix) == len(other):
            raise ParameterError("y, t and X have different lengths; give one row per person")
        if not all(np.isfinite(part).all() for part in (numbers, matrix, other)):
            raise ParameterError("arrays have missing or infinite values; leave these rows out")
        names = ("Intercept", *(f"x{j}" for j in range(1, matrix.shape[1])))
        model = cls.__new__(cls)
        used = np.ones(len(who), bool)
        model._set_up(numbers, who, matrix, other, names, used, **options)
        return model

    def _set_up(
        self,
        y: Array,
        t: NDArray[np.bool_],
        X: Array,
        M: Array,
        names: tuple[str, ...],
        used: NDArray[np.bool_],
        *,
        estimator: Estimator = "ipw",
        estimand: Estimand = "ate",
        normalized: bool | None = None,
        cov_type: Errors = "stacked",
    ) -> None:
        for name, value, allowed in (
            ("estimator", estimator, get_args(Estimator)),
            ("estimand", estimand, get_args(Estimand)),
            ("cov_type", cov_type, get_args(Errors)),
        ):
            if value not in allowed:
                raise ParameterError(f"``{name}={given(value)}``; allowed: {', '.join(allowed)}")
        if t.all() or not t.any():
            raise ParameterError("nobody is in one of the arms; give rows of both")
        self.study = Study(y, t, X, M if estimator == "aipw" else None)
        self.names, self.used, self.cov_type = names, used, cov_type
        self.estimator: Estimator = estimator
        self.estimand: Estimand = estimand
        self.normalized = estimator == "ipw" if normalized is None else bool(normalized)

    def fit(self) -> BaselineIPW:
        """Return the effect; there is no budget, because nothing is protected."""
        model = propensity(self.study)
        with_t, without = (
            potential_mean(
                self.study, model, arm, self.estimand,
                normalized=self.normalized, known=self.cov_type == "known",
            )
            for arm in (True, False)
        )  # fmt: skip
        names = pd.Index(NAMES[self.estimand], dtype=object)
        influence = np.column_stack([with_t.influence - without.influence, without.influence])
        cov = influence.T @ influence / len(influence) ** 2
        weighted = "normalised weights" if self.normalized else "weights as they are"
        return BaselineIPW(
            params=pd.Series([with_t.value - without.value, without.value], index=names),
            cov=pd.DataFrame(cov, index=names, columns=names),
            treatment_model=pd.Series(model.coefficients, index=pd.Index(self.names, dtype=object)),
            propensities=model.e,
            weights=with_t.weights + without.weights,
            used=self.used,
            title=f"{self.estimator.upper()}, {self.estimand.upper()}, {weighted}",
            guarantee=Guarantee.none("it is computed from the confidential rows without noise"),
        )

    def __repr__(self) -> str:
        return f"baselines.IPW({self.estimator}, {self.estimand}, no privacy)"


def _treated(values: pd.Series[Any], name: str, treated: Any) -> NDArray[np.bool_]:
    """Return who is treated, of two codes the larger unless one is named."""
    codes = sorted(values.unique().tolist())
    if len(codes) != 2:
        raise ParameterError(
            f"treatment {name!r} has {len(codes)} codes among complete rows; give a column of two"
        )
    if treated is not None and treated not in codes:
        raise ParameterError(
            f"``treated={given(treated)}`` is not a code of {name!r}; name one of the two"
        )
    return np.asarray(values == (codes[1] if treated is None else treated), bool)


def _with_constant(X: ArrayLike) -> Array:
    matrix = numbers_given(X, "X")
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    return np.column_stack([np.ones(len(matrix)), matrix])
