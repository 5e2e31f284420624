"""A saved release is the release; an edited or hostile file is refused in one sentence."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Schema
from dprct.errors import FileError, SimulationError
from dprct.estimate.moments.document import digest_of
from dprct.schema import FileFacts

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("wage", bounds=(-4, 4), label="hourly wage", **NEVER),
        Column("late", bounds=(-4.0, 4.0), missing=(".", ".a")),
        Column("region", "byte", levels=(1, 2, 3), **NEVER),
        Column("town", "str5", levels=("north", "süd"), **NEVER),
        Column("trained", "byte", levels=(0, 1), **NEVER),
    ),
    dataset_id="villages",
)


@pytest.fixture(scope="module")
def moments() -> Moments:
    rng = np.random.default_rng(2)
    n = 400
    data = pd.DataFrame(
        {
            "wage": rng.normal(size=n),
            "late": np.where(rng.random(n) < 0.3, np.nan, 1.0),
            "region": rng.integers(1, 4, n).astype(float),
            "town": np.array(["north", "süd"], object)[rng.integers(0, 2, n)],
            "trained": rng.integers(0, 2, n).astype(float),
        }
    )
    asked = PrivateMoments(
        data, SCHEMA.declare(wage={"sd": 1}, late={"missing_policy": "public"}), columns=["late"],
        formulas=["wage ~ trained + C(region) + trained:C(region)"], subgroups=["town"],
        assignment=dprct.Simple("trained"),
    )  # fmt: skip
    return asked.fit(epsilon=2, delta=1e-6)


def test_it_comes_back_as_it_was(moments: Moments, tmp_path: Any) -> None:
    path = moments.save(tmp_path / "study.moments.json")
    back = Moments.load(path)
    assert back.to_dict() == moments.to_dict()
    assert str(back.guarantee) == str(moments.guarantee)
    assert back.summary() == moments.summary()
    for ask in ("wage ~ C(region)", "wage ~ trained", "wage ~ trained*C(town)"):
        one, other = back.ols(ask), moments.ols(ask)
        pd.testing.assert_series_equal(one.params, other.params)
        pd.testing.assert_frame_equal(one.cov_params(), other.cov_params())
    pd.testing.assert_series_equal(back.effects().params, moments.effects().params)
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_it_obeys_its_published_schema(moments: Moments) -> None:
    rules = json.loads(
        files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(rules)
    content = json.loads(json.dumps(moments.to_dict()))
    jsonschema.validate(content, rules)
    for key in content:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in content.items() if k != key}, rules)


def test_the_rows_outside_the_ball_are_in_the_file(tmp_path: Any) -> None:
    rows = pd.DataFrame({"wage": np.linspace(-4, 4, 500), "age": np.linspace(-4, 4, 500)})
    facts = (SCHEMA.column("wage"), Column("age", bounds=(-4, 4), sd=2, missing=()))
    asked = PrivateMoments(
        rows, Schema(facts, dataset_id="villages"), formulas=["wage ~ age"], radius=1.5,
        clipped=0.1,
    )  # fmt: skip
    m = asked.fit(epsilon=8, delta=1e-6)
    assert m.clipped is not None
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert back.clipped == m.clipped
    assert abs(m.clipped.shares["all"] - 0.25) < 6 * m.clipped.bse["all"] < 0.3
    assert str(m.clipped) in " ".join(back.summary().split())
    content = json.loads(json.dumps(m.to_dict()))
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(content, json.loads(rules))
    less = {key: value for key, value in content.items() if key != "clipped"}
    assert "give one that Moments.save wrote" in hostile(less, tmp_path)
    # a smaller part of the budget for the counts, and more noise than their size needs
    larger = {**content["layout"], "clipped": 2 * content["layout"]["clipped"]}
    assert "smaller than its guarantee" in hostile({**content, "layout": larger}, tmp_path)


def test_no_row_and_no_seed_is_saved(moments: Moments, tmp_path: Any) -> None:
    seeded = PrivateMoments(
        pd.DataFrame({"wage": np.zeros(10)}), Schema((SCHEMA.column("wage"),)), columns=["wage"]
    ).fit(epsilon=1, delta=1e-6, rng=1)
    with pytest.raises(SimulationError, match="a seed was given"):
        seeded.save(tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()
    with pytest.raises(SimulationError):
        seeded.certificate()
    assert moments.certificate().guarantee == moments.guarantee


def test_an_edited_file_is_refused(moments: Moments, tmp_path: Any) -> None:
    path = moments.save(tmp_path / "study.moments.json")
    text = path.read_text("utf-8")
    path.write_text(text.replace('"n": 400', '"n": 401'), "utf-8")
    with pytest.raises(FileError, match="was changed after it was written"):
        Moments.load(path)


def hostile(content: dict[str, Any], tmp_path: Any) -> str:
    """Write a document whose digest is right, and return what is said of it."""
    path = tmp_path / "hostile.moments.json"
    path.write_text(json.dumps({**content, "digest": digest_of(content)}), "utf-8")
    with pytest.raises(FileError) as caught:
        Moments.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def paths_of(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of a document, down to a depth, of long lists the first entries."""
    found = [at] if at else []
    if len(at) < 4 and isinstance(content, (dict, list)):
        items = content.items() if isinstance(content, dict) else enumerate(content[:2])
        for key, value in items:
            found += paths_of(value, (*at, key))
    return found


