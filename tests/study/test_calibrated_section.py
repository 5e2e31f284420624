"""The calibrated release from a study file, from check to the rerun of its tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_groups import ValidGroups
from dprct.certificate.valid_regressions import Specification, Validity
from dprct.cli import main
from dprct.errors import ParameterError, SchemaError, StudyError
from dprct.privacy.accountant import Accountant, find_ledger
from dprct.privacy.budget import Budget
from dprct.privacy.ledger import ledger_path
from dprct.release.calibrated.spec import CalibratedSpec
from dprct.schema import Column, Schema, Unit
from dprct.study.calibrated_section import CalibratedAsked, calibrated_from
from dprct.study.headers import read_header
from dprct.study.protect import declared_tables, protected, written_files
from dprct.study.ready import bound_model, ledger, planned, unaffordable
from dprct.study.sections import ReleaseSection
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """
version = 1
data = "survey.dta"
dataset_id = "survey"
[release]
method = "calibrated"
epsilon = 4.0
formula = "income ~ treat + age"
[design]
kind = "complete"
arms = ["treat"]
[calibrated]
covariate_release = "filler"
alphas = [0.05, 0.01]
specifications = [""]
[header]
confirm = true
[columns]
income = {fate = "modelled", bounds = [0, 40], sd = 3.0, missing = "never"}
treat = {fate = "public", levels = [0, 1], missing = "never"}
age = {fate = "modelled", bounds = [18, 65], missing = "never"}
name = {fate = "withheld"}
[[table]]
name = "t1"
outcomes = ["income"]
arms = ["treat"]
covariates = ["age"]
[[table]]
name = "t2"
outcomes = ["income"]
arms = ["treat"]
errors = "HC3"
"""


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    def write(*changes: tuple[str, str]) -> Path:
        rng = np.random.default_rng(1)
        n = 400
        treat = np.tile([0.0, 1.0], n // 2)
        age = rng.integers(18, 65, n).astype(float)
        data = pd.DataFrame(
            {
                "income": np.clip(10 + 2 * treat + 0.1 * age + rng.normal(0, 3, n), 0, 40),
                "treat": treat,
                "age": age,
                "name": rng.normal(0, 1, n),
            }
        )
        types = {"treat": "byte", "age": "byte"}
        schema = Schema(tuple(Column(c, types.get(c, "double")) for c in data.columns))
        dprct.write_dta(data, schema, tmp_path / "survey.dta")
        text = STUDY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "study.toml").write_text(text, "utf-8")
        return tmp_path / "study.toml"

    return write


def problems(path):
    study = load_study(path)
    return study.problems(read_header(study))


def test_a_complete_study_is_complete(study):
    assert problems(study()) == []


def test_all_covariates_without_bounds_are_named_at_once(study):
    lacking = 'name = {fate = "modelled", missing = "never"}'
    path = study(("bounds = [18, 65], ", ""), ('name = {fate = "withheld"}', lacking))
    found = [point for point in problems(path) if point.startswith("covariate: ")]
    assert [point.split("'")[1] for point in found] == ["age", "name"]


def test_options_reach_the_model(study):
    path = study(("[calibrated]", '[calibrated]\nlegal = "strict"\nblocks = "ignore"'))
    model = bound_model(load_study(path))
    assert model.spec.legal == "strict"
    assert model.spec.alphas == (0.05, 0.01)
    assert model.schema.column("income").sd == 3.0
    assert model.facts.regressions.covariates == (("age",), ())


def test_the_limits_of_a_file_say_that_blocks_were_left_out(study):
    path = study(
        ("income ~ treat + age", "income ~ treat"),
        ('kind = "complete"', 'kind = "block"\nblock = "age"'),
        ("[calibrated]", '[calibrated]\nblocks = "ignore"\nattrition = true'),
        ('age = {fate = "modelled"', 'age = {fate = "public"'),
    )
    model = bound_model(load_study(path))
    assert "blocks (age) are left out of the estimate" in model.spec.limits(model.facts)[-1]


def test_the_plan_is_free_and_names_the_noise(study):
    path = study()
    assert "income" in str(planned(load_study(path)))
    assert not list(path.parent.glob("*.ledger*"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([("formula = ", "# formula = ")], "formula is missing"),
        ([('[design]\nkind = "complete"\narms = ["treat"]', "")], r"[design] is missing"),
        ([("income ~ treat + age", "income ~ age")], "lacks the treatment treat"),
        ([("income ~ treat + age", "income ~ treat*age")], "transforms the treatment"),
        ([("income ~ treat + age", "wealth ~ treat + age")], "'wealth'"),
        ([("bounds = [0, 40], ", "")], "outcome 'income' needs bounds"),
        ([('3.0, missing = "never"', '3.0, missing = ["."]')], "'income' may be missing"),
        ([('3.0, missing = "never"', '3.0, missing = ["."]'),
          ("sd = 3.0", "sd = 3.0, missing_policy = 99")], "outside the bounds"),
        ([("bounds = [18, 65], ", "")], "age"),
        ([('treat = {fate = "public"', 'treat = {fate = "modelled"')], "'treat'"),
        ([("[calibrated]", '[calibrated]\nindex = "0.1 * age"')], "index_bounds"),
        ([("[calibrated]", '[calibrated]\nindex = "5 * treat"\nindex_bounds = [-9, 9]')],
         "would change the effect"),
        ([("[calibrated]", '[calibrated]\ngamma = "moments"')], "one covariate set"),
        ([("[calibrated]", '[calibrated]\nprivacy_unit = "cluster"')],
         '[calibrated] privacy_unit = "cluster" needs a design of clusters'),
        ([('kind = "complete"', 'kind = "cluster"\ncluster = "age"'),
          ("[calibrated]", '[calibrated]\nprivacy_unit = "cluster"')], "needs largest of the"),
        ([("[calibrated]", '[calibrated]\ncontrol = "nobody"')], "is not a group"),
        ([("[calibrated]", "[calibrated]\nbudget_shares = {wages = 1}")], "budget_shares"),
    ],
)  # fmt: skip
def test_what_is_open_is_listed_before_the_data_are_read(study, changes, words):
    found = problems(study(*changes))
    assert any(words in line for line in found), found


def test_what_is_open_of_every_outcome_is_listed_at_once(study):
    changes = (
        ("income ~ treat", "income + name ~ treat"),
        ('bounds = [0, 40], sd = 3.0, missing = "never"', 'missing = "never"'),
        ('"withheld"', '"modelled"'),
    )
    found = problems(study(*changes))
    for outcome in ("income", "name"):
        assert sum(f"outcome '{outcome}' needs bounds" in line for line in found) == 1, found


def test_groups_and_tables_are_held_against_the_declared_columns(study):
    *tables, line = problems(study(("levels = [0, 1]", "levels = [1, 2]")))
    assert [text[:15] for text in tables] == ["[[table]] 't1':", "[[table]] 't2':"]
    assert all("arm 'treat' holds numbers other than 0 and 1" in text for text in tables)
    assert (
        "groups that the levels declared for column 'treat' lack: levels allowed are 1, 2" in line
    )


def test_an_arm_that_is_long_text_is_refused_once_with_the_way_out(tmp_path):
    rows = pd.DataFrame({"y": [0.0, 1.0] * 20, "arm": ["no", "yes"] * 20})
    schema = Schema((Column("y"), Column("arm", "strL")))
    dprct.write_dta(rows, schema, tmp_path / "survey.dta")
    (tmp_path / "study.toml").write_text(
        """
