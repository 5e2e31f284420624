from __future__ import annotations

import pytest

from dprct.io.facets import DATASET, FACETS


def test_every_facet_says_what_it_is_in_one_line() -> None:
    assert all(text and "\n" not in text for text in FACETS.values())
    assert all(name == name.lower() and " " not in name for name in FACETS)
    assert DATASET == "_dta"


def test_the_names_are_fixed() -> None:
    with pytest.raises(TypeError):
        FACETS["new"] = "x"  # type: ignore[index]
