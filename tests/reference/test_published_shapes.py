"""30 published regressions that are called valid, on made-up rows of their shape."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from types import ModuleType

TOP = Path(__file__).parents[2]


@cache
def the_script() -> ModuleType:
    return importlib.import_module("scripts.published_shapes")


def test_there_are_thirty_of_different_papers() -> None:
    found = the_script().shapes()
    assert len({one["number"] for one in found}) == 30
    assert len({one["paper"] for one in found}) > 5


@pytest.mark.filterwarnings("ignore")
def test_intervals_hold_the_coefficients_that_the_authors_would_print() -> None:
    """At epsilon 4, one release of each; scripts/published_shapes.py has many."""
    author, true, number = np.zeros(0), np.zeros(0), 0
    for shape in the_script().shapes():
        one, other, over, several = the_script().held(shape, 1)
        author, true = np.append(author, one * several), np.append(true, other * several)
        number += several
        assert 0.5 < over < 20, shape
    # .95 at least of either; a miss of the author's coefficient is one of the noise alone
    assert number - author.sum() <= 0.1 * number
    assert number - true.sum() <= 0.2 * number