version = 1
data = "survey.dta"
dataset_id = "survey"
[release]
method = "calibrated"
epsilon = 4.0
formula = "y ~ C(arm)"
[design]
kind = "complete"
arm = "arm"
arms = ["no", "yes"]
[calibrated]
control = "no"
[header]
confirm = true
[columns]
y = {fate = "modelled", bounds = [0, 1], missing = "never"}
arm = {fate = "modelled", levels = ["no", "yes"]}
[[table]]
name = "t"
outcomes = ["y"]
arms = ["arm"]
""",
        "utf-8",
    )
    table, design = problems(tmp_path / "study.toml")
    assert "[[table]] 't': column 'arm' holds text" in table
    assert "its fate is 'modelled'" in design


def test_an_index_narrows_the_bounds(study):
    path = study(("[calibrated]", '[calibrated]\nindex = "10 + 0.1 * age"\nindex_bounds = [-9, 9]'))
    assert problems(path) == []
    assert "income clipped to [-9, 9]" in str(planned(load_study(path)))


@pytest.mark.parametrize("policy", ['"public"', '"private"', "0"])
def test_missing_policies_are_accepted(study, policy):
    changes = (
        ('3.0, missing = "never"', '3.0, missing = ["."]'),
        ("sd = 3.0", f"sd = 3.0, missing_policy = {policy}"),
    )
    path = study(*changes)
    assert problems(path) == []
    assert bound_model(load_study(path)) is not None


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"covariate_release": "copied"}, "allowed: auto"),
        ({"legal": "loosely"}, "allowed: calibrated, strict"),
        ({"index": "pilot.csv"}, "states the index itself"),
        ({"index_bounds": "wide"}, "two numbers in brackets"),
        ({"share": 0.2}, "unknown key 'share'"),
        ({"covariates": ["age"]}, "unknown key 'covariates'"),
        ({"alphas": [5.0]}, "sizes of tests"),
        ({"alphas": "0.05"}, "a list of numbers"),
        ({"alphas": 0.05}, "a list of numbers"),
        ({"missing": 0}, "missing_policy is a fact of a column"),
        ({"clip": ["y"]}, "clip is a fact of a column"),
        ({"largest_cluster": 9}, "largest is a fact of the design"),
        ({"budget_shares": {"income": "half"}}, "income = .half.; give a number"),
        ({"privacy_unit": "village"}, "allowed: person, cluster"),
        ({"legall": "strict"}, "did you mean 'legal'"),
        ({"neighbors": "add-remove"}, "allowed: 'replace-one-design-public'"),
    ],
)
def test_what_is_not_allowed_is_refused(section, words):
    with pytest.raises(StudyError, match=words):
        calibrated_from({"calibrated": section}, ReleaseSection(1.0, "calibrated", formula="y ~ t"))


def test_values_beyond_the_bounds_are_refused_or_clipped_by_declaration(study):
    narrow = ("bounds = [0, 40]", "bounds = [0, 15]")
    with pytest.raises(SchemaError, match="outside the bounds"):
        bound_model(load_study(study(narrow)))
    path = study(narrow, ("sd = 3.0", "sd = 3.0, clip = true"))
    assert problems(path) == []
    assert bound_model(load_study(path)).n == 400


def run(*arguments):
    """Return the exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


