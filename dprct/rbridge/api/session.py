"""Questions about the session itself."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Any

from dprct import __version__
from dprct.arguments import given
from dprct.errors import ParameterError
from dprct.rbridge import PROTOCOL
from dprct.rbridge.registry import export

_PACKAGES = ("rpy2-rinterface", "numpy", "pandas", "opendp")


def whole(value: object, name: str) -> int:
    """Return an argument that must be a whole number, which R often gives as a double.

    Examples
    --------
    >>> whole(5.0, "bins")
    5
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1:
        return int(value)
    raise ParameterError(f"``{name}={given(value)}``; give a whole number")


@export("config")
def config() -> dict[str, Any]:
    """Python that runs here, and the versions that matter."""
    return {
        "dprct": __version__,
        "protocol": PROTOCOL,
        "python": sys.version.split()[0],
        "executable": sys.executable,
        "pid": os.getpid(),
        **{name: version(name) for name in _PACKAGES},
    }


@export("identity")
def identity(x: Any) -> Any:
    """Value that was given: conversion there and back."""
    return x


@export("describe_value")
def describe_value(x: Any) -> dict[str, str]:
    """Form of a value of R's in Python, for people who write to us about it."""
    return {"type": type(x).__name__, "text": repr(x)}
