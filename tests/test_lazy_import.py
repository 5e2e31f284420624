from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import dprct
from dprct.lazy import special

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


def test_special_functions_are_those_of_scipy_without_its_package(checkout: Path) -> None:
    code = (
        "import sys\n"
        "from dprct.lazy import special\n"
        "found = special.ndtri, special.erfcx, special.stdtrit\n"
        "print('scipy._lib._array_api' in sys.modules, end=' ')\n"
        "import scipy.special\n"
        "from scipy.special import erfcx, ndtri, stdtrit\n"
        "print(found == (ndtri, erfcx, stdtrit), scipy.special.logsumexp([0.0]) == 0, end=' ')\n"
        "print(hasattr(scipy.special, 'nothing'), scipy.special is sys.modules['scipy.special'])\n"
    )
    own = {key: text for key, text in os.environ.items() if key != "SCIPY_ARRAY_API"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, check=True, cwd=checkout, env=own,
    )  # fmt: skip
    assert run.stdout == "False True True False True\n"


def test_all_special_functions_that_are_used_are_there(checkout: Path) -> None:
    named = {
        name
        for path in (checkout / "dprct").rglob("*.py")
        for name in re.findall(r"(?<![\w.])special\.(\w+)", path.read_text(encoding="utf-8"))
    } - {"import"}
    assert {"ndtr", "stdtrit"} <= named
    for name in named:
        assert callable(getattr(special, name))
