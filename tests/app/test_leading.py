"""What follows from roles and method, and that every method can be reached from every other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.app.desk import opened
from dprct.app.leading import follow, implied, proposals, small_delta
from dprct.app.points import explained
from dprct.app.words import in_fields, label, plain
from dprct.disk import read_toml
from dprct.errors import StudyError
from dprct.schema import Column, FileFacts, Schema
from dprct.study.methods import METHODS
from dprct.study.ready import planned
from dprct.study.study import FROM_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.app.desk import Desk

NAMES = ("treat", "got", "age", "income")


def changes(of: dict[tuple[Any, ...], str]) -> list[dict[str, Any]]:
    return [{"at": [*at], "typed": text} for at, text in of.items()]


def edit(desk: Desk, of: dict[tuple[Any, ...], str]) -> None:
    desk.edit(desk.revision(), changes(of))


def roles(desk: Desk, **of: str) -> None:
    edit(desk, {("columns", name, "role"): role for name, role in of.items()})


FACTS = {
    ("columns", "treat", "levels"): "0, 1",
    ("columns", "got", "levels"): "0, 1",
    ("columns", "age", "bounds"): "15, 80",
    ("columns", "income", "bounds"): "0, 9000",
    **{("columns", name, "missing"): "never" for name in NAMES},
    ("header", "confirm"): "true",
}


def test_roles_say_formula_design_and_fates(desk: Desk) -> None:
    edit(desk, {("release", "method"): "calibrated"})
    roles(desk, income="outcome", treat="treatment", age="covariate", got="block")
    study = desk.study()
    assert study.release.formula == "income ~ treat + age"
    assert study.asked.spec.assignment.uses == ("got",)
    fates = {name: study.columns[name]["fate"] for name in NAMES}
    assert fates == {"treat": "public", "got": "public", "age": "modelled", "income": "modelled"}
    # what a person wrote otherwise stays; what only followed goes on following
    edit(desk, {("columns", "age", "fate"): "filler"})
    roles(desk, got="outcome")
    (kind,) = [one for one in desk.state()["open"] if one["at"][0] == "design"]
    assert kind["at"] == ["design", "kind"]  # no block says it any more
    edit(desk, {("design", "kind"): "complete"})
    study = desk.study()
    assert study.release.formula == "got + income ~ treat + age"
    assert study.columns["age"]["fate"] == "filler"
    edit(desk, {("release", "formula"): "income ~ treat"})
    roles(desk, got="")
    assert desk.study().release.formula == "income ~ treat"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_chosen_and_left_again(desk: Desk, method: str) -> None:
    """No method needs that its section is there before it is chosen, and none keeps one in it."""
    roles(desk, income="outcome", treat="treatment", age="covariate")
    edit(desk, FACTS)
    before = desk.path.read_text("utf-8")
    edit(desk, {("release", "method"): method})
    state = desk.state()
    assert state["error"] == ""
    assert state["method"] == method
    assert state["columns"]
    named = {one["name"] for one in state["sections"]}
    for point in state["open"]:
        assert point["at"], point
        assert point["at"][0] in {*named, "columns", "regression"}
    edit(desk, {("release", "method"): "mv_histogram"})
    assert desk.state()["method"] == "mv_histogram"
    assert "[calibrated]\n" not in desk.path.read_text("utf-8").replace("# [calibrated]", "")
    assert before.count("[columns.") == desk.path.read_text("utf-8").count("[columns.")


def test_an_observational_study_ends(desk: Desk) -> None:
    """The methods whose section was asked for before it could be written: now they are reached."""
    roles(desk, income="outcome", treat="treatment", age="covariate")
    edit(desk, FACTS)
    method = desk.state()["proposals"]["observational"]["method"]
    edit(desk, {("release", "method"): method, ("release", "epsilon"): "4"})
    assert method == "ipw"
    assert desk.state()["open"] == []
    outlook = desk.outlook(4.0)
    assert outlook["estimates"][0]["with"] > outlook["estimates"][0]["without"]
    assert desk.outlook(1.0)["estimates"][0]["with"] > outlook["estimates"][0]["with"]


def test_what_is_not_whole_is_saved_and_said_beside_its_field(desk: Desk) -> None:
    edit(desk, {("release", "method"): "synthetic_control"})
    (first,) = [one for one in desk.state()["open"] if not one["column"]][:1]
    assert first["at"] == ["synthetic_control", "outcome"]
    edit(desk, {("synthetic_control", "treatment_time"): "3"})
    assert "treatment_time = 3" in desk.path.read_text("utf-8")
    assert desk.state()["columns"]
    edit(desk, {("table", 0, "name"): "t"})  # refused together with this method, and mended here
    assert any("table" in one["point"] for one in desk.state()["open"]) or desk.state()["open"]


def test_a_study_file_that_is_not_whole_can_be_opened_again(desk: Desk) -> None:
    from dprct.app.desk import opened

    edit(desk, {("release", "method"): "ipw"})
    again = opened(desk.path.with_suffix(".dta"), None)
    assert again.state()["method"] == "ipw"
    assert again.state()["columns"]


def test_the_file_that_is_typed_beside_is_the_study(desk: Desk) -> None:
    text = desk.text().replace("epsilon = 1.0", "epsilon = 0.25", 1)
    desk.write(desk.revision(), text)
    assert desk.state()["epsilon"] == 0.25
    desk.undo(desk.revision())
    assert desk.state()["epsilon"] == 1.0


def test_text_arms_are_one_column_with_levels() -> None:
    document = {
        "release": {"method": "private_ate"},
        "columns": {
            "letter": {"role": "treatment", "levels": ["none", "plea"]},
            "voted": {"role": "outcome"},
        },
    }
    found = implied(document, ("letter", "voted"), 1200)
    assert found["design", "arm"] == "letter"
    assert found["design", "arms"] == ["none", "plea"]


def test_several_outcomes_are_proposed_one_release() -> None:
    document = {"columns": {name: {"role": "outcome"} for name in "abc"}}
    assert proposals(document, "abc")["experiment"].method == "moments"
    assert proposals(document, "abc")["observational"].method == "moments"
    assert proposals({}, ())["experiment"].method == "calibrated"
    assert small_delta(10**7) < 1e-7


def test_what_a_person_wrote_is_not_followed() -> None:
    place = ("release", "formula")
    document: dict[str, Any] = {"release": {"formula": "mine ~ own"}}
    follow(document, {place: "y ~ t"}, {place: "y ~ t + x"}, ())
    assert document["release"]["formula"] == "mine ~ own"
    follow(document, {}, {("design", "kind"): "block"}, [("design", "kind")])
    assert "design" not in document


def test_points_lead_to_their_fields() -> None:
    said = {
        "column 'age' has no fate": ("columns", "age", "fate"),
        "outcome 'age' needs bounds = [low, high] or levels of numbers": (
            "columns", "age", "bounds",
        ),
        "covariate: column 'age' has no declared missing policy": ("columns", "age", "missing"),
        f"column 'age': type byte {FROM_FILE}": ("header", "confirm"),
        "[release] epsilon = -1; give more": ("release", "epsilon"),
        "[design] lacks kind; write kind = ...": ("design", "kind"),
        "[calibrated] missing_policy = \"private\" of 'age' is not offered": (
            "columns", "age", "missing_policy",
        ),
        "[moments] 'all': weights names 'age', which is private and needs bounds": (
            "columns", "age", "bounds",
        ),
        "something else": (),
    }  # fmt: skip
    keys = {"release": {"epsilon"}, "design": {"kind"}}
    found = explained([*said], ["age"], keys)
    assert {one.point: one.at for one in found} == said


def test_a_plan_that_refuses_names_what_would_go_on() -> None:
    said = '[release] the plan refuses: too few; (method = "marginals"), or confirm = true'
    (one,) = explained([said], (), {"release": {"method", "confirm"}})
    assert one.at == ("release", "confirm")
    assert one.why == ""
    assert [button["label"] for button in one.remedies] == [
        "Take “A file, column by column”", "Go on although the plan refuses: yes",
    ]  # fmt: skip
    (control,) = explained(["[cate] control is open; give one of: a, b"], (), {"cate": {"control"}})
    assert [button["changes"][0]["typed"] for button in control.remedies] == ["a", "b"]
    said = '[release] estimator = "aipw" with 2 columns: noise; take estimator = "ipw"'
    (one,) = explained([said], (), {"release": {"method"}, "ipw": {"estimator"}})
    assert [button["changes"] for button in one.remedies] == [
        [{"at": ["ipw", "estimator"], "typed": "ipw"}]
    ]
    said = "[calibrated] missing_policy = \"private\" of 'y' is not offered with clusters; say "
    (one,) = explained([said + 'missing_policy = "public" or a number'], ["y"], {})
    assert [button["label"] for button in one.remedies] == ["It is public who has a value"]
    said = """column 'y' may be missing; declare missing_policy = "public", or missing = "never\""""
    (one,) = explained([said], ["y"], {})
    assert [button["label"] for button in one.remedies] == [
        "It is public who has a value", "It is never missing",
    ]  # fmt: skip


