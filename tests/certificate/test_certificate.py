from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dprct
from dprct.certificate.certificate import (
    Certificate,
    PermittedDifference,
    header_words,
    sealed_words,
)
from dprct.errors import DprctError, ParameterError, SimulationError
from dprct.io.compare import FACETS
from dprct.privacy.budget import Budget, Guarantee
from dprct.schema import Column, Schema

SHIPPED = json.loads(
    (Path(dprct.__file__).parent / "certificate" / "certificate.schema.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SHIPPED)


def certificate(**changes: Any) -> Certificate:
    facts: dict[str, Any] = {
        "guarantee": Guarantee.of(Budget(1), "replace-one", unit="person"),
        "method": "a method",
        "facts": {"n": "400 rows", "K": "12 cells"},
        "dataset_id": "survey",
        "seal": "schema 0123 of today, before the data were read",
        "seal_sha256": "0" * 64,
        "header": "header facts (types, formats, labels) confirmed as public",
        "ledger": "charged to no ledger",
        "fates": {"got": "modelled", "diary": "withheld"},
        "differences": (
            PermittedDifference("values", "got", "synthetic"),
            PermittedDifference("values", "diary", "withheld"),
            PermittedDifference("values", "arm", "synthetic"),
            PermittedDifference("notes", None, "dropped"),
        ),
        "limits": ("small subgroups are gone",),
        "file": {"name": "out.dta", "sha256": "f" * 64},
        "issued": "2026-11-21",
    }
    return Certificate(**{**facts, **changes})


budgets = st.tuples(
    st.fractions(min_value=0, max_value=50).filter(bool),
    st.one_of(st.just(0), st.fractions(min_value=0, max_value="1/2")),
)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
certificates = st.builds(
    lambda budget, unit, facts, fates, differences, file, dataset_id: certificate(
        guarantee=Guarantee.of(Budget(*budget), "replace-one", unit=unit),
        facts=facts,
        fates=fates,
        differences=tuple(PermittedDifference(*d) for d in differences),
        file=file,
        dataset_id=dataset_id,
    ),
    budgets,
    texts,
    st.dictionaries(texts, texts, max_size=3),
    st.dictionaries(texts, st.sampled_from(["modelled", "filler", "key", "derived"]), max_size=3),
    st.lists(st.tuples(st.sampled_from(sorted(FACETS)), st.none() | texts, texts), max_size=4),
    st.sampled_from([{}, {"name": "a.dta", "sha256": "a" * 64}]),
    st.none() | texts,
)


@given(certificates)
def test_every_certificate_is_valid_and_reads_back(found: Certificate) -> None:
    content = json.loads(json.dumps(found.to_dict(), ensure_ascii=False))
    VALIDATOR.validate(content)
    again = Certificate.from_dict(content)
    assert again == found
    assert again.to_dict() == content
    assert again.to_text() == found.to_text()


def test_the_shipped_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SHIPPED)


def _without(content: dict[str, Any], part: str) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != part}


@pytest.mark.parametrize("part", list(certificate().to_dict()))
def test_a_part_that_is_missing_is_noticed(part: str) -> None:
    content = _without(certificate().to_dict(), part)
    assert not VALIDATOR.is_valid(content)
    if part not in ("dprct",):
        with pytest.raises(ParameterError, match="certificate"):
            Certificate.from_dict(content)


@pytest.mark.parametrize(
    "change",
    [{"certificate": 2}, {"extra": 1}, {"fates": {"got": "kept"}}, {"file": {"sha256": "abc"}},
     {"issued": "today"}, {"differences": [{"facet": "values"}]}, {"limits": "none"},
     {"guarantee": {**certificate().guarantee.to_dict(), "simulation": True}}],
)  # fmt: skip
def test_the_schema_refuses_what_is_no_certificate(change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(certificate().to_dict())
    assert not VALIDATOR.is_valid({**certificate().to_dict(), **change})


@pytest.mark.parametrize("content", [[], {}, {"certificate": 2}, {"certificate": 1}, "text"])
def test_reading_something_else_is_refused(content: Any) -> None:
    with pytest.raises(ParameterError, match=r"give the\s+content of a \.certificate\.json"):
        Certificate.from_dict(content)


def test_the_text_says_everything_in_lines_that_can_be_read() -> None:
    text = certificate().to_text()
    for part in (
        "Certificate of out.dta", "epsilon=1", "n is public", "Method: a method", "n: 400 rows",
        "Data set: survey", "before the data were read", "charged to no ledger",
        "values of got, arm: synthetic", "values of diary: withheld", "notes of the file: dropped",
        "- small subgroups are gone", "SHA-256 of the file: ffff", "Issued 2026-11-21.",
    ):  # fmt: skip
        assert part in text
    assert max(map(len, text.splitlines())) <= 88
    assert str(certificate()) == text


def test_a_certificate_before_writing_names_no_file() -> None:
    text = certificate(file={}, dataset_id=None, limits=()).to_text()
    assert "Certificate of the protected file" in text
    assert "SHA-256" not in text
    assert "not good for" not in text
    assert "no dataset id declared" in text


def test_a_simulation_gets_no_certificate() -> None:
    guarantee = Guarantee.of(Budget(1), "replace-one").as_simulation()
    with pytest.raises(SimulationError, match="fit without rng"):
        certificate(guarantee=guarantee)


def test_it_is_dated_when_made() -> None:
    assert len(certificate(issued="").issued) == len("2026-11-21")
    assert replace(certificate(), file={}).issued == "2026-11-21"


def test_the_header_is_confirmed_or_its_open_columns_are_named() -> None:
    schema = Schema((Column("a"), Column("b"), Column("c")))
    schema = schema.declare(b={"confirmed": True}, c={"fate": "drop"})
    assert header_words(schema).endswith("not confirmed as public: a")
    assert "confirmed as public" in header_words(schema.declare(confirm_header=True))
    assert "not" not in header_words(schema.declare(confirm_header=True))


def test_the_seal_is_that_of_the_schema() -> None:
    schema = Schema((Column("a"),)).seal()
    words, digest = sealed_words(schema)
    assert digest == schema.digest()
    assert words == str(schema.seal_of)
    assert "sealed after opening" in sealed_words(schema.unsealed().as_opened())[0]


HOSTILE: dict[str, Any] = {
    "null": None, "true": True, "a number": -1, "no end": float("inf"), "text": "x" * 50_000,
    "a lone surrogate": "\ud800", "a list": [1], "lists in lists": [[]], "a dict": {"a": 1},
}  # fmt: skip


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every part of a document, by the keys that lead there."""
    found = [above]
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            found += places(value[key], (*above, key))
    return found


def with_part(document: Any, place: tuple[Any, ...], part: Any) -> Any:
    if not place:
        return part
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[place[0]] = with_part(copy[place[0]], place[1:], part)
    return copy


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_strangers_certificate_is_refused_in_a_sentence_or_can_be_shown(kind: str) -> None:
    """Each part in turn is of a wrong kind; what is read can be written as text and as JSON."""
    sound, lengths = json.loads(json.dumps(certificate().to_dict())), []
    for place in places(sound):
        try:
            found = Certificate.from_dict(with_part(sound, place, HOSTILE[kind]))
        except DprctError as error:  # SimulationError, too
            lengths.append(len(str(error).encode("utf-8")))
        else:
            found.to_text().encode("utf-8")
            json.dumps(found.to_dict(), ensure_ascii=False).encode("utf-8")
    assert len(lengths) > 8
    assert max(lengths) < 500
