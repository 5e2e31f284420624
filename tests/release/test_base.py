from __future__ import annotations

import contextlib
import io
import json
import pickle
import traceback
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.certificate import digest_of
from dprct.certificate.page import certificate_page
from dprct.errors import FileError, SimulationError
from dprct.io.compare import compare
from dprct.io.stata import read_dta, write_dta
from dprct.release.histogram import Marginals, MVHistogram
from dprct.release.release import Release, fates_of
from dprct.release.writing import certificate_paths, check_target, rehearse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.release.release import ReleaseModel
    from dprct.schema import Schema

METHODS = (MVHistogram, Marginals)


@pytest.fixture(params=METHODS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[ReleaseModel[Any, Any, Any]]:
    found: type[ReleaseModel[Any, Any, Any]] = request.param
    return found


@pytest.fixture
def release(kind: type[ReleaseModel[Any, Any, Any]], data: pd.DataFrame, schema: Schema) -> Release:
    return kind(data, schema, keep=("note1",)).fit(4, confirm=True)


def test_the_protected_file_takes_the_place_of_the_original(
    release: Release, schema: Schema, tmp_path: Path
) -> None:
    release.write_dta(tmp_path / "out.dta")
    table, written = read_dta(tmp_path / "out.dta")
    kept = [column for column in schema.columns if column.fate != "drop"]
    assert list(table.columns) == [column.name for column in kept]
    for facts in ("name", "type", "format", "label", "value_label"):
        assert [getattr(c, facts) for c in written.columns] == [getattr(c, facts) for c in kept]
    labels = {name: dict(codes) for name, codes in written.file.value_labels.items()}
    assert labels == {
        "yesno": {0: "no", 1: "yes", ".a": "refused"},
        "result": {0: "negative", 1: "positive"},
        "unused": {7: "seven"},
    }
    assert (written.file.label, written.file.release) == ("a confidential survey", 118)
    assert written.file.timestamp == ""
    pd.testing.assert_frame_equal(table, release.protected)


def test_every_value_is_legal_and_public_columns_are_the_original(
    release: Release, data: pd.DataFrame
) -> None:
    release.schema.validate(release.protected)
    assert sorted(release.protected["village"]) == sorted(data["village"])


def test_a_public_column_is_nowhere_said_to_be_protected(release: Release) -> None:
    certificate = release.certificate()
    assert certificate.fates["village"] == "public"
    assert "column village (declared public)" in release.guarantee.not_covered
    assert "values of village: public, with the rows in a random order" in certificate.to_text()
    page = certificate_page(certificate)
    row = next(part for part in page.split("<tr>") if "village" in part and "NOT PROTECTED" in part)
    assert row.startswith('<th scope="row">public</th>')
    assert "public: village" in release.summary()
    assert release.summary().count("It does not protect") == 1


def test_the_certificate_says_what_was_charged_and_what_the_file_is_not_good_for(
    release: Release,
) -> None:
    certificate = release.certificate()
    assert certificate.ledger == release.ledger
    assert certificate.ledger.startswith("charged to ")
    text = " ".join(certificate.to_text().split())
    assert certificate.limits
    assert all(" ".join(limit.split()) in text for limit in (*certificate.limits, release.ledger))


def test_characteristics_are_kept_by_an_allow_list(release: Release) -> None:
    kept = {(owner, name): text for owner, name, text in release.schema.file.characteristics}
    assert kept.pop(("_dta", "note2")).startswith("Protected file made by dprct. Pure diff")
    assert kept == {
        ("_dta", "note0"): "2",
        ("_dta", "note1"): "collected by hand",
        ("_dta", "tis"): "village",
        ("_dta", "_lang_c"): "en",
    }


def test_notes_go_unless_listed_and_one_states_the_guarantee(
    data: pd.DataFrame, schema: Schema
) -> None:
    release = MVHistogram(data, schema).fit(4)
    notes = [entry for entry in release.schema.file.characteristics if "note" in entry[1]]
    sentence = release.guarantee.sentence()
    assert notes == [
        ("_dta", "note0", "1"),
        ("_dta", "note1", f"Protected file made by dprct. {sentence}"),
    ]
    assert "epsilon=4" in sentence


def test_the_certificate_permits_what_differs_and_nothing_else(
    release: Release, data: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    write_dta(data, schema, tmp_path / "original.dta")
    release.write_dta(tmp_path / "protected.dta")
    found = compare(tmp_path / "original.dta", tmp_path / "protected.dta")
    assert found.unexpected == ()
    assert {d.facet for d in found.permitted} == {
        "values", "variables", "label-set", "notes", "characteristics", "timestamp", "sort",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("facet", "edit"),
    [
        ("label", lambda s: s.with_columns([replace(s.column("got"), label="no result")])),
        ("format", lambda s: s.with_columns([replace(s.column("age"), format="%td")])),
        ("type", lambda s: s.with_columns([replace(s.column("age"), type="double")])),
        ("label-set", lambda s: replace(s, file=replace(s.file, value_labels={
            **s.file.value_labels, "yesno": {0: "yes", 1: "no"}}))),
        ("dataset-label", lambda s: replace(s, file=replace(s.file, label="another"))),
    ],
)  # fmt: skip
def test_an_edited_protected_file_is_noticed(
    facet: str,
    edit: Callable[[Schema], Schema],
    data: pd.DataFrame,
    schema: Schema,
    tmp_path: Path,
) -> None:
    write_dta(data, schema, tmp_path / "original.dta")
    release = MVHistogram(data, schema).fit(1, confirm=True)
    release.write_dta(tmp_path / "protected.dta")
    write_dta(release.protected, edit(release.schema), tmp_path / "protected.dta")
    found = compare(tmp_path / "original.dta", tmp_path / "protected.dta")
    assert {d.facet for d in found.unexpected} == {facet}


def test_what_fit_returns_pickles_and_holds_no_confidential_value(
    release: Release, secrets: tuple[bytes, ...]
) -> None:
    pickled = pickle.dumps(release)
    again = pickle.loads(pickled)
    pd.testing.assert_frame_equal(again.protected, release.protected)
    assert (again.schema, again.guarantee, again.plan, again.ledger, again.issued) == (
        release.schema, release.guarantee, release.plan, release.ledger, release.issued,
    )  # fmt: skip
    words = "\n".join([repr(release), str(release), str(release.plan), release.summary(),
                       json.dumps(release.certificate().to_dict())])  # fmt: skip
    for secret in secrets:
        assert secret not in pickled
        assert secret not in words.encode()


def test_the_search_for_secrets_would_find_one(
    data: pd.DataFrame, secrets: tuple[bytes, ...]
) -> None:
    pickled = pickle.dumps(data)
    assert secrets[0] in pickled
    assert secrets[2] in pickled


def test_written_files_hold_no_confidential_value(
    release: Release, secrets: tuple[bytes, ...], tmp_path: Path
) -> None:
    release.write_dta(tmp_path / "out.dta")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 4
    for path in files:
        assert not any(secret in path.read_bytes() for secret in secrets), path.name


def test_nothing_that_is_said_on_the_way_shows_a_value(
    kind: type[ReleaseModel[Any, Any, Any]],
    data: pd.DataFrame,
    schema: Schema,
    secrets: tuple[bytes, ...],
) -> None:
    said = io.StringIO()
    column = schema.column("income")
    public = {"income": {"fate": "public", "decimals": 1}, "region": {"levels": ["X", "Y"]}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for facts in (public, {"age": {"bounds": (15, 16)}}, {"got": {"missing": "never"}}):
            try:
                kind(data, schema.declare(**facts)).fit(1e-3)
            except Exception as error:
                traceback.print_exception(error, file=said)
    said.write("".join(str(warning.message) for warning in caught))
    said.write(repr(kind(data, schema)) + str(column))
    assert "do not fit" in said.getvalue()
    for secret in secrets:
        assert secret not in said.getvalue().encode()


def test_the_summary_says_what_a_reader_must_know(release: Release) -> None:
    text = str(release)
    for part in ("epsilon=4", "n is public", "withheld: diary, test", "key: hhid, name",
                 "derived: both", "charged to no ledger", "400 rows, 11 columns"):  # fmt: skip
        assert part in text


def test_releases_are_compared_by_identity(release: Release) -> None:
    assert release == release
    assert release != pickle.loads(pickle.dumps(release))


def test_a_simulation_issues_nothing(data: pd.DataFrame, schema: Schema, tmp_path: Path) -> None:
    release = MVHistogram(data, schema).fit(1, rng=3, confirm=True)
    assert "simulation only" in release.summary()
    for refused in (release.certificate, lambda: release.write_dta(tmp_path / "out.dta")):
        with pytest.raises(SimulationError, match="fit without rng"):
            refused()
    assert list(tmp_path.iterdir()) == []


def test_the_certificate_names_the_file_and_its_hash(release: Release, tmp_path: Path) -> None:
    import hashlib

    certificate = release.write_dta(tmp_path / "out.dta")
    digest = hashlib.sha256((tmp_path / "out.dta").read_bytes()).hexdigest()
    assert certificate.file == {"name": "out.dta", "sha256": digest}
    written = json.loads((tmp_path / "out.certificate.json").read_text("utf-8"))
    assert written == certificate.to_dict()
    assert (tmp_path / "out.certificate.txt").read_text("utf-8") == certificate.to_text()
    page = (tmp_path / "out.certificate.html").read_text("utf-8")
    assert page == certificate_page(certificate)
    assert certificate.values == digest_of(*read_dta(tmp_path / "out.dta"))
    assert release.certificate().file == {}


def test_a_protected_file_is_replaced_and_nothing_else(release: Release, tmp_path: Path) -> None:
    out = tmp_path / "out.dta"
    release.write_dta(out)
    first = out.read_bytes()
    release.write_dta(out)
    assert out.read_bytes() == first
    out.write_bytes(first + b"edited")
    with pytest.raises(FileError, match="may be a confidential file"):
        release.write_dta(out)
    for path in certificate_paths(out):
        path.unlink()
    out.write_bytes(b"a confidential file")
    with pytest.raises(FileError, match="may be a confidential file"):
        release.write_dta(out)
    assert out.read_bytes() == b"a confidential file"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("name", "match"),
    [("out.csv", "let it end in .dta"), ("out", "let it end in .dta"),
     ("none/out.dta", "folder of .* does not exist"), ("folder.dta", "is a folder")],
)  # fmt: skip
def test_a_place_that_will_not_do_is_refused(
    name: str, match: str, release: Release, tmp_path: Path
) -> None:
    (tmp_path / "folder.dta").mkdir()
    with pytest.raises(FileError, match=match):
        release.write_dta(tmp_path / name)
    with pytest.raises(FileError, match=match):
        rehearse(release.schema, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.dta"]


def test_a_link_to_nowhere_is_not_overwritten(release: Release, tmp_path: Path) -> None:
    (tmp_path / "out.dta").symlink_to(tmp_path / "elsewhere.dta")
    with pytest.raises(FileError, match="may be a confidential file"):
        release.write_dta(tmp_path / "out.dta")


def test_a_damaged_certificate_permits_nothing(release: Release, tmp_path: Path) -> None:
    out = tmp_path / "out.dta"
    release.write_dta(out)
    check_target(out)
    for content in ("{", "[]", '{"file": 3}', '{"file": {"sha256": 5}}', "\udcff"):
        certificate_paths(out)[1].write_bytes(content.encode("utf-8", "surrogateescape"))
        with pytest.raises(FileError, match="confidential"):
            check_target(out)


STEPS = ("open", "os.fsync", "os.replace", "write_dta", "hash", "to_text", "json.dumps")


def _interrupted_at(call: int, step: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Make the ``call``-th use of a step raise KeyboardInterrupt; return whether it did."""
    import builtins
    import hashlib
    import os

    from dprct.certificate.certificate import Certificate
    from dprct.release import writing

    owner, name = {
        "open": (builtins, "open"),
        "os.fsync": (os, "fsync"),
        "os.replace": (os, "replace"),
        "write_dta": (writing, "write_dta"),
        "hash": (hashlib, "file_digest"),
        "to_text": (Certificate, "to_text"),
        "json.dumps": (json, "dumps"),
    }[step]
    original, calls = getattr(owner, name), [0]

    def interrupted(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            raise KeyboardInterrupt
        return original(*args, **options)

    monkeypatch.setattr(owner, name, interrupted)
    return lambda: calls[0] >= call


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("call", [1, 2, 3, 4])
@pytest.mark.parametrize("replacing", [False, True], ids=["new", "replacing"])
def test_an_interrupted_write_leaves_what_was_there(
    step: str,
    call: int,
    replacing: bool,
    data: pd.DataFrame,
    schema: Schema,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out.dta"
    if replacing:
        MVHistogram(data, schema).fit(1, confirm=True).write_dta(out)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    release = MVHistogram(data, schema).fit(1, confirm=True)
    with monkeypatch.context() as patch:
        fired = _interrupted_at(call, step, patch)
        with contextlib.suppress(KeyboardInterrupt):
            release.write_dta(out)
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    if fired():
        assert after == before
    else:
        assert set(after) == {"out.dta", *(path.name for path in certificate_paths(out))}
        check_target(out)


def test_every_step_is_interrupted_at_least_once(
    data: pd.DataFrame, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = MVHistogram(data, schema).fit(1, confirm=True)
    for step in STEPS:
        with monkeypatch.context() as patch:
            fired = _interrupted_at(1, step, patch)
            with pytest.raises(KeyboardInterrupt):
                release.write_dta(tmp_path / "out.dta")
            assert fired()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    data: pd.DataFrame, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import os

    release = MVHistogram(data, schema).fit(1, confirm=True)

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match=r"out\.dta' does not fit on the disk") as caught:
        release.write_dta(tmp_path / "out.dta")
    assert ".dprct-" not in str(caught.value)
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_a_rehearsal_finds_what_the_file_cannot_hold(
    data: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    model = MVHistogram(data, schema)
    model.rehearse(tmp_path / "out.dta")
    assert list(tmp_path.iterdir()) == []
    long = replace(schema, columns=tuple(
        replace(c, name="x" * 33) if c.name == "test" else c for c in schema.columns))  # fmt: skip
    with pytest.raises(Exception, match="not a Stata name"):
        MVHistogram(data, long).rehearse(tmp_path / "out.dta")


def test_fates_of_names_every_column(schema: Schema) -> None:
    assert list(fates_of(schema)) == schema.names
    assert fates_of(schema)["both"] == "derived"


@pytest.mark.parametrize("release_number", [113, 114, 115, 117, 118, 119])
def test_a_release_keeps_the_format_that_was_read(
    release_number: int, data: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    def old(s: Schema) -> Schema:
        return replace(
            s.select([name for name in s.names if name != "diary"]),
            file=replace(s.file, release=release_number, byteorder=">"),
            dataset_id=None,
        )

    small = data.drop(columns="diary")
    write_dta(small, old(schema), tmp_path / "a.dta")
    again, header = read_dta(tmp_path / "a.dta")
    confirmed = header.declare(confirm_header=True, **{
        c.name: {f: getattr(c, f) for f in ("bounds", "levels", "decimals", "bins", "missing",
                                            "fate", "derived") if getattr(c, f) is not None}
        for c in schema.columns if c.name != "diary"})  # fmt: skip
    MVHistogram(again, confirmed).fit(2, confirm=True).write_dta(tmp_path / "b.dta")
    assert compare(tmp_path / "a.dta", tmp_path / "b.dta").unexpected == ()
    assert read_dta(tmp_path / "b.dta")[1].file.release == release_number


def test_float_columns_are_written_exactly(release: Release) -> None:
    income = release.protected["income"].to_numpy()
    known = income[~np.isnan(income)]
    assert (known == known.astype(np.float32)).all()
