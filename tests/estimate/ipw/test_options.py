from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from dprct.errors import ParameterError, SchemaError
from dprct.estimate.experiment import fill_of
from dprct.estimate.ipw.model import split_of, treated_code
from dprct.schema import Column, Schema
from dprct.schema.columns import FileFacts

LABELLED = Schema(
    (Column("t", "byte", value_label="yesno", levels=(1.0, 2.0), missing=()),),
    FileFacts(value_labels=MappingProxyType({"yesno": {1: "Control", 2: "Trained"}})),
)


def test_the_larger_code_is_treated_and_said_by_its_label() -> None:
    code, words = treated_code(LABELLED, LABELLED.column("t"), None)
    assert code == 2
    assert "t = Trained" in words


@pytest.mark.parametrize(("asked", "code"), [(1, 1.0), ("Control", 1.0), ("Trained", 2.0)])
def test_the_treated_are_asked_for_by_code_or_label(asked: object, code: float) -> None:
    assert treated_code(LABELLED, LABELLED.column("t"), asked)[0] == code


def test_text_codes_are_levels() -> None:
    schema = Schema((Column("t", "str3", levels=("yes", "no"), missing=()),))
    assert treated_code(schema, schema.column("t"), None)[0] == "yes"
    assert treated_code(schema, schema.column("t"), "no")[0] == "no"


def test_parts_of_the_rows_add_up() -> None:
    assert split_of(None, 1001) == (501, 500)
    assert split_of(0.1, 1000) == (100, 900)
    with pytest.raises(ParameterError, match="split="):
        split_of(-0.5, 1000)


def test_missing_outcomes_need_a_number() -> None:
    y = Column("y", bounds=(0.0, 1.0), missing=("."))
    y = replace(y, missing=(".",))
    assert fill_of(replace(y, missing_policy=0.5)) == 0.5
    assert fill_of(replace(y, missing=(), missing_policy=0.5)) is None
    for other in (y, replace(y, missing_policy="public")):
        with pytest.raises(SchemaError, match="declare missing_policy="):
            fill_of(other)
