"""The smallest pieces of a formula; a character that is not part of one is refused."""

from __future__ import annotations

import re
from typing import NamedTuple

from dprct.errors import FormulaError

ALLOWED = "column names, C(name), I(arithmetic), a:b, a*b, +, and 0, 1 or -1 for the intercept"


_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<operator>\*\*|==|!=|<=|>=|[-~+*/:()<>])"
)


class Token(NamedTuple):
    """A piece of a formula; ``kind`` is quoted, name, number, operator or end."""

    kind: str
    text: str
    at: int


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a formula, closed by one of kind ``end``, or refuse a character.

    Examples
    --------
    >>> [token.text for token in tokens_of("y ~ `a b`*x")]
    ['y', '~', 'a b', '*', 'x', '']
    """
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise FormulaError(
                f"{text[at]!r} at character {at + 1} is not allowed; allowed: {ALLOWED}; a column "
                f"of another name stands in backquotes (formula {shortened(text)!r})"
            )
        kind = str(match.lastgroup)
        if kind != "space":
            tokens.append(Token(kind, match[kind], at))
        at = match.end()
    return [*tokens, Token("end", "", len(text))]


def shortened(text: str, most: int = 80) -> str:
    """Return text for a message, cut where it is long."""
    text = text.strip()
    return text if len(text) <= most else text[: most - 3] + "..."
