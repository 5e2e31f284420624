"""The blocks of Python on the pages run as they are written, and print what is said."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import DprctError
from dprct.release.verify import verify

TOP = Path(__file__).resolve().parents[2]
RUN_ELSEWHERE = {
    "choosing_bounds.md": "doctest, in test_for_readers.py",
    "clusters.md": "test_tutorials.py",
}


def blocks(page: str, kind: str) -> list[str]:
    text = (TOP / page).read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("thornton_hiv.dta", "nsw_mixtape.dta"):
        shutil.copy(TOP / "data" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(code: str) -> None:
    exec(compile(code, "a block of a page", "exec"), {"dprct": dprct})


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_first_protected_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(blocks("docs/first_file.md", "python")[0])
    printed, said = capsys.readouterr().out, blocks("docs/first_file.md", "text")[0]
    for part in ("Plan: MVHistogram", "Fitted on released data"):
        start = said.index(part)
        end = said.find("Least squares", start)
        assert said[start : None if end < 0 else end] in printed
    assert {path.name for path in folder.iterdir()} >= {
        "thornton_protected.dta",
        "thornton_protected.certificate.html",
    }


def test_the_readme(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("README.md", "python")
    assert len(block.splitlines()) == 10
    ran(block)
    printed = capsys.readouterr().out
    for words in ("Plan: Calibrated", "Calibrated: the errors of treat contain", "no other level"):
        assert words in printed
    assert verify(folder / "nsw_protected.dta")
    first_screen = (TOP / "README.md").read_text("utf-8").partition("\n## ")[0]
    assert len(first_screen.splitlines()) <= 45
    assert len(re.findall(r"\]\((?:docs|r-wrapper)/\w+\.md\)", first_screen)) == 9


def test_the_gallery(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(TOP / "data")
    names: dict[str, Any] = {}
    pictures = 0
    for number, block in enumerate(blocks("docs/gallery.md", "python"), start=1):
        names.pop("ax", None)
        exec(block, names)
        if "ax" in names:
            names["ax"].figure.canvas.draw()
            assert (TOP / "docs" / f"gallery_{number}.svg").exists()
            pictures += 1
    plt.close("all")
    assert pictures == 4
    assert "Balance by treat" in capsys.readouterr().out
    assert abs(names["study"].ols(names["formula"]).params["treat:w3"] - 1.5) < 1.5


def test_the_document_that_answers_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tables of prices are plans and compositions, which are the same in every run."""
    monkeypatch.chdir(tmp_path)
    data, schema = villages()
    names: dict[str, Any] = {"dprct": dprct, "data": data, "schema": schema}
    for block in blocks("docs/validation_server.md", "python"):
        exec(block, names)
    assert capsys.readouterr().out.endswith("0.87 1.28 2.12 3.14\n3.73 5.33\n")
    page = (TOP / "docs/validation_server.md").read_text("utf-8")
    asked = (names["paper"], 4), ([*names["paper"], "income ~ treat + age"], 4)
    for formulas, epsilon in (*asked, (["income ~ treat + age"], 1)):
        plan = names["release_of"](formulas).plan(epsilon=epsilon, delta=1e-6).to_frame()
        first = plan.drop_duplicates("quantity").set_index("quantity")["value"]
        error, noise = (f"{first[name]:.3f}"[1:] for name in ("std_error", "noise_sd"))
        assert f"| {error} | {noise} |" in page


def test_a_calibrated_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(blocks("docs/first_file.md", "python")[1])
    printed, said = capsys.readouterr().out, blocks("docs/first_file.md", "text")[1]
    plan, _, rest = said.partition("-" * 20)
    assert squeezed(plan) in squeezed(printed)
    assert rest[rest.index("Calibrated:") :] in printed
    assert verify(folder / "nsw_protected.dta")


def test_a_plan_is_read(folder: Path) -> None:
    scope: dict[str, Any] = {}
    exec("\n".join(blocks("docs/plans.md", "python")), scope)
    errors = scope["errors"]
    assert errors[0.5] > errors[1] == scope["plan"].value("std_error") > errors[4]
    page = (folder / TOP / "docs/plans.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+)`", page))
    assert set(scope["frame"].columns) <= named
    assert {one for one in scope["frame"]["quantity"] if one.startswith("draw_")} <= named


def test_learners_without_a_known_propensity(capsys: pytest.CaptureFixture[str]) -> None:
    """Distances of .4; the noise of two levels at epsilon 4 and 40,000 rows is below .03."""
    block, _ = blocks("docs/heterogeneous_effects.md", "python")
    ran(block)
    printed = capsys.readouterr().out
    found = re.findall(r"\[\s*(\S+)\s+(\S+)\s*\]", printed)
    assert len(found) == 2
    for young, old in found:
        assert float(old) - float(young) == pytest.approx(0.4, abs=0.2)
    assert "log odds by age" in printed


