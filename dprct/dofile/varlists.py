"""Lists of variables: their words, and the columns that they mean where a header is known."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPACED = re.compile(r"\s+(-|#+|\*)\s+|\s*(-)\s+(?=[A-Za-z_])|(?<=\w)\s+(-)(?=[A-Za-z_])")
_APART = (" -", "- ", "\t-", "-\t", " #", "# ", " * ")
_WORD = re.compile(r"(?:[^\s()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+|[()]")
_RANGE = re.compile(r"([A-Za-z_]\w*)-([A-Za-z_]\w*)$")
_PATTERN = re.compile(r"[\w*?~]+$")
_OPERATOR = re.compile(r"(?:[A-Za-z]\w*)?(?:\([^()]*\))?\.")


def words(text: str) -> list[str]:
    """Return the words of a list; ``a - b`` is one range, ``i.(a b)`` one word."""
    if "(" not in text and ")" not in text and not any(mark in text for mark in _APART):
        return text.split()
    joined = _SPACED.sub(lambda found: found[1] or found[2] or found[3], " " + text).strip()
    return [word for word in _WORD.findall(joined) if word not in "(),"]


def expanded(word: str, columns: list[str] | None) -> list[str]:
    """Return the columns that a word means, or the word where the header does not tell."""
    if columns is None or word in columns:
        return [word]
    if word == "_all":
        return [*columns]
    if found := _RANGE.match(word):
        first, last = resolved(found[1], columns), resolved(found[2], columns)
        if first in columns and last in columns:
            begin, end = columns.index(first), columns.index(last)
            if begin <= end:
                return columns[begin : end + 1]
        return [word]
    if ("*" in word or "?" in word or "~" in word) and _PATTERN.match(word):
        matching = fnmatch.filter(columns, word.replace("~", "*")) if len(word) <= 64 else []
        return matching or [word]
    return [resolved(word, columns)]


def resolved(name: str, columns: list[str]) -> str:
    """Return the column that an abbreviation means, or the name where that is not clear."""
    if name in columns or not name.isidentifier():
        return name
    matching = [column for column in columns if column.startswith(name)]
    return matching[0] if len(matching) == 1 else name


def bare_names(word: str) -> list[str]:
    """Return the columns that a word with factor operators, or of ``xi``, is made of."""
    separated = re.sub(r"[*|](?=\w)", " ", word) if "." in word else word  # of xi: i.a*i.b
    plain = _OPERATOR.sub(" ", separated)
    return re.findall(r"[A-Za-z_][\w*?~]*(?:-[A-Za-z_]\w*)?", plain)


def is_plain(word: str) -> bool:
    """Whether a word is the name of one column."""
    return re.fullmatch(r"[A-Za-z_]\w*", word) is not None


def factor_of(word: str) -> str:
    """Return the column of a factor such as ``i.town`` or ``ib2.town``; empty of any other word."""
    found = re.fullmatch(r"i(?:b\w*)?\.(\w+)", word)
    return found[1] if found else ""


def crossed(word: str, factors: Sequence[str]) -> tuple[str, ...]:
    """Terms of a formula that a product is; with ``##`` its factors and all products of them.

    Examples
    --------
    >>> crossed("c.price##c.price", ["price", "price"]), crossed("i.wave#i.wave", ["C(wave)"] * 2)
    (('price', 'I(price**2)'), ('C(wave)',))
    """
    sizes = range(1 if "##" in word else len(factors), len(factors) + 1)
    found = (_product(some) for size in sizes for some in combinations(factors, size))
    return tuple(dict.fromkeys(found))


def _product(terms: Iterable[str]) -> str:
    """Return the term that is the product of others: a column by itself is its square."""
    times = Counter(terms).items()
    return ":".join(
        one if often == 1 or one.startswith("C(") else f"I({one}**{often})" for one, often in times
    )


def imported_names(header: Iterable[str], case: str) -> list[str]:
    """Return the names that ``import delimited`` and ``insheet`` make of those of a text file.

    Blanks and signs are left out, and letters are lower case unless ``case`` is another.  A name is
    empty where it is not known here what Stata makes of it: one that begins with a digit, is
    longer than 32 letters, reserved or another's, or has letters besides A to Z.

    Examples
    --------
    >>> imported_names(["Total Income", "inc.total", "AGE", "2nd", "Age", "if"], "lower")
    ['totalincome', 'inctotal', '', '', '', '']
    >>> imported_names(["Total Income", "AGE"], "preserve")
    ['TotalIncome', 'AGE']
    """
    found = [re.sub(r"[^A-Za-z0-9_]", "", name) if name.isascii() else "" for name in header]
    how = {"lower": str.lower, "upper": str.upper}.get(case, str)
    found = [how(name) for name in found]
    return [
        name if is_plain(name) and found.count(name) == 1 and not _NO_NAME.fullmatch(name) else ""
        for name in found
    ]


_NO_NAME = re.compile(
    r"_all|_b|_coef|_cons|_n|_N|_pi|_pred|_rc|_se|_skip|byte|double|float|if|in|int|long|strL|using"
    r"|with|str\d+|\w{33,}"
)
