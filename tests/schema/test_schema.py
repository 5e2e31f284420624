from __future__ import annotations

import copy
import datetime as dt
import pickle
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import ColumnError, SchemaError
from dprct.schema import Column, FileFacts, Schema, Seal, Unit
from dprct.schema.codebook import facts_in_words
from dprct.schema.toml import column_facts

if TYPE_CHECKING:
    from pathlib import Path

FILE = FileFacts(
    release=117,
    label="Survey",
    sorted_by=("age",),
    value_labels={"yn": {0: "no", 1: "yes", ".a": "refused"}},
    characteristics=(("_dta", "note1", "wave 2"),),
    rows=947,
)
AGE = Column("age", "byte", "%8.0g", "Age", "yn", bounds=(15.0, 80.0), bins=5, missing=(".",))
NAME = Column("name", "str20", levels=("a", "b"))
SCHEMA = Schema((AGE, NAME), FILE, dataset_id="wave2", unit=Unit("person", "name", 1))


CHANGED: dict[str, Any] = {
    "name": "age2", "type": "int", "format": "%9.0g", "label": "age", "value_label": "",
    "bounds": (15.0, 81.0), "levels": (20.0,), "integer": True, "decimals": 1, "bins": (30.0,),
    "role": "outcome", "fate": "drop", "derived": "x", "missing": (), "built_from": "own",
    "constants_public": True, "coordinates": False, "confirmed": True,
    "exclusive": "arm", "made_of": ("name",), "sd": 12.0, "sd_within": 3.0, "centre": 40.0,
    "clip": True, "missing_policy": "public",
}  # fmt: skip


@pytest.mark.parametrize("fact", [field.name for field in fields(Column)])
def test_the_hash_changes_with_every_fact_of_a_column(fact: str) -> None:
    also = {"bins": None} if fact == "levels" else {}  # of which a column has one
    changed = replace(SCHEMA, columns=(replace(AGE, **{fact: CHANGED[fact]}, **also), NAME))
    assert changed.digest() != SCHEMA.digest()


@pytest.mark.parametrize(
    "change",
    [
        {"columns": (NAME, AGE)},
        {"columns": (AGE,)},
        {"dataset_id": "wave3"},
        {"dataset_id": None},
        {"unit": Unit("household", "name", 1)},
        {"unit": Unit("person", "name", 2)},
        {"unit": Unit("person")},
        {"file": replace(FILE, release=118)},
        {"file": replace(FILE, label="survey")},
        {"file": replace(FILE, sorted_by=())},
        {"file": replace(FILE, rows=948)},
        {"file": replace(FILE, characteristics=())},
        {"file": replace(FILE, value_labels={"yn": {0: "no", 1: "yes"}})},
        {"file": replace(FILE, value_labels={"ny": FILE.value_labels["yn"]})},
    ],
)
def test_the_hash_changes_with_every_fact_of_the_table(change: dict[str, Any]) -> None:
    assert replace(SCHEMA, **change).digest() != SCHEMA.digest()


def test_the_hash_is_of_the_facts_only() -> None:
    same = [
        SCHEMA.seal(),
        SCHEMA.as_opened(),
        replace(SCHEMA, columns=(replace(AGE, bounds=(15, 80)), NAME)),
        replace(SCHEMA, file=replace(FILE, value_labels={"yn": dict(FILE.value_labels["yn"])})),
        SCHEMA.declare(),
        SCHEMA.declare(age=(15, 80)),
        pickle.loads(pickle.dumps(SCHEMA)),
        copy.deepcopy(SCHEMA),
    ]
    assert {schema.digest() for schema in same} == {SCHEMA.digest()}


def test_sealing_dates_and_hashes() -> None:
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    seal = SCHEMA.seal().seal_of
    assert seal is not None
    assert seal.sha256 == SCHEMA.digest()
    assert seal.before_opening
    assert before <= dt.datetime.fromisoformat(seal.at) <= dt.datetime.now(dt.UTC)
    assert str(seal) == (
        f"schema {seal.sha256[:16]} declared by somebody unnamed on {seal.at}, "
        "before the data were read (by the record of openings; one that was deleted cannot be "
        "detected)"
    )


def test_a_schema_sealed_after_opening_says_so() -> None:
    seal = SCHEMA.as_opened().seal().seal_of
    assert seal is not None
    assert not seal.before_opening
    assert str(seal).endswith(", sealed after opening")


def test_a_seal_names_who_declares(tmp_path: Path) -> None:
    sealed = SCHEMA.seal(by="A. Custodian\x1b")
    assert "declared by A. Custodian" in str(sealed.seal_of)
    assert "\x1b" not in str(sealed.seal_of)
    assert sealed.digest() == SCHEMA.digest()
    assert sealed.seal() == sealed.seal(by="A. Custodian\x1b") == sealed
    sealed = SCHEMA.seal(by="A. Custodian")
    sealed.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml").seal_of == sealed.seal_of


def test_another_name_is_another_seal_and_an_honest_one() -> None:
    other = SCHEMA.seal(by="A").as_opened().seal(by="B").seal_of
    assert other is not None
    assert (other.by, other.before_opening) == ("B", False)


def test_a_seal_stands_while_nothing_changes() -> None:
    old = Seal("2020-01-01T00:00:00+00:00", SCHEMA.digest(), before_opening=True)
    sealed = replace(SCHEMA, seal_of=old).as_opened()
    for schema in (
        sealed.seal(),
        sealed.declare(),
        sealed.declare(age=dict(bounds=(15, 80), bins=5)),
        sealed.declare(dataset_id="wave2", unit=Unit("person", "name", 1)),
        sealed.with_columns([AGE]),
        sealed.select(["age", "name"]),
    ):
        assert schema.seal_of == old
        assert schema.seal().seal_of == old