def test_a_regression_that_needs_public_treatment_has_a_button_and_its_options_are_in_sight(
    desk: Desk,
) -> None:
    edit(desk, {("release", "method"): "moments"})
    roles(desk, income="outcome", treat="treatment", age="covariate")
    edit(desk, FACTS | {("design", "kind"): "complete", ("release", "delta"): "1e-6"})
    asked = {"formula": "income ~ treat", "where": "age > 30", "name": "older"}
    edit(desk, {("regression", 0, key): text for key, text in asked.items()})
    (form, _) = (one for one in desk.state()["sections"] if one["name"] == "regression")
    first = [one["key"] for one in form["fields"] if one["first"]]
    assert {"formula", "where", "family", "weights", "name"} <= {*first}
    (one,) = desk.state()["open"]
    (button,) = one["remedies"]
    assert button["label"] == "It is public who was treated"
    assert "Whether treatment is protected: who was treated is public" in one["words"]
    desk.edit(desk.revision(), button["changes"])
    assert desk.state()["open"] == []


def test_sections_in_a_sentence_have_their_headings() -> None:
    said = in_fields("[budget] epsilon = 3: give the same [budget], or none", {"epsilon"})
    assert said == (
        "“Epsilon: 3”: give the same “The most that these people may ever be charged”, or none"
    )


