from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import published
from dprct.errors import (
    ColumnError,
    ConfirmationError,
    ModelPicklingError,
    ParameterError,
    SchemaError,
)

pytest.importorskip("interpret.privacy", reason="needs the extra 'ebm'")

MARKER = 0.123456789
SCHEMA = dprct.Schema(
    (
        dprct.Column("y", bounds=(-2.0, 2.0), missing=()),
        dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
        dprct.Column("x", bounds=(-1.0, 1.0), missing=()),
        dprct.Column("w", bounds=(-1.0, 1.0), missing=(".",)),
        dprct.Column("town", "str5", levels=("north", "south"), missing=()),
    )
).declare(dataset_id="trial")


@pytest.fixture
def data() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 3000
    x, t = rng.uniform(-1, 1, n), rng.permutation(np.arange(n) % 2).astype(float)
    y = np.clip(x * t + rng.normal(0, 0.3, n), -2, 2)
    y[7] = MARKER
    return pd.DataFrame({"y": y, "t": t, "x": x, "w": x, "town": ["north", "south"] * (n // 2)})


def model_of(data, **options):
    asked = {
        "outcome": "y", "features": ["x"], "treatment": "t", "propensity": 0.5,
        "accept_uncertified": True, **options,
    }  # fmt: skip
    return published.CATE(data, SCHEMA, **asked)


def test_it_asks_for_consent(data):
    with pytest.raises(ConfirmationError, match="not certified"):
        model_of(data, accept_uncertified=False)
    with pytest.raises(ConfirmationError):
        model_of(data, accept_uncertified=1)


def test_nothing_is_certified_and_the_claim_is_called_one(data):
    result = model_of(data).fit(1, 1e-5)
    assert not result.guarantee.holds
    sentence = result.guarantee.sentence()
    assert "as claimed by interpret" in sentence
    assert "not certified" in sentence
    assert "no sample weights" in sentence
    assert sentence in result.summary()


def test_it_enters_no_total(data, tmp_path):
    with pytest.raises(ParameterError, match="in no total"):
        model_of(data).fit(1, 1e-5, accountant=dprct.Accountant(9, 0.1))


@pytest.mark.parametrize("learner", ["dr", "r"])
def test_an_effect_that_varies_is_found(data, learner):
    result = model_of(data, learner=learner, clip=4).fit(200, 1e-2)
    low, high = result.effect(pd.DataFrame({"x": [-0.8, 0.8]}))
    assert high - low > 0.8
    table = result.shape("x")
    assert table["estimate"].iloc[-1] > table["estimate"].iloc[0]
    assert list(result.models) == ["outcome", "effect"]
    assert set(result.tidy()["term"]) == {"x"}


def test_three_parts_where_the_propensity_is_unknown(data):
    model = model_of(data, propensity=None)
    result = model.fit(5, 1e-5)
    assert list(result.models) == ["propensity", "outcome", "effect"]
    assert "750" in model.plan(5, 1e-5).facts["rows by part"]
    assert "certified" in model.plan(5, 1e-5).facts["guarantee"]


def test_an_s_learner_has_one_effect(data):
    result = model_of(data, learner="s").fit(50, 1e-2)
    assert np.ptp(result.effect(pd.DataFrame({"x": [-0.8, 0.8]}))) == pytest.approx(0, abs=1e-12)


def test_residuals_are_not_weighted(data):
    with pytest.raises(ParameterError, match="sample weights"):
        model_of(data, learner="r", propensity=0.3)
    with pytest.raises(ParameterError, match="sample weights"):
        model_of(data, learner="r", propensity=None)


def test_text_and_missing_values_are_refused(data):
    for name in ("town", "w"):
        with pytest.raises(SchemaError, match="text or may be missing"):
            model_of(data, features=["x", name])
    with pytest.raises(ParameterError, match="delta > 0"):
        model_of(data).fit(1)
    with pytest.raises(ColumnError):
        model_of(data).fit(1, 1e-5).effect(pd.DataFrame({"v": [0.0]}))


def test_results_hold_no_row_and_models_stay(data):
    model = model_of(data)
    result = model.fit(1, 1e-5)
    content = pickle.dumps(result)
    assert np.array(MARKER).tobytes() not in content
    assert str(pickle.loads(content)) == str(result)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ModelPicklingError):
            leave(model)


def test_a_simulation_is_reproducible(data):
    one, two = (model_of(data).fit(1, 1e-5, rng=3) for _ in range(2))
    rows = pd.DataFrame({"x": [0.3]})
    assert one.effect(rows) == two.effect(rows)
    assert one.guarantee.simulation


@pytest.mark.parametrize(("learner", "parts"), [("dr", 3), ("r", 3), ("s", 1)])
def test_as_printed_estimates_everything_and_promises_nothing(data, learner, parts):
    model = model_of(data, learner=learner, propensity=None, as_printed=True)
    result = model.fit(200, 1e-2)
    assert len(result.models) == parts
    assert result.models.get("propensity", result.models["effect"]).classifies is (parts == 3)
    assert not result.guarantee.holds
    assert "read off the data" in result.guarantee.sentence()
    assert ("largest weight" in result.guarantee.sentence()) is (learner == "r")
    low, high = result.effect(pd.DataFrame({"x": [-0.8, 0.8]}))
    assert bool(high - low > 0.8) is (learner != "s")
    assert "target of stage 2" not in model.plan(200, 1e-2).facts


def test_as_printed_errs_less_than_the_mended_form(data):
    """Targets that are not stretched to (U - L) over the trim take ten times less noise here."""
    new = pd.DataFrame({"x": np.linspace(-0.9, 0.9, 50)})
    gaps = []
    for printed in (True, False):
        model = model_of(data, propensity=None, as_printed=printed)
        found = [model.fit(1, 1e-5, rng=seed).effect(new) for seed in range(4)]
        gaps.append(np.mean([(effect - new["x"]) ** 2 for effect in found]))
    assert gaps[0] < gaps[1] / 3


def test_as_printed_refuses_what_is_of_the_mended_form(data):
    with pytest.raises(ParameterError, match="clip= is for the corrected form"):
        model_of(data, as_printed=True, clip=4)
    with pytest.raises(ParameterError, match="an 'outcome'"):
        model_of(data, as_printed=True, parts={"effect": 1})
