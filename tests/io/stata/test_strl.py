from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

from dprct.errors import SchemaError, StataFormatError
from dprct.io.stata.layout import LAYOUTS, Cursor
from dprct.io.stata.strls import RawText, Strls, StrlWriter, cell_number, gso_head
from dprct.schema import Column

CASES = [(release, order) for release in (117, 118, 119) for order in "<>"]
AT = len("<strls>")
VALUES = ["pear", "", b"\0\xff", "pear", "é", RawText(b"\xff\xfe"), b"", b"pear"]


def written(release, order, values=VALUES):
    layout = LAYOUTS[release]
    writer = StrlWriter(layout, order)
    cells = writer.cells(values, 2, Column("s", "strL"))
    writer.end_piece(len(values))
    return cells, section_of(writer), layout


def section_of(writer):
    out = io.BytesIO()
    writer.copy_to(out)
    assert len(out.getvalue()) == writer.size
    return b"<strls>" + out.getvalue() + b"</strls>"


def strls_of(section, layout, order="<"):
    cursor = Cursor(io.BytesIO(section), len(section))
    return Strls(cursor, layout, order)


def read(cells, section, layout, order):
    strls = strls_of(section, layout, order)
    strls.settle([cells])
    return strls.texts(cells).tolist()


@pytest.mark.parametrize(("release", "order"), CASES)
def test_text_and_binary_objects_return_as_what_they_were(release, order):
    cells, section, layout = written(release, order)
    values = [v for v in VALUES if release >= 118 or type(v) is not RawText]
    if release == 117:  # of 0xff and 0xfe, cp1252 makes text
        cells, section, layout = written(release, order, values)
    back = read(cells, section, layout, order)
    assert [(type(v), v) for v in back] == [(type(v), v) for v in values]


def test_equal_contents_are_kept_once_and_stand_in_the_order_of_their_rows():
    layout = LAYOUTS[118]
    writer = StrlWriter(layout, "<")
    first = writer.cells(["b", "a", "b"], 1, Column("x", "strL"))
    second = writer.cells(["c", "", "c"], 2, Column("y", "strL"))
    assert first.tolist() == [cell_number(1, row, layout, "<") for row in (1, 2, 1)]
    assert second.tolist() == [cell_number(2, 1, layout, "<"), 0, cell_number(2, 1, layout, "<")]
    writer.end_piece(3)
    assert [text[:1] for text in section_of(writer).split(b"GSO")[1:]] == [b"\1", b"\2", b"\1"]
    assert [text[-2:] for text in section_of(writer)[:-8].split(b"GSO")[1:]] == [
        b"b\0", b"c\0", b"a\0",
    ]  # fmt: skip


def test_cells_have_the_bytes_of_the_specification():
    number = np.array([cell_number(3, 1, LAYOUTS[118], ">")], ">u8")
    assert number.tobytes() == b"\0\3" + b"\0\0\0\0\0\1"
    number = np.array([cell_number(3, 1, LAYOUTS[119], "<")], "<u8")
    assert number.tobytes() == b"\3\0\0" + b"\1\0\0\0\0"
    number = np.array([cell_number(3, 1, LAYOUTS[117], "<")], "<u8")
    assert number.tobytes() == b"\3\0\0\0" + b"\1\0\0\0"


def test_cells_of_118_in_a_119_are_understood():
    """As ReadStat (haven) writes them."""
    _, section, layout = written(119, "<", ["a", "b"])
    cells = np.array([cell_number(2, row, LAYOUTS[118], "<") for row in (1, 2)], np.uint64)
    assert read(cells, section, layout, "<") == ["a", "b"]


def test_a_reference_to_nothing_is_refused():
    _, section, layout = written(118, "<", ["a"])
    with pytest.raises(StataFormatError, match="does not exist"):
        read(np.array([99], np.uint64), section, layout, "<")


def test_damaged_sections_are_refused():
    _, section, layout = written(118, "<", ["a"])
    gso = section[len(b"<strls>") : -len(b"</strls>")]
    twice = b"<strls>" + 2 * gso + b"</strls>"
    odd = b"<strls>" + gso.replace(b"\x82", b"\x07") + b"</strls>"
    for damaged, why in ((twice, "same place"), (odd, "neither text nor binary")):
        with pytest.raises(StataFormatError, match=why):
            strls_of(damaged, layout)


@pytest.mark.parametrize("value", [None, 1.0, float("nan"), "a\0b"])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(SchemaError, match=r"'s' \(strL\)"):
        written(118, "<", [value])


