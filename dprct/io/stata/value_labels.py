"""Value labels: sets of texts for codes, as a file holds them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from dprct.errors import SchemaError
from dprct.io.stata.layout import (
    ByteOrder,
    Layout,
    packed_text,
    padded_text,
)
from dprct.missing import MISSING_CODES, code_number
from dprct.schema.columns import Code

if TYPE_CHECKING:
    from dprct.io.stata.layout import Cursor

    Content = tuple[int, bytes]


LabelSets = Mapping[str, Mapping[Code, str]]

_FIELD = "value labels"
_FIRST_MISSING = 2_147_483_621
_OLD_MISSING_LONG = 2**31 - 1
_LOWEST = -(2**31)
_PADDING = 3
_LONGEST_TEXT = 32_000
_SHORT_TEXT = 8


def read_label_sets(cursor: Cursor, layout: Layout) -> LabelSets:
    """Read every label set, attached or not, in the order of the file.

    The cursor stands at the start of the section (117 and later: at its tag).
    """
    sets: dict[str, Mapping[Code, str]] = {}
    read_set = _read_short_set if layout.short_labels else _read_set
    if layout.tagged:
        cursor.expect("<value_labels>", _FIELD)
    while cursor.peek("<lbl>") if layout.tagged else cursor.left:
        name, labels = read_set(cursor, layout)
        if name in sets:
            cursor.fail(f"two label sets are called {name!r}; copy the file again", _FIELD)
        sets[name] = MappingProxyType(labels)
    if layout.tagged:
        cursor.expect("</value_labels></stata_dta>", _FIELD)
    return MappingProxyType(sets)


def _read_set(cursor: Cursor, layout: Layout) -> tuple[str, dict[Code, str]]:
    if layout.tagged:
        cursor.expect("<lbl>", _FIELD)
    length = cursor.number("I", _FIELD)
    name = layout.decode(cursor.take(layout.name + _PADDING, _FIELD)[: layout.name])
    end = cursor.at + length
    cursor.need(length, _FIELD)
    entries, text_length = cursor.numbers("II", _FIELD)
    if cursor.at + 8 * entries + text_length > end:
        cursor.fail(f"label set {name!r} is longer than it says", _FIELD)
    starts = cursor.numbers(f"{entries}I", _FIELD)
    codes = cursor.numbers(f"{entries}i", _FIELD)
    texts = _texts(cursor, layout, cursor.take(text_length, _FIELD), starts)
    cursor.jump(end, _FIELD)
    if layout.tagged:
        cursor.expect("</lbl>", _FIELD)
    if len(set(codes)) < entries:
        cursor.fail(f"label set {name!r} labels one number twice", _FIELD)
    pairs = zip(codes, starts, strict=True)
    return name, {_code(number, layout): texts[start] for number, start in pairs}


def _read_short_set(cursor: Cursor, layout: Layout) -> tuple[str, dict[Code, str]]:
    """Read a label set of releases up to 105: a count, a name, numbers, and texts of 8 bytes."""
    entries = cursor.number("H", _FIELD)
    name = layout.decode(cursor.take(layout.name + 1, _FIELD)[: layout.name])
    codes = cursor.numbers(f"{entries}h", _FIELD)
    texts = cursor.take(_SHORT_TEXT * entries, _FIELD)
    if len(set(codes)) < entries:
        cursor.fail(f"label set {name!r} labels one number twice", _FIELD)
    starts = range(0, len(texts), _SHORT_TEXT)
    fields = [layout.decode(texts[start : start + _SHORT_TEXT]) for start in starts]
    return name, dict(zip(codes, fields, strict=True))


def _texts(cursor: Cursor, layout: Layout, block: bytes, starts: tuple[int, ...]) -> dict[int, str]:
    """Return the text that begins at each start; they may not overlap.

    Overlapping texts would let a small file ask for memory of the square of its size.
    """
    texts, free = {}, 0
    for start in sorted(set(starts)):
        if not free <= start < len(block):
            cursor.fail("a label begins outside the text, or inside another label", _FIELD)
        end = block.find(b"\0", start)
        free = len(block) if end < 0 else end + 1
        texts[start] = layout.decode(block[start:free])
    return texts


def _code(number: int, layout: Layout) -> Code:
    if not layout.has_codes:
        return "." if number == _OLD_MISSING_LONG else number
    return number if number < _FIRST_MISSING else MISSING_CODES[number - _FIRST_MISSING]


def pack_label_sets(sets: LabelSets, layout: Layout, byteorder: ByteOrder) -> bytes:
    """Return the section of value labels as bytes."""
    packed = b"".join(_pack_set(name, sets[name], layout, byteorder) for name in sets)
    return b"<value_labels>" + packed + b"</value_labels>" if layout.tagged else packed


def _pack_set(name: str, labels: Mapping[Code, str], layout: Layout, byteorder: ByteOrder) -> bytes:
    numbers = {_number(name, code, layout): code for code in labels}
    if len(numbers) < len(labels):
        raise SchemaError(f"label set {name!r} labels one number twice; keep one label")
    order = sorted(numbers)
    what = f"label set {name!r}"
    if layout.short_labels:
        fields = b"".join(
            packed_text(labels[numbers[number]], _SHORT_TEXT, layout, f"a label of {what}").ljust(
                _SHORT_TEXT, b"\0"
            )
            for number in order
        )
        title = padded_text(name, layout.name, layout, f"the name of {what}") + b"\0"
        start = struct.pack(f"{byteorder}H", len(order)) + title
        return start + struct.pack(f"{byteorder}{len(order)}h", *order) + fields
    texts = [
        packed_text(labels[numbers[number]], _LONGEST_TEXT, layout, f"a label of {what}") + b"\0"
        for number in order
    ]
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text))
    n = len(order)
    table = struct.pack(f"{byteorder}II{n}I{n}i", n, starts[-1], *starts[:-1], *order)
    head = struct.pack(f"{byteorder}I", len(table) + starts[-1])
    title = padded_text(name, layout.name, layout, f"the name of {what}") + bytes(_PADDING)
    packed = head + title + table + b"".join(texts)
    return b"<lbl>" + packed + b"</lbl>" if layout.tagged else packed


def _number(name: str, code: Code, layout: Layout) -> int:
    if layout.short_labels:
        if isinstance(code, int) and -(2**15) <= code < 2**15:
            return int(code)
        raise SchemaError(
            f"label set {name!r} labels something other than a whole number of an int, which "
            f"release {layout.release} cannot; write ``version=113`` or later"
        )
    if not layout.has_codes and (code == "." or isinstance(code, int)):
        number = _OLD_MISSING_LONG if code == "." else int(code)
        if _LOWEST <= number < _OLD_MISSING_LONG or code == ".":
            return number
    elif layout.has_codes and isinstance(code, str) and code in MISSING_CODES:
        return _FIRST_MISSING + code_number(code)
    elif isinstance(code, int) and _LOWEST <= code < _FIRST_MISSING:
        return int(code)
    raise SchemaError(
        f"label set {name!r} labels something that is neither a whole number of a long "
        "nor a missing code such as '.a'; remove that label"
    )
