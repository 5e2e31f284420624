from __future__ import annotations

import pytest

from dprct.rbridge.convert import RError, RWarning, call_r
from dprct.rbridge.convert.calls import messages
from dprct.rbridge.convert.vectors import text


def test_arguments_by_place_and_by_name(r):
    assert r.identical(call_r(r("function(a, b) a - b"), r("3"), b=r("1")), r("2"))
    assert r.identical(call_r(r("function() 7")), r("7"))


def test_an_error_is_an_exception_with_the_condition(r):
    fail = r("function() stop(structure(class = c('mine', 'error', 'condition'), "
             "list(message = 'boo', call = NULL, x = 1)))")  # fmt: skip
    with pytest.raises(RError, match="boo") as caught:
        call_r(fail)
    assert list(caught.value.condition.rclass) == ["mine", "error", "condition"]


def test_warnings_are_warnings_with_the_condition(r):
    with pytest.warns(RWarning, match="careful") as caught:
        assert r.identical(call_r(r("function() { warning('careful'); 1 }")), r("1"))
    assert "simpleWarning" in list(caught[0].message.condition.rclass)


def test_messages_go_to_the_listener(r):
    heard = []
    token = messages.set(heard.append)
    try:
        call_r(r("function() message('hi')"))
    finally:
        messages.reset(token)
    assert text(r.session.base("conditionMessage")(heard[0])) == "hi\n"


def test_an_interrupt_of_r_is_one_of_python(r):
    interrupt = "function() stop(structure(class = c('interrupt', 'condition'), list()))"
    with pytest.raises(KeyboardInterrupt):
        call_r(r(interrupt))


def test_the_random_numbers_of_a_call_leave_no_trace(r):
    r("set.seed(3)")
    plain = r("{x <- runif(1); y <- runif(1); set.seed(3); c(x, y)}")
    seeded = r.session.function("run_seeded")
    first = r("runif(1)")
    one = call_r(seeded, r("function() runif(1)"), r("list()"), r("9L"))
    two = call_r(seeded, r("function() runif(1)"), r("list()"), r("9L"))
    r.room["first"], r.room["second"] = first, r("runif(1)")
    assert r.identical(one, two)
    assert r.identical(plain, r("c(first, second)"))