def test_words_of_the_page_are_no_code(desk: Desk) -> None:
    assert label("treatment_time") == "Treatment time"
    assert plain("``x=True`` of :class:`Design`") == "x = true of Design"
    for method in METHODS:
        edit(desk, {("release", "method"): method})
        for section in desk.state()["sections"]:
            for one in section["fields"]:
                said = f"{one['label']} {one['help']} {one['takes']}"
                assert "``" not in said
                assert ":class:" not in said
                for word in ("in quotes", "in brackets", "table of tables", "=True"):
                    assert word not in said, (method, one)


def test_a_study_is_about_the_regressions_of_its_do_files(desk: Desk) -> None:
    """Before a treatment is said, nothing can be taken; then roles and regressions are theirs."""
    do = 'use "survey.dta"\nreg income treat age, robust\nreg income treat i.got, robust\n'
    desk.path.with_name("tables.do").write_text(do, "utf-8")
    edit(desk, {("release", "method"): "calibrated", ("package", "do"): "tables.do"})
    assert desk.state()["do_files"] == ["tables.do"]
    with pytest.raises(StudyError, match="which column is treatment"):
        desk.take_do_files(desk.revision())
    roles(desk, treat="treatment")
    desk.take_do_files(desk.revision())
    found = desk.state()["roles"]
    assert found == {
        "treatment": ("treat",),
        "outcome": ("income",),
        "covariate": ("got", "age"),
    }, "no column is published because a do-file has it as a factor"
    text = desk.text()
    assert (
        'formula = "income ~ treat + age"' in text or 'formula = "income ~ treat + C(got)"' in text
    )
    assert "specifications = [" in text


