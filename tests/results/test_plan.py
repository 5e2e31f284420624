from __future__ import annotations

import pytest

from dprct.errors import ConfirmationError
from dprct.privacy.budget import Budget
from dprct.results.plan import Plan

REFUSED = Plan("a method", Budget(1), {"n": "3 rows"}, refusal="too few rows")


def test_a_refused_plan_needs_confirmation() -> None:
    with pytest.raises(ConfirmationError, match=r"^too few rows$"):
        REFUSED.check(confirm=False)
    REFUSED.check(confirm=True)


def test_a_warning_needs_none() -> None:
    Plan("a method", Budget(1), {}, warnings=("rows may disappear",)).check(confirm=False)


def test_everything_is_printed_and_nothing_runs_over_the_line() -> None:
    plan = Plan(
        "a method",
        Budget(1, 1e-6),
        {"n": "3 rows", "noise": "long " * 40},
        consequences=("what follows " * 12,),
        warnings=("what disappoints",),
        refusal="why it is refused",
    )
    text = str(plan)
    for part in ("a method", "epsilon=1, delta=1e-06", "3 rows", "- what follows",
                 "! what disappoints", "! why it is refused"):  # fmt: skip
        assert part in text
    assert max(map(len, text.splitlines())) <= 88


def test_a_plan_is_a_value() -> None:
    with pytest.raises(AttributeError):
        REFUSED.refusal = ""  # type: ignore[misc]
    assert Plan("a method", Budget(1), {"n": "3 rows"}, refusal="too few rows") == REFUSED
    assert str(Plan("m", Budget(1), {})) == "Plan: m, epsilon=1"
