from __future__ import annotations

import pytest

from dprct import errors
from dprct.errors import BudgetError, ConversionError, DprctError, DprctWarning, StataFormatError
from dprct.rbridge.conditions import classes_of, error_to_r, r_class, warning_to_r
from dprct.rbridge.convert import RWarning, from_r

LEAVES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, DprctError)]


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_leaf_has_a_class_of_its_own(leaf):
    classes = classes_of(leaf, "error")
    assert classes[0] == r_class(leaf)
    assert classes[0].startswith("dprct_")
    assert classes[0].endswith("error")
    assert "dprct_error" in classes
    assert classes[-2:] == ["error", "condition"]
    assert len(set(classes)) == len(classes)


def test_leaves_do_not_share_a_class():
    assert len({r_class(leaf) for leaf in LEAVES}) == len(LEAVES)


def test_other_exceptions_are_errors_of_the_package_too():
    assert classes_of(KeyError, "error") == [
        "dprct_error",
        "python_KeyError",
        "python_LookupError",
        "error",
        "condition",
    ]


def test_warnings():
    expected = ["dprct_warning", "python_UserWarning", "warning", "condition"]
    assert classes_of(DprctWarning, "warning") == expected


def caught(error: BaseException) -> dict[str, object]:
    try:
        raise error
    except BaseException as raised:
        return from_r(error_to_r(raised))


def test_an_error_carries_its_fields_and_its_traceback(r):
    found = caught(StataFormatError("the count is wrong", offset=12, field="header"))
    assert found["message"] == "the count is wrong (in header, at byte 12)"
    assert found["fields"] == {"offset": 12, "field": "header"}
    assert "test_conditions.py" in str(found["traceback"])
    assert "Traceback" not in str(found["message"])


def test_fields_without_a_form_in_r_stay_behind(r):
    error = ConversionError("no", column="x")
    error.model = object()  # type: ignore[attr-defined]
    assert caught(error)["fields"] == {"column": "x"}


def test_a_defect_says_which_kind_it_is(r):
    assert caught(KeyError("a"))["message"] == "KeyError: a"
    assert caught(ZeroDivisionError())["message"] == "ZeroDivisionError"
    assert caught(BudgetError("asked for 2"))["message"] == "asked for 2"


def test_messages_are_in_the_words_of_r(r):
    got = caught(BudgetError("declare ``bounds=(low, high)``"))["message"]
    assert got == "declare bounds = c(low, high)"
    assert caught(ValueError("bounds=(low, high)"))["message"] == "ValueError: bounds=(low, high)"


def test_notes_are_part_of_the_message(r):
    error = BudgetError("asked for 2")
    error.add_note("while planning")
    assert caught(error)["message"] == "asked for 2\nwhile planning"


def test_a_warning_of_r_stays_its_own_condition(r):
    condition = r("simpleWarning('w')")
    got = warning_to_r(RWarning, RWarning("w", condition))
    assert r.identical(got, r("list(condition = simpleWarning('w'))"))
    plain = from_r(warning_to_r(DprctWarning, DprctWarning("lost")))
    assert plain["message"] == "lost"