WRONG: list[Any] = [None, "x", -1, 10**400, 1e308, [], {}, True, [[[]]]]


@pytest.mark.parametrize(
    ("column", "levels"),
    [("region", "123"), ("region", [1.0, 2.0, "3"]), ("town", "\ud800"), ("town", [1.0, 2.0])],
)
def test_levels_of_another_type_are_refused(
    column: str, levels: Any, moments: Moments, tmp_path: Any
) -> None:
    content = json.loads(json.dumps(moments.to_dict()))
    content["columns"][column]["levels"] = levels
    assert "give one that Moments.save wrote" in hostile(content, tmp_path)
    content["columns"][column]["levels"] = ["\ud800", "north"]
    assert "give one that Moments.save wrote" in hostile(content, tmp_path)


LABELS = {1: "north", 2: "söuth", 3: "west", ".a": "abroad"}


def labelled(confirmed: bool, labels: Any = LABELS) -> Moments:
    """Return moments by region, whose codes have labels."""
    region = Column("region", "byte", levels=(1, 2, 3), value_label="places", confirmed=confirmed,
                    **NEVER)  # fmt: skip
    file = FileFacts(value_labels={"places": labels, "other": {1: "of no column"}})
    rows = pd.DataFrame({"wage": np.linspace(-4, 4, 300), "region": np.tile([1.0, 2, 3], 100)})
    schema = Schema((SCHEMA.column("wage"), region), file, dataset_id="villages")
    asked = PrivateMoments(rows, schema, formulas=["wage ~ C(region)"])
    return asked.fit(epsilon=4, delta=1e-6)