def test_a_changed_fact_breaks_the_seal_and_the_next_one_is_honest() -> None:
    opened = SCHEMA.seal().as_opened()
    for schema in (
        opened.declare(age=(16, 80)),
        opened.declare(dataset_id="other"),
        opened.declare(unit=Unit("village")),
        opened.declare(confirm_header=True),
        opened.declare_rest("drop"),
        opened.select(["name"]),
    ):
        assert schema.seal_of is None
        seal = schema.seal().seal_of
        assert seal is not None
        assert not seal.before_opening


def test_a_seal_that_does_not_fit_is_replaced() -> None:
    stale = Seal("2020-01-01T00:00:00+00:00", "0" * 64, before_opening=True)
    seal = replace(SCHEMA, seal_of=stale, opened=True).seal().seal_of
    assert seal is not None
    assert (seal.sha256, seal.before_opening) == (SCHEMA.digest(), False)
    assert SCHEMA.seal().unsealed().seal_of is None


def test_columns_by_name() -> None:
    assert SCHEMA.names == ["age", "name"]
    assert SCHEMA.column("age") is AGE
    assert dict(SCHEMA.labels_of("age")) == {0: "no", 1: "yes", ".a": "refused"}
    assert dict(SCHEMA.labels_of("name")) == {}
    assert SCHEMA.select(["name"]).names == ["name"]


def test_a_label_set_that_is_attached_but_not_there_is_empty() -> None:
    assert dict(Schema((AGE,)).labels_of("age")) == {}


@pytest.mark.parametrize("call", [
    lambda s: s.column("aeg"),
    lambda s: s.labels_of("aeg"),
    lambda s: s.select(["aeg"]),
    lambda s: s.declare(aeg=(0, 1)),
    lambda s: s.with_columns([Column("aeg")]),
])  # fmt: skip
def test_an_unknown_column_is_named_with_the_closest(call: Any) -> None:
    with pytest.raises(ColumnError, match=r"^no column 'aeg' in the schema; did you mean 'age'\?$"):
        call(SCHEMA)


def test_duplicated_names_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"columns named twice: age; give every column its own"):
        Schema((AGE, NAME, AGE))


def test_declaring_leaves_the_first_schema_alone() -> None:
    new = SCHEMA.declare(age=dict(fate="drop"), name=dict(fate="key"), confirm_header=True)
    assert [c.fate for c in new.columns] == ["drop", "key"]
    assert all(c.confirmed for c in new.columns)
    assert [c.fate for c in SCHEMA.columns] == [None, None]
    assert not AGE.confirmed


def test_declare_rest_leaves_what_is_decided() -> None:
    schema = Schema((Column("a", fate="modelled"), Column("b", derived="a + 1"), Column("c")))
    rest = schema.declare_rest("withheld")
    assert [c.fate for c in rest.columns] == ["modelled", None, "withheld"]
    with pytest.raises(SchemaError, match="free text and cannot be 'modelled'"):
        Schema((Column("s", "strL"),)).declare_rest("modelled")


def test_a_schema_pickles_with_its_seal() -> None:
    sealed = SCHEMA.seal()
    again = pickle.loads(pickle.dumps(sealed))
    assert again == sealed
    assert again.seal_of == sealed.seal_of
    assert again.digest() == sealed.digest()


def test_it_prints_as_a_codebook() -> None:
    lines = str(SCHEMA).splitlines()
    assert lines[0] == "947 rows, 2 columns; one record is one person; not sealed"
    assert lines[1] == "  age   byte    15 to 80, 5 bins, missing .; Age"
    assert lines[2] == "  name  str20   levels a, b"
    assert str(SCHEMA.seal()).splitlines()[0].endswith("deleted cannot be detected)")
    assert str(Schema(())).startswith("0 columns;")


def test_declared_facts_are_a_table() -> None:
    facts = SCHEMA.to_frame().set_index("name")
    assert facts.loc["age", ["low", "high", "bins", "missing"]].tolist() == [15, 80, "5", "."]
    assert facts.loc["name", "levels"] == "a, b"
    assert facts["low"].isna().tolist() == [False, True]
    assert len(Schema(()).to_frame()) == 0


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (Column("y"), ""),
        (Column("y", bounds=(0, 2.5), clip=True, sd=1.5, centre=1), "0 to 2.5, clipped, sd about "
         "1.5, mean about 1"),
        (Column("k", "int", levels=tuple(range(9))), "9 levels"),
        (Column("y", bounds=(0, 9), bins=(3.0, 6.0), missing=(".", ".a")), "0 to 9, bins at 3, 6, "
         "missing ., .a"),
        (Column("t", role="treatment", missing=(), exclusive="arms", levels=(0, 1)),
         "treatment, levels 0, 1, never missing, one of arms"),
        (Column("ty", made_of=("t", "y")), "made of t, y"),
        (Column("z", derived="t + y"), "= t + y"),
    ],
)  # fmt: skip
def test_facts_in_words(column: Column, words: str) -> None:
    assert facts_in_words(column) == words


def test_the_source_is_never_shown_or_compared() -> None:
    from pathlib import Path

    with_source = replace(SCHEMA, source=Path("/secret/place.dta"))
    assert with_source == SCHEMA
    assert "secret" not in repr(with_source) + str(with_source)
    assert with_source.digest() == SCHEMA.digest()
    assert "source" not in column_facts(AGE)


def test_what_is_shown_is_a_line_for_every_column_with_its_fate() -> None:
    schema = Schema((Column("age", "byte", label="in years"), Column("y", "double")))
    assert repr(schema) == str(schema)
    assert "  age  byte    in years" in str(schema)
    assert "  age  byte    filler  in years" in str(schema.declare(age=dict(fate="filler")))
