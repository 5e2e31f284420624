from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct import Accountant, Budget, Unit
from dprct.errors import FormulaError, ModelPicklingError, ParameterError, SchemaError
from dprct.published import IPW
from dprct.schema import Column, Schema

SOUND: dict[str, Any] = {
    "scale": "norm_bound", "norm_bound": 3.0, "outcome_bound": 2.0, "trim": 0.1, "lam": 0.1,
}  # fmt: skip
BREAKING = [
    ({"scale": "max_norm", "norm_bound": None}, "largest norm"),
    ({"sampling": "replacement"}, "with replacement"),
    ({"intercept": "unpenalised"}, "not penalised"),
    ({"outcome_bound": None}, "no public bound"),
    ({"trim": None}, "not trimmed"),
    ({"estimand": "att"}, "divide by how many"),
]


def arrays(n: int = 600) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    t = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    return X, t, 0.5 * t + X[:, 0] * 0.3 + rng.normal(size=n) * 0.1


def test_the_sound_set_up_keeps_its_guarantee() -> None:
    model = IPW.from_arrays(*arrays(), **SOUND)
    assert model.reasons() == ()
    promise = model.guarantee(Budget(0.5, 1e-5))
    assert (promise.measure, promise.relation) == ("approximate", "replace-one")
    assert promise.budget == Budget(0.5, 1e-5)
    accountant = Accountant(1, 1e-4)
    assert model.fit(0.5, 1e-5, accountant=accountant).guarantee.holds
    assert accountant.spent == Budget(0.5, 1e-5)


@pytest.mark.parametrize(("change", "reason"), BREAKING, ids=[r for _, r in BREAKING])
def test_each_defect_makes_it_none_and_says_why(change: dict[str, Any], reason: str) -> None:
    model = IPW.from_arrays(*arrays(), **(SOUND | change))
    promise = model.guarantee(Budget(0.5, 1e-5))
    assert promise.measure == "none"
    assert reason in promise.reason
    assert len(model.reasons()) == 1
    with pytest.raises(ParameterError, match="no price"):
        model.fit(0.5, 1e-5, accountant=Accountant(1, 1e-4))
    result = model.fit(0.5, 1e-5)
    assert np.isfinite(result.params.iloc[0])
    assert "charged to no ledger, because nothing is promised" in result.ledger


def people(n: int = 600) -> tuple[pd.DataFrame, Schema]:
    X, t, y = arrays(n)
    data = pd.DataFrame({"x": X[:, 0], "t": t, "y": y, "pid": np.arange(1.0, n + 1)})
    return data, Schema(tuple(Column(name, missing=()) for name in data.columns))


TABLE: dict[str, Any] = {"formula": "t ~ x", "outcome": "y"}


def test_a_person_of_several_rows_is_refused_where_something_is_promised() -> None:
    """Noise is for one row: k rows of one person move what it hides k times as far."""
    data, schema = people()
    several = schema.declare(unit=Unit("pupil", id="pid", max_rows=100))
    with pytest.raises(SchemaError, match="give one row per pupil"):
        IPW(data, several, **TABLE, **SOUND)
    one = schema.declare(unit=Unit("pupil", id="pid"))
    with pytest.raises(SchemaError, match="a pupil with several rows"):
        IPW(data.assign(pid=1.0), one, **TABLE, **SOUND)
    promise = IPW(data, one, **TABLE, **SOUND).guarantee(Budget(0.5, 1e-5))
    assert promise.unit == "pupil"
    assert "how many rows each pupil has (at most 1)" in promise.public_facts
    for schema_of_many in (several, one):  # nothing is promised, so nothing is refused
        IPW(data.assign(pid=1.0), schema_of_many, **TABLE)


def test_illegal_data_are_refused_where_something_is_promised() -> None:
    data, schema = people()
    with pytest.raises(SchemaError, match="x: a value outside the bounds"):
        IPW(data, schema.declare(x=(-0.5, 0.5)), **TABLE, **SOUND)


def test_the_paper_as_it_is_has_every_defect_it_has() -> None:
    assert len(IPW.from_arrays(*arrays(), sampling="replacement").reasons()) == 4


