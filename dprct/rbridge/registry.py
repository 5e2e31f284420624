"""The functions that R can call, by name, and those that make an object again from its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Function = TypeVar("Function", bound=Callable[..., Any])

_exports: dict[str, Callable[..., Any]] = {}
_revivals: dict[str, Callable[[Mapping[str, Any]], object]] = {}


def export(name: str) -> Callable[[Function], Function]:
    """Return a decorator that lets R call a function under ``name``.

    Examples
    --------
    >>> @export("twice")
    ... def twice(x: float) -> float:
    ...     return 2 * x
    >>> exported("twice")(4.0)
    8.0
    """

    def register(function: Function) -> Function:
        _exports[name] = function
        return function

    return register


def exported(name: str) -> Callable[..., Any]:
    """Return the function that R knows as ``name``."""
    if name not in _exports:
        raise ParameterError(
            f"this Python package has no function {name!r} for R; "
            "install the R package and the Python package of the same version"
        )
    return _exports[name]


def revives(name: str) -> Callable[[Function], Function]:
    """Return a decorator for the function that makes an object of the S3 class ``name`` again.

    The function gets the fields of the saved record.
    """

    def register(function: Function) -> Function:
        _revivals[name] = function
        return function

    return register


def revival(name: str) -> Callable[[Mapping[str, Any]], object] | None:
    """Return the function that makes a record of class ``name`` again; None if there is none."""
    return _revivals.get(name)
