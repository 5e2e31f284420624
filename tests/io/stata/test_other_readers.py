"""Independent programs read what we write, and we read what they write."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from dprct.io.stata import read_dta, read_header, write_dta
from dprct.io.stata.layout import RELEASES
from dprct.missing import MISSING_CODES, missing_numbers
from dprct.schema import FileFacts

CASES = [(release, order) for release in RELEASES if release >= 113 for order in "<>"]
# before, pandas mistakes strLs in the other byte order, and does not know 102 and 103
PANDAS_3 = int(pd.__version__.split(".")[0]) >= 3
HAVEN = {8: 113, 10: 114, 12: 115, 13: 117, 14: 118, 15: 119}
READSTATA13 = [113, 114, 115, 117, 118, 119]
OLD = [102, 103, 104, 105, 108, 110, 111]
EXTRA = [
    "datetime", "encode", "encodecp", "gen_fac", "missings", "missings_lsf", "missings_msf",
    "nonint", "statacar", "underscore",
]  # fmt: skip


def shown(values: pd.Series) -> list[str | float]:
    """Return texts, numbers, and missing codes by name."""
    if values.dtype == object:
        return list(values)
    codes = missing_numbers(values.to_numpy())
    return [MISSING_CODES[k] if k >= 0 else x for x, k in zip(values, codes, strict=True)]


def understood(cells: list[str], like: list[str | float]) -> list[str | float]:
    """Return a line of the report as :func:`shown` shows it; trailing spaces do not count."""
    pairs = zip(cells, like, strict=True)
    return [cell if isinstance(x, str) else float(cell) for cell, x in pairs]


# ---- pandas and pyreadstat


@pytest.mark.parametrize(("release", "order"), CASES)
def test_pandas_reads_what_we_write(release, order, everything, tmp_path):
    data, schema = everything(release, order, plain=True)
    if release >= 118 and order == ">" and not PANDAS_3:
        data = data.drop(columns="long_text")
        schema = schema.select(data.columns)
    write_dta(data, schema, tmp_path / "a.dta")
    coded = {"convert_categoricals": False, "convert_dates": False}
    theirs = pd.read_stata(tmp_path / "a.dta", convert_missing=True, **coded)
    assert list(theirs.columns) == schema.names
    for name in schema.names:
        mine = shown(data[name])
        read = [str(x) if "Missing" in type(x).__name__ else x for x in theirs[name]]
        assert read == mine, name
    with pd.read_stata(tmp_path / "a.dta", iterator=True) as reader:
        assert reader.data_label == schema.file.label
        assert reader.time_stamp == schema.file.timestamp
        assert reader.variable_labels() == {c.name: c.label for c in schema.columns}
        sets = reader.value_labels()
    expected = [t for t in schema.file.value_labels["answers"].values()]
    assert list(sets["answers"].values()) == expected
    assert sets["unused"] == {7: "seven"}


@pytest.mark.parametrize(("release", "order"), CASES)
def test_pyreadstat_reads_what_we_write(release, order, everything, tmp_path):
    data, schema = everything(release, order, plain=True)
    write_dta(data, schema, tmp_path / "a.dta")
    theirs, meta = pyreadstat.read_dta(
        str(tmp_path / "a.dta"), user_missing=True, disable_datetime_conversion=True
    )
    assert meta.column_names == schema.names
    assert meta.file_label == schema.file.label
    assert dict(meta.original_variable_types) == {c.name: c.format for c in schema.columns}
    assert [label or "" for label in meta.column_labels] == [c.label for c in schema.columns]
    assert meta.value_labels["unused"] == {7: "seven"}
    assert meta.variable_to_label["a_byte"] == "answers"
    assert meta.value_labels["answers"]["a"] == "refused"
    for name in schema.names:
        if release == 119 and name == "long_text":
            continue  # ReadStat takes the cells of 119 for those of 118
        letters = [x[1] if x in MISSING_CODES[1:] else x for x in shown(data[name])]
        read = ["." if isinstance(x, float) and np.isnan(x) else x for x in theirs[name]]
        assert [x.rstrip() if isinstance(x, str) else x for x in read] == [
            x.rstrip() if isinstance(x, str) else x for x in letters
        ], name


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("version", [114, 117, 118, 119])
def test_we_read_what_pandas_writes(order, version, tmp_path, same):
    strange = {114: "naïve", 117: "naive"}.get(version, "名 🙂")  # 117: UTF-8 in its strLs
    frame = pd.DataFrame(
        {
            "whole": np.array([1, -5, 100], np.int8),
            "real": [0.1, np.nan, -1e300],
            "single": np.array([0.5, np.nan, 2], np.float32),
            "text": ["a", "", strange],
            "kind": pd.Categorical(["low", "high", "low"]),
        }
    )
    with_strl = version >= 117 and (order == "little" or PANDAS_3)
    long = {"convert_strl": ["text"]} if with_strl else {}
    frame.to_stata(
        tmp_path / "a.dta", write_index=False, version=version, byteorder=order,
        variable_labels={"whole": "Whole"}, data_label="From pandas", **long,
    )  # fmt: skip
    data, schema = read_dta(tmp_path / "a.dta")
    assert (schema.file.release, schema.file.byteorder) == (
        version,
        "<" if order == "little" else ">",
    )
    assert [c.type for c in schema.columns][:3] == ["byte", "double", "float"]
    assert schema.column("whole").label == "Whole"
    assert schema.file.label == "From pandas"
    assert shown(data["whole"]) == [1, -5, 100]
    assert shown(data["real"]) == [0.1, ".", -1e300]
    assert shown(data["single"]) == [0.5, ".", 2]
    assert shown(data["text"]) == ["a", "", strange]
    labels = schema.labels_of("kind")
    assert [labels[int(code)] for code in data["kind"]] == ["low", "high", "low"]
    write_dta(data, schema, tmp_path / "b.dta")
    same((data, schema), read_dta(tmp_path / "b.dta"))


# ---- releases before 113


@pytest.mark.skipif(not PANDAS_3, reason="older pandas does not know all these releases")
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("release", OLD)
def test_pandas_reads_the_old_releases_that_we_write(release, order, everything, tmp_path):
    data, schema = everything(release, order, plain=True)
    write_dta(data, schema, tmp_path / "a.dta")
    coded = {"convert_categoricals": False, "convert_dates": False}
    theirs = pd.read_stata(tmp_path / "a.dta", convert_missing=True, **coded)
    assert list(theirs.columns) == schema.names
    for name in schema.names:
        read = [str(x) if "Missing" in type(x).__name__ else x for x in theirs[name]]
        assert read == shown(data[name]), name
    with pd.read_stata(tmp_path / "a.dta", iterator=True) as reader:
        assert reader.data_label == schema.file.label
        assert reader.variable_labels() == {c.name: c.label for c in schema.columns}
        sets = reader.value_labels()
    for name, labels in schema.file.value_labels.items():
        named = {2**31 - 1 if code == "." else code: text for code, text in labels.items()}
        assert sets[name] == named


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("release", [release for release in OLD if release >= 104])
def test_pyreadstat_reads_the_old_releases_that_we_write(release, order, everything, tmp_path):
    data, schema = everything(release, order, plain=True)
    if release < 110:  # it takes the label sets for those of later releases
        none = schema.file.__reduce__()[1]
        schema = replace(schema, file=FileFacts(*none[:5], {}, *none[6:]))
    write_dta(data, schema, tmp_path / "a.dta")
    theirs, meta = pyreadstat.read_dta(str(tmp_path / "a.dta"), disable_datetime_conversion=True)
    assert meta.column_names == schema.names
    assert meta.file_label == schema.file.label
    assert dict(meta.original_variable_types) == {c.name: c.format for c in schema.columns}
    assert [label or "" for label in meta.column_labels] == [c.label for c in schema.columns]
    if release >= 110:
        assert meta.value_labels["unused"] == {7: "seven"}
    for name in schema.names:
        read = ["." if isinstance(x, float) and np.isnan(x) else x for x in theirs[name]]
        if release <= 105:  # whose missing code of a double it does not know
            read = ["." if x == 2.0**333 else x for x in read]
        mine = [x.rstrip() if isinstance(x, str) else x for x in shown(data[name])]
        assert [x.rstrip() if isinstance(x, str) else x for x in read] == mine, name


# ---- R: haven and readstata13, in one run


@pytest.fixture(scope="module")
def r(tmp_path_factory, everything) -> Path:
    """Folder in which readers.R has been; skips where R or a package is absent."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("needs R")
    folder = tmp_path_factory.mktemp("r")
    for release, order in CASES:
        name = "lsf" if order == "<" else "msf"
        write_dta(*everything(release, order, plain=True), folder / f"ours_{release}_{name}.dta")
    script = Path(__file__).with_name("readers.R")
    run = subprocess.run(
        [rscript, "--vanilla", str(script), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "there is no package called" in run.stderr:
        pytest.skip("needs the R packages haven and readstata13")
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="module")
def report(r) -> dict[tuple[str, ...], list[str]]:
    lines = (r / "report.tsv").read_text(encoding="utf-8").splitlines()
    return {tuple(parts[:4]): parts[4:] for parts in (line.split("\t") for line in lines)}


@pytest.mark.parametrize(("release", "order"), CASES)
def test_haven_reads_what_we_write(release, order, everything, report):
    data, schema = everything(release, order, plain=True)
    file = f"ours_{release}_{'lsf' if order == '<' else 'msf'}"

    def said(column, fact):
        return report[file, "haven", column, fact]

    assert said("", "label") == [schema.file.label]
    for column in schema.columns:
        name = column.name
        assert said(name, "format") == [column.format]
        assert said(name, "label") == ([column.label] if column.label else [])
        if column.value_label:
            labels = schema.labels_of(name)
            assert said(name, "codes") == [str(code) for code in labels]
            assert said(name, "texts") == list(labels.values())
        if release == 119 and name == "long_text":
            continue  # ReadStat takes the cells of 119 for those of 118
        mine = [x.rstrip() if isinstance(x, str) else x for x in shown(data[name])]
        read = understood(said(name, "values"), mine)
        if column.format in ("%td", "%tc"):  # haven counts from 1970, clocks in seconds
            days = 3653
            mine = [
                x if isinstance(x, str) else x - days if column.format == "%td"
                else x / 1000 - days * 86_400 for x in mine
            ]  # fmt: skip
            assert read[2:] == mine[2:]
            assert read[:2] == pytest.approx(mine[:2], rel=1e-12)
        else:
            assert read == mine, name


@pytest.mark.parametrize(("release", "order"), CASES)
def test_readstata13_reads_what_we_write(release, order, everything, report):
    data, schema = everything(release, order, plain=True)
    file = f"ours_{release}_{'lsf' if order == '<' else 'msf'}"

    def said(column, fact):
        return report[file, "readstata13", column, fact]

    assert said("", "label") == [schema.file.label]
    assert said("", "labels") == [c.label for c in schema.columns]
    assert said("", "formats") == [c.format for c in schema.columns]
    assert said("", "sets") == [c.value_label for c in schema.columns]
    assert sorted(said("", "characteristics")) == sorted(
        "|".join(fields) for fields in schema.file.characteristics
    )
    for name in schema.names:
        mine = shown(data[name])
        assert understood(said(name, "values"), mine) == mine, name


@pytest.mark.parametrize("version", HAVEN)
def test_we_read_what_haven_writes(version, r, tmp_path, same):
    data, schema = read_dta(r / f"haven_{version}.dta")
    assert schema.file.release == HAVEN[version]
    assert schema.file.label == "From haven"
    assert schema.column("answer").label == "Answers"
    assert schema.labels_of("answer") == {1: "no", 2: "yes", ".a": "refused"}
    assert shown(data["answer"]) == [1, 2, ".", ".a", ".z"]
    assert shown(data["whole"]) == [1, -5, ".", 100, 32740]
    assert shown(data["real"]) == [0.5, ".", -1e300, 1e-300, 0]
    assert shown(data["name"]) == ["a", "", "bc", "d", "e"]
    assert schema.column("day").format == "%td"
    assert shown(data["day"]) == [-1, 0, 24431, ".", 14669]
    if version >= 13:
        assert schema.column("essay").type == "strL"
        assert shown(data["essay"]) == ["long " * 500, "", "b", "b", "c"]
    write_dta(data, schema, tmp_path / "b.dta")
    same((data, schema), read_dta(tmp_path / "b.dta"))


@pytest.mark.parametrize("version", READSTATA13)
def test_we_read_what_readstata13_writes(version, r, tmp_path, same):
    data, schema = read_dta(r / f"readstata13_{version}.dta")
    assert schema.file.release == version
    assert schema.file.label == "From readstata13"
    assert [c.label for c in schema.columns] == ["Whole", "Real", "Name"]
    assert shown(data["whole"]) == [1, -5, ".", 100, 32740]
    assert shown(data["real"]) == [0.5, ".", -1e300, 1e-300, 0]
    assert shown(data["name"]) == ["a", "", "bc", "d", "e"]
    write_dta(data, schema, tmp_path / "b.dta")
    same((data, schema), read_dta(tmp_path / "b.dta"))


@pytest.mark.parametrize("version", OLD)
def test_we_read_old_releases_that_readstata13_writes(version, r, tmp_path, same):
    data, schema = read_dta(r / f"readstata13_{version}.dta")
    assert schema.file.release == version
    assert schema.file.label == ("" if version == 102 else "From readstata13")
    assert [c.type for c in schema.columns] == ["long", "double", "str2"]
    assert shown(data["whole"]) == [1, -5, ".", 100, 32740]
    assert shown(data["real"])[:2] == [0.5, "."]
    assert shown(data["name"]) == ["a", "", "bc", "d", "e"]
    write_dta(data, schema, tmp_path / "new.dta")
    same((data, schema), read_dta(tmp_path / "new.dta"))


@pytest.mark.parametrize("name", EXTRA)
def test_the_files_that_come_with_readstata13_are_identical(name, r, tmp_path, same):
    source = r / f"extdata_{name}.dta"
    if not source.exists():
        pytest.skip("this version of readstata13 does not bring the file")
    table = read_dta(source)
    write_dta(*table, tmp_path / "copy.dta")
    same(table, read_dta(tmp_path / "copy.dta"))
    if name == "missings":
        codes = {k for x in table[0].select_dtypes("float") for k in missing_numbers(table[0][x])}
        assert codes >= set(range(27))
    if name == "missings_msf":
        assert read_header(source).file.byteorder == ">"
