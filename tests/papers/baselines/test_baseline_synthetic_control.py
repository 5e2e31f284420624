"""California's tobacco programme, as the literature has it; and what keeps baselines in."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import DisclosureError, ParameterError
from dprct.results.base import is_confidential
from papers.baselines import SyntheticControl

ADH = {"Utah": 0.334, "Nevada": 0.234, "Montana": 0.199, "Colorado": 0.164, "Connecticut": 0.069}


@pytest.fixture(scope="module")
def california(shared):
    data = pd.read_csv(shared / "data" / "synthetic_control" / "california_prop99.csv", sep=";")
    schema = dprct.Schema.from_frame(data)

    def fit(**options):
        return SyntheticControl(
            data, schema, unit="State", time="Year", outcome="PacksPerCapita",
            treated="California", treatment_time=1989, **options,
        ).fit()  # fmt: skip

    return fit


def test_the_published_weights_of_abadie_diamond_and_hainmueller(california) -> None:
    found = california(donor_weights=ADH)
    assert found.pre_mspe == pytest.approx(3.09, abs=0.005)
    assert found.att == pytest.approx(-18.97, abs=0.005)
    assert found.effect.loc[2000] == pytest.approx(-25.7, abs=0.05)


def test_differences_in_differences_of_the_synthdid_paper(california) -> None:
    assert california(donor_weights="did").att == pytest.approx(-27.35, abs=0.005)


def test_synthetic_control_in_the_set_up_of_synthdid(california) -> None:
    """The paper prints -19.6; its Frank-Wolfe steps stop short of the optimum, which is -19.51."""
    found = california(donor_weights="simplex")
    assert found.att == pytest.approx(-19.6, abs=0.15)
    assert found.pre_mspe < california(donor_weights=ADH).pre_mspe


def test_the_other_rules_have_the_same_interface(california) -> None:
    for rule in ("ridge", "robust", "uniform"):
        found = california(donor_weights=rule, lam=0.5)
        assert found.counterfactual.index.tolist() == list(range(1970, 2001))
        assert np.isfinite(found.att)
    assert california(donor_weights="ridge", lam=0.05).pre_mspe < 3
    assert california(donor_weights="uniform").att == pytest.approx(-41.7, abs=0.05)


def test_robust_at_full_rank_is_ridge() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(5, 9)), rng.normal(size=9)
    ridge = SyntheticControl.from_arrays(X, y, 6, donor_weights="ridge").fit()
    robust = SyntheticControl.from_arrays(X, y, 6, donor_weights="robust", rank=5).fit()
    assert robust.counterfactual.to_numpy() == pytest.approx(ridge.counterfactual.to_numpy())


def test_nothing_of_it_leaves() -> None:
    rng = np.random.default_rng(2)
    found = SyntheticControl.from_arrays(
        rng.normal(size=(5, 9)), rng.normal(size=9), 6, donor_weights="simplex"
    ).fit()
    assert is_confidential(found)
    assert is_confidential(found.tidy())
    assert found.summary().startswith("CONFIDENTIAL")
    assert found.guarantee.measure == "none"
    with pytest.raises(DisclosureError):
        pickle.dumps(found)
    assert "CONFIDENTIAL" in str(found)
    assert "confidential" in repr(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"donor_weights": "lasso"}, "allowed: ridge, simplex, robust, uniform, did"),
        ({"rank": 9}, "rank=9; give a whole number from 1 to 5"),
        ({"lam": -1}, "give a number above 0"),
        ({"donor_weights": {"x": 1.0}}, "which is not a donor"),
    ],
)
def test_each_mistake_has_its_sentence(options, words) -> None:
    X, y = np.ones((5, 9)), np.ones(9)
    with pytest.raises(ParameterError, match=words):
        SyntheticControl.from_arrays(X, y, 6, **options).fit()
