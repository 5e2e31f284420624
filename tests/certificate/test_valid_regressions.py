"""Which regressions a calibrated file supports, and how the file says so."""

import json
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.certificate.valid_regressions import ARTEFACT, LONGEST, Specification, Validity
from dprct.errors import ParameterError, SchemaError
from dprct.schema import Column, Schema

VALID = Validity(
    outcomes=("earn", "hours"),
    arms=("cash", "therapy"),
    covariates=(("age", "C(town)"), ("school",)),
    levels=(0.05, 0.01),
    subsets_valid=True,
    rows=(40, 40),
)
SCHEMA = Schema(tuple(Column(name) for name in ("earn", "hours", "cash", "therapy", "age")))


@pytest.mark.parametrize(
    "valid",
    [
        VALID,
        Validity(outcomes=("y",), arms=("t",)),
        Validity(outcomes=("y",), arms=("t",), cov_type="CR1", cluster="village", classical=True),
        Validity(outcomes=("Einkünfte",), arms=("t",), covariates=(("I(age ** 2)", "a:b"), ())),
    ],
)
def test_text_comes_back(valid):
    text = valid.to_text()
    assert Validity.from_text(text) == valid
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize("version", [114, 117, 118])
def test_a_written_file_keeps_it(tmp_path, version):
    data = pd.DataFrame({name: [0.0, 1.0] for name in SCHEMA.names})
    dprct.write_dta(data, VALID.stamped(SCHEMA), tmp_path / "a.dta", version=version)
    again, schema = dprct.read_dta(tmp_path / "a.dta")
    dprct.write_dta(again, schema, tmp_path / "b.dta", version=version)
    assert Validity.of(dprct.read_dta(tmp_path / "b.dta")[1]) == VALID


def test_a_saved_schema_keeps_it(tmp_path):
    VALID.stamped(SCHEMA).save(tmp_path / "s.toml")
    assert Validity.of(Schema.load(tmp_path / "s.toml")) == VALID
    assert tomllib.loads((tmp_path / "s.toml").read_text("utf-8"))


def test_nothing_is_said_without_it():
    assert Validity.of(None) is None
    assert Validity.of(SCHEMA) is None


def test_a_new_statement_replaces_the_old_one():
    other = Validity(outcomes=("earn",), arms=("cash",))
    twice = other.stamped(VALID.stamped(SCHEMA))
    assert Validity.of(twice) == other
    assert [name for _, name, _ in twice.file.characteristics].count("dprct_valid") == 1


def test_notes_come_after_those_of_the_file_and_once():
    noted = replace(
        SCHEMA,
        file=replace(
            SCHEMA.file,
            characteristics=(
                ("_dta", "note0", "1"),
                ("_dta", "note1", "Protected file."),
                ("earn", "note0", "1"),
                ("earn", "note1", "of last year"),
            ),
        ),
    )
    twice = VALID.stamped(VALID.stamped(noted, ["earn"]), ["earn"])
    notes = {name: text for owner, name, text in twice.file.characteristics if owner == "_dta"}
    assert notes["note0"] == "5"
    assert notes["note1"] == "Protected file."
    assert [notes[f"note{k}"] for k in range(2, 6)] == list(VALID.notes(["earn"]))
    assert ("earn", "note1", "of last year") in twice.file.characteristics


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "[2]",
        "[" * 60_000,
        VALID.to_text()[:-1],
        VALID.to_text().replace("HC1", "HC9"),
        VALID.to_text().replace("[1,", "[2,", 1),
    ],
)
def test_other_words_are_refused(text):
    with pytest.raises(SchemaError, match="drop the characteristic"):
        Validity.from_text(text)


def test_a_part_too_many_is_refused():
    content = [*json.loads(VALID.to_text()), 1]
    with pytest.raises(SchemaError, match="version 1"):
        Validity.from_text(json.dumps(content))


@pytest.mark.parametrize("pairs", [[[0, 2]], [[-1, 0]], [[1, 1]], [[0]], [["a", 1]], 3])
def test_a_ratio_of_no_two_outcomes_is_refused(pairs):
    valid = Validity(outcomes=("y", "d"), arms=("t",), ratios=((0, 1),))
    assert Validity.from_text(valid.to_text()) == valid
    content = valid.to_text().replace("[[0,1]]", json.dumps(pairs))
    assert content != valid.to_text()
    with pytest.raises(SchemaError, match="version 1"):
        Validity.from_text(content)