def test_public_labels_come_back_and_others_are_not_written(tmp_path: Any) -> None:
    m = labelled(confirmed=True, labels={**LABELS, 2**80: "beyond Stata"})
    path = m.save(tmp_path / "study.moments.json")
    back = Moments.load(path)
    assert dict(back.schema.labels_of("region")) == LABELS
    assert back.schema.column("region").confirmed
    assert not back.schema.labels_of("wage")
    assert "of no column" not in path.read_text("utf-8")
    assert back.to_dict() == m.to_dict()
    rules = files("dprct.estimate.moments").joinpath("moments.schema.json").read_text("utf-8")
    jsonschema.validate(json.loads(json.dumps(m.to_dict())), json.loads(rules))
    # as documents were written before labels
    old = json.loads(json.dumps(m.to_dict()))
    del old["columns"]["region"]["labels"]
    path.write_text(json.dumps({**old, "digest": digest_of(old)}), "utf-8")
    pd.testing.assert_series_equal(
        Moments.load(path).ols("wage ~ C(region)").params, m.ols("wage ~ C(region)").params
    )
    # an undecodable byte of a file
    told = labelled(confirmed=True, labels={1: "n\udcff"}).save(path).read_text("utf-8")
    assert json.loads(told)["columns"]["region"]["labels"] == [[1, "n�"]]
    assert "labels" not in labelled(confirmed=False).to_dict()["columns"]["region"]


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("region", []),
        ("region", None),
        ("region", "12"),
        ("region", {"1": "north"}),
        ("region", [[1]]),
        ("region", [[1, 2]]),
        ("region", [[1.5, "north"]]),
        ("region", [[True, "north"]]),
        ("region", [[10**400, "north"]]),
        ("region", [["b", "north"]]),
        ("region", [["\ud800", "north"]]),
        ("region", [[1, "\ud800"]]),
        ("region", [[1, "north"], [1, "south"]]),
        ("town", [[1, "north"]]),
    ],
)
def test_hostile_labels_are_refused(
    column: str, labels: Any, moments: Moments, tmp_path: Any
) -> None:
    content = json.loads(json.dumps(moments.to_dict()))
    content["columns"][column]["labels"] = labels
    assert "give one that Moments.save wrote" in hostile(content, tmp_path)


@pytest.mark.parametrize("facts", [{"arm": "\ud800"}, {"values": []}, {"values": [["city", 1.0]]}])
def test_groups_that_do_not_say_what_is_in_them_are_refused(
    facts: dict[str, Any], moments: Moments, tmp_path: Any
) -> None:
    content = json.loads(json.dumps(moments.to_dict()))
    content["groups"][1] |= facts
    assert "give one that Moments.save wrote" in hostile(content, tmp_path)


def refusal(path: Any) -> str:
    """Return what is said of a file; nothing, if it is read."""
    try:
        read = Moments.load(path)
    except FileError as error:
        return str(error)
    assert str(read)
    assert read.columns
    return ""


@pytest.mark.long
def test_hostile_files_with_a_right_digest_end_in_one_sentence_or_in_a_release(
    moments: Moments, tmp_path: Any
) -> None:
    content = json.loads(json.dumps(moments.to_dict()))
    refused = total = 0
    for place in paths_of(content):
        if place[0] == "digest":
            continue
        for wrong in WRONG:
            other = json.loads(json.dumps(content))
            inside = other
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = wrong
            path = tmp_path / "hostile.moments.json"
            path.write_text(json.dumps({**other, "digest": digest_of(other)}), "utf-8")
            total += 1
            said = refusal(path)
            assert "\n" not in said
            refused += bool(said)
    assert refused > 0.6 * total > 300


def test_noise_below_the_guarantee_is_refused(moments: Moments, tmp_path: Any) -> None:
    content = moments.to_dict()
    assert "smaller than its guarantee needs" in hostile(
        {**content, "sigma": content["sigma"] / 2}, tmp_path
    )
    guarantee = {**content["guarantee"], "epsilon": "0.1"}
    assert "smaller than" in hostile({**content, "guarantee": guarantee}, tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[]", "no key 'moments'"),
        ('{"moments": 8}', "its version is not 7"),
        ('{"moments": NaN}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"moments": 6}', "its version is not 7"),
        ('{"moments": 7, "digest": "0"}', "was changed"),
    ],
)
def test_what_is_no_document(text: str, words: str, tmp_path: Any) -> None:
    path = tmp_path / "study.moments.json"
    path.write_text(text, "utf-8")
    with pytest.raises(FileError, match=words):
        Moments.load(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="UTF-8"):
        Moments.load(path)
    with pytest.raises(FileError, match="does not exist"):
        Moments.load(tmp_path / "nowhere.json")