def test_two_groups_of_text_are_a_column_of_0_and_1_where_one_is_needed() -> None:
    columns = {
        "got": {"role": "treatment", "levels": ["no", "yes"]},
        "y": {"role": "outcome"},
        "x": {"role": "covariate"},
    }
    names = ["got", "y", "x"]
    for method in ("ipw", "cate"):
        found = implied({"release": {"method": method}, "columns": columns}, names, 900)
        assert found["derived", "got_yes"] == "got == 'yes'"
    assert found["cate", "treatment"] == "got_yes"
    found = implied({"release": {"method": "calibrated"}, "columns": columns}, names, 900)
    assert found["release", "formula"] == "y ~ C(got) + x"
    assert ("derived", "got_yes") not in found
    columns["got"]["levels"] = ["yes", "no"]  # whoever writes it so means the same groups
    found = implied({"release": {"method": "ipw"}, "columns": columns}, names, 900)
    assert found["derived", "got_yes"] == "got == 'yes'"


def _edited(desk: Desk, changes: dict[tuple[Any, ...], str]) -> list[dict[str, Any]]:
    edit(desk, changes)
    found: list[dict[str, Any]] = desk.state()["open"]
    return found


@pytest.mark.parametrize("asked", [False, True])
def test_an_experiment_is_planned_from_the_header_as_from_its_rows(
    tmp_path: Path, *, asked: bool
) -> None:
    """Where arms have their declared shares, and clusters one size: how many is asked or known."""
    rng = np.random.default_rng(8)
    school = np.arange(3000) // 25
    table = pd.DataFrame({"treat": school % 2, "school": school, "age": rng.integers(6, 15, 3000),
                          "score": rng.integers(0, 101, 3000)})  # fmt: skip
    kinds = {"treat": "byte", "school": "int", "age": "byte", "score": "int"}
    schema = Schema(tuple(Column(name, kind) for name, kind in kinds.items()), FileFacts())
    dprct.write_dta(table.astype(float), schema, tmp_path / "pupils.dta")
    desk = opened(tmp_path / "pupils.dta", None)
    edit(desk, {("release", "method"): "moments"})
    roles(desk, score="outcome", treat="treatment", school="cluster", age="covariate")
    edit(desk, {
        ("columns", "treat", "levels"): "0, 1", ("columns", "age", "bounds"): "5, 16",
        ("columns", "score", "bounds"): "0, 100", ("header", "confirm"): "true",
        **{("columns", name, "missing"): "never" for name in kinds},
        ("moments", "formulas"): '"score ~ treat", "score ~ treat + age"',
        ("design", "kind"): "cluster", ("design", "largest"): "" if asked else "25",
    })  # fmt: skip
    clusters = 120 if asked else None
    found = desk.outlook(2.0, clusters)
    assert desk.outlook(2.0)["needs_rows"] is asked
    assert found["clusters"] == ["school"] * asked
    of_rows = planned(desk.study()).errors()
    assert len(found["estimates"]) >= 2
    for one in desk.outlook(desk.study().release.epsilon, clusters)["estimates"]:
        errors = of_rows[f"{one['regression']}: {one['term']}"]
        assert one["with"] == pytest.approx(errors["std_error"], rel=0.03)
        assert one["without"] == pytest.approx(errors["std_error_without_privacy"], rel=0.03)
    assert all(one["with"] > one["without"] for one in found["estimates"])
    assert "120 clusters of school" in " ".join(desk.plan(clusters).split())


_SURVEY: dict[tuple[Any, ...], str] = {
    ("columns", "age", "role"): "covariate",
    ("columns", "income", "role"): "outcome",
    ("columns", "got", "role"): "covariate",
    ("columns", "treat", "fate"): "drop",
}


