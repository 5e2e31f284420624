"""The strict synthetic control from door to results: planted values, laws, no leak."""

from __future__ import annotations

import inspect
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct.errors import BudgetError, ModelPicklingError, ParameterError
from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.estimate.synthetic_control.release import usable

Array = np.ndarray[Any, Any]


def factors(n: int = 60, T: int = 14, T0: int = 10, seed: int = 1) -> tuple[Array, Array]:
    """Donors on two levels; the treated unit is like the first three, then gains 0.2."""
    rng = np.random.default_rng(seed)
    level = np.where(np.arange(n) < 3, 0.8, -0.5)
    X = level[:, None] + rng.normal(0, 0.02, (n, T)) + np.linspace(0, 0.05, T)
    y = X[:3].mean(axis=0) + np.where(np.arange(T) < T0, 0.0, 0.2)
    return X, y


def test_it_is_at_the_top_level() -> None:
    assert dprct.SyntheticControl is SyntheticControl


def test_equal_weights_find_a_planted_effect() -> None:
    X = np.add.outer(np.linspace(-0.4, 0.4, 200), np.linspace(0, 0.1, 12))
    y = X.mean(axis=0) + np.where(np.arange(12) < 8, 0.0, 0.3)
    model = SyntheticControl.from_arrays(X, y, 8, 1.0, donor_weights="uniform")
    result = model.fit(epsilon=40)
    assert result.effect.to_numpy() == pytest.approx(np.full(4, 0.3), abs=40 * 4 * 2 / 200 / 40)
    low, high = result.noise_band(1e-6).loc["mean effect"]
    assert low < 0.3 < high


def test_ridge_weights_find_whom_the_treated_unit_is_like() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (8, 66))
    y = X[:3].mean(axis=0) + np.where(np.arange(66) < 60, 0.0, 0.2)
    ridge = SyntheticControl.from_arrays(X, y, 60, 1.0, lam=10.0).fit(epsilon=3000)
    assert ridge.att == pytest.approx(0.2, abs=0.1)
    assert ridge.donor_weights.iloc[:3].sum() > 0.8


@pytest.mark.long
def test_the_law_of_the_path_is_the_one_that_is_stated() -> None:
    """The path less its noiseless value, over 4,000 fits: spread within 6 standard errors."""
    X, y = factors(n=20, T=12, T0=10)
    model = SyntheticControl.from_arrays(X, y, 10, 1.0, donor_weights="uniform")
    rng = np.random.default_rng(5)
    results = [model.fit(epsilon=2, rng=rng) for _ in range(2000)]
    errors = np.array([r.counterfactual.to_numpy() - X[:, 10:].mean(axis=0) for r in results])
    law = results[0].released.post.noise
    assert law.sd == pytest.approx(math.sqrt(2) * 2 * 2 / (20 * 2), rel=1e-4)
    # the fourth moment of Laplace noise is 6: the sample variance has sd sqrt(5 / N) of itself
    assert np.mean(errors**2) / law.sd**2 == pytest.approx(1, abs=6 * math.sqrt(5 / errors.size))
    outside = np.mean(np.abs(errors) > law.half_width(0.1))
    assert outside == pytest.approx(0.1, abs=6 * math.sqrt(0.09 / errors.size))


@pytest.mark.parametrize(
    ("noise", "delta", "measure"),
    [("laplace", 0, "pure"), ("gaussian", 1e-6, "gdp"), ("concentrated", 1e-6, "zcdp")],
)
@pytest.mark.parametrize("protect", [False, True])
def test_the_guarantee_says_what_holds(noise, delta, measure, protect) -> None:
    X, y = factors()
    model = SyntheticControl.from_arrays(
        X, y, 10, 1.0, noise=noise, protect_treated=protect, pre_fit=True, treated="Łódź"
    )
    result = model.fit(3, delta)
    found = result.guarantee
    assert (found.measure, found.relation) == (measure, "replace-one")
    assert found.unit == "donor"
    assert "a donor may be a state, not a person" in str(found)
    assert ("treated unit 'Łódź', whose series is public" in str(found)) is not protect
    third = " ".join(result.summary().splitlines()[2].split())
    assert third.startswith("One record: one donor's whole series")
    assert (result.target is None) is protect
    if protect:
        assert result.released.post.effect_noise.sd > result.released.post.noise.sd


def test_a_protected_unit_is_noisy_and_the_interval_covers() -> None:
    X, y = factors()
    model = SyntheticControl.from_arrays(
        X, y, 10, 1.0, protect_treated=True, donor_weights="uniform", pre_fit=True
    )
    truth = float((y[10:] - X[:, 10:].mean(axis=0)).mean())
    rng = np.random.default_rng(7)
    results = [model.fit(epsilon=5, rng=rng) for _ in range(600)]
    bands = [r.noise_band(0.2).loc["mean effect"] for r in results]
    inside = np.mean([low < truth < high for low, high in bands])
    assert inside == pytest.approx(0.8, abs=6 * 0.4 / math.sqrt(600))
    assert not np.allclose(results[0].observed.to_numpy(), y)


