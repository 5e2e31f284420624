"""The outcome models of Hybrid and GenModel, and which outcomes are missing."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from dprct.errors import ParameterError
from dprct.lazy import special
from dprct.missing import tagged
from dprct.records import dataclass
from dprct.results.covariance import Weighting, least_squares

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Arm = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class Missingness:
    """The shares of one outcome's missing codes, per arm."""

    # Share of the arm's rows that have the missing code of that number.
    shares: Mapping[Arm, Mapping[int, float]]

    def codes(self, arms: list[Arm], rng: np.random.Generator) -> NDArray[np.int8]:
        """Return the number of the missing code of every row, -1 where the outcome is observed.

        The number of rows of a code is its share of the arm's rows, rounded up or down at random
        such that it is right on average; which rows these are is random.
        """
        found = np.full(len(arms), -1, np.int8)
        rows: dict[Arm, list[int]] = {}
        for row, arm in enumerate(arms):
            rows.setdefault(arm, []).append(row)
        for arm, members in rows.items():
            order = rng.permutation(members)
            start = 0
            for code, share in self.shares.get(arm, {}).items():
                stop = min(start + int(share * len(members) + rng.random()), len(members))
                found[order[start:stop]] = code
                start = stop
        return found


def missingness(arms: list[Arm], codes: NDArray[np.int8]) -> Missingness:
    """Shares of the missing codes in every arm; the code of an observed outcome is -1.

    Examples
    --------
    >>> found = missingness([(0,), (0,), (1,), (1,)], np.array([-1, 0, -1, -1]))
    >>> dict(found.shares[(0,)]), dict(found.shares[(1,)])
    ({0: 0.5}, {})
    """
    counts: dict[Arm, dict[int, int]] = {}
    for arm, code in zip(arms, codes.tolist(), strict=True):
        of_arm = counts.setdefault(arm, {})
        of_arm[code] = of_arm.get(code, 0) + 1
    shares: dict[Arm, dict[int, float]] = {}
    for arm, of_arm in counts.items():
        rows = sum(of_arm.values())
        shares[arm] = {code: k / rows for code, k in sorted(of_arm.items()) if code >= 0}
    return Missingness(shares)


