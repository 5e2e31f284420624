from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dprct.estimate.ate import ATEFacts
from dprct.estimate.ate.release import Outcome, Released
from dprct.estimate.ate.results import arm_contrasts, results_of
from dprct.estimate.effects import NoisyMean, NoisyVariance, combined
from dprct.estimate.experiment import compared
from dprct.privacy.arms import Arms
from dprct.privacy.budget import Budget
from dprct.privacy.guarantee import Guarantee
from dprct.schema import Column, Schema

ARMS = Arms(np.repeat([0, 1, 2], 4).astype(np.int64), ((4, 4, 4),))
GUARANTEE = Guarantee.of(Budget(1), "replace-one-design-public")


def test_the_covariance_is_known_within_outcomes_only() -> None:
    outcomes = [Outcome(Column(n, bounds=(0.0, 1.0)), ARMS, Fraction(1, 2)) for n in ("a", "b")]
    shared = NoisyVariance(0.04, 0.001, 0.5)
    means = (
        NoisyMean(0.5, 0.1, shared),
        *(NoisyMean(v, 0.2, NoisyVariance(0.02, 0.001, 0.5)) for v in (1.5, 2.5)),
    )
    arms = ("control", "t", "u")
    effects = tuple(combined(means, contrast.weights) for contrast in arm_contrasts(arms))
    found = [Released(effects, 0.5, 0.1, means)] * 2
    facts = ATEFacts(
        schema=Schema(tuple(outcome.column for outcome in outcomes)),
        n=12,
        comparison=compared(
            ["t", "u"], None, control=None, blocks="weight", privacy_unit="person",
            largest_cluster=None,
        ),
        contrasts=arm_contrasts(arms),
        outcomes=tuple(outcomes),
        indexes={},
    )  # fmt: skip
    result = results_of(found, facts, (0.05,), GUARANTEE, "charged to no ledger")
    assert list(result.params.index) == ["a: t", "a: u", "b: t", "b: u"]
    cov = result.cov_params()
    assert cov.loc["a: t", "a: u"] == pytest.approx(shared.at(0.05) + 2 * 0.1**2)
    assert cov.loc["a: t", "b: t":].isna().all()
    assert result.bse["b: u"] == pytest.approx(effects[1].half_width(0.05) / 1.959964)
    assert result.bse_noise is not None
    assert result.bse_noise["a: t"] == pytest.approx(np.sqrt(2 * (0.04 + 0.01)))
    assert result.control.loc["a", "noise"] == pytest.approx(np.sqrt(2) * 0.1)
    assert sum("Estimand" in note for note in result.notes) == 2
