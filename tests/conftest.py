"""What every test may use, and what no test may do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# a deadline is a test of time, and CI machines are busy
hypothesis.settings.register_profile(
    "dprct", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("dprct")

CHECKOUT = Path(__file__).resolve().parents[1]
SHARED = CHECKOUT.parent / "shared"


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The folder of the project, with its documents, data and scripts."""
    return CHECKOUT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data and reference material beside the checkout; absent in a user's clone."""
    if not SHARED.is_dir():
        pytest.skip("needs the project's shared/ folder beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def rscript() -> str:
    """Path of Rscript; without it the test is skipped, or fails where R was promised."""
    found = shutil.which("Rscript")
    if found is None:
        if os.environ.get("DPRCT_REQUIRE_R"):
            pytest.fail("DPRCT_REQUIRE_R is set and Rscript is not on the path")
        pytest.skip("needs R; see scripts/r-for-tests")
    return found


@pytest.fixture(scope="session")
def browser() -> str:
    """Path of Chromium; without it the test is skipped, or fails where a browser was promised."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found is not None:
            return found
    if os.environ.get("DPRCT_REQUIRE_BROWSER"):
        pytest.fail("DPRCT_REQUIRE_BROWSER is set and no Chromium is on the path")
    pytest.skip("needs Chromium; see scripts/browser-for-tests")


@pytest.fixture(autouse=True)
def _global_numpy_state_is_untouched() -> Iterator[None]:
    """Fail a test that draws from, or seeds, NumPy's global generator."""
    before = _global_numpy_state()
    yield
    if _global_numpy_state() != before:
        pytest.fail("touched NumPy's global random state; take an rng from numpy.random.Generator")


def _global_numpy_state() -> tuple[bytes, int, int, float]:
    _, key, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002  # watched, not used
    return np.asarray(key).tobytes(), int(position), int(has_gauss), float(cached)
