"""``python -m papers`` and the targets of make that call it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from papers.__main__ import main
from papers.cate import run as cate_run
from papers.cate.designs import designs
from papers.ippw import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def papers(command_line: Callable[..., Any]) -> Callable[..., Any]:
    """Run ``python -m papers`` in this process; return its exit code and what it wrote."""
    return command_line(main)


TABLE_1 = ("--tables", "1", "--reps", "1", "--jobs", "1")


def test_a_table_is_printed_beside_the_papers(papers: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = papers("rct", "--tables", "1", "--reps", "1", "--jobs", "1", "--out", out)
    assert (ran.code, ran.err) == (0, "")
    for part in ("Table 1: printed and ours", "5.21", "epsilon 5000", "generated here"):
        assert part in ran.out
    assert (out / "table_01.html").exists()


def test_table_2_is_the_definition_of_the_models(
    papers: Callable[..., Any], tmp_path: Path
) -> None:
    ran = papers("rct", "--tables", "2", "--jobs", "1", "--out", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["Model", "1", "x1,", "x2", "x11,", "x12"] in lines
    assert ["Unbounded", "x1,", "x3,", "x5,", "x7,", "x9", "x11,", "x12"] in lines
    assert (tmp_path / "table_02.csv").exists()


def test_figures_are_drawn_or_a_sentence_says_why_not(
    papers: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("rct", *TABLE_1, "--figures", "--out", tmp_path)
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    ran = papers(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "figures: figure_03.png, figure_18.png" in ran.out
    assert (tmp_path / "figure_18.png").exists()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    ran = papers(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "no figures: a figure needs matplotlib" in ran.out


def test_experiments_are_run_again(
    papers: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = dict(list(run.studies(None).items())[1:2])
    monkeypatch.setattr(run, "studies", lambda data: one)
    arguments = ("ippw", "--draws", "1", "--jobs", "1", "--out", tmp_path)
    ran = papers(*arguments, "--figures")
    assert (ran.code, ran.err) == (0, "")
    for part in ("strict, Hajek", "Lost settings", "figures: synthetic.png"):
        assert part in ran.out
    assert (tmp_path / "report.md").exists()
    ran = papers(*arguments, "--tables", "1")
    assert ran.code == 2
    assert "No such option: --tables" in ran.err


def test_the_forms_of_synthetic_control_are_compared(
    papers: Callable[..., Any], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    arguments = ("dpsc", "--draws", "2", "--jobs", "1", "--out", tmp_path)
    ran = papers(*arguments, "--figures")
    assert (ran.code, ran.err) == (0, "")
    assert "strict, ridge weights" in ran.out
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == [
        "figure_2", "figure_5", "figure_6", "figure_8",
        "rmse_by_T0", "rmse_by_epsilon", "rmse_by_lambda", "rmse_by_n",
    ]  # fmt: skip
    assert papers(*arguments, "--data", tmp_path).code == 2


def test_experiments_on_effects_that_vary_say_what_they_left_out(
    papers: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cate_run, "SIZES", (200, 400))
    monkeypatch.setattr(cate_run, "EPSILONS", (1.0, 8.0))
    monkeypatch.setattr(cate_run, "MAIN_SIZE", 400)
    monkeypatch.setattr(cate_run, "designs", lambda data: {"B": designs(data)["B"]})
    monkeypatch.setattr(cate_run, "_has_ebm", lambda: False)
    arguments = ("cate", "--draws", "2", "--jobs", "1", "--out", tmp_path)
    ran = papers(*arguments)
    assert (ran.code, ran.err) == (0, "")
    assert "DP-EBM is left out: interpret-core is not installed" in ran.out
    assert (tmp_path / "summary.csv").is_file()
    assert papers(*arguments, "--tables", "1").code == 2


def test_it_runs_as_a_module(checkout: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "papers", "--help"], cwd=checkout, capture_output=True, check=True
    )
    listed = ran.stdout.decode("utf-8")
    assert "python -m papers" in listed
    assert all(f" {paper} " in listed for paper in ("rct", "ippw", "dpsc", "cate"))


@pytest.mark.parametrize("paper", ["rct", "ippw", "dpsc", "cate"])
def test_make_has_a_target_for_it(checkout: Path, paper: str) -> None:
    makefile = (checkout / "Makefile").read_text("utf-8")
    assert f"\nreplicate-{paper}: " in makefile
    assert f"-m papers {paper} --" in makefile


def test_what_cannot_be_regenerated_is_refused(papers: Callable[..., Any], tmp_path: Path) -> None:
    for tables, words in (
        ("1,20", "table 20 is none of the paper's that are here"),
        ("11", "table 11 is about Liberia"),
    ):
        ran = papers("rct", "--tables", tables, "--out", tmp_path / "out")
        assert ran.code == 2
        assert words in ran.err
    assert not (tmp_path / "out").exists()
    assert papers("other").code == 2
