"""The verdict on an assignment."""

from __future__ import annotations

import pytest

from dprct.assignment.groups import DesignCheck
from dprct.errors import ParameterError


def test_no_problem_is_false_and_passes():
    found = DesignCheck("Design.")
    assert not found
    assert found.consistent
    found.require()
    assert "consistent with this design" in str(found)


def test_problems_are_listed_and_refused():
    found = DesignCheck("Design.", ("first", "second"))
    assert found
    assert list(found) == ["first", "second"]
    assert str(found).splitlines()[-2:] == ["  - first", "  - second"]
    with pytest.raises(ParameterError, match="first; second"):
        found.require()