def test_classical_noise_from_one_on_needs_an_override_and_tells_the_real_delta() -> None:
    with pytest.raises(ParameterError, match="not proved"):
        IPW.from_arrays(*arrays(), **SOUND).fit(10, 1e-5)
    model = IPW.from_arrays(*arrays(), override=True, **SOUND)
    real = model.guarantee(Budget(10, 1e-5)).budget
    assert real is not None
    assert 1e-5 < real.delta < 1e-3
    assert model.guarantee(Budget(4, 1e-5)).budget == Budget(4, 1e-5)
    smallest = IPW.from_arrays(*arrays(), classical=False, **SOUND)
    assert smallest.guarantee(Budget(10, 1e-5)).budget == Budget(10, 1e-5)
    assert smallest.fit(0.5, 1e-5, rng=1).weight_sd < model.fit(0.5, 1e-5, rng=1).weight_sd


@pytest.mark.parametrize("estimand", ["ate", "att", "atc"])
@pytest.mark.parametrize("intercept", ["none", "penalised", "unpenalised"])
def test_with_little_noise_it_finds_the_effect(estimand: Any, intercept: Any) -> None:
    model = IPW.from_arrays(
        *arrays(20_000), **(SOUND | {"lam": 1e-3}), estimand=estimand, intercept=intercept,
        classical=False,
    )  # fmt: skip
    found = model.fit(50, 1e-5, rng=1)
    assert found.partial == pytest.approx(0.5, abs=0.06)
    assert abs(found.params.iloc[0] - found.partial) < 6.2 * found.effect_sd


def test_the_published_sensitivities_are_used() -> None:
    found = IPW.from_arrays(*arrays(600), **SOUND).fit(0.5, 1e-5, rng=1)
    multiplier = np.sqrt(2 * np.log(1.25 / 1e-5)) / 0.5
    assert found.weight_sd == pytest.approx(multiplier * 2 / (300 * 0.1))
    assert found.effect_sd == pytest.approx(multiplier * 2 * 2.0 / (300 * 0.1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"trim": 0.5}, "trim="),
        ({"lam": 0}, "lam="),
        ({"scale": "norm_bound", "norm_bound": None}, "norm_bound="),
        ({"outcome_bound": -1}, "outcome_bound="),
        ({"sampling": "jackknife"}, "sampling="),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        IPW.from_arrays(*arrays(), **(SOUND | options))


@pytest.mark.parametrize(
    ("formula", "outcome"), [("y ~ x", "y"), ("t ~ y", "y"), ("t + x ~ z", "y"), ("t ~ x", "t")]
)
def test_outcome_and_treatment_are_two_columns(formula: str, outcome: str) -> None:
    frame = pd.DataFrame({name: [0.0, 1.0] * 20 for name in "ytxz"})
    with pytest.raises(FormulaError, match="give two columns"):
        IPW.from_formula(formula, frame, Schema.from_frame(frame), outcome=outcome)


def test_other_treatments_and_pure_budgets_are_refused() -> None:
    X, t, y = arrays()
    with pytest.raises(ParameterError, match="not 0 or 1"):
        IPW.from_arrays(X, t + 1, y, **SOUND)
    with pytest.raises(ParameterError, match="delta"):
        IPW.from_arrays(X, t, y, **SOUND).fit(0.5, 0)


def test_models_stay_and_results_travel() -> None:
    model = IPW.from_arrays(*arrays(), **SOUND)
    with pytest.raises(ModelPicklingError):
        pickle.dumps(model)
    result = model.fit(0.5, 1e-5, rng=1)
    assert pickle.loads(pickle.dumps(result)).params.equals(result.params)
    assert "no guarantee" in result.summary()
    assert "noise of the effect" in model.plan(0.5, 1e-5).facts
    assert "600" in repr(model)


def test_a_real_fit_keeps_what_only_the_weights_protect() -> None:
    assert np.isnan(IPW.from_arrays(*arrays(), **SOUND).fit(0.5, 1e-5).partial)


@pytest.mark.parametrize("intercept", ["none", "penalised"])
def test_rows_and_outcomes_stay_within_what_the_noise_covers(intercept: Any) -> None:
    """A row has norm 1 at most, its constant included, and an outcome its public bound."""
    X, t, y = arrays()
    model = IPW.from_arrays(100 * X, t, 100 * y, **SOUND, intercept=intercept)
    rows, _, outcomes, bound = model._scaled()
    norms = np.sqrt(np.square(rows).sum(axis=1))
    assert norms.max() <= 1 + 1e-12
    assert norms.max() == pytest.approx(1)
    assert np.abs(outcomes).max() == bound == 2.0
