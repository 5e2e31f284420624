from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import dprct

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", dprct.__all__)
def test_every_name_that_is_offered_is_there(name: str) -> None:
    assert getattr(dprct, name) is not None
    assert name in dir(dprct)


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dprct' has no attribute 'MVHistograms'"):
        _ = dprct.MVHistograms


def test_a_name_is_loaded_when_it_is_first_used(checkout: Path) -> None:
    code = (
        "import dprct, sys\n"
        "heavy = {'pandas', 'opendp', 'statsmodels', 'typer'}\n"
        "print(sorted(heavy & set(sys.modules)), end=';')\n"
        "dprct.Budget\n"
        "print(sorted(heavy & set(sys.modules)), end=';')\n"
        "dprct.MVHistogram\n"
        "print(sorted(heavy & set(sys.modules)), 'MVHistogram' in vars(dprct))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=checkout
    )
    assert run.stdout == "[];[];[] True\n"