def test_it_fits_into_stata_or_is_refused():
    names = [f"a_rather_long_variable_name_{k:04d}" for k in range(2200)]
    small = Validity(outcomes=("y",), arms=("t",), covariates=(tuple(names[:131]),) * 20)
    assert len(small.to_text()) < LONGEST
    with pytest.raises(SchemaError, match="fewer covariate sets"):
        Validity(outcomes=("y",), arms=("t",), covariates=(tuple(names),)).to_text()


def test_a_ratio_is_right_with_the_clusters_that_were_released():
    valid = Validity(
        outcomes=("y", "d"), arms=("z",), cov_type="CR1", cluster="town", ratios=((0, 1),)
    )
    asked = Specification(outcome="y", terms=("z",), cov_type="cluster", cluster="town")
    assert valid.ratio_words(asked, "d") is None
    assert "not HC1" in valid.ratio_words(replace(asked, cov_type="HC1", cluster=None), "d")
    assert "clusters town" in valid.ratio_words(replace(asked, cluster="school"), "d")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outcomes": ()}, "outcomes"),
        ({"arms": ()}, "arms"),
        ({"covariates": ()}, "covariates"),
        ({"cov_type": "HC2"}, "allowed: HC1, CR1"),
        ({"cov_type": "CR1"}, "CR1 needs a cluster"),
        ({"cluster": "village"}, "HC1 takes none"),
        ({"levels": (5.0,)}, "0.05"),
    ],
)
def test_contradictions_are_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        Validity(**{"outcomes": ("y",), "arms": ("t",), **change})


def specified(outcome="earn", terms=("cash", "therapy", "age", "C(town)"), **rest):
    return Specification(outcome=outcome, terms=tuple(terms), **rest)


@pytest.mark.parametrize(
    "spec",
    [
        specified(),
        specified("hours"),
        specified(rows=40),
        specified(terms=("C(town)", "therapy", "age", "cash")),
        specified(terms=("cash", "therapy", "school")),
        specified(terms=("cash", "therapy", "`school`")),
    ],
)
def test_what_was_declared_is_calibrated(spec):
    assert VALID.reason(spec) is None
    assert VALID.note(spec).startswith("Calibrated: ")
    assert "95 % and 99 %" in VALID.note(spec)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (specified("age"), "'age' were not released; released: earn, hours"),
        (specified(terms=("cash", "age")), "lacks the treatment therapy"),
        (specified(intercept=False), "no intercept"),
        (specified(weighted=True), "weighted"),
        (specified(rows=39), "39 of 40 rows"),
        (specified(terms=("cash", "therapy", "cash:age")), "interaction cash:age"),
        (specified(terms=("cash", "therapy", "wealth")), "wealth was not declared"),
        (specified(terms=("cash", "therapy", "age", "school")), "not a declared set"),
        (specified(cov_type="HC3"), "not HC3"),
        (specified(cov_type="nonrobust"), "effects are the released ones, but their errors"),
        (specified(cov_type="cluster", cluster="town"), "not clusters town"),
        (specified(terms=("cash", "therapy", "age")), "not for some of them"),
        (specified(fe_df="reghdfe"), "reghdfe counts"),
    ],
)
def test_anything_else_is_an_artefact_with_its_reason(spec, words):
    assert words in VALID.reason(spec)
    assert VALID.note(spec).startswith(ARTEFACT)


def test_without_zero_slopes_a_part_of_the_covariates_is_another_regression():
    strict = Validity(outcomes=("y",), arms=("t",), covariates=(("a", "b"),))
    assert "not a declared set" in strict.describes("y", ["t", "a"], "HC1", None)


def test_clusters_are_those_that_were_calibrated():
    valid = Validity(outcomes=("y",), arms=("t",), cov_type="CR1", cluster="village")
    assert valid.describes("y", ["t"], "cluster", "village") is None
    assert valid.describes("y", ["t"], "CR1", "village") is None
    assert "clusters village" in valid.describes("y", ["t"], "CR1", "town")
    assert "vce(cluster village)" in valid.describes("y", ["t"], "HC1", None)


def test_classical_errors_are_valid_where_they_were_calibrated():
    valid = Validity(outcomes=("y",), arms=("t",), classical=True)
    assert valid.describes("y", ["t"], "nonrobust", None) is None
    assert valid.describes("y", ["t"], "HC2", None) is not None


def test_rounded_outcomes_are_said_to_have_broken_the_calibration():
    valid = Validity(outcomes=("y",), arms=("t",), rounded=True)
    assert "rounded" in valid.describes("y", ["t"], "HC1", None)
    assert len(valid.notes(["y"])) == 1
    assert "not valid" in valid.notes()[0]
    assert Validity.from_text(valid.to_text()) == valid


