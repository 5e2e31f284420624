"""The pages for data editors, custodians and those who choose bounds say what really happens."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dprct.certificate.page import odds_words
from dprct.cli import main
from dprct.cli.demo import demo_file
from dprct.disk import read_toml
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.budget import Budget, Guarantee
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).resolve().parents[2] / "docs"
EDITORS, CUSTODIANS, BOUNDS = (
    DOCS / f"{name}.md" for name in ("for_data_editors", "for_custodians", "choosing_bounds")
)


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def sessions(page: Path) -> list[tuple[str, str]]:
    """Each command of a page with what it is said to print."""
    found = []
    for block in blocks(page, "console"):
        command, _, printed = block.partition("\n")
        found.append((command.removeprefix("$ dprct "), printed))
    return found


def matches(printed: str, said: str) -> bool:
    """Whether output is as said, where three dots stand for anything."""
    parts = [re.escape(part) for part in said.split("...")]
    return re.fullmatch(".*".join(parts), printed, re.DOTALL) is not None


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str], str]:
    """Run a command in a folder with the demo's file and study; return all that it printed."""
    for name in ("thornton_hiv.dta", "thornton.toml"):
        (tmp_path / name).write_bytes(demo_file(name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rich.console.Console.is_terminal", False)

    def ran(command: str) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main(shlex.split(command))
        wrote = capsys.readouterr()
        return wrote.out + wrote.err

    return ran


def test_data_editors_see_what_the_page_says(run: Callable[[str], str], tmp_path: Path) -> None:
    run("protect thornton.toml --yes")
    data, schema = read_dta(tmp_path / "thornton_protected.dta")
    data.to_csv(tmp_path / "thornton_protected.tab", sep="\t", index=False)
    data.loc[0, "age"] = 11.0 if data.loc[0, "age"] != 11 else 12.0
    write_dta(data, schema, tmp_path / "edited.dta")
    said = sessions(EDITORS)
    assert len(said) == 3
    for command, printed in said:
        assert matches(run(command), printed), command


def test_the_package_holds_the_files_of_the_page(run: Callable[[str], str], tmp_path: Path) -> None:
    run("protect thornton.toml --yes")
    text = EDITORS.read_text("utf-8")
    for name in ("html", "txt", "json"):
        assert (tmp_path / f"thornton_protected.certificate.{name}").exists()
        assert f".{name}`" in text
    assert (tmp_path / "thornton_protected.README-data.md").exists()


@pytest.mark.parametrize(("epsilon", "factor"), [("1", "2.72"), ("0.1", "1.11"), ("8", "2,990")])
def test_the_factors_of_the_page(epsilon: str, factor: str) -> None:
    words = odds_words(Guarantee.of(Budget(float(epsilon)), "replace-one", unit="person"))[0]
    assert f"= {factor}, up or down" in words
    text = " ".join(EDITORS.read_text("utf-8").split())
    assert re.search(rf"psilon = {re.escape(epsilon)} (is a factor )?of {re.escape(factor)}", text)


def test_custodians_see_what_the_page_says(run: Callable[[str], str], tmp_path: Path) -> None:
    text = (tmp_path / "thornton.toml").read_text("utf-8")
    changed = text.replace("bins = 3", "bins = 2")
    assert changed != text
    (tmp_path / "changed.toml").write_text(changed, "utf-8")
    approved = ""
    said = sessions(CUSTODIANS)
    assert len(said) == 6
    for command, printed in said:
        if "changed.toml" in command:
            (tmp_path / "thornton_protected.dta").rename(tmp_path / "kept.dta")
        ran = run(command.replace("HASH", approved))
        assert matches(ran, printed), f"{command}\n{ran}"
        found = re.search("^Approval hash: (.*)$", ran, re.MULTILINE)
        approved = found[1] if found else approved


def test_the_declaration_of_the_page_is_read(run: Callable[[str], str], tmp_path: Path) -> None:
    (block,) = blocks(CUSTODIANS, "toml")
    study = tmp_path / "thornton.toml"
    study.write_text(study.read_text("utf-8") + "\n" + block, "utf-8")
    assert load_study(study).declaration.by == "A. Custodian, Institute of X"
    run("protect thornton.toml --yes")
    certificate = (tmp_path / "thornton_protected.certificate.txt").read_text("utf-8")
    assert "declared by A. Custodian, Institute of X on 20" in " ".join(certificate.split())


def test_the_bounds_of_the_page_are_those_of_the_demo(tmp_path: Path) -> None:
    (block,) = blocks(BOUNDS, "toml")
    (tmp_path / "part.toml").write_text(block, "utf-8")
    part = read_toml(tmp_path / "part.toml", ValueError)["columns"]
    whole = read_toml(demo_file("thornton.toml"), ValueError)["columns"]
    assert part == {name: whole[name] for name in part}
    assert len(part) == 2


def test_the_examples_about_bounds_run() -> None:
    failed, tried = doctest.testfile(
        str(BOUNDS), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert failed == 0
    assert tried >= 6


@pytest.mark.parametrize("page", [EDITORS, CUSTODIANS, BOUNDS], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
