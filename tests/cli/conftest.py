"""A confidential file in a folder, and a complete study file beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.cli import main
from dprct.io.stata import write_dta
from dprct.missing import tagged
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STUDY = """\
version = 1
data = "survey.dta"
dataset_id = "survey-1"

[unit]
name = "person"
id = "unit"

[release]
method = "mv_histogram"
epsilon = 1.0
keep = ["note1"]

[budget]
epsilon = 1.5

[header]
confirm = true

[columns.unit]
fate = "key"

[columns.got]
levels = [0, 1]
missing = [".", ".a"]
fate = "modelled"

[columns.age]
bounds = [15, 80]
bins = [30, 50]
missing = "never"
fate = "modelled"

[columns.name]
fate = "drop"
"""


@dataclass(frozen=True)
class Ran:
    """What a command ended with."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose name has spaces and letters beyond ASCII, with data and study file."""
    place = tmp_path / "étude une"
    place.mkdir()
    rng = np.random.default_rng(1)
    n = 500
    data = pd.DataFrame(
        {
            "unit": rng.permutation(n) + 1000.0,
            "got": np.where(rng.random(n) < 0.1, tagged(1), rng.integers(0, 2, n)),
            "age": rng.integers(15, 80, n).astype(float),
            "name": np.array(["Aurelia-Quint"] * n, dtype=object),
        }
    )
    columns = (
        Column("unit", "long", "%12.0g", "person"),
        Column("got", "byte", "%8.0g", "got the résultat", "yesno"),
        Column("age", "int", "%8.0g", "age"),
        Column("name", "str20", "%20s", "name"),
    )
    file = FileFacts(
        label="a survey",
        sorted_by=("unit",),
        value_labels={"yesno": {0: "no", 1: "yes", ".a": "refused"}, "free": {1: "one"}},
        characteristics=(("_dta", "note0", "1"), ("_dta", "note1", "by hand")),
    )
    ordered = data.sort_values("unit", ignore_index=True)
    write_dta(ordered, Schema(columns, file), place / "survey.dta")
    (place / "study.toml").write_text(STUDY, encoding="utf-8")
    return place


@pytest.fixture
def dprct(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run the command line in this process; return its exit code and what it wrote."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        wrote = capsys.readouterr()
        code = ended.value.code
        return Ran(int(code or 0), wrote.out, wrote.err)

    monkeypatch.setattr("rich.console.Console.is_terminal", False)
    return run


@pytest.fixture
def study(folder: Path) -> Path:
    """The study file."""
    return folder / "study.toml"


@pytest.fixture
def edit(study: Path) -> Callable[..., None]:
    """Change the text of the study file."""

    def change(*changes: tuple[str, str]) -> None:
        text = study.read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        study.write_text(text, encoding="utf-8")

    return change


@pytest.fixture
def files(folder: Path) -> Callable[[], dict[str, bytes]]:
    """Return every file below the study's folder with its content."""
    return lambda: {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def shell(checkout: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in a process of its own, without a terminal."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        code = "import sys; from dprct.cli import main; main(sys.argv[1:])"
        environment = {**os.environ, "PYTHONPATH": str(checkout), **options.pop("env", {})}
        return subprocess.run(
            [sys.executable, "-c", options.pop("before", "") + code, *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=120,
            check=False,
            **options,
        )

    return run