@pytest.mark.parametrize("release", [117, 118, 119])
def test_heads_that_point_outside_are_refused(release):
    _, section, layout = written(release, "<", ["a", "bc"])
    most = 2 ** (8 * layout.strl_variable)
    head = gso_head(layout, "<")
    fields = list(head.unpack_from(section, AT))
    for at, value, why in (
        (1, most, "a place that no row can name"),
        (4, 2**32 - 1, "shorter than it says"),
        (4, 2**31, "shorter than it says"),
        (4, len(section), "shorter than it says"),
        (4, 1, "expected </strls>"),
    ):
        if value < 2**32:
            wrong = [*fields[:at], value, *fields[at + 1 :]]
            damaged = section[:AT] + head.pack(*wrong) + section[AT + head.size :]
            with pytest.raises(StataFormatError, match=why):
                strls_of(damaged, layout)
    with pytest.raises(StataFormatError, match="shorter than it says"):
        strls_of(section[: AT + head.size - 3], layout)


def test_a_row_that_no_cell_can_name_is_refused():
    _, section, layout = written(118, "<", ["a"])
    head = gso_head(layout, "<")
    damaged = section[:AT] + head.pack(b"GSO", 1, 2**48, 130, 2) + section[AT + head.size :]
    with pytest.raises(StataFormatError, match="a place that no row can name"):
        strls_of(damaged, layout)


def test_an_empty_cell_is_empty_whatever_is_said_of_it():
    _, section, layout = written(118, "<", ["a"])
    head = gso_head(layout, "<")
    odd = section[:AT] + head.pack(b"GSO", 0, 0, 130, 2) + section[AT + head.size :]
    assert strls_of(odd, layout).texts(np.zeros(3, np.uint64)).tolist() == ["", "", ""]
    assert strls_of(b"<strls></strls>", layout).texts(np.zeros(1, np.uint64)).tolist() == [""]


def test_sizes_are_those_of_the_contents():
    cells, section, layout = written(118, ">", ["pear", "", b"\0\xff\xff", "pear"])
    assert strls_of(section, layout, ">").sizes(cells).tolist() == [5, 0, 3, 5]
    none = strls_of(b"<strls></strls>", layout, ">")
    assert none.sizes(np.zeros(2, np.uint64)).tolist() == [0, 0]
    with pytest.raises(StataFormatError, match="does not exist"):
        none.sizes(cells)


def test_texts_are_read_from_a_file_that_keeps_its_place():
    cells, section, layout = written(118, "<", ["a", "b"])
    strls = strls_of(section + b"next", layout)
    strls.texts(cells)
    assert strls.cursor.take(4, "rest") == b"next"


def test_a_file_that_is_cut_after_it_was_searched_is_refused():
    cells, section, layout = written(118, "<", ["a" * 90])
    strls = strls_of(section, layout)
    strls.cursor.file.truncate(60)
    with pytest.raises(StataFormatError, match="became shorter"):
        strls.texts(cells)


LAYOUT = LAYOUTS[118]
COLUMNS = (Column("x", "strL"), Column("y", "strL"))


def written_in_steps(values, step, spool):
    writer = StrlWriter(LAYOUT, "<", spool)
    cells = [[], []]
    for start in range(0, len(values[0]), step):
        for k, column in enumerate(COLUMNS):
            part = values[k][start : start + step]
            cells[k].extend(writer.cells(part, k + 1, column).tolist())
        writer.end_piece(len(part))
    out = io.BytesIO()
    writer.copy_to(out)
    assert writer.size == len(out.getvalue())
    return cells, out.getvalue()


@pytest.mark.parametrize("step", [1, 7, 64, 999])
def test_pieces_give_what_one_piece_gives(step):
    rng = np.random.default_rng(1)
    pool = [*(f"text {i}" for i in range(300)), "", b"", b"text 1", RawText(b"\xff"), b"\xff"]
    values = [[pool[i] for i in rng.integers(0, len(pool), 1_000)] for _ in COLUMNS]
    assert written_in_steps(values, step, io.BytesIO()) == written_in_steps(values, 1_000, None)


def test_what_is_kept_of_a_text_does_not_grow_with_it():
    spool = io.BytesIO()
    writer = StrlWriter(LAYOUT, "<", spool)
    for i in range(100):
        writer.cells([str(i) * 10_000], 1, COLUMNS[0])
        writer.end_piece(1)
    runs = writer._earlier[1]._runs
    assert sum(a.nbytes for run in runs for a in run) == 24 * 100
    lengths = [len(run[0]) for run in runs]
    assert all(a >= 2 * b for a, b in itertools.pairwise(lengths))
