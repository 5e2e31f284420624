from __future__ import annotations

import math
import pickle

import matplotlib.pyplot as plt
import pytest

from dprct.errors import ConfirmationError, ParameterError
from dprct.privacy.budget import Budget
from dprct.privacy.mechanisms import Allocation, DiscreteLaplace
from dprct.results.plan import (
    Contents,
    Plan,
    PlannedNumber,
    errors_of_estimate,
    notes,
    planned_draws,
)

ROWS = PlannedNumber("n", 3, "rows")
REFUSED = Plan("a method", Budget(1), Contents((ROWS,)), refusal="too few rows")
ERRORS = (
    *errors_of_estimate(0.5, 0.4, 0.3, outcome="wage", term="treat", why="sd 3"),
    *errors_of_estimate(0.9, 0.6, 0.7, outcome="hours", term="treat"),
)


def test_a_refused_plan_needs_confirmation() -> None:
    with pytest.raises(ConfirmationError, match=r"^too few rows$"):
        REFUSED.check(confirm=False)
    REFUSED.check(confirm=True)


def test_a_warning_needs_none() -> None:
    warned = Plan("a method", Budget(1), Contents(warnings=("rows may disappear",)))
    warned.check(confirm=False)


def test_everything_is_printed_and_nothing_runs_over_the_line() -> None:
    numbers = (
        ROWS,
        *notes({"noise": "long " * 40}),
        PlannedNumber("error_ratio", 2, regression="y ~ " * 9),
    )
    contents = Contents(numbers, ("what follows " * 12,), ("what disappoints",))
    plan = Plan("a method", Budget(1, 1e-6), contents, refusal="why it is refused")
    text = str(plan)
    for part in ("a method", "epsilon=1, delta=1e-06", "3 rows", "- what follows",
                 "! what disappoints", "! why it is refused"):  # fmt: skip
        assert part in text
    assert max(map(len, text.splitlines())) <= 88


def test_a_short_plan_keeps_cost_error_estimand_errors_and_warnings() -> None:
    numbers = (ROWS, *notes({"noise": "long " * 40}), *ERRORS, *notes({"estimand": "mean effect"}))
    contents = Contents(numbers, ("what follows",), ("what disappoints",))
    plan = Plan("m", Budget(1), contents, refusal="why it is refused")
    whole, short = plan.to_text(), plan.to_text(most=11)
    assert len(short.splitlines()) <= 11 < len(whole.splitlines())
    for words in ("cost", "error", "estimand", "wage: treat", "hours: treat", "! why it", "! what"):
        assert words in short
    assert set(short.splitlines()) < set(whole.splitlines())
    assert plan.to_text(most=99) == whole
    with pytest.raises(ParameterError, match="most"):
        plan.to_text(most=0)


def test_a_plan_begins_with_cost_error_and_estimand() -> None:
    numbers = (ROWS, *ERRORS, *notes({"estimand": "mean effect"}))
    facts = Plan("m", Budget(1), Contents(numbers)).facts
    assert list(facts) == ["cost", "error", "estimand", "n", "wage: treat", "hours: treat"]
    assert facts["error"] == "1.25 to 1.5 times those without privacy, of 2 estimates"
    assert facts["cost"].startswith("epsilon=1")
    assert "nothing is charged" in Plan("m", Budget(1), priced=False).facts["cost"]


def test_a_plan_is_a_table_of_numbers() -> None:
    draws = planned_draws(
        Allocation(budget=Budget(1), parts={"sums": DiscreteLaplace(1, l1=1)})
    )[0].numbers()  # fmt: skip
    plan = Plan("m", Budget(1, 1e-6), Contents((ROWS, *ERRORS, *draws)))
    frame = plan.to_frame()
    assert list(frame.columns) == [
        "quantity", "value", "unit", "why", "regression", "outcome", "term",
    ]  # fmt: skip
    value = frame.set_index(["quantity", "outcome", "term"])["value"]
    assert value["epsilon", "", ""] == 1
    assert value["delta", "", ""] == 1e-6
    assert value["std_error", "hours", "treat"] == 0.9
    assert value["std_error_without_privacy", "wage", "treat"] == 0.4
    assert value["draw_scale", "", "sums"] == 1
    assert "draw" not in str(plan)
    assert plan.errors()["hours: treat"] == {
        "std_error": 0.9, "std_error_without_privacy": 0.6, "noise_sd": 0.7,
    }  # fmt: skip


def test_words_and_numbers_are_made_once_and_only_when_asked_for() -> None:
    calls = []

    def made() -> Contents:
        calls.append(1)
        return Contents((ROWS,), warnings=("few",))

    plan = Plan("m", Budget(1), made)
    more = plan.also([PlannedNumber("K", 8)], warnings=["again"]).in_words(str.upper)
    plan.check(confirm=False)
    assert not calls
    assert str(plan) == str(plan)
    assert plan.numbers == (ROWS,)
    assert more.warnings == ("FEW", "AGAIN")
    assert "8" in str(more)
    assert calls == [1]


def test_a_plan_is_a_value() -> None:
    with pytest.raises(AttributeError):
        REFUSED.refusal = ""  # type: ignore[misc]
    later = Plan("a method", Budget(1), lambda: Contents((ROWS,)), refusal="too few rows")
    assert later == REFUSED
    assert pickle.loads(pickle.dumps(later)) == REFUSED
    assert later != Plan("a method", Budget(1), Contents((ROWS,)))
    unknown = [Plan("m", Budget(1), Contents((PlannedNumber("x", math.nan),))) for _ in range(2)]
    assert unknown[0] == unknown[1]
    assert str(Plan("m", Budget(1))).splitlines()[0] == "Plan: m, epsilon=1"


def test_the_picture_has_a_dot_with_and_one_without_privacy() -> None:
    panel = Plan("m", Budget(1), Contents(ERRORS)).plot()
    drawn = {line.get_label(): list(line.get_xdata()) for line in panel.lines}
    assert drawn == {"with privacy": [0.5, 0.9], "without": [0.4, 0.6]}
    plt.close(panel.figure)
    with pytest.raises(ParameterError, match="no expected errors"):
        REFUSED.plot()


def test_a_number_is_asked_for_by_what_a_plan_knows() -> None:
    plan = Plan("m", Budget(1), Contents((PlannedNumber("std_error", 0.5, outcome="wage"),)))
    with pytest.raises(ParameterError, match="did you mean outcome="):
        plan.value("std_error", outcom="wage")
