from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from dprct.cli.demo import demo_file
from dprct.io.compare import compare
from dprct.io.stata import read_dta
from dprct.results.ols import ols

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_demo_shows_a_real_experiment_protected(dprct: Callable[..., Any], here: Path) -> None:
    ran = dprct("demo")
    assert (ran.code, ran.err) == (0, "")
    folder = here / "dprct-demo"
    for part in ("1. The plan", "216 cells", "2. The release", "epsilon=1", "n is public",
                 "3. The same regression on both files", "custodian's view", "one run",
                 "4. What differs", "that the certificate permits", "Where the files are",
                 "privacy noise"):  # fmt: skip
        assert part in ran.out
    assert "no certificate permits" not in ran.out
    original, protected = (
        float(re.search(rf"^{words}.*?(-?\d\.\d{{4}})", ran.out, re.MULTILINE)[1])  # type: ignore[index]
        for words in ("original", "protected")
    )
    assert original == 0.4506
    assert abs(protected - original) < 0.2  # ten standard deviations of the noise
    listed = {line.strip() for line in ran.out.split("Where the files are")[1].splitlines()}
    for path in folder.rglob("*"):
        if path.is_file():
            assert str(path.relative_to(here)) in listed
    found = compare(folder / "thornton_hiv.dta", folder / "thornton_protected.dta")
    assert found.unexpected == ()


def test_the_demo_releases_a_file_whose_intervals_are_honest(
    dprct: Callable[..., Any], here: Path
) -> None:
    ran = dprct("demo", "x")
    assert ran.code == 0
    rows = {
        words: [float(cell.replace(",", "")) for cell in line[36:].split()]
        for line in ran.out.splitlines()
        for words in ("original (c", "protected (one run)     ", "protected, with eight")
        if line.startswith(words)
    }
    original, alone, covariates = (row for row in rows.values() if len(row) == 5)
    assert original[:2] == [1794, 671]
    assert alone == pytest.approx(covariates, abs=2)  # t with fewer degrees of freedom
    data, schema = read_dta(here / "x" / "nsw_protected.dta")
    fit = ols("re78 ~ treat", data, schema)
    assert round(fit.params["treat"]) == alone[0]
    assert any(note.startswith("Calibrated: ") for note in fit.notes)
    for part in ("80% power", "Not calibrated: artefact."):
        assert part in ran.out
    table = ran.out.split("7. Errors that commands find")[1]
    assert re.search(r"^regress y t x, vce\(robust\) +1\.0000 +1\.0000$", table, re.MULTILINE)
    assert max(map(len, ran.out.split("5. A file")[1].splitlines())) <= 95
    assert (
        compare(here / "x" / "nsw_mixtape.dta", here / "x" / "nsw_protected.dta").unexpected == ()
    )


def test_withheld_and_filler_columns_say_nothing(dprct: Callable[..., Any], here: Path) -> None:
    dprct("demo", "x")
    table, _ = read_dta(here / "x" / "thornton_protected.dta")
    assert len(table) == 4820
    assert table[["tinc", "hiv2004"]].isna().all(axis=None)
    assert table["villnum"].isna().mean() < 0.1
    assert table["villnum"].nunique() == 145


def test_the_demo_spends_its_budget_once(dprct: Callable[..., Any], here: Path) -> None:
    assert dprct("demo", "x").code == 0
    before = (here / "x" / "thornton_protected.dta").read_bytes()
    ran = dprct("demo", "x")
    assert ran.code == 2
    assert "the demo has run in 'x'" in ran.err
    assert (here / "x" / "thornton_protected.dta").read_bytes() == before
    assert dprct("demo", "another one/é").code == 0


def test_a_place_where_no_folder_can_be_made(dprct: Callable[..., Any], here: Path) -> None:
    (here / "file").write_text("in the way")
    for place in ("file", "file/below"):
        ran = dprct("demo", place)
        assert ran.code == 2
        assert ran.err.startswith("error: ")
        assert len(ran.err.strip().splitlines()) == 1
    assert (here / "file").read_text() == "in the way"


def test_the_files_of_the_demo_are_those_of_the_checkout(checkout: Path) -> None:
    for name in ("thornton_hiv.dta", "thornton.toml"):
        assert demo_file(name).read_bytes() == (checkout / "data" / name).read_bytes()


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_folder_is_refused(name: str, dprct: Callable[..., Any], here: Path) -> None:
    ran = dprct("demo", name)
    assert ran.code == 2
    assert "the name of the folder is empty" in ran.err
    assert not list(here.iterdir())