def test_what_follows_is_asked_for_at_once(desk: Desk) -> None:
    """Bounds, codes and missing values of all columns, also where a method names one at a time."""
    roles = {**_SURVEY, ("columns", "treat", "fate"): "", ("columns", "treat", "role"): "treatment"}
    found = {tuple(one["at"]) for one in _edited(desk, {("release", "method"): "ipw", **roles})}
    names = ("treat", "got", "age", "income")
    assert {("columns", name, "missing") for name in names} <= found
    assert {("columns", name, "bounds") for name in ("got", "age", "income")} <= found
    assert ("columns", "treat", "levels") in found
    assert ("header", "confirm") in found
    # where nobody said that a value may be missing, nobody is asked what to do about it
    found = {tuple(one["at"]) for one in _edited(desk, {("release", "method"): "moments"})}
    assert ("columns", "income", "missing") in found
    assert ("columns", "income", "missing_policy") not in found
    may = _edited(desk, {("columns", "income", "missing"): "."})
    assert ("columns", "income", "missing_policy") in {tuple(one["at"]) for one in may}


def test_a_survey_with_too_many_combinations_is_led_to_what_can_be_released(desk: Desk) -> None:
    facts: dict[tuple[Any, ...], str] = {
        ("columns", "age", "bounds"): "15, 80",
        ("columns", "income", "bounds"): "0, 20000",
        ("columns", "income", "bins"): "10",
        ("columns", "got", "levels"): "0, 1",
        **{("columns", name, "missing"): "never" for name in ("age", "income", "got")},
        ("header", "confirm"): "true",
    }
    (point,) = _edited(desk, {**_SURVEY, **facts})
    assert "combinations of answers for 2,000 rows" in point["words"]
    assert not any(word in point["words"] for word in ("n / K", "t =", "confirm"))
    bins = point["remedies"][0]
    assert bins["label"].endswith("bins for age, income")
    assert desk.state()["proposals"]["survey"]["method"] == "mv_histogram"
    assert _edited(desk, {tuple(one["at"]): one["typed"] for one in bins["changes"]}) == []
    # where no number of bins is enough, another method is proposed, and opens
    _edited(desk, {tuple(one["at"]): "10" for one in bins["changes"]})
    (point,) = _edited(desk, {("release", "epsilon"): "0.05"})
    assert desk.state()["proposals"]["survey"]["method"] == "marginals"
    assert point["remedies"][0]["changes"][0]["typed"] == "marginals"
    assert _edited(desk, {("release", "method"): "marginals"}) == []


def test_a_survey_has_weights_in_its_regressions_and_no_design(desk: Desk) -> None:
    facts: dict[tuple[Any, ...], str] = {
        **_SURVEY,
        ("release", "method"): "moments",
        ("columns", "treat", "role"): "weight",
        ("columns", "treat", "fate"): "",
        ("columns", "treat", "bounds"): "0, 4",
        ("columns", "age", "bounds"): "15, 80",
        ("columns", "income", "bounds"): "0, 20000",
        ("columns", "got", "levels"): "0, 1",
        **{("columns", name, "missing"): "never" for name in ("age", "income", "got", "treat")},
        ("header", "confirm"): "true",
    }
    assert _edited(desk, facts) == []
    plan = desk.plan()  # no column is public: what no row tells is the whole plan
    assert plan == str(planned(desk.study()))
    (first, *_) = desk.outlook(4.0)["estimates"]
    assert first["regression"].startswith("income ~ ")
    assert desk.outlook(1.0)["estimates"][0]["ratio"] > first["ratio"] > 1
    assert 'weights = "treat"' in desk.path.read_text("utf-8")
    sections = {one["name"]: one for one in desk.state()["sections"]}
    assert sections["moments"]["title"] == "Options of “Regressions, as numbers”"
    assert not any(one["required"] for one in sections["design"]["fields"])
    (point,) = _edited(desk, {("moments", "weights"): ""})
    assert "give the column of weights another role" in point["words"]


