"""Tokens: kinds, places, and the refusal of foreign characters."""

from __future__ import annotations

import pytest

from dprct.errors import FormulaError
from dprct.formula.syntax import shortened, tokens_of


def test_kinds_and_places():
    tokens = tokens_of("y~`a b`:I(x**2.5e-1)")
    assert [token.kind for token in tokens] == [
        "name", "operator", "quoted", "operator", "name", "operator", "name", "operator",
        "number", "operator", "end",
    ]  # fmt: skip
    assert [token.at for token in tokens][:3] == [0, 1, 2]
    assert tokens[-3].text == "2.5e-1"


@pytest.mark.parametrize("character", list("{}[]\"'#@$%&|!\\^;=?,.\x00`"))
def test_foreign_characters_are_refused_where_they_stand(character):
    with pytest.raises(FormulaError, match="at character 6 is not allowed"):
        tokens_of(f"y ~ x{character}")


def test_long_text_is_cut():
    assert len(shortened("x" * 500)) == 80
    assert shortened("  y ~ x ") == "y ~ x"
