"""From a study file to the files that are published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dprct.study.do_files import read_do

__all__ = ["read_do"]


def __getattr__(name: str) -> Any:
    """Load ``read_do`` when it is asked for: other modules of this room import this one."""
    if name != "read_do":
        raise AttributeError(f"module 'dprct.study' has no attribute {name!r}")
    from dprct.study.do_files import read_do

    return read_do
