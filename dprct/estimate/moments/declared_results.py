"""Results of declared regressions: the coefficients of treatment, with intervals of both errors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.moments.declared import coefficient_words
from dprct.estimate.moments.effects import JOINT_ALPHA, Combined, GaussianResults, lawful
from dprct.estimate.moments.gaussian_law import kappa, rounded_up
from dprct.estimate.moments.instruments import AndersonRubin, IVResults
from dprct.records import dataclass
from dprct.results.base import labelled
from dprct.results.joint import (
    WaldTest,
    noisy_test,
    one_restriction,
    positive,
    restrictions,
    wald_test,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.moments.declared import (
        Declared,
        DrawnCross,
        DrawnStep,
        Family,
        Instrumented,
    )
    from dprct.privacy.budget import Guarantee

    Array = NDArray[np.floating[Any]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DeclaredResults(GaussianResults):
    """The coefficients of treatment in a declared regression, sampling error and noise together.

    Parameters
    ----------
    drawn : DrawnStep
        As released.
    of : Declared

    Notes
    -----
    Intervals are theta -+ t (max(0, V + kappa om) + v)^.5: V is the sampling variance as released,
    om the standard deviation of its noise, v the variance of the noise of theta, and kappa the
    smallest number that covers for every V (:mod:`dprct.estimate.moments.gaussian_law`).
    ``bse`` is the half width of the 95 % interval over its normal quantile.
    """

    drawn: DrawnStep
    of: Declared

    @property
    def estimand(self) -> str:
        """What the coefficients are of: the outcome clipped to its public bounds."""
        return self.of.estimand

    def lincom(self, wanted: str | Mapping[str, float]) -> DeclaredResults:
        """Return a linear combination of coefficients, such as ``"t1 - t2"``, with its interval."""
        asked = one_restriction(wanted, list(self.params.index))
        self._check_joint(asked.weights)
        return _tabulated(
            self.drawn, self.of, asked.weights, -asked.values, asked.texts, like=self,
            title=f"{self.title}: {asked.texts[0]}",
        )  # fmt: skip

    def wald_test(self, wanted: str | Mapping[str, float] | Sequence[str]) -> WaldTest:
        """Return the joint test of linear restrictions, such as ``"t1 = t2 = 0"``."""
        asked = restrictions(wanted, list(self.params.index))
        self._check_joint(asked.weights)
        cov = asked.weights @ _covariance(self.drawn, self.of) @ asked.weights.T
        estimate = asked.weights @ self.drawn.params - asked.values
        plain = wald_test(estimate, cov, "; ".join(asked.texts), self.of.df)
        if self.of.classical or plain.df < len(estimate):  # one draw, or repeated restrictions
            return plain
        by = asked.weights if self.drawn.basis is None else asked.weights @ self.drawn.basis
        laws = [_combined(self.drawn, self.of, row, 0.0) for row in asked.weights]
        noise = asked.weights @ noise_of(self.drawn) @ asked.weights.T
        return _jointly(plain, estimate, laws, by @ self.drawn.sampling @ by.T, noise)

    def _check_joint(self, weights: Array) -> None:
        several = max((row != 0).sum() for row in weights) > 1 or len(weights) > 1
        if several and not self.of.joint:
            why = "treatment varies within clusters" if self.of.ways is None else (
                "errors are clustered in two ways")  # fmt: skip
            raise ParameterError(
                f"{why}, so that the variance of each coefficient was released and no covariance; "
                "ask for one coefficient at a time"
            )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JointResults(GaussianResults):
    """The coefficients of declared regressions that are tested together, named outcome: term.

    Parameters
    ----------
    sampling, spread : (K, K) arrays
        Sampling covariance of all coefficients as released, and the noise of each entry.
    alike : tuple of (slice, slice)
        Blocks off the diagonal in which entries across the block's diagonal are one draw.
    noises : (K,) array
        Standard deviations of the noise of the coefficients.

    Notes
    -----
    A family of regressions of the same people: what they share is in the covariance, as after
    Stata's ``suest``.  Every interval is that of its own regression.
    """

    sampling: Array
    spread: Array
    alike: tuple[tuple[slice, slice], ...]
    noises: Array

    def lincom(self, wanted: str | Mapping[str, float]) -> JointResults:
        """Return a linear combination, such as ``"`y: treat` - `works: treat`"``."""
        asked = one_restriction(wanted, list(self.params.index))
        law = self._combined(asked.weights[0], -float(asked.values[0]))
        table = lawful([law], asked.texts, np.zeros((1, 1)), (0.05,))
        return replace(self, **table, title=f"{self.title}: {asked.texts[0]}")

    def wald_test(
        self, wanted: str | Mapping[str, float] | Sequence[str] | None = None
    ) -> WaldTest:
        """Return the joint test of linear restrictions; without any, that all are 0."""
        names = [str(name) for name in self.params.index]
        said = [f"`{name}` = 0" for name in names] if wanted is None else wanted
        asked = restrictions(said, names)
        raised = [law.kappa(JOINT_ALPHA) * float(law.spreads[0]) for law in self._each]
        cov = positive(self.sampling) + np.diag(np.array(raised) + self.noises**2)
        estimate = asked.weights @ self.params.to_numpy(np.float64) - asked.values
        df, L = float(self.df_inference), asked.weights
        plain = wald_test(estimate, L @ cov @ L.T, "; ".join(asked.texts), df)
        if plain.df < len(estimate):  # some repeat others
            return plain
        laws = [self._combined(row, 0.0) for row in L]
        noise = (L * self.noises**2) @ L.T
        return _jointly(plain, estimate, laws, L @ self.sampling @ L.T, noise)

    @property
    def _each(self) -> list[Combined]:
        return [self._combined(one, 0.0) for one in np.eye(len(self.noises))]

    def _combined(self, w: Array, shift: float) -> Combined:
        """Return one combination of coefficients with the law of its error."""
        square = np.outer(w, w)
        draws = np.triu(2 * square - np.diag(np.diag(square)))
        for rows, columns in self.alike:
            block = draws[rows, columns]
            draws[rows, columns] = np.triu(block) + np.tril(block, -1).T
        spread = float(np.linalg.norm(draws * np.nan_to_num(self.spread)))
        return Combined(
            value=float(w @ self.params.to_numpy(np.float64)) + shift,
            parts=np.array([float(w @ self.sampling @ w)]), spreads=np.array([spread]),
            noise=float((w * w) @ (self.noises**2)), df=np.array([float(self.df_inference)]),
        )  # fmt: skip


def _jointly(
    plain: WaldTest, estimate: Array, laws: Sequence[Combined], sampling: Array, noise: Array
) -> WaldTest:
    """Test of combinations whose sampling covariance was released with noise.

    Differences are scaled by the released covariance plus K times the noise of its variances, so
    that directions that are mostly noise do not decide; without noise it is the Wald test.
    Variances are inflated by kappa of the level of the test, .05 or ``JOINT_ALPHA``.  Simulated
    with 2 to 8 restrictions, noise of .2 to 4 times that of the coefficients, and covariances of
    nothing to a hundred times that: the 5 % test rejects at most .058 of true nulls, the 1 % test
    .013 (docs/declared_regressions.md).
    """
    spreads = np.array([float(law.spreads[0]) for law in laws])
    found = []
    for level in (0.05, JOINT_ALPHA):
        raised = np.array([law.kappa(level) for law in laws]) * spreads
        metric = positive(sampling) + noise + np.diag(raised + len(laws) * spreads)
        cov = sampling + noise
        np.fill_diagonal(cov, np.maximum(np.diag(sampling) + raised, 0.0) + np.diag(noise))
        found.append(noisy_test(estimate, metric, cov, plain.hypothesis, plain.df_denom))
    if found[0].pvalue >= 0.05:
        return found[0]
    return replace(found[1], pvalue=min(found[1].pvalue, 0.05))


def joint_results(
    drawn: Sequence[DrawnStep], declared: Sequence[Declared], crosses: Sequence[DrawnCross],
    family: Family, guarantee: Guarantee, rows: int,
) -> JointResults:  # fmt: skip
    """Return the coefficients of a family of declared regressions, with their covariance."""
    fits = [declared_results(drawn[at], declared[at], guarantee) for at in family.members]
    places = dict(zip(family.members, _places(fits), strict=True))
    size = sum(len(fit.of.terms) for fit in fits)
    sampling, spread = np.zeros((2, size, size))
    for at, here in places.items():
        sampling[here, here], spread[here, here] = drawn[at].sampling, drawn[at].spread
    for one in crosses:
        here, there = places[one.first], places[one.second]
        sampling[here, there], spread[here, there] = one.sampling, one.spread
        sampling[there, here], spread[there, here] = one.sampling.T, one.spread.T
    noises = np.concatenate([drawn[at].noise for at in family.members])
    clusters = list(dict.fromkeys(", ".join(fit.of.clusters) for fit in fits if fit.of.groups))
    return JointResults(
        **_together(fits, sampling + np.diag(noises**2)), sampling=sampling, spread=spread,
        alike=tuple((places[one.first], places[one.second]) for one in crosses if one.alike),
        noises=noises, nobs=rows, cov_type=fits[0].cov_type,
        title=f"Declared regressions together: {family.name}",
        notes=(
            "Coefficients of regressions of the same people, with their covariance: "
            + "; ".join(fit.of.title for fit in fits) + ".",
            *(f"Errors are those of clusters of {one}." for one in clusters),
        ),
    )  # fmt: skip


def _places(fits: Sequence[DeclaredResults]) -> list[slice]:
    """Places of the coefficients of each regression among those of all."""
    ends = np.cumsum([len(fit.of.terms) for fit in fits]).tolist()
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _together(fits: Sequence[DeclaredResults], cov: Array) -> dict[str, Any]:
    """Coefficients of regressions below each other, named outcome: term."""
    outcomes = [fit.outcome for fit in fits]
    names = [
        f"{fit.outcome if outcomes.count(fit.outcome) == 1 else fit.of.title}: {term}"
        for fit in fits
        for term in fit.of.terms
    ]
    return {
        **lawful([law for fit in fits for law in fit.laws], names, cov, (0.05,)),
        "df_inference": min(fit.df_inference for fit in fits),
        "df_resid": min(fit.df_resid for fit in fits), "guarantee": fits[0].guarantee,
        "outcome": ", ".join(dict.fromkeys(outcomes)),
        "formula": "; ".join(fit.formula for fit in fits),
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DeclaredEstimates(GaussianResults):
    """The released coefficients of all declared regressions of a file."""

    fits: tuple[DeclaredResults, ...]  # of each of them, in their order

    @classmethod
    def of(
        cls, drawn: Sequence[DrawnStep], declared: Sequence[Declared], rows: int,
        guarantee: Guarantee,
    ) -> DeclaredEstimates:  # fmt: skip
        """Return what was drawn of declared regressions."""
        fits = tuple(
            declared_results(one, of, guarantee) for one, of in zip(drawn, declared, strict=True)
        )
        # across regressions no covariance was released
        cov = np.full((sum(len(fit.of.terms) for fit in fits),) * 2, np.nan)
        for fit, here in zip(fits, _places(fits), strict=True):
            cov[here, here] = fit.cov.to_numpy(np.float64)
        return cls(
            **_together(fits, cov), nobs=rows,
            cov_type=" and ".join(dict.fromkeys(fit.cov_type for fit in fits)),
            title="Declared regressions, released by one step",
            notes=tuple(dict.fromkeys(note for fit in fits for note in fit.notes)), fits=fits,
        )  # fmt: skip


_MEMBERS = (
    "Who meets the condition is private and was fixed before treatment; it is released with noise "
    "how many do"
)
_PRESENT = "Who has a value is private; it is released with noise how many do"
_NOT_CORRECTED = (
    "If treatment changed who has a value, and did so by covariates, these do not correct for it: "
    "the coefficient is then not that of least squares with them"
)
_HIDDEN = (
    "Who was treated is private, and so is how many were; the realised shares of the arms are "
    "released with noise"
)
_WEIGHTS = "Weights are private, and their sums are released with noise"


def declared_results(
    drawn: DrawnStep, of: Declared, guarantee: Guarantee, notes: tuple[str, ...] = ()
) -> DeclaredResults:
    """Table of results of a declared regression."""
    shorter = ", and covariates make the interval shorter without changing what is estimated"
    said = (
        f"The {coefficient_words(of.amounts or (), of.covariates)} of {of.estimand}; nothing else "
        f"of the outcome is clipped{shorter * bool(of.covariates)}.",
    )
    lost = [name for name, x in zip(of.terms, drawn.params.tolist(), strict=True) if math.isnan(x)]
    if lost:
        why = (
            "the covariates that treatment is multiplied by vary by less than five times the noise "
            "of their moments"
            if drawn.rows is None
            else "some arm has fewer people who count than five times the noise of their number"
        )
        notes = (*notes, f"Not estimated, for {why}: {', '.join(lost)}.")
    each = [_combined(drawn, of, row, 0.0) for row in np.eye(len(of.terms))]
    below = [
        name
        for name, law in zip(of.terms, each, strict=True)
        if law.parts[0] <= 0 and name not in lost
    ]
    if below:
        notes = (
            *notes,
            f"The sampling variance of {', '.join(below)} was drawn at 0 or below: its printed "
            "error is that of noise. Intervals cover over all draws, and some are short.",
        )
    nobs = of.nobs
    if guarantee.relation == "replace-one":
        notes = (*notes, f"{_HIDDEN}.")
    if drawn.rows is not None and drawn.rows != nobs:
        nobs = max(0, round(np.nan_to_num(drawn.rows)))
        about = f", about {nobs:,}" if nobs else ""
        about += " by the mean weight that is declared" if about and of.weights else ""
        notes = (*notes, f"{_MEMBERS if of.where else _PRESENT}{about}.")
        if of.covariates and not of.where:
            notes = (*notes, f"{_NOT_CORRECTED}.")
        if not of.groups:
            of = replace(of, nobs=max(nobs, of.coefficients + 1))
    elif drawn.rows is not None and guarantee.relation != "replace-one":
        notes = (*notes, f"{_WEIGHTS}.")
    clusters = f"Errors are those of {of.clustered}."
    return _tabulated(
        drawn, of, np.eye(len(of.terms)), np.zeros(len(of.terms)), of.terms,
        df_inference=float(of.df), df_resid=float(max(nobs - of.coefficients, 1)), nobs=nobs,
        cov_type=of.cov_type, guarantee=guarantee, outcome=of.outcome, formula=of.formula,
        title=f"Declared regression: {of.title}",
        notes=(*said, *((clusters,) if of.groups else ()), *notes),
    )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class DeclaredForm(AndersonRubin):
    """The coefficients of an instrument in the reduced form and in the first stage.

    Notes
    -----
    In the direction (c, d) the variance is c^2 V_yy + 2 c d V_yd + d^2 V_dd, released with noise
    of the variance c^4 s_yy^2 + 4 c^2 d^2 s_yd^2 + d^4 s_dd^2, and the coefficients have noise of
    c^2 s_y^2 + d^2 s_d^2.  kappa is taken in every direction, of a ratio rounded up to 5 %.
    """

    reduced: DrawnStep
    first: DrawnStep
    cross: DrawnCross  # of their covariance

    def statistic(self, angle: float) -> float:
        """Return the squared coefficient over its variance in the direction of an angle."""
        cos, sin = math.cos(angle), math.sin(angle)
        y, d = cos, -(cos * self.center + sin * self.unit)
        value = y * self.reduced.params[0] + d * self.first.params[0]
        return float(value**2 / self.variance(y, d)[0])

    def variance(self, y: float, d: float) -> tuple[float, float]:
        """Return the variance of a direction, inflated, and that of the noise of coefficients."""
        square = np.array([y * y, 2 * y * d, d * d])
        parts = self.reduced, self.cross, self.first
        om = math.hypot(*(square * [one.spread[0, 0] for one in parts]))
        noise = math.hypot(y * self.reduced.noise[0], d * self.first.noise[0]) ** 2
        known = float(square @ [one.sampling[0, 0] for one in parts])
        ratio = math.exp(_STEP * math.ceil(math.log(om / noise) / _STEP - 1e-9))
        return max(0.0, known + kappa(ratio) * om) + noise, noise


_STEP = 0.05


def instrumented_results(
    drawn: tuple[DrawnStep, DrawnStep, DrawnCross], one: Instrumented, of: Declared,
    guarantee: Guarantee, notes: tuple[str, ...] = (),
) -> IVResults:  # fmt: skip
    """The effect of what an instrument moves: two-stage least squares and its sets.

    ``drawn`` are the reduced form, which ``of`` describes, the first stage, and both together.
    """
    reduced, first, cross = drawn
    moved = float(first.params[0]) or math.nan
    effect = float(reduced.params[0]) / moved
    form: dict[str, Any] = {
        "instruments": 1, "df": float(of.df), "reduced": reduced, "first": first, "cross": cross,
    }  # fmt: skip
    test = DeclaredForm(center=0.0, unit=1.0, **form)
    variance, noise = test.variance(1.0, -effect) if moved == moved else (math.nan, math.nan)
    bse = math.sqrt(variance) / abs(moved)
    if moved == moved:
        test = DeclaredForm(center=effect, unit=bse, **form)
    clusters = f"Errors are those of {of.clustered}."
    return IVResults(
        **labelled([one.endogenous], [effect], [[bse**2]], [math.sqrt(noise) / abs(moved)]),
        df_inference=float(of.df), df_resid=float(of.nobs - of.coefficients), nobs=of.nobs,
        cov_type=of.cov_type, guarantee=guarantee, outcome=of.outcome, formula=one.formula,
        title=f"Declared regression with an instrument: {one.title}",
        notes=(
            f"The effect of {one.endogenous} on {of.estimand}, from {of.formula} and its first "
            "stage.", *((clusters,) if of.groups else ()), *notes,
            "The set and p-value of the effect are Anderson and Rubin's.",
        ),
        reduced=test, endogenous=one.endogenous, first_stage=test.statistic(math.pi / 2),
        estimated=True,
    )  # fmt: skip


def _tabulated(
    drawn: DrawnStep, of: Declared, weights: Array, shift: Array, names: Sequence[str], *,
    like: DeclaredResults | None = None, **facts: Any,
) -> DeclaredResults:  # fmt: skip
    """Return linear combinations of what was drawn as a result."""
    laws = [_combined(drawn, of, row, value) for row, value in zip(weights, shift, strict=True)]
    cov = (
        weights @ _covariance(drawn, of) @ weights.T
        if of.joint
        else np.full((len(names),) * 2, np.nan)
    )
    table = lawful(laws, names, cov, (0.05,))
    if like is not None:
        return replace(like, **table, **facts)
    return DeclaredResults(**table, **facts, drawn=drawn, of=of)


def _combined(drawn: DrawnStep, of: Declared, row: Array, shift: float) -> Combined:
    """Return one combination of coefficients with the law of its error.

    Entries of the released matrix have independent noise up to symmetry, so that w'Vw has the
    variance sum w_j^4 s_jj^2 + sum over j < k of 4 w_j^2 w_k^2 s_jk^2.
    """
    raw = row if drawn.basis is None else row @ drawn.basis
    used = np.flatnonzero(raw)
    w = raw[used]
    V = drawn.sampling[np.ix_(used, used)]
    s = drawn.spread[np.ix_(used, used)]
    square = np.outer(w * w, w * w) * s * s
    om = math.sqrt(float(np.trace(square) + 2 * (square.sum() - np.trace(square))))
    if of.classical:  # all entries are one draw
        om = float(w @ s @ w)
    return Combined(
        value=float(row @ drawn.params) + float(shift),
        parts=np.array([float(w @ V @ w)]),
        spreads=np.array([om]),
        noise=float(row @ noise_of(drawn) @ row),
        df=np.array([float(of.df)]),
    )


def noise_of(drawn: DrawnStep) -> Array:
    """Covariance of the noise of the coefficients."""
    return np.diag(drawn.noise**2) if drawn.covariance is None else drawn.covariance


def _covariance(drawn: DrawnStep, of: Declared) -> Array:
    """Return the covariance of the coefficients for joint tests, its diagonal inflated."""
    noise = drawn.noise**2
    each = [float(_combined(drawn, of, one, 0.0).spreads[0]) for one in np.eye(len(noise))]
    raised = [
        s * kappa(rounded_up(s / v), JOINT_ALPHA) if s and math.isfinite(v) else 0.0
        for s, v in zip(each, noise.tolist(), strict=True)
    ]
    sampling = positive(np.nan_to_num(drawn.sampling, nan=0.0))
    if of.classical:
        most = max(r / s for r, s in zip(raised, each, strict=True))
        whole: Array = sampling + most * drawn.spread + noise_of(drawn)
        return whole
    if drawn.basis is not None:
        sampling = drawn.basis @ sampling @ drawn.basis.T
    found: Array = sampling + np.diag(np.array(raised)) + noise_of(drawn)
    return found
