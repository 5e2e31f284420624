"""What is asked is checked before it is priced, and the rule is chosen from public facts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.synthetic.panel import panel_of_arrays
from dprct.estimate.synthetic.request import Request, requested
from dprct.privacy.budget import Budget
from dprct.queries.donors import Scale

ONE = Scale(-1.0, 1.0)


def asked(n: int = 6, **options: Any) -> Request:
    panel = panel_of_arrays(np.zeros((n, 8)), np.ones(8), 5)
    return requested(panel, ONE, panel.target, **options)


def test_one_rule_has_one_recipe_and_auto_has_both() -> None:
    assert set(asked().recipes) == {"ridge"}
    assert set(asked(weights="uniform").recipes) == {"uniform"}
    assert set(asked(weights="auto").recipes) == {"ridge", "uniform"}


def test_auto_follows_the_budget_and_says_so() -> None:
    poor, _, why = asked(weights="auto").priced(Budget(1))
    rich, _, _ = asked(weights="auto").priced(Budget(10**5))
    assert (poor.rule, rich.rule) == ("uniform", "ridge")
    assert "chosen from public facts" in why
    assert "chosen" not in asked().priced(Budget(1))[2]


def test_the_price_is_that_of_the_noise() -> None:
    assert asked().priced(Budget(1))[1].measure == "pure"
    assert asked(noise="concentrated").priced(Budget(1, 1e-6))[1].measure == "zcdp"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": "simplex"}, "weights='simplex'"),
        ({"noise": "normal"}, "noise='normal'"),
        ({"lam": 0}, "lam=0"),
        ({"mean_effect": True, "noise": "gaussian"}, "mean_effect=True buys nothing"),
        ({"placebos": ["nobody"]}, "names what is no donor"),
    ],
)
def test_what_is_not_allowed_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        asked(**options)