def test_placebos_are_as_protected_as_anybody() -> None:
    X, y = factors(n=6)
    names = ["a", "b", "c", "d", "ê", "f"]
    model = SyntheticControl.from_arrays(X, y, 10, 1.0, names=names, placebos=["ê", "b"])
    plan = model.plan(1)
    assert [one.value for one in plan.numbers if one.quantity == "placebos"] == [2, 0.25]
    assert "share of the budget of each" in str(plan)
    result = model.fit(epsilon=20_000)
    assert result.placebo_effects().columns.tolist() == ["ê", "b"]
    assert result.placebos[0].donors == ("a", "b", "c", "d", "f")
    table = result.placebo_table()
    assert table["unit"].tolist() == ["treated", "ê", "b"]
    assert (table["std.error.noise"].iloc[1:] > table["std.error.noise"].iloc[0]).all()
    # b is one of the three like the treated unit, before its gain
    assert result.placebos[1].post.target == pytest.approx(X[1, 10:], abs=0.2)


def test_auto_follows_the_public_rule_and_not_the_data() -> None:
    X, y = factors(n=30)
    for epsilon in (1, 10, 100, 1000):
        chosen = {
            SyntheticControl.from_arrays(data, y, 10, 1.0, donor_weights="auto")
            .fit(epsilon, rng=1)
            .rule
            for data in (X, -X, np.zeros_like(X))
        }
        assert len(chosen) == 1
    few = SyntheticControl.from_arrays(X, y, 10, 1.0, donor_weights="auto")
    assert few.fit(0.5, rng=1).rule == "uniform"
    assert few.fit(5000, rng=1).rule == "ridge"
    assert "chosen from public facts" in str(few.plan(1))


def test_plan_is_a_function_of_public_facts() -> None:
    X, y = factors()
    plans = {
        str(SyntheticControl.from_arrays(data, y, 10, 1.0, placebos="all", pre_fit=True).plan(1))
        for data in (X, -X)
    }
    assert len(plans) == 1


def test_what_is_used_is_released() -> None:
    """Everything in the results follows from the noisy numbers."""
    X, y = factors(n=8)
    result = SyntheticControl.from_arrays(X, y, 10, 1.0, pre_fit=True).fit(epsilon=5)
    assert result.noisy_weights is not None
    again = usable(result.noisy_weights.to_numpy(), result.released.weight_sd)
    assert again.tolist() == result.donor_weights.tolist()
    assert result.donor_weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("protect", [False, True])
def test_rows_are_in_the_bound_table_and_nowhere_else(panel, schema, asked, protect) -> None:
    frame = panel()
    model = SyntheticControl(frame, schema, protect_treated=protect, **asked)
    model.fit(1, rng=1)
    held = {name: value for name, value in vars(model).items() if name != "_table"}
    kept = pickle.dumps({**held, "facts": (model.facts.panel, model.facts.target)})
    treated = (frame["region"] == "Łódź") & (not protect)
    values = [np.float64(value).tobytes() for value in frame.loc[~treated, "output"]]
    assert not any(value in kept for value in values)
    assert (model.facts.target is None) is protect


def test_results_pickle_and_models_do_not(panel, schema, asked) -> None:
    frame = panel()
    model = SyntheticControl(frame, schema, **asked)
    with pytest.raises(ModelPicklingError):
        pickle.dumps(model)
    result = model.fit(epsilon=1)
    again = pickle.loads(pickle.dumps(result))
    assert again.summary() == result.summary()
    public = set(frame.loc[frame["region"] == "Łódź", "output"])
    confidential = set(frame["output"]) - public
    blob = pickle.dumps(result)
    assert not any(np.float64(value).tobytes() in blob for value in confidential)


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.from_pandas])
def test_a_panel_of_any_engine(panel, schema, asked, engine) -> None:
    model = SyntheticControl(engine(panel()), schema, donor_weights="uniform", **asked)
    result = model.fit(epsilon=200)
    frame = panel()
    pool = frame[frame["region"] != "Łódź"].groupby("year")["output"].mean()
    expected = frame[frame["region"] == "Łódź"].set_index("year")["output"] - pool
    # bounds of 0 to 100: the noise is that of a width of 100, not of 200
    assert result.released.post.noise.sd == pytest.approx(
        math.sqrt(2) * 4 * 100 / 11 / 200, rel=1e-3
    )
    assert result.effect.to_numpy() == pytest.approx(expected.loc[2004:].to_numpy(), abs=20 * 0.3)


