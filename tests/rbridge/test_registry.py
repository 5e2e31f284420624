from __future__ import annotations

import pytest

from dprct.errors import ParameterError
from dprct.rbridge.registry import export, exported, revival, revives


def test_a_function_is_found_under_its_name():
    @export("test_registry")
    def function() -> int:
        return 1

    assert exported("test_registry") is function


def test_an_unknown_name_speaks_of_versions():
    with pytest.raises(ParameterError, match=r"'no such'.*same version"):
        exported("no such")


def test_revivals_are_found_by_class():
    @revives("dprct_test")
    def again(saved: dict[str, object]) -> object:
        return saved

    assert revival("dprct_test") is again
    assert revival("dprct_other") is None
