from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from dprct.errors import FileError, SchemaError
from dprct.missing import MISSING_CODES
from dprct.schema import Column, FileFacts, Schema, Unit
from dprct.schema.toml import from_document, load, to_document

if TYPE_CHECKING:
    from pathlib import Path

anything = st.text(max_size=12)
unicode = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
codes = st.one_of(st.integers(-(2**31), 2**31), st.sampled_from(MISSING_CODES))
real = st.floats(-1e300, 1e300).map(lambda x: x + 0.0)


@st.composite
def numeric(draw: st.DrawFn, name: str) -> Column:
    facts: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "format": anything,
                "label": anything,
                "value_label": anything,
                "role": st.sampled_from(["outcome", "treatment", "id"]),
                "fate": st.sampled_from(["withheld", "key", "drop"]),
                "missing": st.lists(st.sampled_from(MISSING_CODES), unique=True).map(
                    lambda found: tuple(sorted(found, key=MISSING_CODES.index))
                ),
                "built_from": st.sampled_from(["own", "cohort"]),
                "constants_public": st.booleans(),
                "coordinates": st.booleans(),
                "confirmed": st.booleans(),
            },
        )
    )
    points = sorted(set(draw(st.lists(real, min_size=2, max_size=5))))
    if len(points) >= 2:
        if draw(st.booleans()):
            facts["levels"] = tuple(points)
        else:
            facts["bounds"] = (points[0], points[-1])
            facts["bins"] = tuple(points[1:-1]) or draw(st.none() | st.integers(1, 2**20))
    return Column(name, "double", **facts)


@st.composite
def textual(draw: st.DrawFn, name: str) -> Column:
    storage = draw(st.sampled_from(["str1", "str2045", "strL"]))
    levels = draw(st.none() | st.lists(anything, min_size=1, unique=True).map(tuple))
    return Column(name, storage, label=draw(anything), levels=levels, fate="key")


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(unicode, unique=True, max_size=4))
    columns = [draw(st.one_of(numeric(name), textual(name))) for name in names]
    labels = st.dictionaries(unicode, st.dictionaries(codes, anything, max_size=3), max_size=3)
    file = FileFacts(
        release=draw(st.integers(113, 119)),
        byteorder=draw(st.sampled_from(["<", ">"])),
        label=draw(anything),
        timestamp=draw(anything),
        sorted_by=tuple(names[:1]),
        value_labels=draw(labels),
        characteristics=tuple(draw(st.lists(st.tuples(anything, anything, anything), max_size=2))),
        rows=draw(st.none() | st.integers(0, 2**40)),
    )
    unit = Unit(draw(unicode), *draw(st.sampled_from([(None, 1), ("a", 3)])))
    return Schema(tuple(columns), file, draw(st.none() | anything), unit)


def ordered(schema: Schema) -> list[Any]:
    sets = schema.file.value_labels
    return [schema.names, [(name, list(sets[name].items())) for name in sets]]


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(schemas())
def test_any_schema_comes_back_from_a_file(tmp_path_factory: Any, schema: Schema) -> None:
    path = tmp_path_factory.mktemp("toml") / "schema.toml"
    schema = schema.seal()
    schema.save(path)
    again = load(path)
    assert again == schema
    assert ordered(again) == ordered(schema)
    assert again.digest() == schema.digest()
    # what another reader of TOML makes of it is the same
    assert from_document(tomllib.loads(path.read_bytes().decode("utf-8"))) == again


@pytest.mark.long
@settings(max_examples=80, deadline=None)
@given(schemas(), schemas())
def test_saving_over_any_other_schema_is_saving(
    tmp_path_factory: Any, old: Schema, new: Schema
) -> None:
    path = tmp_path_factory.mktemp("toml") / "schema.toml"
    old.seal().save(path)
    new.save(path)
    again = load(path)
    assert again == new
    assert ordered(again) == ordered(new)


def test_codes_in_another_order_are_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    facts = {"release": 118, "byteorder": "<", "label": "", "timestamp": "", "sorted_by": ()}
    for codes in ({0: "no"}, {1: "yes", 0: "no"}, {0: "no", 1: "yes"}, {2: "x", 0: "no"}):
        file = FileFacts(**facts, value_labels={"yn": codes, "kept": {1: "a"}})
        schema = Schema((), file, None, Unit("person", None, 1))
        schema.save(path)
        assert ordered(load(path)) == ordered(schema)


