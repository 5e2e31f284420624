"""The face of the room: each name is there, and is loaded when it is used."""

from __future__ import annotations

import pytest

import dprct.privacy


@pytest.mark.parametrize("name", dprct.privacy.__all__)
def test_every_name_that_is_offered_is_there(name: str) -> None:
    assert getattr(dprct.privacy, name) is not None
    assert name in dir(dprct.privacy)


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'dprct\.privacy' has no attribute 'Laplace'"):
        _ = dprct.privacy.Laplace