def test_a_base_learner_of_your_own(capsys: pytest.CaptureFixture[str]) -> None:
    _, block = blocks("docs/heterogeneous_effects.md", "python")
    ran(block)
    printed = capsys.readouterr().out
    assert "outcome: PrivateAdditive, epsilon=1, delta=1e-06, replace-one" in printed
    young, old = map(float, re.findall(r"\[\s*(\S+)\s+(\S+)\s*\]", printed)[-1])
    # the noise of a shape at epsilon 4 and 10,000 rows is a tenth of their distance
    assert old - young > 0.1


def test_voters_in_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl = pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    (block,) = blocks("docs/large_data.md", "python")
    (tmp_path / "voters").mkdir()
    for half in range(2):
        rows = np.tile([[0.0, 1.0]], (100, 1)).ravel()
        table = pl.DataFrame({"voted": rows, "mailed": rows if half else 1 - rows})
        table.write_parquet(tmp_path / "voters" / f"{half}.parquet")
    monkeypatch.chdir(tmp_path)
    ran(block)


def test_the_regression_of_which_correction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    (block,) = blocks("docs/which_correction.md", "python")
    *before, last = block.strip().splitlines()
    exec("\n".join([*before, f"fit = {last}"]), names := {"dprct": dprct})
    assert round(names["fit"].params["hiv2004"], 5) == -0.04535


def test_the_release_of_private_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block, _ = blocks("docs/private_moments.md", "python")
    rng, n = np.random.default_rng(1), 20_000
    levels = {"female": (0.0, 1.0), "trained": (0.0, 1.0), "region": (1.0, 2.0, 3.0)}
    bounds = {"wage": (0, 40), "hours": (0, 70), "age": (20, 60), "school": (6, 18)}
    data = {name: rng.choice(values, n) for name, values in levels.items()}
    data |= {name: rng.uniform(*ends, n) for name, ends in bounds.items()}
    columns = [dprct.Column(c, "byte", levels=x, missing=()) for c, x in levels.items()]
    columns += [dprct.Column(c, bounds=x, missing=()) for c, x in bounds.items()]
    names = {"dprct": dprct, "data": pd.DataFrame(data), "schema": dprct.Schema(tuple(columns))}
    exec(block, names)
    assert (tmp_path / "study.moments.json").exists()


def test_the_declared_regressions_of_a_trial_in_villages() -> None:
    _, block = blocks("docs/private_moments.md", "python")
    rng, n = np.random.default_rng(2), 6000
    village = np.arange(n) // 30
    data = pd.DataFrame(
        {
            "village": village, "treat": village % 2.0, "works": rng.integers(0, 2, n) * 1.0,
            "age": rng.uniform(20, 60, n), "educ": rng.uniform(0, 16, n),
            "index": (0.5 * (village % 2) + rng.normal(size=n)).clip(-4, 4),
        }
    )  # fmt: skip
    two = {"type": "byte", "levels": (0.0, 1.0), "missing": ()}
    columns = [dprct.Column(name, **two) for name in ("treat", "works")]
    columns += [
        dprct.Column("index", bounds=(-4, 4), sd=1.0, missing=()),
        dprct.Column("age", bounds=(20, 60), missing=()),
        dprct.Column("educ", bounds=(0, 16), missing=()),
        dprct.Column("village", "int", missing=()),
    ]
    exec(block, names := {"dprct": dprct, "data": data, "schema": dprct.Schema(tuple(columns))})
    found = names["f"].ols("index ~ treat + age + educ")
    assert abs(found.params["treat"] - 0.5) < 6 * found.bse["treat"]
    assert found.cov_type == "CR1"


def villages() -> tuple[pd.DataFrame, dprct.Schema]:
    rng, n = np.random.default_rng(3), 6000
    village = np.arange(n) // 30
    treat = village % 2.0
    noise = 0.8 * rng.normal(size=200)[village] + 3 * rng.normal(size=n)
    data = pd.DataFrame({
        "village": village, "treat": treat, "district": village // 2 % 5 * 1.0,
        "female": rng.integers(0, 2, n) * 1.0, "age": rng.uniform(20, 60, n),
        "income": (11 + 1.5 * treat + noise).clip(0, 25),
        "works": (rng.random(n) < 0.5 + 0.05 * treat) * 1.0,
    })  # fmt: skip
    two = {"type": "byte", "levels": (0.0, 1.0), "missing": ()}
    columns = [dprct.Column(name, **two) for name in ("treat", "female", "works")]
    columns += [
        dprct.Column("district", "byte", levels=(0.0, 1.0, 2.0, 3.0, 4.0), missing=()),
        dprct.Column("income", bounds=(0, 25), sd=3.5, centre=11, missing=()),
        dprct.Column("age", bounds=(20, 60), sd=12, centre=40, missing=()),
        dprct.Column("village", "int", missing=()),
    ]
    return data, dprct.Schema(tuple(columns))