def test_a_stata_file_says_what_its_panel_is(shared) -> None:
    path = shared / "data" / "synthetic_control" / "synth_smoking.dta"
    data, schema = dprct.read_dta(path)
    asked = {"outcome": "cigsale", "treated": "California", "treatment_time": 1989, "bound": 300}
    with pytest.raises(dprct.errors.SchemaError, match="may be missing"):
        SyntheticControl(data, schema, unit="state", **asked)
    schema = schema.declare(cigsale={"missing": "never"})
    with pytest.raises(dprct.errors.ColumnError, match="xtset names 'index'"):
        SyntheticControl(
            data, schema, outcome="cigsale", treated="California", treatment_time=1989, bound=300
        )
    model = SyntheticControl(
        data, schema, unit="state", outcome="cigsale", treated="California", treatment_time=1989,
        bound=(0, 300), donor_weights="uniform",
    )  # fmt: skip
    assert model.n == 38
    result = model.fit(epsilon=1000)
    gap = data[data["state"] == 3].set_index("year")["cigsale"].loc[1989:].mean()
    others = data[(data["state"] != 3) & (data["year"] >= 1989)]["cigsale"].mean()
    assert result.att == pytest.approx(gap - others, abs=3)


def test_a_budget_is_charged_once_and_before() -> None:
    X, y = factors(n=8)
    model = SyntheticControl.from_arrays(X, y, 10, 1.0, placebos="all", pre_fit=True)
    accountant = dprct.Accountant(epsilon=1, unit="donor")
    model.fit(epsilon=0.75, accountant=accountant)
    assert accountant.spent.epsilon == dprct.Budget(0.75).epsilon
    with pytest.raises(BudgetError):
        model.fit(epsilon=0.5, accountant=accountant)
    assert len(accountant.ledger) == 1
    model.fit(epsilon=9, accountant=accountant, rng=1)
    assert len(accountant.ledger) == 1


def test_the_schema_names_the_record(panel, schema, asked) -> None:
    declared = replace(schema, unit=dprct.Unit("region", id="region", max_rows=8))
    model = SyntheticControl(panel(), declared, **asked)
    assert model.guarantee(dprct.Budget(1)).unit == "region"
    assert SyntheticControl(panel(), schema, **asked).guarantee(dprct.Budget(1)).unit == "donor"


def test_a_seed_is_a_simulation() -> None:
    X, y = factors(n=8)
    model = SyntheticControl.from_arrays(X, y, 10, 1.0)
    one, two = model.fit(1, rng=3), model.fit(1, rng=3)
    assert one.summary() == two.summary()
    assert not one.guarantee.holds
    assert model.fit(1).summary() != model.fit(1).summary()


def test_inside_fit_every_value_maps() -> None:
    """What is beyond the bound counts as the bound: no error, and the same result."""
    _X, y = factors(n=8)
    wild = np.where(np.arange(14) % 2, 1e300, -1e300) * np.ones((8, 1))
    tame = np.clip(wild, -1, 1)
    fitted = [
        SyntheticControl.from_arrays(data, y, 10, 1.0, lam=5.0).fit(3, rng=2).summary()
        for data in (wild, tame)
    ]
    assert fitted[0] == fitted[1]


MISTAKES = {
    "donor_weights": ({"donor_weights": "simplex"}, "allowed: ridge, uniform, auto"),
    "noise": ({"noise": "normal"}, "allowed: laplace, gaussian, concentrated"),
    "lam": ({"lam": 0}, "lam=0; give a number above 0"),
    "small lam": ({"lam": 1e-13}, "lam=1e-13 is too small"),
    "placebos": ({"placebos": "b"}, "placebos='b'"),
    "budget_shares": ({"budget_shares": {"donor_weights": 1}}, "each of donor_weights, prediction"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_has_its_sentence(mistake: str) -> None:
    X, y = factors(n=50, T=34, T0=30)
    options, words = MISTAKES[mistake]
    with pytest.raises(ParameterError, match=words):
        SyntheticControl.from_arrays(X, y, 30, 1.0, **options)


def test_other_relations_are_refused(panel, schema, asked) -> None:
    with pytest.raises(ParameterError, match="allowed: replace-one"):
        SyntheticControl(panel(), schema, neighbors="add-remove", **asked)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (1, 1e-6)])
def test_budgets_that_are_none_are_refused(epsilon, delta) -> None:
    X, y = factors(n=8)
    model = SyntheticControl.from_arrays(X, y, 10, 1.0)
    with pytest.raises(ParameterError):
        model.fit(epsilon, delta)
    with pytest.raises(ParameterError):
        model.plan(epsilon, delta)


def test_the_documentation_says_first_who_is_protected() -> None:
    text = inspect.getdoc(SyntheticControl) or ""
    assert "a donor may be a state, not a person" in text.split("Parameters")[0]


def test_representation_has_no_values() -> None:
    X, y = factors(n=8)
    model = SyntheticControl.from_arrays(X, y, 10, 1.0)
    assert (
        repr(model)
        == "SyntheticControl(8 donors, 14 periods, treated: treated, donor weights: ridge)"
    )
    assert "8 donors" in repr(model.fit(1))