def test_notes_say_what_is_valid_and_what_is_not():
    first, second, third, fourth = VALID.notes(["earn"])
    assert "earn, hours on cash, therapy and age C(town); or school" in first
    assert "vce(robust)" in first
    assert "95 % and 99 %" in second
    assert "Only the coefficients of cash, therapy carry information" in third
    assert fourth.startswith("earn: real numbers")
    assert len(VALID.notes()) == 3


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(40, 4)), columns=["earn", "hours", "age", "school"])
    frame["cash"] = np.repeat([1.0, 0, 0, 0], 10)
    frame["therapy"] = np.repeat([0, 1.0, 0, 0], 10)
    frame["town"] = np.tile([0.0, 1, 2, 3], 10)
    return frame


@pytest.fixture(scope="module")
def schema(rows):
    return VALID.stamped(Schema(tuple(Column(name) for name in rows)))


GOOD = "earn ~ cash + therapy + age + C(town)"


def everywhere(fit, words):
    """Whether words are in the notes and in every format."""
    texts = [" ".join(fit.notes), fit.to_latex(), fit.to_html()]
    texts.append(fit.summary() if hasattr(fit, "summary") else fit.to_text())
    return all(words in " ".join(text.split()) for text in texts)


def test_ols_says_that_a_declared_regression_is_calibrated(rows, schema):
    fit = dprct.ols(GOOD, rows, schema)
    assert everywhere(fit, "Calibrated: the errors of cash, therapy contain sampling and privacy")
    assert everywhere(fit, "valid at 95 ")
    assert not everywhere(fit, ARTEFACT)


def test_areg_is_the_regression_on_dummies(rows, schema):
    fit = dprct.ols("earn ~ cash + therapy + age", rows, schema, absorb="town")
    assert everywhere(fit, "Calibrated: ")


@pytest.mark.parametrize(
    ("formula", "options", "words"),
    [
        ("age ~ cash + therapy", {}, "released: earn, hours"),
        ("earn ~ cash + therapy + cash:age", {}, "interaction cash:age"),
        (GOOD, {"cov_type": "HC3"}, "not HC3"),
        (GOOD, {"cluster": "town"}, "not clusters town"),
        (GOOD, {"cluster": np.arange(40)}, "given by row"),
        (GOOD, {"weights": "w"}, "weighted"),
        (f"{GOOD} - 1", {}, "no intercept"),
        ("earn ~ cash + therapy + age", {"absorb": "town", "fe_df": "reghdfe"}, "reghdfe"),
        ("exp(earn) ~ cash + therapy + school", {}, "were not released"),
    ],
)
def test_ols_marks_other_regressions(rows, schema, formula, options, words):
    fit = dprct.ols(formula, rows.assign(w=1.0), schema, **options)
    assert everywhere(fit, ARTEFACT)
    assert words in " ".join(fit.notes)


def test_each_outcome_has_its_own_number_of_rows():
    valid = Validity(outcomes=("earn", "work"), arms=("treat",), rows=(40, 30))
    few = Specification(outcome="work", terms=("treat",), rows=30)
    assert valid.reason(few) is None
    assert "30 of 40 rows" in valid.reason(replace(few, outcome="earn"))
    assert "40 of 30 rows" in valid.reason(replace(few, rows=40))


def test_ols_marks_a_subgroup(rows, schema):
    assert everywhere(dprct.ols(GOOD, rows[rows.age > 0], schema), ARTEFACT)
    holes = rows.assign(age=rows.age.where(rows.age > -1))
    assert everywhere(dprct.ols(GOOD, holes, schema), "of 40 rows")
    twice = pd.concat([rows, rows], ignore_index=True)
    assert everywhere(dprct.ols(GOOD, twice, schema), ARTEFACT)


def test_stripping_the_statement_is_harmless(rows, schema):
    bare = Schema(schema.columns)
    fit, plain = dprct.ols(GOOD, rows, schema), dprct.ols(GOOD, rows, bare)
    assert plain.notes == ()
    carried = [name for name in fit.params.index if name not in fit.not_carried]
    pd.testing.assert_series_equal(fit.bse[carried], plain.bse[carried])
    assert dprct.ols(GOOD, rows).notes == ()


def test_a_guarantee_does_not_bring_the_note_of_other_releases(rows, schema):
    guarantee = dprct.Guarantee.of(dprct.Budget(1), "replace-one-design-public")
    fit = dprct.ols(GOOD, rows, schema, guarantee=guarantee)
    assert "do not include the noise" not in fit.summary()
