"""The whole release of a synthetic control on worst-case neighbours: a lower bound on its loss.

Donor 1's series is turned from one end of the bounds to the other while the other donors are at
zero: the weights move by the extremal pair of the proof, the path by its whole sensitivity if the
donor has the largest weight.  The score is the log likelihood ratio of everything released.  An
audit alarms falsely once in 1e9.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct.estimate.synthetic_control.allocation import ControlAllocation
from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.estimate.synthetic_control.release import release_treated
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.queries.donors import Donors
from tests.statistical.auditing import lower_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.statistical.auditing import AuditResult

Array = np.ndarray[Any, Any]
ALPHA = 1e-9
T0, T, EPSILON = 4, 6, 1.0


def neighbours(n: int, lam: float) -> tuple[Array, Array]:
    s = min(1.0, math.sqrt(lam / 2 / T0))
    first = np.zeros((n, T))
    first[0, :T0], first[0, T0:] = s, 1.0
    return first, -first


def scores(X: Array, pair: tuple[Array, Array], draws: int, seed: int, **options: Any) -> Array:
    """Return the log likelihood ratio of the first against the second, of fits on X."""
    y = np.ones(T)
    model = SyntheticControl.from_arrays(X, y, T0, 1.0, **options)
    allocation, facts = model._allocated(Budget(EPSILON)), model.facts
    assert isinstance(allocation, ControlAllocation)
    noise, scale, panel = source(seed), allocation.scale, facts.panel
    donors = Donors.of(model._table.rows(), panel.outcome, panel.rows, scale, T0)
    target, kappa = scale.steps(y), allocation.form.lam / 2
    f = [np.linalg.solve(Z[:, :T0] @ Z[:, :T0].T + kappa * np.eye(len(Z)), Z[:, :T0] @ y[:T0])
         for Z in pair]  # fmt: skip
    found = np.empty(draws)
    for k in range(draws):
        out = release_treated(allocation, facts, donors, target, noise)
        means = [Z[:, T0:].T @ out.weights for Z in pair]
        b = out.post.noise.laplace[0][0]
        ratio = [np.abs(out.post.prediction - m).sum() / b for m in means]
        if out.mean is not None:
            b = out.mean.noise.laplace[0][0]
            ratio = [
                r + abs(out.mean.prediction[0] - m.mean()) / b
                for r, m in zip(ratio, means, strict=True)
            ]
        if out.noisy_weights is not None:
            b = allocation["donor_weights"].scale * float(allocation.form.grid.grid)
            ratio = [
                r + np.abs(out.noisy_weights - g).sum() / b for r, g in zip(ratio, f, strict=True)
            ]
        found[k] = ratio[1] - ratio[0]
    return found


def audited(n: int, draws: int, **options: Any) -> AuditResult:
    pair = neighbours(n, options.get("lam", 20.0 * T0))
    first = scores(pair[0], pair, draws, 1, **options)
    second = scores(pair[1], pair, draws, 2, **options)
    return lower_bound(first, second, alpha=ALPHA)


@pytest.mark.audit
def test_equal_weights_keep_their_claim_and_reach_it(certified: Callable[..., None]) -> None:
    certified(
        audited(5, 60_000, donor_weights="uniform"), EPSILON, method="SyntheticControl",
        neighbours="5 donors, equal weights, one series from one bound to the other",
        event="likelihood ratio of the path",
    )  # fmt: skip


@pytest.mark.audit
def test_ridge_weights_keep_their_claim(certified: Callable[..., None]) -> None:
    found = audited(2, 60_000, lam=8.0)
    certified(
        found, EPSILON, method="SyntheticControl",
        neighbours="2 donors, ridge weights, the extremal pair of their sensitivity",
        event="likelihood ratio of weights and path", tight=False,
    )  # fmt: skip
    assert found.epsilon >= 0.5 * EPSILON


def test_a_short_audit_finds_no_more_than_the_claim() -> None:
    assert not audited(3, 3000, donor_weights="uniform").refutes(EPSILON)
    assert not audited(2, 3000, lam=8.0).refutes(EPSILON)
    assert not audited(3, 3000, donor_weights="uniform", mean_effect=True).refutes(EPSILON)


@pytest.mark.audit
def test_a_mean_by_itself_keeps_the_claim(certified: Callable[..., None]) -> None:
    found = audited(5, 60_000, donor_weights="uniform", mean_effect=True)
    certified(
        found, EPSILON, method="SyntheticControl",
        neighbours="5 donors, equal weights, the mean by itself, one series turned",
        event="likelihood ratio of path and mean", tight=False,
    )  # fmt: skip
    assert found.epsilon >= 0.5 * EPSILON
