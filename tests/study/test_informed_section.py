"""Hybrid and GenModel from a study file: asked for in full, accepted by hand, never mistaken."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.cli import main
from dprct.errors import StudyError
from dprct.privacy.accountant import Accountant
from dprct.published import GenModel, Hybrid
from dprct.schema import Column, Schema
from dprct.study.ready import bound_model, planned
from dprct.study.sections import ReleaseSection
from dprct.study.study import asked_from, load_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """
version = 1
data = "survey.dta"
dataset_id = "survey"
[release]
method = "published_hybrid"
epsilon = 4.0
formula = "income + hired ~ treat + age"
[design]
kind = "block"
arms = ["treat"]
block = "site"
[informed]
[informed.families]
hired = "binomial"
[header]
confirm = true
[columns]
income = {fate = "modelled"}
hired = {fate = "modelled"}
treat = {fate = "modelled"}
age = {fate = "modelled"}
site = {fate = "modelled"}
name = {fate = "withheld"}
"""
GEN_MODEL = (
    ("published_hybrid", "published_gen_model"),
    ("income + hired ~", "income ~"),
    ('[informed.families]\nhired = "binomial"', 'B = 20000\nsigma = "confidential"'),
    ('hired = {fate = "modelled"}', 'hired = {fate = "withheld"}'),
)
DOMAINS = (
    ("[informed]", '[informed]\nx_method = "strict"'),
    ('age = {fate = "modelled"}',
     'age = {fate = "modelled", bounds = [18, 65], bins = 2, missing = "never"}'),
    ('site = {fate = "modelled"}',
     'site = {fate = "modelled", levels = [1, 2], missing = "never"}'),
)  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    def write(*changes: tuple[str, str]) -> Path:
        rng = np.random.default_rng(1)
        n = 400
        treat, site = np.tile([0.0, 1.0], n // 2), np.repeat([1.0, 2.0], n // 2)
        age = rng.integers(18, 65, n).astype(float)
        data = pd.DataFrame(
            {
                "income": 3 + 2 * treat + 0.1 * age + rng.normal(0, 1, n),
                "hired": (rng.random(n) < 0.3 + 0.3 * treat).astype(float),
                "treat": treat,
                "age": age,
                "site": site,
                "name": rng.normal(0, 1, n),
            }
        )
        types = {"hired": "byte", "treat": "byte", "age": "byte", "site": "byte"}
        schema = Schema(tuple(Column(c, types.get(c, "double")) for c in data.columns))
        dprct.write_dta(data, schema, tmp_path / "survey.dta")
        text = STUDY
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def ran(*arguments: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def flat(text: str) -> str:
    return " ".join(text.split())


def experiment(text: str, method: Any = "published_hybrid", formula: str | None = "y ~ t",
               **more: Any) -> Any:  # fmt: skip
    return asked_from(tomllib.loads(text), ReleaseSection(4.0, method, formula=formula, **more))


def test_hybrid_needs_the_word_and_then_says_what_it_is(study, tmp_path, capsys):
    path = study()
    assert ran("check", path) == 0
    assert ran("protect", path, "--yes") == 3
    assert "--accept-no-guarantee" in flat(capsys.readouterr().err)
    assert ran("protect", path, "--yes", "--accept-no-guarantee") == 0
    said = flat(capsys.readouterr().out)
    assert "NO DP GUARANTEE: nothing is promised" in said
    assert "to the ledger of" not in said
    assert not list(tmp_path.glob("*.ledger.json"))
    certificate = json.loads((tmp_path / "survey_no_dp_guarantee.certificate.json").read_text())
    assert "published.Hybrid" in json.dumps(certificate)
    text = flat((tmp_path / "survey_no_dp_guarantee.certificate.txt").read_text("utf-8"))
    assert "No differential-privacy guarantee" in text
    made, schema = dprct.read_dta(tmp_path / "survey_no_dp_guarantee.dta")
    assert set(made["hired"].unique()) == {0, 1}
    assert made.groupby("site")["treat"].mean().between(0.4, 0.6).all()
    assert made["name"].isna().all()
    # the effect of 2 has a standard error of 0.1 in either file
    effect = dprct.ols("income ~ treat + age", made, schema=schema).params["treat"]
    assert abs(effect - 2) < 1


def test_gen_model_is_told_its_options(study, capsys):
    path = study(*GEN_MODEL)
    model = bound_model(load_study(path))
    assert isinstance(model, GenModel)
    assert (model.spec.settings.B, model.spec.settings.sigma) == (20000, "confidential")
    assert ran("plan", path) == 0
    said = flat(capsys.readouterr().out)
    assert "20,000 proxies" in said
    assert "NONE, whatever epsilon is" in said
    assert ran("protect", path, "--yes", "--accept-no-guarantee") == 0
    assert path.with_name("survey_no_dp_guarantee.dta").exists()


def test_coefficients_have_bounds_of_their_own_from_a_study_file(study):
    own = ("B = 20000", 'B = 20000\nv = {treat = 9, "residual variance" = 80}\nalpha = 0.1')
    settings = bound_model(load_study(study(*GEN_MODEL, own))).spec.settings
    assert [settings.range(1.0, 1, of=name).v for name in ("treat", "age")] == [9, 50]
    assert (settings.range(1.0, 1).v, settings.range(1.0, 1).alpha) == (80, 0.1)


def test_section5_is_a_preset(study):
    preset = ("B = 20000", 'B = 20000\nallocation = "section5"\nepsilon_x = 1.5')
    model = bound_model(load_study(study(*GEN_MODEL, preset)))
    assert model.division(4).covariates.epsilon == 1.5


def test_strict_covariates_are_charged_and_the_file_still_promises_nothing(study, tmp_path, capsys):
    path = study(*DOMAINS)
    assert ran("protect", path, "--yes") == 3
    assert ran("protect", path, "--yes", "--accept-no-guarantee") == 0
    said = flat(capsys.readouterr().out)
    assert "This charges epsilon=4 to the ledger of 'survey', for the covariates alone." in said
    assert "NO DP GUARANTEE" in said
    assert Accountant.load(tmp_path / "survey.ledger.json").spent.epsilon == 4
    assert (tmp_path / "survey_no_dp_guarantee.dta").exists()


def test_gen_model_charges_the_part_of_its_strict_covariates(study, tmp_path):
    path = study(*GEN_MODEL, *DOMAINS)
    assert ran("protect", path, "--yes", "--accept-no-guarantee") == 0
    account = Accountant.load(tmp_path / "survey.ledger.json")
    assert (account.spent.epsilon, account.total.epsilon) == (2, 2)


def test_strict_covariates_need_a_domain_and_outcomes_none(study, capsys):
    assert ran("check", study(DOMAINS[0])) == 1
    out = flat(capsys.readouterr().out)
    assert "'age'" in out
    assert "'site'" in out
    assert "income" not in out


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((('formula = "income + hired ~ treat + age"\n', ""),), "[release] formula is missing"),
        ((('[design]\nkind = "block"\narms = ["treat"]\nblock = "site"\n', ""),),
         "[design] is missing"),
        ((('"treat"]', '"treated"]'),), "no column 'treated'"),
        ((("~ treat + age", "~ age"),), "treatment 'treat' is not in the formula"),
        ((('site = {fate = "modelled"}', 'site = {fate = "withheld"}'),),
         "'site' is used by the formula or the design"),
        ((('name = {fate = "withheld"}', 'name = {fate = "modelled"}'),),
         "'name' is modelled, but neither"),
        ((('hired = "binomial"', 'fired = "binomial"'),), "'fired', which is not an outcome"),
    ],
)  # fmt: skip
def test_check_lists_what_is_open(study, capsys, changes, words):
    assert ran("check", study(*changes)) == 1
    assert words in flat(capsys.readouterr().out)


def test_a_design_that_the_data_break_is_refused(study, capsys):
    uneven = ('kind = "block"', 'kind = "block"\nshares = [0.2]')
    assert ran("plan", study(uneven)) != 0
    assert "'treat'" in flat(capsys.readouterr().err)
    lost = ("[informed]", "[informed]\nattrition = true")
    assert ran("plan", study(uneven, lost)) == 0


@pytest.mark.parametrize("method", ["mv_histogram", "published_mv_histogram"])
@pytest.mark.parametrize("text", ["[design]\nkind = 'complete'", "[informed]\nB = 5"])
def test_other_methods_take_no_experiment(method, text):
    assert experiment("", method, None).makes_file
    with pytest.raises(StudyError, match="remove it, as method"):
        experiment(text, method, None)
    with pytest.raises(StudyError, match=r"\[release\] formula is for method"):
        experiment("", method)


def test_marginals_have_no_bins_to_set():
    with pytest.raises(StudyError, match="zeta sets the bins of a histogram"):
        experiment("[informed]\nx_method = 'marginals'", zeta=0.5)
    assert experiment("[informed]\nx_method = 'strict'", zeta=0.5).informed.x_method == "strict"


@pytest.mark.parametrize(
    ("text", "design"),
    [
        ("kind = 'simple'\narms = ['t']\nshares = 0.25", dprct.Simple("t", shares=0.25)),
        ("kind = 'complete'\narms = ['a', 'b']\nshares = [0.2, 0.5]",
         dprct.Complete(["a", "b"], shares=[0.2, 0.5])),
        ("kind = 'complete'\narms = ['a', 'b']\ncontrol_share = 0",
         dprct.Complete(["a", "b"], control_share=0)),
        ("kind = 'block'\narms = ['t']\nblock = ['s', 'r']", dprct.Block("t", block=["s", "r"])),
        ("kind = 'cluster'\narms = ['t']\ncluster = 'c'", dprct.Cluster("t", cluster="c")),
        ("kind = 'block_cluster'\narms = ['t']\nblock = 'b'\ncluster = 'c'",
         dprct.BlockCluster("t", block="b", cluster="c")),
        ("kind = 'factorial'\nfactors = {cash = {kind = 'block', block = 's'}, "
         "talk = {kind = 'complete'}}\narms = {c = ['cash'], t = ['talk'], b = ['cash', 'talk']}",
         dprct.Factorial([dprct.Block("cash", block="s"), dprct.Complete("talk")],
                         {"c": ["cash"], "t": ["talk"], "b": ["cash", "talk"]})),
    ],
)  # fmt: skip
def test_a_section_is_the_design_it_spells(text, design):
    found = experiment("[design]\n" + text).design
    assert (type(found), str(found), found.columns, found.uses) == (
        type(design), str(design), design.columns, design.uses,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arms = ['t']", r"\[design\] lacks kind"),
        ("kind = 'blocked'", "allowed: simple, complete"),
        ("kind = 'complete'", "lacks arms"),
        ("kind = 'block'\narms = ['t']", "lacks block"),
        ("kind = 'complete'\narms = ['t']\nblock = 's'", "block does not belong to kind"),
        ("kind = 'complete'\narms = ['t']\nblocks = 's'", "unknown key 'blocks'"),
        ("kind = 'complete'\narms = ['t', 3]", "a list of columns"),
        ("kind = 'complete'\narms = {t = ['a']}", "is for a factorial"),
        ("kind = 'complete'\narms = ['t']\nshares = ['a']", "a list of numbers"),
        ("kind = 'complete'\narms = ['t']\nshares = [true]", "a list of numbers"),
        ("kind = 'complete'\narms = ['t']\nshares = [1.5]", r"\[design\] .*share"),
        ("kind = 'factorial'", "lacks factors"),
        ("kind = 'factorial'\nfactors = {a = 3}", "factors a = 3; give a table"),
        ("kind = 'factorial'\nfactors = {a = {kind = 'factorial'}}", r"\.factors\.a\] kind"),
        ("kind = 'factorial'\nfactors = {a = {kin = 'block'}}", r"key 'kin' in \[design\.fac"),
        ("kind = 'factorial'\narms = ['a']\nfactors = {a = {kind = 'simple'}}", "give a table"),
    ],
)  # fmt: skip
def test_a_wrong_design_is_refused_in_one_sentence(text, words):
    with pytest.raises(StudyError, match=words):
        experiment("[design]\n" + text)


@pytest.mark.parametrize(
    ("method", "text", "words"),
    [
        ("published_hybrid", "B = 5", "B does not belong"),
        ("published_gen_model", "families = {y = 'probit'}", "families y = 'probit'; allowed"),
        ("published_hybrid", "families = {y = 'logit'}", "families y = 'logit'; allowed"),
        ("published_hybrid", "families = {y = 3}", "families y = 3; allowed"),
        ("published_hybrid", "x_method = 'mine'", "allowed: strict"),
        ("published_hybrid", "missing_outcomes = 'keep'", "allowed: reproduce, drop"),
        ("published_gen_model", "B = 1", "give at least 2"),
        ("published_gen_model", "v = 0", "give a number above 0"),
        ("published_gen_model", "v = {treat = 0}", "give a number above 0"),
        ("published_gen_model", "alpha = {treat = 1}", "alpha = 1; give a number between"),
        ("published_gen_model", "sigma = 'public'", "allowed: private, confidential"),
        ("published_gen_model", "confidential_from = 'x'", "allowed: last step"),
        ("published_gen_model", "allocation = 'section6'", "allowed: section4, section5"),
        ("published_gen_model", "allocation = 'section5'", "go together"),
        ("published_gen_model", "epsilon_x = 1", "go together"),
        ("published_gen_model", "allocation = 'section5'\nepsilon_x = 4", "below .*epsilon = 4"),
        ("published_hybrid", "attrition = 1", "true or false"),
        ("published_hybrid", "attritions = true", "unknown key 'attritions'"),
    ],
)
def test_a_wrong_option_is_refused_in_one_sentence(method, text, words):
    with pytest.raises(StudyError, match=words):
        experiment("[informed]\n" + text, method)


def test_zeta_is_passed_on(study):
    found = load_study(study(("epsilon = 4.0", "epsilon = 4.0\nzeta = 0.5")))
    model = bound_model(found)
    assert isinstance(model, Hybrid)
    assert "20 bins" in flat(str(planned(found, model)))