def test_from_the_shell(study, capsys):
    path = study()
    assert run("check", path) == 0
    assert run("plan", path) == 0
    assert run("protect", path, "--yes") == 0
    capsys.readouterr()
    assert run("table", path) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Calibrated: the errors of treat contain sampling and privacy noise" in text
    assert "Not calibrated: artefact." in text
    folder = path.parent
    assert run("table", path, "--expect", folder / "survey_protected.expected.csv") == 0
    readme = (folder / "survey_protected.README-data.md").read_text("utf-8")
    assert "yes: its numbers, with the noise of the release in estimates and errors" in readme
    assert (
        "no, although its numbers are in survey_protected.expected.csv: Not calibrated: artefact."
        in readme
    )
    data, schema = dprct.read_dta(folder / "survey_protected.dta")
    valid = Validity.of(schema)
    assert valid.covariates == (("age",), ())
    fit = dprct.ols("income ~ treat + age", data, schema)
    expected = pd.read_csv(folder / "survey_protected.expected.csv")
    rows = expected[(expected["table"] == "t1") & (expected["statistic"] == "std.error")]
    assert fit.bse["treat"] == pytest.approx(float(rows["value"].iloc[0]), rel=1e-6)
    certificate = json.loads((folder / "survey_protected.certificate.json").read_text("utf-8"))
    assert certificate["guarantee"]["relation"] == "replace-one-design-public"
    robust = certificate["reading"]["ratios"][0]
    assert robust["command"] == "regress y t x, vce(robust)"
    assert robust["smallest"] == pytest.approx(1, abs=1e-9)
    # The two regressions differ in one degree of freedom.  In about one file in a hundred the
    # filled covariate is so well balanced that no residuals serve both: then the regression with
    # the covariate has the larger error, by this ratio.
    assert robust["largest"] <= np.sqrt(398 / 397) + 1e-5


PRIVATE = (
    ("epsilon = 4.0", "epsilon = 4.0\ndelta = 1e-6"),
    ('arms = ["treat"]\n[cal', 'arms = ["treat"]\nshares = 0.5\n[cal'),
    ("[calibrated]", '[calibrated]\nneighbors = "replace-one"'),
    ('treat = {fate = "public"', 'treat = {fate = "modelled"'),
)


