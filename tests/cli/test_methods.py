"""Every strict method, by the study file that docs/study_file.md shows for it."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct as package
from dprct.estimate.moments.document import digest_of
from dprct.model import Model
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.schema import Column, FileFacts, Schema
from dprct.study.methods import ESTIMATES, METHODS, UNPROMISED
from dprct.study.moments_tables import DeclaredMoments
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Files = dict[str, bytes]
NUMBERS = sorted(ESTIMATES)
FILES = ["calibrated", "marginals", "mv_histogram"]


def trial() -> tuple[pd.DataFrame, Schema]:
    rng, n = np.random.default_rng(11), 1600
    site = np.arange(n) // 400 + 1.0
    cash = np.zeros(n)
    for place in range(4):
        cash[400 * place + rng.permutation(400)[:200]] = 1
    age = rng.integers(18, 66, n).astype(float)
    data = {
        "income": (12 + 3 * cash + 0.1 * age + rng.normal(0, 3, n)).clip(0, 40),
        "works": (rng.random(n) < 0.4 + 0.1 * cash).astype(float),
        "cash": cash,
        "enrolled": (rng.random(n) < 1 / (1 + np.exp(-(age - 40) / 20))).astype(float),
        "age": age,
        "female": rng.integers(0, 2, n).astype(float),
        "site": site,
        "village": np.arange(n) // 20 + 1.0,
    }
    bytes_ = [Column(name, "byte") for name in list(data)[1:]]
    return pd.DataFrame(data), Schema((Column("income"), *bytes_))


def regions(noted: bool = False) -> tuple[pd.DataFrame, Schema]:
    rng, years = np.random.default_rng(12), np.arange(2001.0, 2013)
    rows = [
        (name, year, float(np.clip(0.02 * (year - 2001) + place / 60 + rng.normal(0, 0.02), -1, 1)))
        for place, name in enumerate(["North", *(f"R{i:02}" for i in range(1, 25))])
        for year in years
    ]
    kept = (("_dta", "_TSpanel", "region"), ("_dta", "_TStvar", "year")) if noted else ()
    columns = (Column("region", "str5"), Column("year", "int"), Column("output"))
    data = pd.DataFrame(rows, columns=["region", "year", "output"])
    return data, Schema(columns, FileFacts(characteristics=kept))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package.write_dta(*trial(), tmp_path / "trial.dta")
    package.write_dta(*regions(), tmp_path / "regions.dta")
    return tmp_path


@pytest.fixture
def written(folder: Path, checkout: Path) -> Callable[..., Path]:
    """Put the study file of a method into the folder, with changes to its text."""

    def put(method: str, *changes: tuple[str, str]) -> Path:
        text = (checkout / "docs" / "studies" / f"{method}.toml").read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (folder / f"{method}.toml").write_text(text, "utf-8")
        return folder / f"{method}.toml"

    return put


def document(study: Path) -> Any:
    return json.loads(load_study(study).output.read_text("utf-8"))


def ledger(study: Path) -> Accountant:
    found = load_study(study)
    return Accountant.load(study.parent / f"{found.dataset_id}.ledger.json")


def test_every_strict_method_has_its_study_file(checkout: Path) -> None:
    there = {path.stem for path in (checkout / "docs" / "studies").glob("*.toml")}
    assert there == set(METHODS) - UNPROMISED == {*NUMBERS, *FILES}
    for name in there:
        path = checkout / "docs" / "studies" / f"{name}.toml"
        assert tomllib.loads(path.read_text("utf-8"))["release"]["method"] == name


@pytest.mark.parametrize("method", NUMBERS)
def test_from_check_to_table(
    method: str,
    dprct: Callable[..., Any],
    written: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = written(method)
    ran = dprct("check", study)
    assert (ran.code, ran.out, ran.err) == (0, "complete: nothing is open; next: dprct plan\n", "")
    ran = dprct("plan", study)
    assert (ran.code, ran.err) == (0, "")
    assert "Approval hash: " in ran.out
    ran = dprct("protect", study, "--yes")
    assert (ran.code, ran.err) == (0, "")
    release = load_study(study).release
    asked = Budget(release.epsilon, release.delta)
    assert float(ledger(study).spent.epsilon) == pytest.approx(float(asked.epsilon), rel=1e-6)
    first = document(study)
    assert (first["section"], first["guarantee"]["relation"]) == (
        method,
        "replace-one-design-public" if method == "private_ate" else "replace-one",
    )
    assert first["table"]
    assert all(row["estimate"] is not None for row in first["table"])
    assert first["notes"]
    ran = dprct("ledger", study)
    assert "written to" in ran.out
    for option, words in ((), "of which noise"), (("--latex",), r"\begin{tabular}"):
        ran = dprct("table", study, *option)
        assert (ran.code, ran.err) == (0, "")
        assert words in ran.out
    with monkeypatch.context() as patch:
        patch.setattr(Model, "fit", lambda *_a, **_k: pytest.fail("drawn again"))
        assert dprct("protect", study, "--resume", "1").code == 0
    again = document(study)
    for part in ("table", "glance", "released", "guarantee", "plan", "public_facts", "notes"):
        assert again[part] == first[part]
    assert len(ledger(study).ledger) == 1


@pytest.mark.parametrize("method", FILES)
def test_a_protected_file_from_check_to_verify(
    method: str, dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = written(method)
    assert dprct("check", study).code == 0
    assert dprct("plan", study).code == 0
    assert dprct("protect", study, "--yes").code == 0
    assert dprct("verify", load_study(study).output).code == 0


@pytest.mark.parametrize("method", NUMBERS)
def test_numbers_are_those_of_the_class(
    method: str, written: Callable[..., Path], folder: Path
) -> None:
    """The study's model is the constructor's: with one seed they give the same numbers."""
    from dprct.study.ready import bound_model

    study = load_study(written(method))
    bound: Any = bound_model(study)
    data, schema = package.read_dta(study.data)
    made = ESTIMATES[method](data, study.declared(schema), **study.asked.spec.options())
    budget = (study.release.epsilon, study.release.delta)
    fits = [model.fit(*budget, rng=3) for model in (bound, made)]
    left, right = (
        DeclaredMoments(fit, bound.spec.declared).tidy() if method == "moments" else fit.tidy()
        for fit in fits
    )
    pd.testing.assert_frame_equal(left, right)
    assert bound.guarantee(Budget(*budget)).relation == study.neighbors


@pytest.mark.parametrize(
    ("method", "table", "holds"),
    [
        ("private_ate", "control", ["income", "works"]),
        ("cate", "function: effect", ["average", "age", "female"]),
        ("moments", "fits", ["effects", "income ~ cash + age"]),
        ("private_additive", "function: fit", ["average", "age", "female", "age:female"]),
        ("synthetic_control", "donor_weights", [f"R{i:02}" for i in range(1, 25)]),
    ],
)
def test_all_that_was_paid_for_is_in_the_document(
    method: str,
    table: str,
    holds: list[str],
    dprct: Callable[..., Any],
    written: Callable[..., Path],
) -> None:
    study = written(method)
    assert dprct("protect", study, "--yes").code == 0
    rows = document(study)["released"][table]
    first = next(iter(rows[0]))
    assert list(dict.fromkeys(row[first] for row in rows)) == holds
    text = load_study(study).output.with_suffix(".txt").read_text("utf-8")
    assert table in text


def test_a_function_adds_up_from_its_table(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = load_study(written("private_additive"))
    data, schema = package.read_dta(study.data)
    made = study.asked.model(data, study.declared(schema)).fit(3, rng=1)
    shape = made.tables["function: fit"].set_index(["term", "level"])["shape"]
    levels = made.fit.terms.labels(0), made.fit.terms.labels(1)
    middles = made.fit.terms.middles(0)
    for place, (age, middle) in enumerate(zip(levels[0], middles, strict=True)):
        for female in levels[1]:
            parts = [("average", ""), ("age", age), ("female", female)]
            parts.append(("age:female", f"{age}, {female}"))
            row = pd.DataFrame({"age": [middle], "female": [float(female)]})
            found = sum(float(shape[part]) for part in parts)
            assert found == pytest.approx(made.predict(row)[0]), place


def test_the_mean_effect_stands_above_the_path(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = written("synthetic_control")
    assert dprct("protect", study, "--yes").code == 0
    out = dprct("table", study).out
    assert f"{document(study)['glance'][0]['att']:.6g}" in out
    for words in ("post 2009", "post 2012", "The noise band is of privacy noise alone"):
        assert words in out
    assert "2,009" not in out


def test_predictors_stand_in_a_study_file(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    asked = 'predictors = {"output(2001(1)2003)" = 2, "output(2005)" = 0.5}'
    study = written("synthetic_control", ('donor_weights = "uniform"', asked))
    out = " ".join(dprct("plan", study).out.split())
    assert "output(2001(1)2003) (-1 to 1, weight 2), output(2005) (-1 to 1, weight 0.5)" in out


ATE = [
    ('formula = "income', 'formula = "log(income)', "[release] formula: "),
    ("works = 0.4}", "works = 0.5}", "budget_shares"),
    ("[private_ate]", "[private_ate]\nsd = 6", "unknown key 'sd' in [private_ate]; sd is a fact"),
    ("alphas = [0.05", "alphas = [0.7", "tests between"),
    ("alphas", 'effects = "main"\nalphas', '[private_ate] effects = "main" needs '),
    ("alphas", 'privacy_unit = "cluster"\nalphas', "needs a design of clusters"),
    ("alphas", 'control = "nobody"\nalphas', 'control = "nobody" is not a group'),
    ("alphas", 'index = "0.1 * works"\nalphas', "there are several outcomes; give index as a"),
    ('"cash", "site"]', '"cash"]', "column 'site': type byte"),
    ("[columns.income]\nbounds = [0, 40]", "[columns.income]", "'income' needs bounds = [low"),
    ('sd = 6\nmissing = "never"', 'sd = 6\nmissing = ["."]', 'missing_policy = "public" of'),
    ("epsilon = 2.0", "epsilon = 2.0\ndelta = 1e-6", "[release] budget_shares divides epsilon"),
    ("epsilon = 2.0", "epsilon = 1e-15", "[release] epsilon = 1e-15 is outside what this estimate"),
    ("epsilon = 2.0", "epsilon = 5e6", "lower epsilon"),
    ('cash"\n\n[design]', 'female"\n\n[design]', "the design has cash; give one of them"),
    ('block = "site"', 'block = "village_"', "no column 'village_' in the file"),
]
CATES = [
    ('treatment = "cash"', 'treatment = "age"', "declared levels 0"),
    ('treatment = "cash"', 'treatment = "cash"\npropensity = 0.5', "[design] and propensity are"),
    ('treatment = "cash"', 'treatment = "cash"\nlearner = "s"\nparts = {effect = 0.5}', "parts"),
    ("bins = 6", "bins = 0", "bins"),
    ("bins = 6", "trim = 0.6", "[cate] trim = 0.6; give a number between 0 and 0.5"),
    ("bins = 6", "clip = -1", "[cate] clip = -1"),
    ('["site"]', '["income"]', "is the outcome and a feature, too"),
    ('["site"]', '["site", "site"]', "subgroups must name columns, each once"),
    ("delta = 1e-6", "delta = 1e-300", "[release] "),
    ("epsilon = 4.0\ndelta = 1e-6", "epsilon = 1e-300", "[release] "),
]
ADDITIVE = [
    ("bins = 5", "bins = 5\nmissing = 50", "missing_policy is a fact of a column"),
    ("bins = 5", 'bins = 5\nneighbors = "add-one"', "neighbors"),
    ("bins = 5", 'bins = 5\nprojection = ["site"]', "site"),
    ("bins = 5", "bins = 5\nclip = 1e200", "[private_additive] clip = 1e+200"),
    ("epsilon = 3.0", "epsilon = 1e-300", "[release] "),
    ('["site"]', '["town"]', "no column 'town' in the file"),
]
PANEL = [
    ('unit = "region"\ntime', "time", "[synthetic_control] unit is not given, and the file notes"),
    ('time = "year"\n', "", "[synthetic_control] time is not given, and the file notes no xtset"),
    ('time = "year"', 'time = "region"', "time 'region' is text; give a column of numbers"),
    ("mean_effect = true", 'noise = "gaussian"', '[release] noise = "gaussian" needs delta > 0'),
    ("mean_effect = true", 'mean_effect = true\nnoise = "gaussian"', "mean_effect = true gains no"),
    ("epsilon = 8.0", "epsilon = 8.0\ndelta = 1e-6", "[release] delta = 1e-06 gains nothing with"),
    ("epsilon = 8.0", "epsilon = 1e-300", "[release] "),
    ("mean_effect = true", "lam = -1", "[synthetic_control] lam = -1; give a number above 0"),
    ("mean_effect = true", "bound = 0", "bound"),
    ("mean_effect = true", "budget_shares = {mean = 1}", "budget_shares"),
    ('output = "x"', "", None),
    ("[-1, 1]\nmissing", "[-1, 1]\n# missing", "'output' may be missing, or has no declared"),
    ('"output"]', '"output", "place"]', "no column 'place'"),
    (
        '"never"\n\n[columns.year]',
        '"never"\nlevels = ["South", "R01"]\n\n[columns.year]',
        "treated",
    ),
]
MOMENTS = [
    ("delta = 1e-6\n", "", "[release] Gaussian noise needs delta > 0"),
    (
        "epsilon = 4.0",
        "epsilon = 4.0\nformula = 'income ~ cash'",
        "[release] formula is for method",
    ),
    ("epsilon = 4.0", 'epsilon = 4.0\noutput = "a.moments.json"', "leave out '.moments'"),
    ('"works", "age"]', '"work", "age"]', "no column 'work' in the file"),
    ('"works", "age"]', '"works", "age"]\nweight = "age"', "unknown key 'weight' in [moments]"),
    ("sd = 14", "sd = 0", "sd"),
    ('["female"]', '["income"]', "subgroup 'income' has no declared levels"),
    ('["female"]', '["female"]\nneighbors = "add-one"', '[moments] neighbors = "add-one"'),
    ('["female"]', '["female"]\nradius = "ball"', "radius"),
    ('["female"]', '["female"]\ncontrol = "nobody"', 'control = "nobody" is not a group'),
    ('17\nmissing = "never"', '17\nmissing = ["."]', 'missing_policy = "private" (it is'),
    ("income ~ cash + age", "income ~ log(age)", "log"),
]
REFUSED = [
    (method, old, new, words)
    for method, cases in (
        ("private_ate", ATE),
        ("cate", CATES),
        ("private_additive", ADDITIVE),
        ("synthetic_control", PANEL),
        ("moments", MOMENTS),
    )
    for old, new, words in cases
    if words is not None
]


@pytest.mark.parametrize(("method", "old", "new", "words"), REFUSED)
def test_what_is_wrong_is_said_in_toml_before_the_data_are_read(
    method: str,
    old: str,
    new: str,
    words: str,
    dprct: Callable[..., Any],
    written: Callable[..., Path],
    files: Callable[[], Files],
) -> None:
    study = written(method, (old, new))
    before = files()
    ran = dprct("check", study)
    said = ran.out + ran.err
    assert ran.code in (1, 2)
    assert words in said
    for python in ("='", "=(", "={", "=True", "=False", "dprct."):
        assert python not in said
    for command in (("plan",), ("protect", "--yes")):
        assert dprct(command[0], study, *command[1:]).code == 2
    assert files() == before


@pytest.mark.parametrize("method", NUMBERS)
def test_results_are_verified_in_the_words_of_files(
    method: str, dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = written(method)
    assert dprct("protect", study, "--yes").code == 0
    place = load_study(study).output
    text = place.with_suffix(".txt")
    for path, where in ((place, "the hash in it"), (text, place.name)):
        ran = dprct("verify", path)
        assert (ran.code, ran.err) == (0, "")
        assert f"{path.name} is byte for byte the file that {where} describes" in ran.out
        assert "has what paid for the file" in ran.out
        assert "integrity, not authorship" in ran.out
    assert json.loads(dprct("verify", place, "--json").out)["verified"]
    assert package.verify(place).identical
    content = document(study)
    place.write_text(json.dumps(content), "utf-8")
    ran = dprct("verify", place)
    assert ran.code == 0
    assert "is not the same file, but its values match the hash in it" in ran.out
    content["glance"][0]["made up"] = 1
    place.write_text(json.dumps(content, indent=2), "utf-8")
    for path in (place, text):
        ran = dprct("verify", path)
        assert ran.code == 1
        assert "DOES NOT MATCH" in ran.out
        assert "take the one that dprct protect wrote" in ran.out


def test_a_text_that_was_changed_is_not_that_of_its_document(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = written("private_ate")
    assert dprct("protect", study, "--yes").code == 0
    text = load_study(study).output.with_suffix(".txt")
    text.write_text(text.read_text("utf-8").replace("income", "outcome"), "utf-8")
    ran = dprct("verify", text)
    assert ran.code == 1
    assert "trial_private_ate.txt DOES NOT MATCH trial_private_ate.json" in ran.out


def test_results_of_another_ledger_are_contradicted(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    study = written("private_ate")
    assert dprct("protect", study, "--yes").code == 0
    first = load_study(study).output.rename(folder / "first.json")
    (folder / "trial-2026.ledger.json").unlink()
    shutil.rmtree(folder / "trial-2026.ledger.released")
    ran = dprct("verify", first)
    assert ran.code == 0
    assert "stays with the confidential data and was not checked" in ran.out
    load_study(study).output.with_suffix(".txt").unlink()
    assert dprct("protect", study, "--yes").code == 0
    ran = dprct("verify", first)
    assert ran.code == 1
    assert "LACKS" in ran.out


# Where a check said "complete", and plan or protect then refused.


def test_a_panel_whose_file_notes_no_unit_is_not_complete(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    study = written("synthetic_control", ('unit = "region"\ntime = "year"\n', ""))
    ran = dprct("check", study)
    assert ran.code == 1
    assert "unit is not given, and the file notes no xtset; give unit" in ran.out
    package.write_dta(*regions(noted=True), folder / "regions.dta")
    assert dprct("check", study).code == 0
    assert dprct("protect", study, "--yes").code == 0
    assert list(document(study)["public_facts"]) == ["output", "region", "year"]


def test_a_panel_of_people_without_a_declared_unit_is_not_complete(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    data, schema = trial()
    noted = FileFacts(characteristics=(("_dta", "iis", "village"), ("_dta", "tis", "age")))
    package.write_dta(data, Schema(schema.columns, noted), folder / "trial.dta")
    for method in ("private_ate", "ipw", "cate", "private_additive"):
        study = written(method)
        assert dprct("check", study).code == 1
        assert dprct("plan", study).code == 2


def test_effects_with_a_delta_go_from_check_to_table(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = written(
        "private_ate",
        ("epsilon = 2.0", "epsilon = 2.0\ndelta = 1e-6"),
        ("budget_shares = {income = 0.6, works = 0.4}\n", ""),
    )
    assert dprct("check", study).code == 0
    assert "once for all outcomes" in dprct("plan", study).out
    assert dprct("protect", study, "--yes").code == 0
    assert float(ledger(study).spent.delta) == pytest.approx(1e-6)
    found = document(study)
    assert [row["term"] for row in found["table"]] == ["income: cash", "works: cash"]
    assert "of which noise" in dprct("table", study).out


@pytest.mark.parametrize("method", [*NUMBERS, "mv_histogram", "marginals"])
@pytest.mark.parametrize("epsilon", ["1e-15", "1e-300"])
@pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")  # which the plan printed
def test_a_noise_that_no_sampler_draws_is_not_complete(
    method: str, epsilon: str, dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    asked = tomllib.loads(written(method).read_text("utf-8"))["release"]["epsilon"]
    study = written(method, (f"epsilon = {asked}", f"epsilon = {epsilon}"))
    checked = dprct("check", study).code
    planned = dprct("plan", study).code
    refused = dprct("protect", study, "--yes").code
    assert (checked == 0) == (planned == 0 and refused == 0)
    if method in ("private_ate", "private_additive", "synthetic_control") or epsilon == "1e-300":
        assert checked == (0 if method == "cate" else 1)  # whose delta alone buys noise
    assert (refused == 0) == bool(list(study.parent.glob("*.ledger.json")))


@pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")  # which the plan printed
def test_a_plan_that_refuses_is_open_until_it_is_confirmed(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    small = ("epsilon = 1.0", "epsilon = 0.001")
    study = written("mv_histogram", small)
    ran = dprct("check", study)
    assert ran.code == 1
    assert "[release] the plan refuses: " in ran.out
    assert "confirm = true in [release] goes on all the same" in ran.out
    assert dprct("plan", study).code == 0  # it prints the refusal
    assert dprct("protect", study, "--yes").code == 3
    study = written("mv_histogram", ("epsilon = 1.0", "epsilon = 0.001\nconfirm = true"))
    assert dprct("check", study).code == 0
    assert dprct("protect", study, "--yes").code == 0


# Clusters, treatment that is private, and the other forms of an experiment.

CLUSTERS = (
    ('kind = "block"\narms = ["cash"]\nblock = "site"', 'kind = "cluster"\narms = ["cash"]\n'
     'cluster = "village"\nlargest = 20'),
    ("[private_ate]\n", '[private_ate]\nprivacy_unit = "cluster"\n'),
    ('"cash", "site"]', '"cash", "village"]'),
    ("[columns.site]\nlevels = [1, 2, 3, 4]", "[columns.village]\nbounds = [1, 80]"),
)  # fmt: skip


@pytest.fixture
def clustered(folder: Path) -> None:
    data, schema = trial()
    data["cash"] = np.isin(data["village"], np.random.default_rng(2).permutation(80)[:40] + 1) + 0.0
    package.write_dta(data, schema, folder / "trial.dta")


@pytest.mark.usefixtures("clustered")
def test_whole_clusters_are_protected(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = written("private_ate", *CLUSTERS)
    ran = dprct("check", study)
    assert (ran.code, ran.out) == (0, "complete: nothing is open; next: dprct plan\n")
    assert dprct("protect", study, "--yes").code == 0
    found = load_study(study)
    (entry,) = ledger(study).ledger
    assert found.protected.name == entry.unit == "cluster of village"
    assert (found.protected.id, found.protected.max_rows) == (entry.unit_id, entry.max_rows)
    assert "for every cluster of village" in dprct("table", study).out.replace("\n", " ")
    without = written("private_ate", *CLUSTERS, ("largest = 20\n", ""))
    ran = dprct("check", without)
    assert ran.code == 1
    assert 'privacy_unit = "cluster" needs largest of the design, the most rows' in ran.out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([], None),
        ([('missing = "never"', 'missing = ["."]', 1)], 'missing_policy = "public" of it (it is'),
        ([("sd = 6", "sd = 6\nmissing_policy = 0", 1), ('"never"', '["."]', 1)], None),
        ([("sd = 6", 'sd = 6\nmissing_policy = "public"', 1), ('"never"', '["."]', 1)], None),
        ([("sd = 6", 'sd = 6\nmissing_policy = "private"', 1), ('"never"', '["."]', 1)],
         "weighted block"),
        (
            [("sd = 6", 'sd = 6\nmissing_policy = "private"', 1),
             ("alphas", 'blocks = "ignore"\nalphas', 1), ('"never"', '["."]', 1)],
            None,
        ),
        ([("alphas", 'blocks = {1 = "north", 2 = "north"}\nalphas', 1)], None),
        ([("alphas", 'blocks = {9 = "north"}\nalphas', 1)], None),
        ([("alphas", 'neighbors = "replace-one"\nalphas', 1)], None),
    ],
)  # fmt: skip
def test_check_agrees_with_protect(
    changes: list[tuple[str, str, int]],
    words: str | None,
    dprct: Callable[..., Any],
    written: Callable[..., Path],
) -> None:
    study = written("private_ate", *((old, new) for old, new, _ in changes))
    checked, ran = dprct("check", study), dprct("protect", study, "--yes")
    if any("9 =" in new for _, new, _ in changes):  # which blocks there are, the rows alone tell
        assert ran.code == 2
        assert "is not a block of the design" in ran.err
        return
    assert (checked.code, ran.code) == ((0, 0) if words is None else (1, 2))
    assert words is None or words in checked.out
    if words is None:
        assert document(study)["guarantee"]["relation"] == load_study(study).neighbors


def test_a_table_without_a_header_is_checked_as_well(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    trial()[0].to_csv(folder / "trial.csv", index=False)
    csv = ('data = "trial.dta"', 'data = "trial.csv"')
    assert dprct("check", written("private_ate", csv)).code == 0
    study = written("private_ate", csv, ("epsilon = 2.0", "epsilon = 1e-15"))
    assert dprct("check", study).code == 1
    assert dprct("protect", written("private_ate", csv), "--yes").code == 0


@pytest.mark.parametrize(
    ("method", "old", "new"),
    [
        ("private_ate", "sd = 6", "sd = 7"),
        ("cate", "bins = 6", "bins = 7"),
        ("private_additive", "bins = 5", "bins = 4"),
        ("synthetic_control", "mean_effect = true", "mean_effect = false"),
    ],
)
def test_another_question_is_not_resumed(
    method: str, old: str, new: str, dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    assert dprct("protect", written(method), "--yes").code == 0
    ran = dprct("protect", written(method, (old, new)), "--resume", "1")
    assert ran.code == 3
    assert "is not what it was when entry" in ran.err


@pytest.mark.parametrize("method", NUMBERS)
def test_the_page_to_sign_names_the_options(
    method: str, dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    study = written(method)
    assert dprct("plan", study, "--html", folder / "plan.html").code == 0
    page = (folder / "plan.html").read_text("utf-8")
    given = load_study(study)
    for name, _ in given.asked.said_options():
        assert f"<li>{name}: " in page
    assert ("design: " in page) == (method in ("private_ate", "cate", "moments"))


# Released moments lie beside the document of what the study declared of them.


def test_readers_run_regressions_on_released_moments(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    study = written("moments")
    ran = dprct("protect", study, "--yes")
    assert (ran.code, ran.err) == (0, "")
    place = folder / "trial.moments.json"
    assert f"wrote {place}" in ran.out
    moments = package.Moments.load(place)
    rows = {(row["of"], row["term"]): row for row in document(study)["table"]}
    assert rows["effects", "cash"]["estimate"] == pytest.approx(moments.effects().params["cash"])
    found = moments.ols("income ~ cash + age")
    assert rows["income ~ cash + age", "age"]["std.error"] == pytest.approx(found.bse["age"])
    assert dprct("ols", place, "works ~ cash*female").code == 0
    text = (folder / "trial_results.txt").read_text("utf-8")
    assert "Certificate of trial.moments.json" in text
    assert package.verify(place).identical
    assert package.verify(place).certificate == "trial.moments.certificate.json"
    for ending in ("txt", "html"):
        page = (folder / f"trial.moments.certificate.{ending}").read_text("utf-8")
        assert hashlib.sha256(place.read_bytes()).hexdigest() in page
        assert "dprct verify" in page
    before = place.read_bytes()
    assert dprct("protect", study, "--resume", "1").code == 0
    assert package.Moments.load(place).drawn.sums.tolist() == moments.drawn.sums.tolist()
    assert place.read_bytes() != before  # it says that it was resumed


def test_moments_that_were_changed_are_not_verified_nor_replaced(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    study = written("moments")
    assert dprct("protect", study, "--yes").code == 0
    place = folder / "trial.moments.json"
    content = json.loads(place.read_text("utf-8"))
    place.write_text(json.dumps(content), "utf-8")
    ran = dprct("verify", place)
    assert ran.code == 0
    said = "is not the same file, but its values match trial.moments.certificate.json"
    assert said in ran.out
    assert "has what paid for the file" in ran.out
    content["sums"][0][0] += 1
    place.write_text(json.dumps(content), "utf-8")
    ran = dprct("verify", place)
    assert ran.code == 1
    assert "they were changed, or the certificate is of other moments" in ran.out
    assert not package.verify(place)
    apart = shutil.copy(place, folder / "apart.moments.json")
    ran = dprct("verify", apart)
    assert ran.code == 1
    assert "get them again from who published them" in ran.out
    ran = dprct("protect", study, "--resume", "1")
    assert ran.code == 2
    assert "'trial.moments.json' exists and is not what this study wrote" in ran.err
    content["sigma"] /= 2
    content["digest"] = digest_of(content)
    place.write_text(json.dumps(content), "utf-8")
    ran = dprct("verify", place)
    assert ran.code == 2
    assert "its noise is smaller than its guarantee needs" in ran.err


def test_moments_of_another_ledger_are_contradicted(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    study = written("moments")
    assert dprct("protect", study, "--yes").code == 0
    first = (folder / "trial.moments.json").rename(folder / "first.moments.json")
    (folder / "trial-2026.ledger.json").unlink()
    shutil.rmtree(folder / "trial-2026.ledger.released")
    assert dprct("verify", first).code == 0
    certificate = folder / "trial.moments.certificate.json"
    assert package.verify(first, certificate).identical
    for one in [*folder.glob("trial_results.*"), *folder.glob("trial.moments.*")]:
        one.rename(folder / f"old {one.name}")
    assert dprct("protect", study, "--yes").code == 0
    ran = dprct("verify", first)
    assert ran.code == 1
    assert "LACKS" in ran.out
    assert not package.verify(first, certificate)  # of the new moments
    assert package.verify(folder / "trial.moments.json", certificate).identical


DESIGN_OF_MOMENTS = '[design]\nkind = "simple"\narms = ["cash"]\nshares = [0.5]\n'


def test_moments_need_no_design_and_no_formula(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    without = (DESIGN_OF_MOMENTS, "")
    study = written(
        "moments", without, ('formulas = ["income ~ cash + age"]\n', ""),
        ('"works", "cash", "age"', '"works", "age"'), ("[columns.cash]", "[columns.site]"),
    )  # fmt: skip
    assert dprct("check", study).code == 0
    assert dprct("protect", study, "--yes").code == 0
    terms = {row["of"] for row in document(study)["table"]}
    assert terms == {"income ~ 1", "works ~ 1", "age ~ 1"}


def test_several_outcomes_and_instruments_are_in_the_document(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    formulas = '["income + works ~ cash", "income ~ age + [cash ~ female]"]'
    study = written("moments", ('["income ~ cash + age"]', formulas))
    assert dprct("protect", study, "--yes").code == 0
    found = {row["of"] for row in document(study)["table"]}
    assert {"income ~ cash", "works ~ cash", "income ~ age + [cash ~ female]"} < found


DECLARED = """neighbors = "replace-one-design-public"