def test_labelled_answers_are_categories_unless_a_person_says_otherwise(tmp_path: Path) -> None:
    names = ("y", "region", "age", "kids", "city")
    data = pd.DataFrame({name: [1.0, 2.0, 3.0] for name in names[:-1]} | {"city": ["a", "b", "c"]})
    labels = {
        "region": {1: "north", 2: "south", 3: "east"},
        "age": {97: "refused", 98: "unknown", 99: "not asked"},
    }
    columns = [Column(n, "byte", value_label=n if n in labels else "") for n in names[:-1]]
    schema = Schema((*columns, Column("city", "str1")), FileFacts(value_labels=labels))
    dprct.write_dta(data, schema, tmp_path / "s.dta")
    desk = opened(tmp_path / "s.dta", None)

    def formulas() -> list[str]:
        found: list[str] = read_toml(desk.path, StudyError)["moments"]["formulas"]
        return found

    edit(desk, {("release", "method"): "moments"})
    roles(desk, y="outcome", **dict.fromkeys(names[1:], "covariate"))
    assert formulas() == ["y ~ C(region) + C(age) + kids + C(city)"]
    edit(desk, {("columns", "age", "bounds"): "0, 99"})  # an amount with a few labelled codes
    edit(desk, {("columns", "kids", "levels"): "0, 1, 2, 3"})
    assert formulas() == ["y ~ C(region) + age + C(kids) + C(city)"]
    recast = {one["name"]: one["recast"] for one in desk.state()["columns"]}
    assert recast["y"] is recast["age"] is recast["city"] is None
    assert "its numbers are codes (1 north, 2 south and so on)" in recast["region"]["words"]
    for name in ("region", "kids"):
        desk.edit(desk.revision(), recast[name]["changes"])
        recast = {one["name"]: one["recast"] for one in desk.state()["columns"]}
    assert formulas() == ["y ~ region + age + kids + C(city)"]
    roles(desk, city="")  # what was chosen stays when the formula follows
    assert formulas() == ["y ~ region + age + kids"]
    (region,) = [one for one in desk.state()["columns"] if one["name"] == "region"]
    desk.edit(desk.revision(), region["recast"]["changes"])
    assert formulas() == ["y ~ C(region) + age + kids"]
    edit(desk, {("release", "method"): "calibrated", ("columns", "city", "role"): "treatment"})
    release = read_toml(desk.path, StudyError)["release"]
    assert release["formula"] == "y ~ city + C(region) + age + kids"


def test_text_waits_for_its_values_and_names_suggest_roles(tmp_path: Path) -> None:
    path = tmp_path / "trial.csv"
    rows = "".join(f"{i},v{i % 40},{i % 40 % 2},{i % 7},a,{i % 3}\n" for i in range(400))
    path.write_text(f"pid,village,treat,y,note,wt\n{rows}", "utf-8")
    desk = opened(path, None)
    state = desk.state()
    assert state["guessed"] == {"pid": "id", "note": "out", "wt": "weight"}
    later = {one["name"]: one["later"] for one in state["columns"]}
    assert later["note"] == ["modelled", "filler", "public"]
    assert later["y"] == []
    assert not any(one["facts"]["fate"] for one in state["columns"]), "text is asked for, too"
    edit(desk, {("release", "method"): "calibrated", ("columns", "y", "bounds"): "0, 6"})
    roles(desk, y="outcome", treat="treatment", village="cluster")
    edit(desk, {("columns", name, "fate"): "drop" for name in ("pid", "note", "wt")})
    edit(desk, {("columns", name, "missing"): "never" for name in ("y", "treat")})
    edit(desk, {("columns", "treat", "levels"): "0, 1", ("header", "confirm"): "true"})
    assert desk.state()["open"] == [], "nobody types the names of forty villages"
    assert "epsilon=1" in desk.offer(desk.revision(), accept_no_guarantee=False)["words"]
