"""The list of what the papers define: how many, of which state, with numbers of the runs."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest

from papers.items import LOST, OPEN, OTHER, RIGHT, STATES, UNUSED, Runs, item_tables, items
from papers.rct.printed import printed


@pytest.fixture
def runs() -> Runs:
    one = printed(1)
    table = one.assign(ours=one["value"], low=one["value"], high=one["value"], runs=5)
    rmse = {"n": [10], "T0": 10, "epsilon": 2.0, "lambda": 10.0, "before": 1234.5, "rmse": 5.0,
            "form": "output, equation (10)", "se": 0.1, "bound.printed": 1.0}  # fmt: skip
    signs = {"study": "ihdp", "setup": "printed", "epsilon": [1.0, 0.5],
             "wrong_sign_partial": [0.25, 0.5], "mean_partial": [3.0, -2e6]}  # fmt: skip
    voting = {"design": ["voting"], "form": "ebm dr, printed", "n": 16_000, "epsilon": 1.0,
              "mse": 0.0123}  # fmt: skip
    return Runs(
        {1: table}, pd.DataFrame(rmse), pd.DataFrame(signs), pd.DataFrame(voting),
        several=pd.DataFrame({"treated": [1, 5], "noise": "density", "once": [300.0, 1700.0],
                               "apart": [310.0, 7700.0]}),
        trees=pd.DataFrame({"study": "synthetic n1=1000", "estimator": ["ipw", "ipw, CART"],
                            "bias": [0.01, -0.02]}),
        stages=pd.DataFrame({"estimator": ["nonparametric IV"], "epsilon": 1.0, "rmse": 0.125,
                             "without": 0.25}),
    )  # fmt: skip


def test_every_item_has_a_state_a_place_and_something_here(runs: Runs) -> None:
    every = items(runs)
    # the 107 of the list, one of which (several treated units) is an item of its own
    assert len(every) == 108
    assert len({(one.paper, one.name) for one in every}) == len(every)
    assert {one.state for one in every} == set(STATES) == {RIGHT, OTHER, LOST, UNUSED, OPEN}
    assert all(one.printed and one.ours for one in every)
    found = Counter(one.state for one in every)
    assert found[OPEN] == 6
    assert (found[LOST], found[UNUSED]) == (9, 2)


def test_numbers_are_those_of_the_runs(runs: Runs) -> None:
    text = item_tables(runs)
    for words in (
        "means -237,487, 32.34, 8.37, 5.22, 5.31 | 0.500, 0.250; -2e+06, 3 (other epsilons) |",
        "`ci_overlap`: 0.5",
        "MV Histogram: 15 of 15; Hybrid: 15 of 15; GenModel: 15 of 15",
        "output, equation (10): 1,234",
        "1 unit 300 (310), 5 units 1,700 (7,700)",
        "ipw +0.010, ipw, CART -0.020",
        "nonparametric IV 0.125 (without 0.25)",
        "8.4853",
        "0.5, 449.17, 339.41",
        "0.00699",
        "voting, 16,000, epsilon 1, 4, 16: 0.0123, not run, not run",
        "its data were not at hand",
    ):
        assert words in text, words
    assert text.startswith("108 items, by what became of them")
