from __future__ import annotations

from typing import Any

import pytest

from dprct.app.fields import fact, section_value, shown_fact, shown_value
from dprct.app.forms import form
from dprct.errors import StudyError
from dprct.estimate.moments.model import MomentsSpec
from dprct.schema.facts import DECLARABLE
from dprct.schema.keys import keys_of
from dprct.study.asked import spec_of
from dprct.study.methods import METHODS
from dprct.study.sections import DesignSection, ReleaseSection, TotalBudget


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bounds", [15, 80]),
        ("bounds", [-1.5, 2.5]),
        ("levels", [0, 1]),
        ("levels", ["yes", "no, never", "1", " x "]),
        ("bins", 5),
        ("bins", [20, 30.5]),
        ("missing", [".", ".a"]),
        ("missing", "never"),
        ("fate", "key"),
        ("integer", True),
        ("decimals", 2),
        ("derived", "a + b"),
    ],
)
def test_what_is_shown_of_a_fact_is_read_as_that_fact(name: str, value: object) -> None:
    assert name in DECLARABLE
    assert fact(name, shown_fact(value)) == value


@pytest.mark.parametrize(
    ("kind", "key", "text", "value"),
    [
        (ReleaseSection, "epsilon", "0.5", 0.5),
        (ReleaseSection, "output", "a, b.dta", "a, b.dta"),
        (ReleaseSection, "confirm", "false", False),
        (DesignSection, "arms", "a", ["a"]),
        (DesignSection, "arms", "a, b", ["a", "b"]),
        (DesignSection, "shares", "0.5", 0.5),
        (DesignSection, "shares", "0.5, 0.25", [0.5, 0.25]),
        (DesignSection, "cluster", "village", "village"),
        (DesignSection, "cluster", "village, year", ["village", "year"]),
        (DesignSection, "factors", '{t = {kind = "simple"}}', {"t": {"kind": "simple"}}),
        (DesignSection, "block", "", None),
        (DesignSection, "icc", "y: 0.05; w: 0.1", {"y": 0.05, "w": 0.1}),
        (DesignSection, "cluster_mean_bounds", "y: 0 to 9", {"y": [0, 9]}),
        (spec_of("cate"), "pairs", "age & got; age & x", [["age", "got"], ["age", "x"]]),
    ],
)
def test_fields_take_what_their_keys_take(
    kind: type[Any], key: str, text: str, value: object
) -> None:
    assert section_value(kind, key, text) == value
    assert section_value(kind, key, shown_value(value)) == value


@pytest.mark.parametrize("key", ["epsilon", "confirm", "keep", "colour"])
def test_what_cannot_be_read_is_refused_or_left_to_the_specification(key: str) -> None:
    if key == "keep":
        assert section_value(ReleaseSection, key, "note1, note2") == ["note1", "note2"]
        return
    with pytest.raises(StudyError, match=key):
        section_value(ReleaseSection, key, "much")


def test_a_form_has_every_key_and_what_it_takes() -> None:
    fields = [*form("budget", TotalBudget, {"epsilon": 2.0})]
    assert [one["key"] for one in fields] == [*keys_of(TotalBudget)]
    assert [one["value"] for one in fields] == ["2", "", "", ""]
    assert [one["required"] for one in fields] == [True, False, False, False]
    assert all(one["label"] and one["help"] for one in fields)
    (confirm,) = [one for one in form("release", ReleaseSection, {}) if one["key"] == "confirm"]
    assert confirm["flag"]


def test_relations_are_chosen_by_what_they_protect() -> None:
    (found,) = [one for one in form("moments", MomentsSpec, {}) if one["key"] == "neighbors"]
    assert found["words"]["replace-one-design-public"] == "who was treated is public"
    assert {*found["words"]} == {*found["choices"]}
    assert "replace-one" not in f"{found['label']} {found['help']} {found['default']}"
    spec = METHODS["cate"].specification()  # of which there is one relation, and no choice
    assert "neighbors" not in [one["key"] for one in form("cate", spec, {})]
