from __future__ import annotations

from papers.rct import reasons
from papers.rct.methods import METHODS


def test_every_method_has_its_reason() -> None:
    assert tuple(reasons.BY_METHOD) == METHODS
    assert all(text.startswith(name) for name, text in reasons.BY_METHOD.items())


def test_nothing_is_promised() -> None:
    assert "None of these methods has" in reasons.NO_GUARANTEE
