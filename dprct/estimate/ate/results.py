"""What a private fit of effects returns: released numbers, their law, and no row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprct.errors import ParameterError
from dprct.estimate.ate.release import Released, control_law
from dprct.estimate.contrasts import compared_words, parse_contrast
from dprct.estimate.effects import (
    ByOutcome,
    NoisyEffect,
    NoisyMean,
    WithLaws,
    combined,
)
from dprct.estimate.noise_law import noise_variance
from dprct.lazy import pandas as pd
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dprct.estimate.ate.facts import ATEFacts, Index
    from dprct.estimate.ate.release import AnyOutcome
    from dprct.estimate.contrasts import Contrast
    from dprct.privacy.budget import Guarantee


def tabulated(
    outcomes: Sequence[str],
    effects: Sequence[Sequence[NoisyEffect]],
    means: Sequence[Sequence[NoisyMean]],
    contrasts: Sequence[Contrast],
    alphas: Sequence[float],
) -> dict[str, Any]:
    """Attributes of a result that depend on which effects it is about; (q, k) effects.

    Means are empty where differences themselves were released.

    Notes
    -----
    Two contrasts w, w' of one outcome have the covariance sum_a w_a w'_a (V~_a + N_a), N_a the
    variance of the noise in an arm: V~_0 + N_0 for two arms against one control.  Their variances
    are the squares of standard errors that are valid at the declared levels.  Between outcomes it
    is NaN, for the covariance of their sampling errors was not released.
    """
    several = len(outcomes) > 1
    names = [f"{y}: {c.name}" if several else c.name for y in outcomes for c in contrasts]
    index = pd.Index(names, dtype=object)
    together = tuple(effect for one in effects for effect in one)
    cov = np.full((len(names), len(names)), np.nan)
    for place, of_arms in enumerate(means):
        here = slice(place * len(contrasts), (place + 1) * len(contrasts))
        if of_arms:
            cov[here, here] = _covariance(of_arms, contrasts, alphas[0])
    np.fill_diagonal(cov, np.square([effect.standard_error(alphas) for effect in together]))
    return {
        "params": pd.Series([effect.value for effect in together], index=index),
        "cov": pd.DataFrame(cov, index=index, columns=index),
        "bse_noise": pd.Series([effect.noise_sd for effect in together], index=index),
        "effects": together,
    }


def _covariance(
    means: Sequence[NoisyMean], contrasts: Sequence[Contrast], level: float
) -> NDArray[np.float64]:
    weights = np.array([[float(w) for w in contrast.weights] for contrast in contrasts])
    spread = np.array([mean.variance.at(level) + mean.noise_variance for mean in means])
    found: NDArray[np.float64] = (weights * spread) @ weights.T
    return found


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivateATEResults(ByOutcome, WithLaws):
    """Private average treatment effects, with intervals that contain sampling and privacy noise.

    Parameters
    ----------
    effects : tuple of NoisyEffect, length k
        In the order of ``params``.
    alphas : tuple of float
        Sizes of tests at which ``params -+ z bse`` is valid.
    control : (q,) DataFrame
        For each outcome, the ``mean`` of the control group (clipped, and brought within the bounds
        of the outcome), the standard deviation of its ``noise``, and its ``std_error``, in which
        sampling and privacy noise are together; NaN where it has none, as with two arms whose
        treatment is private.
    ledger : str
        Where the budget was charged.
    arms : tuple of str, length A
        The control group first.
    outcomes : tuple of str, length q
    means : tuple of q tuples of NoisyMean
        Released means of all arms; empty tuples where, with two arms, the difference itself was
        released.

    Notes
    -----
    ``bse`` is the largest half width divided by z over the declared alphas, so that the usual 1.96
    standard errors give a valid interval.  :meth:`conf_int` uses the exact law of the noise and is
    valid at every level.  ``cov_params`` is NaN between outcomes: their sampling covariance was not
    released.
    """

    effects: tuple[NoisyEffect, ...]
    alphas: tuple[float, ...]
    control: pd.DataFrame
    ledger: str = ""
    arms: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    means: tuple[tuple[NoisyMean, ...], ...] = ()

    @property
    def _laws(self) -> tuple[NoisyEffect, ...]:
        return self.effects

    @property
    def _inference(self) -> str:
        return "normal plus " + ("Laplace" if self.effects[0].size == 1 else "cube noise")

    def contrast(self, contrast: str | Mapping[str, float]) -> PrivateATEResults:
        """Compare arms with each other; free, for it uses what was released already.

        Parameters
        ----------
        contrast : str or mapping from arm to weight
            ``"a - b"``, ``"0.5*a + 0.5*b - control"`` or ``{"a": 1, "b": -1}``; of sum zero.

        Returns
        -------
        PrivateATEResults
            With one effect per outcome, under the same guarantee.

        Raises
        ------
        ParameterError
            If it is not a contrast of the arms; or if there are two arms and it is not ``arm -
            control``, because only that difference was released.

        Notes
        -----
        Sampling variances and noise of the arms add up with squared weights; the law is normal plus
        one Laplace draw per arm.  Choosing a contrast after seeing the results costs no privacy,
        but it remains a choice among tests.
        """
        wanted = parse_contrast(contrast, self.arms)
        effects = [
            (combined(of_arms, wanted.weights),) if of_arms else (self._difference(place, wanted),)
            for place, of_arms in enumerate(self.means)
        ]
        table = tabulated(self.outcomes, effects, self.means, (wanted,), self.alphas)
        notes = (f"Effect: the contrast {wanted.name} of arm means.", *self.notes)
        return replace(self, **table, title=f"{self.title}: {wanted.name}", notes=notes)

    def _difference(self, place: int, wanted: Contrast) -> NoisyEffect:
        if [float(w) for w in wanted.weights] != [-1.0, 1.0]:
            raise ParameterError(
                f"with two arms only {self.arms[1]} - {self.arms[0]} was released, and contrast "
                f"{wanted.name!r} is another; read this effect and change its sign or unit yourself"
            )
        return self.effects[place]

    def _panels(self) -> list[tuple[str, list[str], tuple[NoisyEffect, ...]]]:
        outcomes = self.outcomes or (self.outcome,)
        each = len(self.effects) // len(outcomes)
        names = [str(name) for name in self.params.index]
        found = []
        for place, outcome in enumerate(outcomes):
            here = slice(place * each, (place + 1) * each)
            short = [name.removeprefix(f"{outcome}: ") for name in names[here]]
            found.append((outcome, short, self.effects[here]))
        return found


TITLE = "Private average treatment effects"


def results_of(
    found: Sequence[Released],
    facts: ATEFacts,
    alphas: tuple[float, ...],
    guarantee: Guarantee,
    ledger: str,
) -> PrivateATEResults:
    """Return the results object: post-processing of what was released."""
    outcomes, arms, contrasts = facts.outcomes, facts.arms, facts.contrasts
    outcome_names = tuple(outcome.column.name for outcome in outcomes)
    laws = [control_law(outcome, one) for outcome, one in zip(outcomes, found, strict=True)]
    control = pd.DataFrame(
        {
            "mean": [
                _within(one.control, outcome) for outcome, one in zip(outcomes, found, strict=True)
            ],
            "noise": [
                math.sqrt(noise_variance(outcome.size)) * one.control_scale
                for outcome, one in zip(outcomes, found, strict=True)
            ],
            "std_error": [np.nan if law is None else law.standard_error(alphas) for law in laws],
        },
        index=pd.Index(outcome_names, dtype=object),
    )
    found = [one.contrasted(contrasts) for one in found]
    means = tuple(one.means for one in found)
    table = tabulated(outcome_names, [one.effects for one in found], means, contrasts, alphas)
    return PrivateATEResults(
        **table,
        df_inference=float("inf"),
        df_resid=float("inf"),
        nobs=facts.n,
        cov_type="private",
        guarantee=guarantee,
        outcome=", ".join(outcome_names),
        formula=f"{' + '.join(outcome_names)} ~ {' + '.join(arms[1:])}",
        title=TITLE,
        notes=_notes(
            outcomes, found, compared_words(arms, contrasts), arms[0], facts.indexes, control
        )
        + tuple(f"{text[0].upper()}{text[1:]}." for text in facts.without_blocks),
        alphas=alphas,
        control=control,
        ledger=ledger,
        arms=arms,
        outcomes=outcome_names,
        means=means,
    )


def _within(mean: float, outcome: AnyOutcome) -> float:
    """Return a mean within the bounds of its outcome, which brings it no further from the truth."""
    assert outcome.column.bounds is not None
    low, high = outcome.column.bounds
    return min(max(mean, low), high)


def _notes(
    outcomes: Sequence[AnyOutcome],
    found: Sequence[Released],
    compared: str,
    control: str,
    indexes: Mapping[str, Index],
    means: pd.DataFrame,
) -> tuple[str, ...]:
    notes = []
    of_control = means.to_numpy(np.float64).tolist()
    for outcome, one, (mean, noise, error) in zip(outcomes, found, of_control, strict=True):
        bounds = outcome.column.bounds
        assert bounds is not None
        among = ", among those with a value" if outcome.among_observed else ""
        filled = "" if outcome.fill is None else f", missing values being {outcome.fill:g}"
        name = outcome.column.name
        index = indexes.get(name)
        what = name if index is None else f"{name} less its index"
        told = "" if math.isnan(error) else f"std err {error:.2g}, "
        notes.append(
            f"Estimand: {compared} in the mean of {what} clipped to "
            f"[{bounds[0]:g}, {bounds[1]:g}]{among}{filled}; {control} mean {mean:.4g} "
            f"({told}noise sd {noise:.2g})."
        )
        notes += [] if index is None else [f"Index of {name}: {index.said(name)}."]
        notes += outcome.remarks(one)
    return (*notes, "Errors and intervals contain sampling and privacy noise.")
