"""Files made to break a reader: each is refused where it goes wrong, and costs little."""

from __future__ import annotations

import random
import struct
import tracemalloc
import warnings

import pytest

from dprct.errors import DprctWarning, StataFormatError
from dprct.io.stata import read_dta, read_header, write_dta
from dprct.io.stata.layout import LAYOUTS, RELEASES, Cursor, parsed_header

CASES = [(release, order) for release in RELEASES for order in "<>"]
MOST_MEMORY = 40  # times the size of the file, plus what every call needs
EVERY_CALL = 2_000_000


@pytest.fixture
def content(request, everything, tmp_path):
    write_dta(*everything(*request.param), tmp_path / "a.dta")
    return (tmp_path / "a.dta").read_bytes()


@pytest.fixture
def attempt(tmp_path):
    """Read bytes as a file, within the memory that its size allows."""

    def read(damaged, reader=read_dta):
        (tmp_path / "damaged.dta").write_bytes(damaged)
        tracemalloc.start()
        try:
            return reader(tmp_path / "damaged.dta")
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < EVERY_CALL + MOST_MEMORY * len(damaged)

    return read


def refused(attempt, damaged, reader=read_dta):
    with pytest.raises(StataFormatError) as refusal:
        attempt(damaged, reader)
    assert "damaged.dta" in str(refusal.value)
    return refusal.value


@pytest.mark.long
@pytest.mark.parametrize("reader", [read_dta, read_header])
@pytest.mark.parametrize("content", CASES, indirect=True)
def test_a_cut_file_is_refused_with_its_place(content, reader, attempt):
    rng = random.Random(3)
    last = len(content) - 40  # of an older release, a file may end where a label set ends
    for length in [1, 2, 3, 11, *(rng.randrange(12, last) for _ in range(25))]:
        error = refused(attempt, content[:length], reader)
        if length >= 11:
            assert error.field
            assert 0 <= error.offset <= length


@pytest.mark.long
@pytest.mark.parametrize("content", CASES, indirect=True)
def test_flipped_bits_are_read_or_refused(content, attempt):
    rng = random.Random(4)
    outcomes = set()
    for _ in range(150):
        damaged = bytearray(content)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        try:
            with warnings.catch_warnings():  # of a number that only old releases hold
                warnings.simplefilter("ignore", DprctWarning)
                data, schema = attempt(bytes(damaged))
        except StataFormatError:
            outcomes.add("refused")
        else:
            outcomes.add("read")
            assert data.shape == (schema.file.rows, len(schema.columns))
    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize("content", CASES, indirect=True)
def test_absurd_numbers_of_rows_and_variables_are_refused_at_once(content, attempt):
    layout = LAYOUTS[int(content[28:31]) if content[:1] == b"<" else content[0]]
    tagged = layout.tagged
    order = ">" if (b"MSF" in content[:60] if tagged else content[1] == 1) else "<"
    at_k = content.index(b"<K>") + 3 if tagged else 4
    at_n = content.index(b"<N>") + 3 if tagged else 6
    for at, form in ((at_k, layout.columns), (at_n, layout.rows)):
        most = 2 ** (8 * struct.calcsize(form)) - 1
        for claim in (most, most // 2, min(most, 2**60)):
            damaged = bytearray(content)
            struct.pack_into(order + form, damaged, at, claim)
            for reader in (read_dta, read_header):
                assert refused(attempt, bytes(damaged), reader).offset is not None


@pytest.mark.parametrize("content", [(118, "<")], indirect=True)
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b"<byteorder>LSF", b"<byteorder>XSF", "byte order"),
        (b"</varnames>", b"</varnamez>", "names"),
        (b"</data>", b"</dota>", "data"),
        (b"<strls>GSO", b"<strls>GSX", "strLs"),
        (b"</lbl>", b"</lbx>", "value labels"),
        (b"</stata_dta>", b"</stata_dtx>", "value labels"),
    ],
)
def test_a_broken_section_is_named(content, old, new, field, attempt):
    damaged = content.replace(old, new, 1)
    assert refused(attempt, damaged).field == field


@pytest.mark.parametrize("content", CASES, indirect=True)
def test_two_columns_of_one_name_are_refused(content, attempt):
    damaged = content.replace(b"a_long\0", b"a_byte\0")
    for reader in (read_dta, read_header):
        error = refused(attempt, damaged, reader)
        assert "two variables are called 'a_byte'" in str(error)


@pytest.mark.parametrize("content", CASES, indirect=True)
def test_a_column_without_a_name_is_refused(content, attempt):
    assert "variable 3 has no name" in str(
        refused(attempt, content.replace(b"a_long\0", b"\0" * 7, 1))
    )


@pytest.mark.parametrize("content", [(118, "<")], indirect=True)
def test_a_sort_list_that_points_outside_is_refused(content, attempt):
    at = content.index(b"<sortlist>") + len(b"<sortlist>")
    for wrong in (99, 1):  # no such variable, and one that is there already
        damaged = bytearray(content)
        struct.pack_into("<H", damaged, at, wrong)
        assert refused(attempt, bytes(damaged)).field == "sort list"


@pytest.mark.parametrize("content", [(117, ">"), (119, "<")], indirect=True)
def test_a_map_that_points_elsewhere_is_refused(content, attempt):
    at = content.index(b"<map>") + len(b"<map>") + 8 * 11
    order = ">" if b"MSF" in content[:60] else "<"
    (true,) = struct.unpack_from(order + "Q", content, at)
    for wrong in (0, 2**63, true + 1, len(content)):
        damaged = bytearray(content)
        struct.pack_into(order + "Q", damaged, at, wrong)
        for reader in (read_dta, read_header):
            refused(attempt, bytes(damaged), reader)


@pytest.mark.parametrize("content", [(115, "<")], indirect=True)
def test_rows_without_variables_are_refused(content, attempt):
    damaged = b"\x73\2\1\0" + struct.pack("<HI", 0, 2**31) + content[10:109] + bytes(7)
    assert "rows but no variables" in str(refused(attempt, damaged))


@pytest.mark.parametrize("content", [(118, "<")], indirect=True)
def test_labels_that_hang_in_the_air_are_read(content, attempt):
    """Stata allows a variable to name a label set that does not exist."""
    at = content.index(b"<value_label_names>") + len(b"<value_label_names>")
    damaged = content[:at] + b"gone\0" + content[at + 5 :]
    _, schema = attempt(damaged)
    assert schema.columns[0].value_label == "gone"
    assert schema.labels_of("a_byte") == {}


@pytest.mark.parametrize("content", CASES, indirect=True)
def test_a_pattern_between_two_missing_codes_is_refused(content, attempt, tmp_path):
    (tmp_path / "whole.dta").write_bytes(content)
    with (tmp_path / "whole.dta").open("rb") as file:
        found = parsed_header(Cursor(file, len(content)))
    damaged = bytearray(content)
    at = found.data_at + found.dtype.fields["c4"][1]
    struct.pack_into(found.byteorder + "d", damaged, at, 1.5e308)
    error = refused(attempt, bytes(damaged))
    assert (error.offset, error.field) == (found.data_at, "data")
    assert "'a_double'" in str(error)
