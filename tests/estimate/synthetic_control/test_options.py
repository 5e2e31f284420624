from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.estimate.synthetic_control.model import (
    SyntheticControl,
    penalty_of,
    placebos_of,
    shares_of,
)
from dprct.estimate.synthetic_control.panel import panel_of_arrays, scale_of
from dprct.privacy.budget import Budget
from dprct.schema import Column

_, PANEL = panel_of_arrays(np.ones((4, 5)), np.ones(5), 3, names=["a", "b", "ç", "d"])


def test_bounds_are_those_given_or_those_of_the_schema() -> None:
    assert (scale_of(5).low, scale_of(5).high) == (-5, 5)
    assert (scale_of([0, np.int64(4)]).low, scale_of(np.float32(2)).high) == (0, 2)
    assert (scale_of((0, 3.5)).low, scale_of((0, 3.5)).high) == (0, 3.5)
    declared = scale_of(None, Column("y", bounds=(1.0, 2.0)))
    assert (declared.low, declared.high) == (1, 2)


def test_without_bounds_nothing_is_private() -> None:
    with pytest.raises(SchemaError, match="outcome 'y' has no bounds; declare bounds"):
        scale_of(None, Column("y"))


@pytest.mark.parametrize("bound", ["5", True, -1, 0, (1, 1), (1, 2, 3), float("nan"), ("a", 2)])
def test_a_bound_that_is_none_is_refused(bound) -> None:
    with pytest.raises(ParameterError, match="from public knowledge"):
        scale_of(bound)


def test_the_penalty() -> None:
    assert penalty_of(None, 12) == 240
    assert penalty_of(7, 12) == penalty_of(np.int64(7), 12) == 7


@pytest.mark.parametrize("lam", [0, -3, "1", True, float("inf"), float("nan")])
def test_a_penalty_that_is_none_is_refused(lam) -> None:
    with pytest.raises(ParameterError, match="give a number above 0, such as 20"):
        penalty_of(lam, 12)


def test_placebos_by_name() -> None:
    assert placebos_of("all", PANEL) == (0, 1, 2, 3)
    assert placebos_of(["ç", "a"], PANEL) == (2, 0)
    assert placebos_of((), PANEL) == ()


@pytest.mark.parametrize("wanted", [["e"], ["a", "a"], "some", 3])
def test_placebos_that_are_none_are_refused(wanted) -> None:
    with pytest.raises(ParameterError, match="placebos="):
        placebos_of(wanted, PANEL)


def test_a_placebo_leaves_two_donors() -> None:
    _, two = panel_of_arrays(np.ones((2, 5)), np.ones(5), 3)
    with pytest.raises(ParameterError, match="at least 3 donors"):
        placebos_of("all", two)


@pytest.mark.parametrize("rule", ["ridge", "uniform"])
@pytest.mark.parametrize("pre_fit", [False, True])
@pytest.mark.parametrize("placebos", [False, True])
def test_default_shares_are_a_whole(rule, pre_fit, placebos) -> None:
    found = shares_of(None, rule, pre_fit=pre_fit, placebos=placebos, auto=False)
    assert sum(found.values()) == 1
    assert all(share > 0 for share in found.values())
    assert ("donor_weights" in found) == (rule == "ridge")
    assert ("pre_fit" in found, "placebos" in found) == (pre_fit, placebos)
    if placebos:
        assert found["placebos"] == Fraction(1, 2)