COMMENTED = """\
# my study
version = 1
dataset_id = "wave2"  # keep this

[unit]
name = "person"

[columns.got]
# 0 or 1
type = "byte"
levels = [0, 1]  # from the codebook

[columns.age]
type = "byte"  # years
bounds = [15, 80]
missing = "never"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "schema.toml"
    path.write_text(COMMENTED, "utf-8")
    return path


def test_a_file_as_a_person_writes_it(file: Path) -> None:
    schema = Schema.load(file)
    assert schema.columns == (
        Column("got", "byte", levels=(0.0, 1.0)),
        Column("age", "byte", bounds=(15.0, 80.0), missing=()),
    )
    assert schema.dataset_id == "wave2"
    assert schema.unit == Unit()


def test_comments_stay_when_facts_change(file: Path) -> None:
    schema = load(file).declare(age=(18, 90), dataset_id="wave3")
    schema.save(file)
    text = file.read_text("utf-8")
    for comment in ("# my study", "# keep this", "# 0 or 1", "# from the codebook", "# years"):
        assert text.count(comment) == 1
    assert "bounds = [18, 90]" in text
    assert load(file) == schema


def test_saving_what_was_loaded_changes_no_line_that_was_there(file: Path) -> None:
    load(file).save(file)
    kept = file.read_text("utf-8").splitlines()
    assert [line for line in COMMENTED.splitlines() if line not in kept] == []
    load(file).save(file)
    assert file.read_text("utf-8").splitlines() == kept


def test_the_order_of_columns_is_a_fact_and_wins_over_that_of_the_file(file: Path) -> None:
    schema = load(file)
    turned = replace(schema, columns=(Column("new"), *schema.columns[::-1]))
    turned.save(file)
    assert load(file).names == ["new", "age", "got"]
    assert "# years" in file.read_text("utf-8")


def test_dropped_columns_leave_the_file(file: Path) -> None:
    load(file).select(["age"]).save(file)
    assert load(file).names == ["age"]
    assert "codebook" not in file.read_text("utf-8")


def test_true_is_not_one(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    Schema((Column("x", "str3", levels=("1",)),)).save(path)
    document = tomlkit.parse(path.read_text())
    document["columns"]["x"]["confirmed"] = 1  # type: ignore[index]
    path.write_text(tomlkit.dumps(document))
    with pytest.raises(SchemaError, match="confirmed=1; give True or False"):
        load(path)


def test_an_edited_fact_breaks_the_seal_and_a_comment_does_not(file: Path) -> None:
    sealed = load(file).seal()
    sealed.save(file)
    assert load(file).seal_of == sealed.seal_of
    file.write_text(file.read_text("utf-8") + "\n# looked at again\n", "utf-8")
    assert load(file).seal_of == sealed.seal_of
    file.write_text(file.read_text("utf-8").replace("[15, 80]", "[15, 81]"), "utf-8")
    assert load(file).seal_of is None


def test_undecodable_bytes_and_unicode_survive(tmp_path: Path) -> None:
    broken = b"caf\xe9".decode("utf-8", "surrogateescape")
    schema = Schema(
        (Column("\u00e4lter", "str5", label=broken, levels=(broken, "ok")), Column("\u5e74\u9f61")),
        FileFacts(label=broken, value_labels={"\u662f": {0: broken, ".a": "\u5426"}},
                  characteristics=(("_dta", "note1", broken),)),
    )  # fmt: skip
    path = tmp_path / "s.toml"
    schema.save(path)
    assert load(path) == schema
    assert "base64" in path.read_text("utf-8")


@pytest.mark.parametrize("place", ["column", "set"])
def test_names_that_are_no_text_are_refused(tmp_path: Path, place: str) -> None:
    name = b"x\xe9".decode("utf-8", "surrogateescape")
    schema = (
        Schema((Column(name),))
        if place == "column"
        else Schema((), FileFacts(value_labels={name: {0: "a"}}))
    )
    with pytest.raises(SchemaError, match="TOML cannot hold"):
        schema.save(tmp_path / "s.toml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"version": 2}, "schema version 2; this release reads version = 1"),
        ({}, "the line version = 1 is missing"),
        ({"colums": {}}, "unknown key 'colums' in the schema file; did you mean 'columns'"),
        ({"unit": {"nme": "a"}}, r"unknown key 'nme' in \[unit\]"),
        ({"unit": {"max_rows": 0}}, "max_rows=0"),
        ({"unit": {"id": 3}}, r"\[unit\] id = 3; give text in quotes"),
        ({"unit": 3}, r"unit is int; give a table, \[unit\]"),
        ({"file": {"relase": 118}}, r"unknown key 'relase' in \[file\]"),
        ({"file": {"release": "118"}}, r"\[file\] release = '118'; give a whole number"),
        ({"file": {"rows": True}}, r"\[file\] rows = True; give a whole number"),
        ({"file": {"label": 1}}, r"\[file\] label = 1; give text"),
        ({"file": {"byteorder": "="}}, "byteorder = '='; allowed: <, >"),
        ({"file": {"sorted_by": "age"}}, "sorted_by = 'age'; give a list of texts"),
        ({"file": {"value_labels": {}}}, "unknown key 'value_labels'"),
        ({"dataset_id": 3}, "dataset_id = 3; give text"),
        ({"seal": {"when": "now"}}, r"unknown key 'when' in \[seal\]"),
        ({"seal": {"at": "now", "sha256": "0", "before_opening": 1}}, "= 1; give true or false"),
        ({"columns": [1]}, "columns is list; give a table"),
        ({"columns": {"x": 3}}, "x is int; give a table"),
        ({"columns": {"x": {"type": "text"}}}, "column 'x': type='text'; allowed: byte"),
        ({"columns": {"x": {"type": 3}}}, "column 'x': type=3"),
        ({"columns": {"x": {"value_label": 3}}}, "value_label = 3; give text"),
        ({"columns": {"x": {"bound": [0, 1]}}}, "unknown fact 'bound'; did you mean 'bounds'"),
        ({"columns": {"x": {"bounds": [1, 0]}}}, "reversed"),
        ({"value_labels": {"yn": {"no": "x"}}}, "label code 'no' is neither a whole number nor"),
        ({"value_labels": {"yn": {"0": 1}}}, r"\[value_labels\] yn 0 = 1; give text"),
        ({"value_labels": {"yn": 1}}, r"\[value_labels\] yn = 1; give a table"),
        ({"characteristics": {"a": 1}}, "characteristics is dict; give"),
        ({"characteristics": [{"owner": "_dta"}]}, "has to have owner, name, text"),
        ({"characteristics": [{"owner": "a", "name": "b", "text": 3}]}, "text = 3; give text"),
        ({"file": {"label": {"base64": "@@"}}}, "a base64 text is damaged"),
    ],
)
def test_a_file_that_is_wrong_somewhere(document: dict[str, Any], says: str) -> None:
    if "version" not in says:
        document = {"version": 1, **document}
    with pytest.raises(SchemaError, match=says):
        from_document(document)


def test_a_file_that_is_not_there_or_not_toml(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*absent.toml.*give a TOML file"):
        load(tmp_path / "absent.toml")
    with pytest.raises(FileError, match="cannot read"):
        load(tmp_path)
    path = tmp_path / "broken.toml"
    for broken in (b"version = \n", b"\xff\xfe", b"a = 1\na = 2\n"):
        path.write_bytes(broken)
        with pytest.raises(
            SchemaError, match=r"broken.toml.* is not TOML: .*; (correct that|give a)"
        ):
            load(path)
        with pytest.raises(SchemaError, match="is not TOML"):
            Schema(()).save(path)
        assert path.read_bytes() == broken


def test_whole_numbers_are_written_as_a_person_would() -> None:
    column = Column("x", bounds=(0.0, 2.5), bins=(1.0, 1.5))
    facts = to_document(Schema((column,)))["columns"]["x"]
    assert facts == {"type": "double", "bounds": [0, 2.5], "bins": [1, 1.5]}
    assert [type(x) for x in facts["bounds"]] == [int, float]


def test_a_schema_saved_after_its_data_were_read_is_not_sealed_before(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    opened = Schema((Column("got", "byte"),)).as_opened()
    opened.save(path)
    seal = Schema.load(path).seal().seal_of
    assert seal is not None
    assert not seal.before_opening
    sealed = opened.seal()
    sealed.save(path)
    assert Schema.load(path) == sealed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version = " + "9" * 10_000, "beyond 64 bits"),
        ("version = 0x" + "f" * 10_000, "beyond 64 bits"),
        (f"version = [{2**63}]", "beyond 64 bits"),
        ("version = " + "[" * 50_000, "deep inside each other"),
        ("version = " + "[" * 40 + "]" * 40, "deep inside each other"),
        ("[" + ".".join("a" * 1_000_000) + "]\nx = 1", "deep inside each other"),
        ("[" + ". ".join(['"a"'] * 17) + "]\nx = 1", "deep inside each other"),
    ],
)
def test_what_no_schema_holds_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "hostile.toml"
    path.write_text(text, "utf-8")
    for read in (load, Schema(()).save):
        with pytest.raises(SchemaError, match=says) as refusal:
            read(path)
        assert len(str(refusal.value)) < 500
