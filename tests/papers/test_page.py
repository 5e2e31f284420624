"""The page on all papers, from runs whose numbers are known."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.errors import FileError
from papers.__main__ import main
from papers.dpsc.forms import FORMS as CONTROL_FORMS
from papers.page import FOLDERS, _not_found, effect_tables, write_page
from papers.rct.printed import printed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any


def cate() -> pd.DataFrame:
    forms = {"one-step": "one-step DR", "ebm dr, printed": "DP-EBM DR, as printed",
             "ebm dr": "DP-EBM DR, corrected", "constant": "constant effect"}  # fmt: skip
    rows = [
        {"design": design, "form": form, "title": title, "n": n, "epsilon": epsilon, "draws": 4,
         "mse": k + epsilon / 100, "se": 0.01, "bias2": 0.25, "variance": 0.5}
        for design in ("B", "voting")
        for k, (form, title) in enumerate(forms.items())
        for n, epsilon in ((4000, 1.0), (16_000, 1.0), (16_000, 4.0))
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture
def states(tmp_path: Path) -> Path:
    for folder in FOLDERS.values():
        (tmp_path / folder / "cells").mkdir(parents=True)
    kept = {"settings": {"draws": 7}}
    (tmp_path / "cate-paper" / "cells" / "a.json").write_text(json.dumps(kept), "utf-8")
    cate().to_csv(tmp_path / "cate-paper" / "summary.csv", index=False)
    control = [
        {"n": n, "T0": 10, "epsilon": e, "lambda": 10.0 * m, "form": form, "rmse": 5.0, "se": 0.1,
         "bound.printed": 1.0 if form == "output" else 9.0}
        for n, e, m, form in itertools.product((10, 100), (2.0, 10.0), (1, 20), CONTROL_FORMS)
    ]  # fmt: skip
    (tmp_path / "dpsc-paper" / "report.md").write_text("mean over 1,234 panels, its", "utf-8")
    pd.DataFrame(control).to_csv(tmp_path / "dpsc-paper" / "rmse.csv", index=False)
    weighting = [
        {"study": "ihdp", "setup": setup, "epsilon": e, "wrong_sign": 0.4, "differs": 0.3,
         "wrong_sign_partial": 0.125, "mean": 1234.5, "mean_partial": -7.25}
        for setup in ("printed", "mended", "strict") for e in (0.2, 0.5, 1.0, 2.0, 5.0)
    ]  # fmt: skip
    pd.DataFrame(weighting).to_csv(tmp_path / "ippw-paper" / "summary.csv", index=False)
    risk = {"n": [1000], "epsilon": 1.0, "effect": 0.3, "event": "full", "bound": 0.8, "share": 0.1}
    pd.DataFrame(risk).to_csv(tmp_path / "ippw-paper" / "risks.csv", index=False)
    for number in (1, 3, 4):
        page = printed(number).assign(low=0.1, high=0.9, share=float("nan"), runs=2)
        page = page.assign(ours=0.5)
        page.to_csv(tmp_path / "rct-paper" / f"table_{number:02d}.csv", index=False)
    return tmp_path


def test_every_paper_has_its_table_with_printed_and_ours(states: Path, tmp_path: Path) -> None:
    page = tmp_path / "papers.md"
    write_page(states, page, commit="0a1b2c3d")
    text = page.read_text("utf-8")
    assert text.count("\n## ") == 5
    for words in (
        "`cate` 7 draws per setting; `dpsc` 1,234 panels per setting; runs of commit 0a1b2c3d.",
        "weights' noise alone | 0.2 | -237,487.30 | -7.25 | -7.25 | 1, 2, 4 |",
        "| mean effect, all noise | 0.5 | 32.20 | 1,234 | 1,234 | 1, 2, 4 |",
        "0 of the 1 bounds are 1",
        "| figure | 1 (Theorem 3.2) | density 5; ",
        "| Table 1, epsilon 5000: MV Histogram, mean overlap | 0.84 | 0.50 [0.10, 0.90] | 1 |",
        "no noise, weights' noise alone | 0.2 | 0.515 | 0.125 | 0.125 | 1, 2 |",
        "lalonde: its data were not at hand",
        "Algorithm 2, n = 10, epsilon 2: RMSE",
        "printed density: 8 of ",
        "epsilon 4: MSE of the DR-learner | figure | 0.125 | 1.04 | 2.04 | - | - | - | - | 0.04 |",
        "dprct.published.SignRisk",
        "| 1,000 | 1 | 0.300 | wrong after it | 0.8 | 0.100 |",
        "dprct.published.ControlError",
        "smallest and largest mean of 2 runs of 20 releases",
        "another run is between them with probability 33%",
        "## Item by item",
    ):
        assert words in text
    assert "nan" not in text


def test_one_run_of_releases_has_no_range_to_be_in(states: Path, tmp_path: Path) -> None:
    for number in (1, 3, 4):
        path = states / "rct-paper" / f"table_{number:02d}.csv"
        pd.read_csv(path).assign(runs=1).to_csv(path, index=False)
    write_page(states, tmp_path / "papers.md")
    text = (tmp_path / "papers.md").read_text("utf-8")
    assert "In brackets a single run" in text
    assert "with probability" not in text
    assert "printed values among" not in text


def test_the_tables_of_another_page_are_renewed_between_its_marks(
    states: Path, tmp_path: Path, command_line: Callable[..., Any]
) -> None:
    page, effects = tmp_path / "papers.md", tmp_path / "effects.md"
    effects.write_text("before\n<!-- tables -->\nold\n<!-- end of tables -->\nafter\n", "utf-8")
    ran = command_line(main)("page", "--states", states, "--out", page, "--effects", effects)
    assert (ran.code, ran.err) == (0, "")
    found = effects.read_text("utf-8")
    assert found.startswith("before\n")
    assert found.endswith("\nafter\n")
    assert "old" not in found
    assert effect_tables(cate()) in found
    effects.write_text("no marks", "utf-8")
    with pytest.raises(FileError, match="has no place for tables"):
        write_page(states, page, effects)


def test_a_run_that_is_missing_is_named(states: Path, tmp_path: Path) -> None:
    (states / "dpsc-paper" / "rmse.csv").unlink()
    with pytest.raises(FileError, match="run make replicate-dpsc first"):
        write_page(states, tmp_path / "papers.md")


def test_results_of_section_5_2_that_do_not_come_out_are_named() -> None:
    forms = {"ebm dr, printed": (0.5, 0.01), "ebm s, printed": (0.25, 0.25)}
    rows = [
        {"design": "voting", "form": form, "title": form, "n": n, "epsilon": e, "draws": 2,
         "mse": mse[n == 16_000], "se": 0.01, "bias2": e / 100, "variance": 3.0 / e}
        for form, mse in forms.items() for n in (4000, 16_000) for e in (1.0, 16.0)
    ]  # fmt: skip
    by = {(r["design"], r["form"], r["n"], r["epsilon"]): r for r in rows}
    said = _not_found(by)
    assert "better at 16,000 already (0.01 against 0.25), and at 4,000 it is worse" in said
    assert "DR 0.0231 against S 0.0162 at 16,000, and DR 0.00824 against S 0.0161 at" in said
    assert "variance voting 16; squared bias voting 0.062" in said
    for key in list(by):
        if key[1] == "ebm dr, printed":
            by[key] = by[key] | {"mse": 0.5, "bias2": -1.0}
    assert "20,000" not in _not_found(by)
    assert "squared bias nowhere (" in _not_found(by)
    assert _not_found({}) == ""
