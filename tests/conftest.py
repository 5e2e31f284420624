"""What every test may use: the shared material of the project, where it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data and reference material beside the checkout; absent in a user's clone."""
    if not SHARED.is_dir():
        pytest.skip("needs the project's shared/ folder beside the checkout")
    return SHARED
