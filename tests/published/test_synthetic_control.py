"""DPSC as published: its law, the guarantee that holds, and the violation that an audit finds."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import dprct
from dprct.errors import ModelPicklingError, ParameterError
from dprct.published import SyntheticControl
from dprct.published import synthetic_control as dpsc_steps
from dprct.published.synthetic_control import minimiser, objective_of

Array = np.ndarray[Any, Any]


def model(**options: Any) -> SyntheticControl:
    X = np.add.outer(np.linspace(-0.5, 0.5, 6), np.linspace(0, 0.2, 7))
    return SyntheticControl.from_arrays(X, X.mean(axis=0), 4, 1.0, **options)


@pytest.mark.long
def test_the_path_spreads_as_it_must() -> None:
    """Mean and variance of the path are those of the algorithm, computed by hand."""
    rng, made = np.random.default_rng(1), model()
    paths = np.array([made.fit(400, rng=rng).counterfactual.to_numpy() for _ in range(4000)])
    X = np.add.outer(np.linspace(-0.5, 0.5, 6), np.linspace(0, 0.2, 7))
    f = minimiser(X[:, :4], X.mean(axis=0)[:4], 4.0)
    a, b = 4 * 4 * math.sqrt(14) / (4 * 200), 2 * math.sqrt(3) / 200
    # L2-Laplace in d dimensions has covariance a^2 (d + 1) I
    noise_f, noise_x = a * a * 7, b * b * (18 + 1)
    mean = X[:, 4:].T @ f
    variance = noise_f * (X[:, 4:] ** 2).sum(0) + noise_x * (f @ f) + 6 * noise_f * noise_x
    assert paths.mean(0) == pytest.approx(mean, abs=6 * math.sqrt(variance.max() / 4000))
    assert paths.var(0) / variance == pytest.approx(np.ones(3), abs=0.25)


def test_both_steps_are_drawn_for_their_part_of_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of the weights, then of all donors: the claimed epsilon is that of both together."""
    drawn: list[tuple[int, float]] = []

    def watched(size: int, scale: float, _rng: object) -> Array:
        drawn.append((size, scale))
        return np.zeros(size)

    monkeypatch.setattr(dpsc_steps, "l2_laplace", watched)
    model(split=0.25).fit(2, rng=1)
    sizes, (a, b) = zip(*drawn, strict=True)
    assert sizes == (6, 18)
    assert 4 * 4 * math.sqrt(8 + 6) / (4 * a) == pytest.approx(0.5)  # eps1
    assert 2 * math.sqrt(3) / b == pytest.approx(1.5)  # eps2: a donor moves sqrt(3) periods by 2


def test_the_output_form_is_pure_and_charged() -> None:
    accountant = dprct.Accountant(epsilon=3, unit="donor")
    result = model().fit(epsilon=2, accountant=accountant)
    assert (result.guarantee.measure, result.guarantee.relation) == ("pure", "replace-one")
    assert result.guarantee.budget == dprct.Budget(2)
    assert accountant.spent == dprct.Budget(2)
    assert "floating-point" in str(result.guarantee)
    assert "a donor may be a state, not a person" in result.summary().splitlines()[1]


def test_the_objective_form_promises_nothing_and_is_not_charged() -> None:
    found = model(perturb="objective")
    result = found.fit(epsilon=2)
    assert result.guarantee.measure == "none"
    assert "without a bound on the weights" in str(result.guarantee)
    assert "No differential-privacy guarantee" in str(found.plan(2))
    with pytest.raises(ParameterError, match="leave accountant out"):
        found.fit(epsilon=2, accountant=dprct.Accountant(epsilon=3))
    assert np.isfinite(found.fit(2, 1e-6).att)


def privacy_loss(X: Array, other: Array, y: Array, eps1: float, draws: int) -> Array:
    """Return log p(f | X) / p(f | X') of Algorithm 3 for f drawn on X: its density is known.

    b = 2 X y - A f is one to one, with Jacobian det A; b has density exp(-||b|| / scale).
    """
    n, T0 = X.shape
    lam = float(T0)
    found = objective_of(n, T0, lam, eps1)
    rng = np.random.default_rng(5)
    direction = rng.standard_normal((draws, n))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    b = direction * rng.gamma(n, found.scale, (draws, 1))
    matrix = [2 * Z @ Z.T + (lam + found.extra) * np.eye(n) for Z in (X, other)]
    f = np.linalg.solve(matrix[0], (2 * X @ y)[:, None] - b.T)
    neighbour = (2 * other @ y)[:, None] - matrix[1] @ f
    volumes = np.linalg.slogdet(matrix[0])[1] - np.linalg.slogdet(matrix[1])[1]
    lengths = np.linalg.norm(neighbour, axis=0) - np.linalg.norm(b, axis=1)
    return np.asarray(lengths / found.scale + volumes)


def delta_lower_bound(loss: Array, epsilon: float) -> float:
    """Return a bound below E (1 - e^(epsilon - loss))_+ that is wrong once in 1e9 (Hoeffding)."""
    gains = np.clip(1 - np.exp(np.minimum(epsilon - loss, 0)), 0, 1)
    return float(gains.mean() - math.sqrt(math.log(1e9) / (2 * len(loss))))


def test_an_audit_finds_that_the_objective_form_is_not_private() -> None:
    """n = T0 = lam = 10, eps1 = 10: delta(10) is at least 0.6, and 0 was claimed."""
    X, y = np.ones((10, 10)), np.ones(10)
    other = X.copy()
    other[0] = -1
    worst = 0.0
    for changed in (other, np.vstack([np.zeros(10), X[1:]])):
        for pair in ((X, changed), (changed, X)):
            worst = max(worst, delta_lower_bound(privacy_loss(*pair, y, 10.0, 100_000), 10.0))
    assert worst > 0.6


def test_the_audit_does_not_accuse_a_private_form() -> None:
    """The same instrument on identical data finds nothing."""
    X, y = np.ones((10, 10)), np.ones(10)
    assert delta_lower_bound(privacy_loss(X, X, y, 10.0, 100_000), 10.0) <= 0


def test_the_bound_scales_and_clips() -> None:
    X = np.full((3, 5), 40.0)
    tame = SyntheticControl.from_arrays(X, X[0], 3, 40.0).fit(5, rng=1)
    wild = SyntheticControl.from_arrays(X * 1e6, X[0] * 1e6, 3, 40.0).fit(5, rng=1)
    assert tame.counterfactual.tolist() == wild.counterfactual.tolist()


def test_a_seed_is_a_simulation_and_models_stay() -> None:
    assert not model().fit(1, rng=1).guarantee.holds
    assert model().fit(1, rng=1).summary() == model().fit(1, rng=1).summary()
    with pytest.raises(ModelPicklingError):
        pickle.dumps(model())
    assert "6 donors" in repr(model())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"perturb": "input"}, "allowed: output, objective"),
        ({"split": 1}, "give a number between 0 and 1"),
        ({"lam": 0}, "give a number above 0"),
        ({"c": -1}, "give a number above 0"),
    ],
)
def test_each_mistake_has_its_sentence(options, words) -> None:
    with pytest.raises(ParameterError, match=words):
        model(**options)


def test_delta_buys_nothing_in_the_output_form() -> None:
    with pytest.raises(ParameterError, match="gains nothing with perturb='output'"):
        model().fit(1, 1e-6)


def test_lam_is_t0_as_in_the_paper() -> None:
    assert model().spec.penalty(model().facts) == 4