def test_the_regressions_as_the_paper_prints_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("docs/declared_regressions.md", "python")
    (plan,) = blocks("docs/declared_regressions.md", "text")
    data, schema = villages()
    exec(block, names := {"dprct": dprct, "data": data, "schema": schema})
    printed = squeezed(capsys.readouterr().out)
    assert squeezed(plan) in printed
    assert "CR1 Inference: t(199)" in printed
    found = names["f"].ols("income ~ treat + age + female | district")
    assert abs(found.params["treat"] - 1.5) < 6 * found.bse["treat"]
    assert (tmp_path / "trial.moments.json").exists()


@pytest.mark.parametrize(
    ("formula", "more", "said"),
    [
        ("income ~ treat:age", {}, "clusters were assigned"),
        ("income ~ [works ~ treat]", {"where": "female == 1"}, "private condition"),
        ("income ~ [works ~ treat]", {"weights": "age"}, "weights are private"),
        ("income ~ [works ~ treat + age]", {}, "clusters were assigned"),
        ("income ~ treat", {"cluster": "village district"}, "no column 'village district'"),
    ],
)
def test_what_the_page_says_is_refused(formula: str, more: dict[str, str], said: str) -> None:
    design = dprct.BlockCluster("treat", block="district", cluster="village", shares=0.5, icc=0.1)
    regressions = [dprct.Regression("works ~ treat*C(district)")]  # which is served
    regressions.append(dprct.Regression(formula, **more))
    neighbors = "replace-one-design-public"
    with pytest.raises(DprctError, match=said):
        dprct.PrivateMoments(
            *villages(), assignment=design, formulas=regressions, neighbors=neighbors
        ).plan(epsilon=4, delta=1e-6)


def test_the_difference_in_differences_of_panels() -> None:
    """What is released is the regression with fixed effects of persons and clustered errors."""
    (block,) = blocks("docs/panels.md", "python")
    rng, people, waves = np.random.default_rng(0), 4000, 4
    person, wave = np.repeat(np.arange(people), waves), np.tile(np.arange(waves), people)
    treated = (person % 2 == 0) & (wave >= 2)
    wage = (
        10 + 3 * rng.normal(size=people)[person] + wave + 2 * treated + rng.normal(size=len(wave))
    )
    data = pd.DataFrame({"person": person, "wave": wave, "treated": treated * 1.0, "wage": wage})
    data["wage"] = data["wage"].clip(0, 30)
    exec(block.replace("epsilon=4", "epsilon=30"), names := {"data": data})
    fit, raw = names["fit"], dprct.ols(names["formula"], (data, names["schema"]), cluster="person")
    assert 0.033 < float(raw.bse["treated"]) < 0.045
    # projected covariates and a little noise move it by a fraction of its error
    assert abs(fit.params["treated"] - raw.params["treated"]) < 0.25
    assert 0.6 < fit.bse["treated"] / raw.bse["treated"] < 1.8
    assert fit.bse_noise["treated"] < 0.05


def test_the_papers_own_regressions_of_calibrated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    block, *_ = blocks("docs/calibrated.md", "python")
    data, schema = villages()
    data = data.assign(harvest=data["income"] / 2)
    harvest = dprct.Column("harvest", bounds=(0, 12.5), sd=2, missing=(), fate="modelled")
    schema = dprct.Schema((*schema.columns, harvest))
    fates = {name: {"fate": "modelled"} for name in ("income", "works", "age", "female")}
    schema = schema.declare(**fates, village={"missing": "never"}, district={"missing": "never"})
    exec(block, names := {"dprct": dprct, "data": data, "schema": schema})
    release = names["release"]
    rows, read = dprct.read_dta(tmp_path / "trial_protected.dta")
    some = rows[rows["district"] <= 3]
    fit = dprct.ols("harvest ~ treat + age", some, read, cluster="village")
    told = release.estimates
    assert fit.params["treat"] == pytest.approx(told.params.iloc[2], rel=1e-9)
    assert fit.bse["treat"] == pytest.approx(told.bse.iloc[2], rel=1e-9)