[[regression]]
formula = "income + works ~ cash + age"
name = "main"

[[regression]]
formula = "income ~ cash + age + female | site"
name = "adjusted"
"""
BY_SITE = ('kind = "simple"', 'kind = "block"\nblock = "site"')
SITE = (
    "[columns.female]",
    '[columns.site]\nlevels = [1, 2, 3, 4]\nmissing = "never"\n\n[columns.female]',
)
OF_FEMALE = ('subgroups = ["female"]', DECLARED)
CONFIRMED = ('"age", "female"]', '"age", "female", "site"]')


def test_declared_regressions_of_a_study_file(
    dprct: Callable[..., Any], written: Callable[..., Path], folder: Path
) -> None:
    study = written("moments", OF_FEMALE, BY_SITE, CONFIRMED, SITE)
    ran = dprct("check", study)
    assert (ran.code, ran.err) == (0, ""), ran.out
    ran = dprct("plan", study)
    assert (ran.code, ran.err) == (0, "")
    assert "adjusted" in ran.out
    assert dprct("protect", study, "--yes").code == 0
    place = folder / "trial.moments.json"
    moments = package.Moments.load(place)
    rows = {(row["of"], row["term"]): row for row in document(study)["table"]}
    for name in ("adjusted", "main: income", "main: works"):
        found = moments.ols(name)
        assert rows[name, "cash"]["estimate"] == pytest.approx(found.params["cash"])
        assert rows[name, "cash"]["std.error"] == pytest.approx(found.bse["cash"])
        ran = dprct("ols", place, name, "--json")
        assert json.loads(ran.out)[0]["estimate"] == pytest.approx(found.params["cash"])
    by_formula = dprct("ols", place, "income ~ cash + age + female | site", "--json")
    assert by_formula.out == dprct("ols", place, "adjusted", "--json").out
    ran = dprct("table", study)
    assert (ran.code, ran.err) == (0, "")
    assert "adjusted" in ran.out
    before = document(study)["table"]
    assert dprct("protect", study, "--resume", "1").code == 0
    assert document(study)["table"] == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('formula = "income + works ~ cash + age"\n', "", "[[regression]] number 1 lacks formula"),
        ('name = "main"', 'nome = "main"', "unknown key 'nome' in [[regression]] number 1"),
        ('name = "main"', 'name = "adjusted"', "[[regression]]: two regressions are named"),
        ('name = "main"', 'family = "mlogit"', 'family = "mlogit"'),
        ('name = "main"', 'where = "works == 1"', "works"),
        ('name = "main"', 'cluster = "village"', 'cluster = "village" is no'),
        ('name = "main"', "name = 3", "[[regression]] number 1 name = 3; give text in quotes"),
    ],
)
def test_a_declared_regression_is_refused_in_words_of_its_file(
    old: str, new: str, words: str, dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    study = written("moments", OF_FEMALE, BY_SITE, CONFIRMED, SITE, (old, new))
    ran = dprct("check", study)
    assert ran.code != 0
    assert words in " ".join((ran.out + ran.err).split())


def test_a_declared_regression_belongs_to_moments(
    dprct: Callable[..., Any], written: Callable[..., Path]
) -> None:
    added = ("[release]\n", '[[regression]]\nformula = "y ~ t"\n\n[release]\n')
    ran = dprct("check", written("ipw", added))
    assert "'moments'; remove it" in " ".join(ran.err.split())