def test_subgroups_of_a_planned_file_are_any_of_its_levels():
    document = {
        "design": {"kind": "block", "arms": ["treat"], "block": "town"},
        "calibrated": {"subgroups": ["town"]},
    }
    release = ReleaseSection(1.0, "calibrated", delta=1e-6, formula="income ~ treat + C(town)")
    valid = calibrated_from(document, release).valid()
    assert valid.groups == ValidGroups(column="town")
    for terms, within in ((["treat"], 3.0), (["treat"], "Hull"), (["treat", "C(town)"], None)):
        spec = Specification(outcome="income", terms=tuple(terms), within=within)
        assert valid.reason(spec) is None


def test_treatment_is_private_from_the_shell(study, capsys):
    path = study(*PRIVATE)
    for command in ("check", "plan"):
        assert run(command, path) == 0
    assert run("protect", path, "--yes") == 0
    assert "who is in which arm" not in capsys.readouterr().out
    certificate = json.loads((path.parent / "survey_protected.certificate.json").read_text("utf-8"))
    assert certificate["guarantee"]["relation"] == "replace-one"
    assert not any("treat" in x for x in certificate["guarantee"]["not_covered"])
    assert certificate["fates"]["treat"] == "modelled"
    assert run("verify", path.parent / "survey_protected.dta") == 0
    assert load_study(path).neighbors == "replace-one"


def test_a_private_treatment_needs_a_delta_in_the_study(study, capsys):
    path = study(*PRIVATE[1:])
    assert run("check", path) == 1
    assert "needs a delta above 0" in " ".join(capsys.readouterr().out.split())
    with_public = study(*PRIVATE[:3])
    assert any("the treatment, which is private" in x for x in problems(with_public))


def test_one_ledger_takes_a_histogram_and_effects(study):
    spec = load_study(study(("[header]", "[budget]\nepsilon = 9.0\n[header]")))
    assert spec.relation is None
    histogram = replace(spec, release=ReleaseSection(1.0))
    for one in (histogram, spec):
        assert unaffordable(one) == []
        ledger(one).charge(Budget(1), method="m", relation=one.neighbors, unit=one.protected.name)
    together = ledger(spec).together
    assert together is not None
    assert together.relations == ("replace-one-design-public",)


def test_a_relation_that_a_study_demands_is_demanded_of_every_charge(study):
    path = study(("[header]", '[budget]\nepsilon = 9.0\nrelation = "replace-one"\n[header]'))
    spec = load_study(path)
    with pytest.raises(ParameterError, match="does not hold under relation='replace-one'"):
        ledger(spec)
    assert run("protect", path, "--yes") == 2
    assert find_ledger(spec.data, spec.dataset_id) is None  # none is begun for it
    there = Accountant.open(
        ledger_path(spec.data, spec.dataset_id),
        dataset_id=spec.dataset_id, epsilon=9.0, relation="replace-one",
    )  # fmt: skip
    (refused,) = unaffordable(spec)
    assert "does not hold under ``relation='replace-one'``" in refused
    assert run("protect", path, "--yes") == 2
    assert there.ledger == ()


SOME = Schema((Column("y"),))


@pytest.mark.parametrize(
    ("spec", "unit"),
    [
        ({"privacy_unit": "cluster"}, Unit("cluster of g", "g", 4)),
        ({}, None),
    ],
)
def test_whole_clusters_are_rehearsed_as_they_are_charged(spec, unit):
    design = dprct.Cluster("t", cluster="g", largest=4)
    asked = CalibratedSpec(outcome=(), assignment=design, **spec)
    assert CalibratedAsked("calibrated", asked, "y ~ t").protects(SOME) == (unit or SOME.unit)


def test_a_table_of_some_rows_needs_the_confidential_file(study):
    found = load_study(study(('errors = "HC3"', 'where = "age > 40"')))
    written_files(found, model := bound_model(found), protected(found, model), [])
    tables = declared_tables(found, "protected")
    assert [*tables.made] == ["t1"]
    assert tables.withheld["t2"].startswith("it needs the confidential file: its rows are those")
    assert [*declared_tables(found, "confidential").made] == ["t1", "t2"]
