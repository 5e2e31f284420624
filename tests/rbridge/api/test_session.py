from __future__ import annotations

import os

import pytest

from dprct import __version__
from dprct.errors import ParameterError
from dprct.rbridge import PROTOCOL
from dprct.rbridge.api.session import config, describe_value, identity, whole


def test_the_session_says_who_it_is(r):
    found = config()
    assert (found["dprct"], found["protocol"], found["pid"]) == (__version__, PROTOCOL, os.getpid())
    assert found["rpy2-rinterface"]


def test_whole_numbers():
    assert whole(5.0, "bins") == whole(5, "bins") == 5
    for wrong in (5.5, "5", None, True, float("nan")):
        with pytest.raises(ParameterError, match="bins="):
            whole(wrong, "bins")


def test_values_can_be_asked_about():
    assert identity(1) == 1
    assert describe_value([1]) == {"type": "list", "text": "[1]"}