def test_shares_of_one_s_own() -> None:
    found = shares_of(
        {"donor_weights": 0.7, "prediction": 0.3},
        "ridge",
        pre_fit=False,
        placebos=False,
        auto=False,
    )
    assert found == {"donor_weights": Fraction(7, 10), "prediction": Fraction(3, 10)}
    equal = shares_of(
        {"donor_weights": 0.7, "prediction": 0.3},
        "uniform",
        pre_fit=False,
        placebos=False,
        auto=True,
    )
    assert equal == {"prediction": Fraction(1)}


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"donor_weights": 1}, "for each of donor_weights, prediction"),
        ({"donor_weights": 0.5, "prediction": 0.4}, "do not sum to one"),
        ({"donor_weights": 0.5, "prediction": 0.500000001}, "do not sum to one"),
        ({"donor_weights": 1.5, "prediction": -0.5}, "positive share"),
        ({"donor_weights": 0.5, "prediction": 0.4, "fit": 0.1}, "budget_shares= names"),
    ],
)
def test_shares_that_are_no_shares_are_refused(shares, words) -> None:
    with pytest.raises(ParameterError, match=words):
        shares_of(shares, "ridge", pre_fit=False, placebos=False, auto=False)


def test_a_mean_by_itself_takes_half_of_the_path() -> None:
    options = {"pre_fit": False, "placebos": False, "auto": False, "mean_effect": True}
    found = shares_of(None, "ridge", **options)
    assert found == {
        "donor_weights": Fraction(1, 2), "prediction": Fraction(1, 4), "mean": Fraction(1, 4)
    }  # fmt: skip
    assert shares_of({"prediction": 0.25, "mean": 0.75}, "uniform", **options)["mean"] == 0.75
    with pytest.raises(ParameterError, match="each of prediction, mean"):
        shares_of({"prediction": 1}, "uniform", **options)


def asked(n: int = 6, **options: Any) -> SyntheticControl:
    return SyntheticControl.from_arrays(np.zeros((n, 8)), np.ones(8), 5, 1.0, **options)


def test_one_rule_has_one_form_and_auto_has_both() -> None:
    def rules(**options: Any) -> set[str]:
        made = asked(**options)
        return set(made.spec.forms(made.facts))

    assert rules() == {"ridge"}
    assert rules(donor_weights="uniform") == {"uniform"}
    assert rules(donor_weights="auto") == {"ridge", "uniform"}


def test_auto_follows_the_budget_and_says_so() -> None:
    poor = asked(donor_weights="auto")._allocated(Budget(1))
    rich = asked(donor_weights="auto")._allocated(Budget(10**5))
    assert (poor.form.rule, rich.form.rule) == ("uniform", "ridge")
    assert "chosen from public facts" in poor.chosen
    assert "chosen" not in asked()._allocated(Budget(1)).chosen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"donor_weights": "simplex"}, "donor_weights='simplex'; allowed: ridge, uniform, auto"),
        ({"noise": "normal"}, "noise='normal'; allowed: laplace, gaussian, concentrated"),
        ({"lam": 0}, "lam=0; give a number above 0"),
        ({"mean_effect": True, "noise": "gaussian"}, "mean_effect=True gains nothing"),
        ({"placebos": ["nobody"]}, "names what is not a donor"),
        ({"placebos": "b"}, "placebos='b'"),
        ({"budget_shares": {"donor_weights": 1}}, "each of donor_weights, prediction"),
        ({"budget_shares": 0.5}, "budget_shares= is float; give a mapping"),
    ],
)
def test_what_is_not_allowed_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        asked(**options)


def test_problems_are_all_named() -> None:
    made = asked()
    assert made.spec.problems(made.facts) == []
    wrong = replace(made.spec, noise="normal", lam=-1, placebos=("nobody",), budget_shares={})
    problems = [str(problem).split("=")[0] for problem in wrong.problems(made.facts)]
    assert problems == ["noise", "lam", "placebos", "budget_shares"]
    wrong = replace(made.spec, donor_weights="simplex", placebos=3)  # type: ignore[arg-type]
    assert [str(problem).split("=")[0] for problem in wrong.problems(made.facts)] == [
        "donor_weights"
    ]
    wrong = replace(made.spec, placebos=3)  # type: ignore[arg-type]
    assert [str(problem).split("=")[0] for problem in wrong.problems(made.facts)] == ["placebos"]
