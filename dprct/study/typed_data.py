r"""Whether a program has data typed into it, told by its text alone: no confidential file is read.

Each language has commands for it, and every language can hold a table or a long vector in its
text.  What is found is left out of a package unless the study file names it; what is not found is
searched for confidential rows all the same (:mod:`dprct.custodian.rows_in_texts`).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from dprct.dofile.lines import commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LITERAL = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"

STATA = frozenset({".do", ".ado", ".mata"})

_PREFIX = re.compile(
    r"\s*(?:(?:cap\w*|qui\w*|n(?:oi\w*)?|by\w*\b[^:\n]*:|bys\w*\b[^:\n]*:|xi|vers\w*\s*[\d.]*"
    r"|[a-z]\w*\b[^:\"\n]{0,80}:(?!:)|frame\s+\w+|else|if\b[^{\n]*?(?=\binp|\{|$))\s*[,:{]?\s*|[{}:]\s*)",
    re.IGNORECASE,
)
_INPUT = re.compile(r"(?:input|inpu|inp)\b(?!.*\busing\b)(?:\s*$|\s+[\"a-z_(*])", re.IGNORECASE)
_DICTIONARY = re.compile(r"(?:infile\s+)?dictionary\b[^\n]*\{", re.IGNORECASE)
_REPLACED = re.compile(
    r"(?:replace|g(?:en\w*)?)\s+(?:\w+\s+)?\w+\s*=\s*(?:[-+]?[\d.]|`?\"[^\"]*\"'?)[^\n]*\bin\s+(?:[\dfl]|-\d)",
    re.IGNORECASE,
)
_SET_OBS = re.compile(r"(?m)^[^*\n]*\bset\s+obs\b", re.IGNORECASE)
_BY_ROW = re.compile(
    r"\bcond\(\s*_n\s*==|\bword\(\s*`?\"[^\"]*\"'?\s*,[^)]*_n\b|\bif\s+_n\s*==\s*\d"
    r"|\bst_s?store\(\s*\d+\s*,[^)]*,\s*[-\d\"]|\bmat\w*\s+\w+\[\d+,\s*\d+\]\s*=\s*[-.\d]",
    re.IGNORECASE,
)
_POSTED = re.compile(
    rf"post\s+\S+(?:\s*\(\s*{_LITERAL}\s*\))+\s*$"
    rf"|file\s+write\s+\S+\s+`?\"\s*{_LITERAL}[\s,;|]+[-.\d]",
    re.IGNORECASE,
)
_MOST_BY_ROW = 10

_MATRIX = re.compile(rf"\(\s*(?:{_LITERAL}\s*[,\s]\s*)*{_LITERAL}\s*\\\s*{_LITERAL}")
_TO_DATA = re.compile(r"\b(?:svmat|st_s?store|getmata|xsvmat|st_addobs)\b", re.IGNORECASE)

_QUOTED = r"\s*[rbfRBFu]{0,2}[\"']"
_SIGNS: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    ".r": (
        (re.compile(r"\bstructure\s*\(\s*list\s*\(\s*(?:[`\"']?[\w.]+[`\"']?\s*=\s*)?"
                    r"(?:c\s*\(|structure\s*\(|[-+\d\"'])"), "structure(list("),
        (re.compile(r"\b(?:tribble|frame_data)\s*\("), "tribble("),
        (re.compile(r"(?i)\b(?:base64_?dec\w*|memDecompress|unserialize)\s*\(" + _QUOTED),
         "encoded data"),
    ),
    ".py": (
        (re.compile(r"\b(?:loads|a?2?b(?:64|32|16|85)decode|a85decode|fromhex|unhexlify)\s*\("
                    + _QUOTED + r"{1,3}[^\"'\s]{40}"), "encoded data"),
    ),
    ".sas": (
        (re.compile(r"(?im)(?:^|;|\*/)\s*(?:datalines4?|cards4?|lines4?|parmcards4?)\s*;"),
         "datalines"),
    ),
    ".sps": (
        (re.compile(r"(?im)^[\s+\-.]*begin\s+data\b"), "BEGIN DATA"),
        (re.compile(r"(?im)^[\s+\-.]*matrix\s+data\b"), "MATRIX DATA"),
    ),
}  # fmt: skip

_QUOTES = re.compile(
    r"#[^\n]*|\"{3}(?P<a>.*?)\"{3}|'{3}(?P<b>.*?)'{3}"
    r"|\"(?P<c>(?:[^\"\\]|\\.)*+)\"|'(?P<d>(?:[^'\\]|\\.)*+)'",
    re.DOTALL,
)
_SEPARATORS = (",", ";", "\t", "|", None)

_ENCODED = re.compile(
    r"[A-Za-z0-9+/=_-]{400,}|(?:[0-9A-Fa-f]{2}[\s,]?){300,}"
    r"|(?:\\x[0-9A-Fa-f]{2}|\\[0-3][0-7]{2}|\\u00[0-9A-Fa-f]{2}|&#x?[0-9A-Fa-f]+;"
    r"|%[0-9A-Fa-f]{2}|(?i:(?:u?char|chr)\(\d+\))\s*[+.,&]?\s*){12,}"
)
_TWO_DIGITS = re.compile(r"\d\d(?:[\s,]\d\d)*[\s,]?")
_FIGURES = re.compile(r"(?<!\d)(?<!\.)\d{40,}")
_RULER = re.compile(r"(\d)\1*|[01]?(?:1?234567890|0?123456789)*\d{0,9}")
_FIXED_WIDTH = re.compile(
    r"(?m)^[ \t*#/%]*(\d{8,}(?:\.\d+)?)[ \t\r]*(?:\n[ \t*#/%]*\d{8,}(?:\.\d+)?[ \t\r]*){4,}$"
)
_LONG_WORD = re.compile(r"[^\s,;(){}<>\[\]]{28,}")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}){10,}(?![0-9A-Fa-f])")
_MOST_OF_CODE = 300

_CELL = rf"(?:{_LITERAL}L?|\"[^\"\n]*\"|'[^'\n]*'|NA\w*|NaN|None|null|NULL|TRUE|FALSE|True|False)"
_VECTOR = re.compile(
    rf"(?>(?>{_CELL})[\s\\&.]*+,[\s\\&.]*+){{24,}}+|(?>(?>{_CELL})[ \t\n;]++){{24,}}+"
)
_NUMBERS = re.compile(_LITERAL)
_FEWEST_NUMBERS = 12

_OPENS, _CLOSES = " \t*#/%!;\"'`[](){}|+>-", " \t\"'])};,|\\/*+L"
_SPLIT = re.compile(r"[,;|\t&\s\\/:]+")
_A_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?L?|\.[a-z]?|NA\w*|NaN|None|null")
_FEWEST_LINES = 5


def typed_in(text: str, suffix: str) -> str:
    """Data that are typed into a program, in words; empty if none are seen.

    Examples
    --------
    >>> typed_in("quietly by g: input id wage", ".do")
    'input, line 1'
    >>> typed_in("input using firms.dct", ".do"), typed_in("reg y x", ".do")
    ('', '')
    """
    suffix = suffix.lower()
    if suffix in STATA:
        found = _stata(text)
    else:
        found = _signs(text, suffix) or _quoted_table(text) or _vector(text)
    return found or encoded(text) or _block(text)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _signs(text: str, suffix: str) -> str:
    for pattern, what in _SIGNS.get(suffix, ()):
        if match := pattern.search(text):
            return f"{what}, line {_line(text, match.start())}"
    return ""


def _quoted_table(text: str) -> str:
    """Place where a text in quotes has lines of cells with numbers among them."""
    for match in _QUOTES.finditer(text):
        inner = next((part for part in match.groups() if part), "")
        lines = inner.replace("\\n", "\n").replace("\\t", "\t").split("\n")
        if len(lines) > 1 and any(_is_table(lines, mark) for mark in _SEPARATORS):
            return f"a table in quotes, line {_line(text, match.start())}"
    return ""


def _is_table(lines: Sequence[str], mark: str | None) -> bool:
    """Whether two lines, one below the other, have as many cells, and half of one are numbers."""
    before = 0
    for line in lines:
        cells = [cell.strip(" \t\"'") for cell in line.strip().split(mark)]
        numbers = sum(_A_NUMBER.fullmatch(cell) is not None for cell in cells)
        needed = len(cells) if mark is None else len(cells) / 2
        if len(cells) == before > 1 and numbers >= needed:
            return True
        before = len(cells)
    return False


def _stata(text: str) -> str:
    found = [*_commands(text)]
    for line, command in found:
        if _INPUT.match(command):
            return f"input, line {line}"
        if _DICTIONARY.match(command):
            return f"a dictionary with data, line {line}"
    if _TO_DATA.search(text) and (match := _MATRIX.search(text)):
        return f"a matrix that becomes data, line {_line(text, match.start())}"
    by_row = [line for line, command in found if _REPLACED.match(command)]
    by_row += [line for line, command in found if _BY_ROW.search(command)]
    posted = [line for line, command in found if _POSTED.match(command)]
    if len(posted) >= _FEWEST_LINES:
        return f"values written line by line, line {posted[0]}"
    if by_row and (_SET_OBS.search(text) or len(by_row) > _MOST_BY_ROW):
        return f"values by the number of the row, line {min(by_row)}"
    return ""


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Yield the commands of a do-file without what stands before them, with their lines.

    Each line by itself is looked at as well: what a do-file says of its delimiter may be wrong.
    """
    for command in commands(text, []):
        yield from ((command.line, part) for part in _without_prefixes(command.text))
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if not line.lstrip().startswith(("*", "//")):
            for part in line.split(";"):
                yield from ((number, bare) for bare in _without_prefixes(part))


