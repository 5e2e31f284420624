"""The fence around DP-EBM: what leaks when interpret is called directly cannot be triggered."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.privacy.budget import Budget
from dprct.published import ebm
from dprct.published.ebm import EBMFit, fitted_ebm, printed_ebm

pytest.importorskip("interpret.privacy", reason="needs the extra 'ebm'")

BUDGET = Budget.asked(1, 1e-5)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Everything that interpret is given, and the fitted object, call by call."""
    original, calls = ebm._regressor(), []

    class Watched:
        def __init__(self, **options: Any) -> None:
            self.model = original(**options)
            calls.append({"options": options, "model": self.model})

        def fit(self, X: Any, y: Any, *rest: Any, **more: Any) -> None:
            calls[-1] |= {"X": X, "y": y, "rest": rest, "more": more}
            self.model.fit(X, y, *rest, **more)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.model, name)

    monkeypatch.setattr(ebm, "_regressor", lambda *_: Watched)
    return calls


def fit(y: Any = None, n: int = 400, target: tuple[float, float] = (100.0, 101.0)) -> EBMFit:
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (n, 2))
    y = np.full(n, 101.0) if y is None else y
    return fitted_ebm(X, y, ["a", "b"], [(0.0, 1.0), (-2.0, 2.0)], target, BUDGET)


def test_first_leak_targets_are_centred_and_clipped(asked: list[dict[str, Any]]) -> None:
    """A target in [100, 101] leaks a hundred times the budget unless it is centred."""
    fit(np.tile([100.0, 101.0, 1e9, -1e9], 100))
    (call,) = asked
    assert np.unique(call["y"]).tolist() == [-0.5, 0.5]
    bounds = call["options"]["privacy_target_min"], call["options"]["privacy_target_max"]
    assert bounds == (-0.5, 0.5)


def test_second_leak_no_level_is_listed(asked: list[dict[str, Any]]) -> None:
    """Nominal and listed features show whether a single person has a level."""
    fit()
    options = asked[0]["options"]
    assert options["feature_types"] == ["continuous", "continuous"]
    assert options["privacy_bounds"] == {"a": (0.0, 1.0), "b": (-2.0, 2.0)}
    assert asked[0]["X"][:, 0].min() >= 0
    assert asked[0]["X"][:, 0].max() <= 1


def test_third_leak_the_noise_does_not_scale_with_weights(asked: list[dict[str, Any]]) -> None:
    """Weights scale the noise by the data's largest one, which then is public."""
    fit()
    fit(np.linspace(-1e6, 1e6, 400))
    assert all(call["rest"] == () and call["more"] == {} for call in asked)
    scales = {float(call["model"].noise_scale_boosting_) for call in asked}
    assert len(scales) == 1
    assert not {"sample_weight", "weights"} & set(inspect.signature(fitted_ebm).parameters)


def test_no_seed_but_for_simulation(asked: list[dict[str, Any]]) -> None:
    fit()
    assert asked[0]["options"]["random_state"] is None
    assert fit().intercept != fit().intercept


def test_tables_are_the_function_of_interpret(asked: list[dict[str, Any]]) -> None:
    found = fit(np.random.default_rng(2).uniform(100, 101, 400))
    X = np.random.default_rng(3).uniform([0, -2], [1, 2], (50, 2))
    assert found.at(X) == pytest.approx(asked[0]["model"].predict(X) + 100.5)
    assert found.at(np.array([[9.0, 9.0]])) == pytest.approx(found.at(np.array([[1.0, 2.0]])))


@pytest.mark.parametrize("target", [(1.0, 1.0), (0.0, float("inf")), (2.0, 1.0)])
def test_a_target_without_a_range_is_refused(target: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="public range"):
        fit(target=target)


def test_features_without_bounds_and_budgets_without_delta_are_refused() -> None:
    X = np.zeros((10, 1))
    with pytest.raises(ParameterError, match="public range"):
        fitted_ebm(X, X[:, 0], ["a"], [], (0.0, 1.0), BUDGET)
    with pytest.raises(ParameterError, match="delta > 0"):
        fitted_ebm(X, X[:, 0], ["a"], [(0.0, 1.0)], (0.0, 1.0), Budget.asked(1))


# ---------------------------------------------------------------- as the paper ran it
def printed_rows(n: int = 900) -> tuple[Any, Any]:
    """Rows with a feature that interpret takes for continuous, and a nominal one."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)])
    return X, X[:, 0] + X[:, 1] + rng.normal(size=n)


@pytest.mark.parametrize("weighted", [False, True])
def test_as_printed_is_interpret_with_its_defaults(weighted: bool) -> None:
    X, y = printed_rows()
    weights = 0.5 + np.abs(X[:, 0]) if weighted else None
    found = printed_ebm(X, y, ["a", "b"], BUDGET, weights=weights, seed=3)
    model = ebm._regressor()(feature_names=["a", "b"], epsilon=1.0, delta=1e-5, random_state=3)
    with pytest.warns(UserWarning, match="violation"):
        model.fit(X, y, sample_weight=weights)
    new = np.array([[0.1, 0.0], [-9.0, 1.0], [9.0, 0.0], [0.3, 7.0]])  # 7 is no level of b
    assert found.at(X) == pytest.approx(model.predict(X), abs=1e-12)
    assert found.at(new) == pytest.approx(model.predict(new), abs=1e-12)
    assert list(found.levels) == [1]


def test_as_printed_propensities_are_those_of_the_classifier() -> None:
    X, y = printed_rows()
    t = (y > 0).astype(float)
    found = printed_ebm(X, t, ["a", "b"], BUDGET, classifies=True, seed=3)
    model = ebm._regressor(True)(feature_names=["a", "b"], epsilon=1.0, delta=1e-5, random_state=3)
    with pytest.warns(UserWarning, match="violation"):
        model.fit(X, t.astype(int))
    assert found.at(X) == pytest.approx(model.predict_proba(X)[:, 1], abs=1e-12)
    with pytest.raises(ParameterError, match="classifier needs both"):
        printed_ebm(X, 0 * t, ["a", "b"], BUDGET, classifies=True)
