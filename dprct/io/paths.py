"""File names as users give them."""

from __future__ import annotations

import os
from pathlib import Path

from dprct.errors import ParameterError


def path_of(path: object) -> Path:
    """Return a file name as a path.

    Raises
    ------
    ParameterError
        If it is none.

    Examples
    --------
    >>> path_of("trial.dta").suffix
    '.dta'
    """
    if isinstance(path, (str, os.PathLike)):
        return Path(path)
    raise ParameterError(f"got {type(path).__name__} for a path; give a file name")
