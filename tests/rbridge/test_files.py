from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest

from dprct.errors import BridgeError, ColumnError, FileError
from dprct.io import r_files as rdata
from dprct.io import read, write
from dprct.missing import missing_numbers, tagged
from dprct.rbridge import files
from dprct.schema import Column, FileFacts, Schema


def saved(r, tmp_path, name, code, command=None):
    path = tmp_path / name
    r.room["x"] = r(code)
    r(command.format(path=path) if command else f"saveRDS(x, '{path}')")
    return path


def test_labels_factors_and_dates_survive(r, haven, tmp_path):
    code = """structure(data.frame(
        got = haven::labelled(c(1, haven::tagged_na("a")), c(yes = 1), "Got it"),
        arm = factor(c("v", "u")), day = as.Date(c("1960-01-02", NA))), label = "Trial")"""
    path = saved(r, tmp_path, "x.rds", code)
    data, schema = read(path)  # without a warning: nothing is lost
    assert schema.column("got").label == "Got it"
    assert dict(schema.labels_of("got")) == {1: "yes"}
    assert dict(schema.labels_of("arm")) == {1: "u", 2: "v"}
    assert schema.column("day").format == "%td"
    assert missing_numbers(data["got"]).tolist() == [-1, 1]
    np.testing.assert_array_equal(data["arm"], [2, 1])
    assert (schema.source, schema.file.label) == (path, "Trial")


@pytest.mark.parametrize("name", ["x.rda", "x.RData"])
def test_the_only_frame_of_a_workspace_is_found(r, tmp_path, name):
    path = saved(r, tmp_path, name, "data.frame(a = 1)", "save(x, file = '{path}')")
    assert read(path)[0]["a"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("code", "command", "words"),
    [
        ("1", "{{y <- x; save(x, y, file = '{path}')}}", r"2 objects \(x, y\)"),
        ("list(1)", "save(x, file = '{path}')", "no data frame"),
        ("1", "writeLines('secret', '{path}')", "cannot be read as a file of R"),
    ],
)
def test_what_holds_no_table_is_refused_without_its_content(r, tmp_path, code, command, words):
    path = saved(r, tmp_path, "x.rda", code, command)
    with pytest.raises(FileError, match=words) as caught:
        read(path)
    assert "secret" not in str(caught.value)


def test_a_written_file_is_read_by_r_and_by_us(r, haven, tmp_path):
    schema = Schema(
        (Column("got", "byte", label="Got it", value_label="yn"), Column("day", format="%td")),
        FileFacts(label="Trial", value_labels={"yn": {1: "yes", ".b": "refused"}}),
    )
    data = pd.DataFrame({"got": [1.0, tagged(2)[()]], "day": [0.0, 1.0]})
    path = tmp_path / "x.rds"
    write(data, schema, path)
    assert bool(r(f"haven::is.labelled(readRDS('{path}')$got)")[0])
    assert bool(
        r(
            f"identical(readRDS('{path}')$day, structure(c(-3653, -3652), class='Date', "
            "format.stata = '%td'))"
        )[0]
    )
    again, facts = read(path)
    assert missing_numbers(again["got"]).tolist() == [-1, 2]
    assert dict(facts.labels_of("got")) == {1: "yes", ".b": "refused"}
    first = path.read_bytes()
    write(data, schema, path)
    assert path.read_bytes() == first


def test_a_refused_frame_leaves_the_old_file(r, tmp_path):
    path = tmp_path / "x.rds"
    path.write_bytes(b"old")
    with pytest.raises(ColumnError):
        write(pd.DataFrame({"b": [1.0]}), Schema((Column("a"),)), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_another_thread_goes_without_r(r):
    found = []
    thread = threading.Thread(target=lambda: found.append(files.r_is_here()))
    thread.start()
    thread.join()
    assert found == [False]
    assert files.r_is_here()


def test_where_r_cannot_be_joined_the_other_reader_serves(tmp_path, monkeypatch):
    def refuse(path):
        raise BridgeError("no")

    monkeypatch.setattr(files, "r_is_here", lambda: True)
    monkeypatch.setattr(files, "read_r_file", refuse)
    assert rdata._through_r(tmp_path / "x.rds") is None
