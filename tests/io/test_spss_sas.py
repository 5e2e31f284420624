"""Files written by pyreadstat; nothing here writes .sas7bdat except R's haven, where it is."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from dprct.errors import DprctWarning, FileError
from dprct.io import read
from dprct.io.spss_sas import Clock, clock_of, read_foreign, special_missing
from dprct.missing import Recoding, missing_numbers, recoding_of

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.schema import Schema


FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, np.nan],
        "name": ["a", "", "é", "long text"],
        "born": [dt.date(1960, 1, 2), None, dt.date(1950, 1, 2), None],
        "seen": pd.to_datetime(["2020-01-01 10:00:01", None, "1999-01-01 00:00:00", None]),
    }
)


def sav(tmp_path: Path, frame: pd.DataFrame = FRAME, **options: Any) -> Path:
    path = tmp_path / "x.sav"
    pyreadstat.write_sav(frame, path, **options)
    return path


def quietly(path: Path) -> tuple[pd.DataFrame, Schema]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read(path)


def codes(data: pd.DataFrame, name: str) -> list[int]:
    return missing_numbers(data[name]).tolist()


def test_sav_keeps_labels_formats_notes_and_missing_codes(tmp_path: Path) -> None:
    path = sav(
        tmp_path,
        file_label="Trial",
        column_labels={"sex": "Sex", "name": "Näme"},
        variable_value_labels={"sex": {1: "male", 2: "female", 9: "refused"}},
        missing_ranges={"sex": [9]},
        variable_format={"sex": "F4.1"},
        variable_measure={"sex": "nominal"},
        note=["first", "second"],
    )
    data, schema = quietly(path)
    assert schema.names == list(FRAME)
    assert [c.type for c in schema.columns] == ["double", "str9", "double", "double"]
    assert [c.format for c in schema.columns] == ["%4.1f", "", "%td", "%tc"]
    assert [c.label for c in schema.columns] == ["Sex", "Näme", "", ""]
    assert dict(schema.labels_of("sex")) == {1: "male", 2: "female", ".a": "refused"}
    assert codes(data, "sex") == [-1, -1, 1, 0]
    assert data["name"].tolist() == ["a", "", "é", "long text"]
    assert data["name"].dtype == object
    np.testing.assert_array_equal(data["born"], [1, np.nan, -3651, np.nan])
    milliseconds = [21_915 * 86_400_000 + 36_001_000, np.nan, 14_245 * 86_400_000, np.nan]
    np.testing.assert_array_equal(data["seen"], milliseconds)
    assert schema.file.label == "Trial"
    assert set(schema.file.characteristics) == {
        ("sex", "user_missing", ".a = 9"),
        ("sex", "measure", "nominal"),
        ("_dta", "note0", "2"),
        ("_dta", "note1", "first"),
        ("_dta", "note2", "second"),
    }
    assert schema.file.rows == 4
    assert schema.opened
    assert schema.source == path


def test_a_label_set_is_split_where_columns_recode_it_differently(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 9.0], "b": [1.0, 9.0], "c": [1.0, 9.0]})
    labels = {1.0: "yes", 9.0: "refused"}
    path = sav(
        tmp_path,
        frame,
        variable_value_labels=dict.fromkeys("abc", labels),
        missing_ranges={"a": [9], "b": [9]},
    )
    data, schema = quietly(path)
    assert codes(data, "b") == [-1, 1]
    assert dict(schema.labels_of("a")) == dict(schema.labels_of("b")) == {1: "yes", ".a": "refused"}
    assert dict(schema.labels_of("c")) == {1: "yes", 9: "refused"}


def test_what_sav_has_and_stata_has_not_is_said(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0.5, -95.0, -91.0], "s": ["a", "b", "NA"]})
    path = sav(
        tmp_path,
        frame,
        variable_value_labels={"x": {0.5: "half", 1.0: "one"}, "s": {"a": "Aaa"}},
        missing_ranges={"x": [{"lo": -99, "hi": -90}], "s": ["NA"]},
        variable_format={"x": "DOLLAR8.2"},
    )
    with pytest.warns(DprctWarning, match="was read without") as caught:
        data, schema = read(path)
    assert caught[0].filename == __file__
    said = str(caught[0].message)
    for loss in (
        "which of several user-missing values it was (of x)",
        "labels of values that are not whole numbers (of x)",
        "the format DOLLAR (of x)",
        "that a text is user-missing (of s)",
        "value labels of text (of s)",
    ):
        assert loss in said
    assert codes(data, "x") == [-1, 1, 1]
    assert dict(schema.labels_of("x")) == {1: "one"}
    assert data["s"].tolist() == ["a", "b", "NA"]
    assert schema.column("s").value_label == ""


def test_text_beyond_the_widest_type_is_strl(tmp_path: Path) -> None:
    _, schema = quietly(sav(tmp_path, pd.DataFrame({"s": ["a" * 3000], "t": ["a" * 300]})))
    assert schema.column("s").type == "strL"
    assert schema.column("t").type == "str300"


def test_por_keeps_what_its_reader_gives_and_says_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "x.por"
    frame = FRAME.drop(columns="name").rename(columns=str.upper)
    pyreadstat.write_por(frame, path, column_labels={"SEX": "Sex"})
    with pytest.warns(DprctWarning, match="user-missing values"):
        data, schema = read(path)
    assert schema.names == ["SEX", "BORN", "SEEN"]
    assert schema.column("SEX").label == "Sex"
    assert [c.format for c in schema.columns] == ["%8.2f", "%td", "%tc"]
    assert data["BORN"].iloc[0] == 1.0
    assert codes(data, "SEX") == [-1, -1, -1, 0]


@pytest.mark.parametrize("version", [5, 8])
def test_xpt_keeps_labels_and_dates(tmp_path: Path, version: int) -> None:
    path = tmp_path / "x.xpt"
    pyreadstat.write_xport(
        FRAME.assign(name=["a", "", "b", "long text"]),
        path,
        file_label="Trial",
        column_labels={"sex": "Sex"},
        file_format_version=version,
    )
    data, schema = quietly(path)
    assert [name.lower() for name in schema.names] == list(FRAME)
    assert [c.format for c in schema.columns] == ["", "", "%td", "%tc"]
    assert schema.columns[0].label == "Sex"
    assert schema.file.label == "Trial"
    np.testing.assert_array_equal(data.iloc[:, 2], [1, np.nan, -3651, np.nan])
    assert data.iloc[:, 1].tolist() == ["a", "", "b", "long text"]
    assert missing_numbers(data.iloc[:, 0]).tolist() == [-1, -1, -1, 0]


def test_xpt_names_a_format_that_it_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "x.xpt"
    frame = pd.DataFrame({"sex": [1.0]})
    pyreadstat.write_xport(frame, path, variable_format={"sex": "SEXF"})
    with pytest.warns(DprctWarning, match=r"the format SEXF \(of sex\)"):
        read(path)


def test_sas7bdat_goes_to_its_own_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Header:
        column_names = ("x", "s")
        column_names_to_labels = {"x": "X", "s": None}  # noqa: RUF012
        readstat_variable_types = {"x": "double", "s": "string"}  # noqa: RUF012
        original_variable_types = {"x": "DATE9", "s": "$4"}  # noqa: RUF012
        variable_measure = variable_value_labels = variable_to_label = missing_ranges = {}  # noqa: RUF012
        variable_storage_width = {"x": 8, "s": 4}  # noqa: RUF012
        file_encoding, file_label, notes, mr_sets = "WINDOWS-1252", None, None, {}

    def reader(path: str, **options: Any) -> tuple[pd.DataFrame, type[Header]]:
        assert options == {"user_missing": True, "disable_datetime_conversion": True}
        x = pd.Series([1.0, "A", "Z", "_", np.nan], dtype=object)
        return pd.DataFrame({"x": x, "s": ["a"] * 5}), Header

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", reader)
    with pytest.warns(DprctWarning, match=r"the missing code \._ \(read as \.\) \(of x\)"):
        data, schema = read_foreign(tmp_path / "x.sas7bdat")
    assert codes(data, "x") == [-1, 1, 26, 0, 0]
    assert schema.column("x").format == "%td"
    assert schema.column("s").type == "str12"  # four bytes of Windows-1252 in UTF-8


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R with haven")
def test_files_of_haven_keep_their_special_missing_codes(tmp_path: Path) -> None:
    script = """
    if (!requireNamespace("haven", quietly = TRUE)) quit(status = 3)
    a <- c(1, haven::tagged_na("A"), haven::tagged_na("Z"), NA)
    frame <- data.frame(s = "A", a = a, d = as.Date("1960-01-02"), b = 1:4)
    haven::write_xpt(frame, "x.xpt")
    suppressWarnings(haven::write_sas(frame, "x.sas7bdat"))
    """
    run = subprocess.run(["Rscript", "-e", script], cwd=tmp_path, capture_output=True, check=False)
    if run.returncode == 3:
        pytest.skip("needs R's haven")
    assert run.returncode == 0
    for name in ("x.xpt", "x.sas7bdat"):
        data, schema = quietly(tmp_path / name)
        assert codes(data, "a") == [-1, 1, 26, 0]
        assert codes(data, "b") == [-1, -1, -1, -1]
        assert data["d"].tolist() == [1.0] * 4
        assert schema.column("d").format == "%td"


def test_a_column_without_a_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.xpt"
    pyreadstat.write_xport(pd.DataFrame({"quality": ["a"]}), path, file_format_version=5)
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"quality ", b"\0" * 8).replace(b"QUALITY ", b"\0" * 8))
    with pytest.raises(FileError, match="one without a name"):
        read(path)


@pytest.mark.parametrize("extension", [".sav", ".por", ".sas7bdat", ".xpt"])
def test_a_damaged_file_is_refused_without_a_chain(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{extension}"
    path.write_bytes(b"$FL2@(#) secret words")
    with pytest.raises(FileError, match="cannot be read as a file of S") as caught:
        read_foreign(path)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "secret" not in str(caught.value)


def stata_days(day: dt.date) -> int:
    return (day - dt.date(1960, 1, 1)).days


@pytest.mark.parametrize("day", [dt.date(1582, 10, 15), dt.date(1960, 1, 1), dt.date(2024, 2, 29)])
def test_spss_counts_seconds_from_the_gregorian_reform(day: dt.date) -> None:
    seconds = (day - dt.date(1582, 10, 14)).days * 86_400.0
    raw = np.array([seconds, np.nan])
    np.testing.assert_array_equal(
        clock_of("DATE11", "SPSS").to_stata(raw), [stata_days(day), np.nan]
    )
    np.testing.assert_array_equal(
        clock_of("DATETIME20", "SPSS").to_stata(raw + 1.5),
        [stata_days(day) * 86_400_000 + 1500, np.nan],
    )


@pytest.mark.parametrize("day", [dt.date(1959, 12, 31), dt.date(2024, 2, 29)])
def test_sas_counts_from_1960_as_stata_does(day: dt.date) -> None:
    days = np.array([float(stata_days(day))])
    assert clock_of("DATE9.", "SAS").to_stata(days).tolist() == days.tolist()
    moments = clock_of("DATETIME19.", "SAS").to_stata(days * 86_400)
    assert moments.tolist() == (days * 86_400_000).tolist()


@pytest.mark.parametrize(
    ("original", "system", "expected"),
    [
        ("DATE11", "SPSS", "%td"),
        ("ADATE10", "SPSS", "%tdNN/DD/CCYY"),
        ("MOYR8", "SPSS", "%tdMon_CCYY"),
        ("YMDHMS", "SPSS", "%tc"),
        ("TIME8", "SPSS", "%tcHH:MM:SS"),
        ("F8.2", "SPSS", "%8.2f"),
        ("F3.0", "SPSS", "%3.0f"),
        ("COMMA10.2", "SPSS", "%10.2fc"),
        ("N4", "SPSS", ""),
        (None, "SAS", ""),
        ("", "SAS", ""),
        ("BEST12.", "SAS", ""),
        ("date9.", "SAS", "%td"),
        ("MMDDYY10.", "SAS", "%tdNN/DD/CCYY"),
        ("E8601DA10.", "SAS", "%tdCCYY-NN-DD"),
        ("TIME8.", "SAS", "%tcHH:MM:SS"),
    ],
)
def test_formats_are_translated(original: str | None, system: str, expected: str) -> None:
    clock = clock_of(original, system)
    assert clock.format == expected
    assert clock.lost == ""


@pytest.mark.parametrize(
    ("original", "system"), [("SEXFMT.", "SAS"), ("DOLLAR8.2", "SPSS"), ("F2.2", "SPSS?")]
)
def test_formats_that_are_not_known_leave_the_numbers_and_are_said(
    original: str, system: str
) -> None:
    clock = clock_of(original, system)
    assert clock.format == ""
    assert clock.to_stata(np.array([3.0])).tolist() == [3.0]
    assert bool(clock.lost) == (not original.startswith("F2"))


def test_durations_stay_seconds() -> None:
    assert clock_of("DTIME10", "SPSS") == Clock(lost="that seconds are shown as a duration")


def single(*values: float) -> list[dict[str, float]]:
    return [{"lo": x, "hi": x} for x in values]


def test_nothing_declared_recodes_nothing() -> None:
    recoding = recoding_of([], {1.0: "one"})
    assert recoding == Recoding()
    assert recoding.codes(np.array([1.0, np.nan])).tolist() == [-1, -1]


def test_single_values_get_letters_in_ascending_order_whatever_their_order_in_the_file() -> None:
    one, two = recoding_of(single(99, -1, 98), {}), recoding_of(single(98, 99, -1), {})
    assert one == two
    assert str(one) == ".a = -1; .b = 98; .c = 99"
    assert one.codes(np.array([99.0, 98.0, 5.0, -1.0, np.nan])).tolist() == [3, 2, -1, 1, -1]
    assert not one.merged


def test_labelled_values_of_an_interval_get_their_own_letters_first() -> None:
    ranges = [{"lo": -99.0, "hi": -90.0}, *single(7)]
    recoding = recoding_of(ranges, {-98.0: "refused", 1.0: "yes", "Z": "text"})
    assert str(recoding) == ".a = -98; .b = 7; .c = -99 to -90"
    assert recoding.codes(np.array([-98.0, 7.0, -99.0, -90.0, -89.9])).tolist() == [1, 2, 3, 3, -1]
    assert recoding.merged


def test_open_intervals_reach_infinity() -> None:
    recoding = recoding_of([{"lo": 90.0, "hi": float("inf")}], {})
    assert recoding.codes(np.array([1e300, 89.0])).tolist() == [1, -1]


@pytest.mark.parametrize("labelled", [25, 26, 40])
def test_values_beyond_the_last_letter_share_it(labelled: int) -> None:
    labels = {float(k): str(k) for k in range(labelled)}
    recoding = recoding_of([{"lo": 0.0, "hi": 100.0}], labels)
    assert len(recoding.rules) == 26
    codes = recoding.codes(np.array([0.0, 24.0, 25.0, 39.0, 100.0, 101.0]))
    assert codes.tolist() == [1, 25, 26, 26, 26, -1]


MISSING = b".\0\0\0\0\0\0\0"


def xpt(path: Path, version: int) -> Any:
    frame = pd.DataFrame(
        {"s": ["A", "B", "."], "x": [1.0, np.nan, np.nan], "y": [np.nan, 2.0, 3.0]}
    )
    pyreadstat.write_xport(frame, path, file_format_version=version)
    return pyreadstat.read_xport(path)[1]


@pytest.mark.parametrize("version", [5, 8])
def test_letters_are_found_where_they_stand(tmp_path: Path, version: int) -> None:
    path = tmp_path / "x.xpt"
    header = xpt(path, version)
    assert special_missing(path, header) == {}
    raw = path.read_bytes()
    first, second, third = _places(raw)
    letters = raw[:second] + b"C" + raw[second + 1 : third] + b"Z" + raw[third + 1 :]
    path.write_bytes(letters)
    found = special_missing(path, header)
    assert found is not None
    assert {name.lower(): codes.tolist() for name, codes in found.items()} == {"x": [0, 3, 26]}
    assert first < second


@pytest.mark.parametrize("version", [5, 8])
def test_a_number_that_starts_like_a_letter_is_none(tmp_path: Path, version: int) -> None:
    # 16.0 is 0x42 ("B") 10 00 ... in IBM's floating point
    path = tmp_path / "x.xpt"
    pyreadstat.write_xport(pd.DataFrame({"x": [16.0, 1.0]}), path, file_format_version=version)
    assert b"B\x10\0\0\0\0\0\0" in path.read_bytes()
    assert special_missing(path, pyreadstat.read_xport(path)[1]) == {}


def test_rows_that_do_not_lie_as_the_header_says_give_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.xpt"
    header = xpt(path, 8)
    raw = path.read_bytes()
    path.write_bytes(raw + bytes(160))
    assert special_missing(path, header) is None
    path.write_bytes(raw[:-80])
    assert special_missing(path, header) is None


def _places(raw: bytes) -> list[int]:
    """Where the three missing numbers stand, in the order of the file: y, x, x."""
    places, at = [], raw.find(MISSING)
    while at >= 0:
        places.append(at)
        at = raw.find(MISSING, at + 1)
    assert len(places) == 3
    return places