def _without_prefixes(command: str) -> Iterator[str]:
    """Yield a command, and what is left of it after each prefix."""
    rest = command.strip()[:2000]
    for _ in range(12):
        yield rest
        match = _PREFIX.match(rest)
        if match is None or not match.end():
            return
        rest = rest[match.end() :]


def _vector(text: str) -> str:
    """Place where a long vector of numbers and texts is written out."""
    for match in _VECTOR.finditer(text):
        if len(_NUMBERS.findall(match[0])) >= _FEWEST_NUMBERS:
            return f"a long list of values, line {_line(text, match.start())}"
    return ""


def encoded(text: str) -> str:
    """Data in a code that nobody reads, in words; empty if none are seen.

    Long words that mix capitals, small letters and digits as no path or name does are such.
    """
    for match in _ENCODED.finditer(text):
        # a ruler of one sign is no code, and neither are numbers of two digits
        if len(set(match[0])) > 4 and not _TWO_DIGITS.fullmatch(match[0]):
            return f"a block of encoded data, line {_line(text, match.start())}"
    for match in _FIGURES.finditer(text):
        if not _RULER.fullmatch(match[0]):
            return f"a long run of figures, line {_line(text, match.start())}"
    table = _FIXED_WIDTH.search(text)
    if table is not None and len({*table[0].split()}) >= _FEWEST_LINES:
        return f"lines of figures without blanks, line {_line(text, table.start(1))}"
    for word in _HEX.finditer(text):
        inner = bytes.fromhex(word[0])
        if inner.isascii() and inner.decode("ascii").isprintable() and len({*inner}) > 4:
            return f"encoded data, line {_line(text, word.start())}"
    size, first = 0, -1
    for word in _LONG_WORD.finditer(text):
        if _is_code(word[0]):
            size += len(word[0])
            first = word.start() if first < 0 else first
    return f"encoded data, line {_line(text, first)}" if size > _MOST_OF_CODE else ""


def _is_code(word: str) -> bool:
    kinds = [
        0 if one.isdigit() else 1 if one.islower() else 2 if one.isupper() else 3
        for one in word[:2000]
    ]
    changes = sum(one != other for one, other in pairwise(kinds))
    return {0, 1, 2} <= {*kinds} and 2.2 * changes > len(kinds)


def _block(text: str) -> str:
    """Place where lines of nothing but numbers stand one below the other, as in a table."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    count = width = 0
    for number, line in enumerate(lines, 1):
        cells = _numeric_cells(line)
        same = cells == width if cells else False
        count = count + 1 if same else int(cells > 1)
        width = cells
        if count >= _FEWEST_LINES:
            return f"a table of numbers, line {number - count + 1}"
    return ""


def _numeric_cells(line: str) -> int:
    """How many cells a line has, if all are numbers or missing; else none."""
    if len(line) > 20_000:
        return 0
    bare = line.lstrip(_OPENS).rstrip(_CLOSES)
    cells: Sequence[str] = [cell.strip("\"'") for cell in _SPLIT.split(bare) if cell]
    good = all(_A_NUMBER.fullmatch(cell) for cell in cells)
    return len(cells) if good and any(c.isdigit() for c in bare) else 0