def made_missing(values: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the values with the missing codes put in where there are any."""
    absent = codes >= 0
    made = values.copy()
    if absent.any():
        made[absent] = tagged(codes[absent])
    return made


def arms_of(columns: Mapping[str, NDArray[Any]]) -> list[Arm]:
    """Return the values of the treatment columns of every row, as one arm.

    Examples
    --------
    >>> arms_of({"cash": np.array([0.0, 1.0]), "therapy": np.array([1.0, 1.0])})
    [(0.0, 1.0), (1.0, 1.0)]
    """
    return list(zip(*(values.tolist() for values in columns.values()), strict=True))


Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Family = Literal["gaussian", "binomial", "poisson"]

_NEVER = 1e-10
_LARGEST_MEAN = 2.0**53


@dataclass(frozen=True, eq=False)
class OutcomeFit:
    """One outcome's model, as the confidential data have it."""

    outcome: str
    family: Family
    kept: Mask  # (k,): columns of the design that are no linear combination of earlier ones
    beta: Array  # (rank,): coefficients of these
    sigma2: float  # ``RSS / (n - rank)``; 1 for the families without a dispersion
    nobs: int  # complete rows

    @property
    def df_resid(self) -> int:
        """Rows less rank."""
        return self.nobs - len(self.beta)

    def variance(self, design: Array) -> Array:
        """Return the variance of the outcome (m,) that the family has at rows (m, rank)."""
        eta = np.asarray(design @ self.beta, np.float64)
        match self.family:
            case "gaussian":
                return np.full(len(eta), self.sigma2)
            case "binomial":
                return np.asarray(special.expit(eta) * special.expit(-eta), np.float64)
            case "poisson":
                return np.exp(np.minimum(eta, math.log(_LARGEST_MEAN)))

    def draw(self, design: Array, rng: np.random.Generator) -> Array:
        """Return outcomes (m,) for the rows of a released design (m, k).

        Notes
        -----
        gaussian: ``W~ beta^ + N(0, s2^)``; binomial: 0 or 1, poisson: counts, both with the mean
        of the canonical link.
        """
        eta = np.asarray(design[:, self.kept] @ self.beta, np.float64)
        match self.family:
            case "gaussian":
                return eta + math.sqrt(self.sigma2) * rng.standard_normal(len(eta))
            case "binomial":
                happened = rng.random(len(eta)) < np.asarray(special.expit(eta))
                return happened.astype(np.float64)
            case "poisson":
                mean = np.exp(np.minimum(eta, math.log(_LARGEST_MEAN)))
                return rng.poisson(mean).astype(np.float64)


def fits(
    design: Array, outcomes: Mapping[str, Array], families: Mapping[str, Family]
) -> tuple[OutcomeFit, ...]:
    """Fit every outcome, NaN where missing, on its complete rows of a complete design.

    Examples
    --------
    >>> design = np.column_stack([np.ones(4), [0, 0, 1, 1], [0, 0, 2, 2]])
    >>> [found] = fits(design, {"y": np.array([1.0, 3, 5, 7])}, {"y": "gaussian"})
    >>> found.kept.tolist(), found.beta.round(9).tolist(), round(found.sigma2, 9)
    ([True, True, False], [2.0, 4.0], 2.0)
    """
    alike: dict[bytes, list[str]] = {}
    for name, y in outcomes.items():
        alike.setdefault(np.isfinite(y).tobytes(), []).append(name)
    found: dict[str, OutcomeFit] = {}
    for names in alike.values():
        rows = np.isfinite(outcomes[names[0]])
        Y = np.column_stack([outcomes[name][rows] for name in names])
        for fit in _fits_of_rows(design[rows], Y, names, families):
            found[fit.outcome] = fit
    return tuple(found[name] for name in outcomes)


def families_of(outcomes: Sequence[str], asked: Mapping[str, str] | None) -> dict[str, Family]:
    """Return the family of every outcome, gaussian unless asked for otherwise.

    Examples
    --------
    >>> families_of(["y", "arrested"], {"arrested": "binomial"})
    {'y': 'gaussian', 'arrested': 'binomial'}
    """
    found: dict[str, Family] = dict.fromkeys(outcomes, "gaussian")
    for name, family in (asked or {}).items():
        if name not in found:
            raise ParameterError(
                f"families names {name!r}, which is not an outcome; they are {', '.join(outcomes)}"
            )
        if family not in get_args(Family):
            raise ParameterError(
                f"families: {name!r} has {family!r}; allowed: {', '.join(get_args(Family))}"
            )
        found[name] = cast("Family", family)
    return found


def _fits_of_rows(
    design: Array, Y: Array, names: list[str], families: Mapping[str, Family]
) -> list[OutcomeFit]:
    """Fit outcomes that are observed in the same rows: one factorisation for all."""
    n = len(design)
    if n == 0:
        raise ParameterError(
            f"outcome {names[0]!r} is missing in every row that has its regressors; leave it out"
        )
    linear, kept = least_squares(design, Y, Weighting.of(None, "aweight", n))
    rank = int(kept.sum())
    if n <= rank:
        raise ParameterError(
            f"outcome {names[0]!r} has {n} complete rows for {rank} coefficients, which leaves "
            "nothing to estimate its residual variance from; use fewer regressors"
        )
    made = []
    for y, name, fit in zip(Y.T, names, linear, strict=True):
        family = families[name]
        if family != "gaussian":
            coefficients = _generalised(design[:, kept], y, name, family)
            made.append(OutcomeFit(name, family, kept, coefficients, 1.0, n))
        else:
            sigma2 = float(fit.resid @ fit.resid / fit.df_resid)
            made.append(OutcomeFit(name, family, kept, fit.beta, sigma2, n))
    return made


def _generalised(X: Array, y: Array, name: str, family: Family) -> Array:
    """Fit by iterated least squares, or refuse outcomes that have no finite fit."""
    from statsmodels.genmod import families as links
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import (
        ConvergenceWarning,
        PerfectSeparationError,
        PerfectSeparationWarning,
    )

    _check_values(y, name, family)
    kind: Any = links.Binomial() if family == "binomial" else links.Poisson()
    lengths = np.sqrt((X**2).sum(axis=0) / len(X))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PerfectSeparationWarning)
            warnings.simplefilter("error", ConvergenceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            found = GLM(y, X / lengths, family=kind).fit(method="IRLS", maxiter=200)
    except (PerfectSeparationError, PerfectSeparationWarning, ConvergenceWarning):
        raise _separated(name, family) from None
    fitted = np.asarray(found.fittedvalues)
    certain = fitted < _NEVER
    if family == "binomial":
        certain |= fitted > 1 - _NEVER
    if certain.any() or not np.isfinite(found.params).all():
        raise _separated(name, family)
    return np.asarray(found.params / lengths)


def _check_values(y: Array, name: str, family: Family) -> None:
    if family == "binomial" and not np.isin(y, (0.0, 1.0)).all():
        raise ParameterError(
            f"outcome {name!r} is to be binomial, but has values other than 0 and 1; recode it, "
            "or use family 'gaussian'"
        )
    if family == "poisson" and not ((y >= 0) & (y == np.floor(y))).all():
        raise ParameterError(
            f"outcome {name!r} is to be poisson, but has values that are not counts (0, 1, "
            "2, ...); recode it, or use family 'gaussian'"
        )


def _separated(name: str, family: Family) -> ParameterError:
    return ParameterError(
        f"outcome {name!r} is separated by its regressors (some combination of them decides it), "
        f"so its {family} fit has no finite coefficients; drop that regressor or level, or use "
        "family 'gaussian'"
    )