def test_the_joint_release_of_calibrated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    _, block, _ = blocks("docs/calibrated.md", "python")
    rng, n = np.random.default_rng(5), 4000
    data = pd.DataFrame(rng.normal(size=(n, 3)).clip(-4, 4), columns=["y1", "y2", "y3"])
    data = data.assign(treat=rng.integers(0, 2, n), age=rng.integers(20, 61, n))
    columns = [dprct.Column(name, bounds=(-4, 4), missing=()) for name in ("y1", "y2", "y3")]
    columns.append(dprct.Column("treat", "byte", levels=(0, 1), missing=()))
    columns.append(dprct.Column("age", "byte", bounds=(20, 60), missing=()))
    names = {"dprct": dprct, "data": data, "schema": dprct.Schema(tuple(columns))}
    exec(block, names)
    assert "delta=1e-06" in str(names["release"].guarantee)


def test_the_subgroups_of_calibrated() -> None:
    *_, block = blocks("docs/calibrated.md", "python")
    rng, n = np.random.default_rng(6), 400
    data = pd.DataFrame({
        "harvest": rng.uniform(0, 40, n), "loans": rng.uniform(0, 9, n),
        "age": rng.uniform(18, 65, n), "seed": np.arange(n) // 2 % 2 * 1.0,
        "region": np.arange(n) % 2 * 1.0,
    })  # fmt: skip
    bounds = {"harvest": (0, 40), "loans": (0, 9), "age": (18, 65)}
    columns = [dprct.Column(name, bounds=ends, missing=()) for name, ends in bounds.items()]
    columns += [dprct.Column(c, "byte", levels=(0, 1), missing=()) for c in ("seed", "region")]
    names = {"dprct": dprct, "data": data, "schema": dprct.Schema(tuple(columns))}
    exec(block, names)
    release = names["release"]
    rows = release.protected[release.protected["region"] == 1]
    fit = dprct.ols("harvest ~ seed", rows, release.schema)
    effect = release.estimates.effects(where="region").params["harvest if region=1: seed"]
    assert fit.params["seed"] == pytest.approx(effect, abs=1e-9)


def test_the_doubly_robust_effect_of_weighting() -> None:
    (block,) = blocks("docs/ipw.md", "python")
    rng, n = np.random.default_rng(8), 20_000
    age, educ = rng.uniform(20, 60, n), rng.uniform(0, 16, n)
    t = (rng.random(n) < 0.3 + 0.4 * (age > 40)) * 1.0
    y = (2 * t + educ / 4 + rng.normal(size=n)).clip(-4, 10)
    data = pd.DataFrame({"t": t, "age": age, "educ": educ, "y": y})
    ends = {"age": (20, 60), "educ": (0, 16), "y": (-4, 10)}
    columns = [dprct.Column(name, bounds=one, missing=()) for name, one in ends.items()]
    columns.append(dprct.Column("t", "byte", levels=(0, 1), missing=()))
    exec(block, names := {"dprct": dprct, "data": data, "schema": dprct.Schema(tuple(columns))})
    effect = names["model"].fit(epsilon=4, delta=1e-6)
    assert abs(float(effect.params.iloc[0]) - 2) < 6 * float(effect.bse.iloc[0])


def test_predictors_of_a_synthetic_control(capsys: pytest.CaptureFixture[str]) -> None:
    years = np.arange(1970.0, 2001)
    states = ["California", "Nevada", "Ohio", "Utah"]
    data = pd.DataFrame(
        {"state": np.repeat(states, 31), "year": np.tile(years, 4), "cigsale": 90.0}
    )
    facts = {"cigsale": (0, 300), "lnincome": (8, 12), "age15to24": (0, 1), "beer": (0, 50)}
    data = data.assign(lnincome=10.0, age15to24=0.2, beer=20.0)
    never = {name: {"bounds": ends, "missing": "never"} for name, ends in facts.items()}
    schema = dprct.Schema.from_frame(data).declare(**never)
    changes, block = blocks("docs/synthetic_control.md", "python")
    exec(compile(block, "a block", "exec"), {"dprct": dprct, "data": data, "schema": schema})
    plan = capsys.readouterr().out
    assert "beer(1984(1)1988) (0 to 50, weight 4)" in squeezed(plan)
    assert "lambda 520" in plan  # 20 times 19 years and the weights
    exec(compile(changes, "a block", "exec"), {})
    assert "sales (changes)" in capsys.readouterr().out


def test_no_block_of_python_is_left_out() -> None:
    pages = [page for at in (".", "docs", "data") for page in sorted((TOP / at).glob("*.md"))]
    with_code = {page.name for page in pages if "```python" in page.read_text("utf-8")}
    assert with_code - set(RUN_ELSEWHERE) == {
        "README.md",
        "calibrated.md",
        "declared_regressions.md",
        "first_file.md",
        "gallery.md",
        "heterogeneous_effects.md",
        "ipw.md",
        "large_data.md",
        "panels.md",
        "plans.md",
        "private_moments.md",
        "synthetic_control.md",
        "validation_server.md",
        "which_correction.md",
    }
    assert len(blocks("docs/first_file.md", "python")) == 2
