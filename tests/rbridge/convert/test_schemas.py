from __future__ import annotations

from dprct.rbridge.convert import from_r, schema_record, to_r
from dprct.rbridge.convert.records import live
from dprct.schema import Column, FileFacts, Schema

SCHEMA = Schema(
    (Column("got", "byte", label="Got it", value_label="yn", missing=()), Column("y")),
    FileFacts(value_labels={"yn": {0: "no", 1: "yes"}}, rows=3, label="A survey"),
    dataset_id="survey",
).declare(y=(0, 10))


def test_a_schema_is_itself_in_its_session(r):
    assert from_r(to_r(SCHEMA)) is SCHEMA
    assert from_r(to_r(schema_record(SCHEMA))) is SCHEMA


def test_a_saved_schema_is_made_again(r, monkeypatch):
    saved = to_r(SCHEMA)
    monkeypatch.setattr(live, "session", "another")
    again = from_r(saved)
    assert again == SCHEMA
    assert again.digest() == SCHEMA.digest()


def test_r_sees_names_and_text(r):
    fields = schema_record(SCHEMA).fields
    assert fields["columns"] == ["got", "y"]
    assert "Got it" in fields["text"]
