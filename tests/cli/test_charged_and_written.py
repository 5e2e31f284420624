"""What ``dprct protect`` and ``package`` would refuse to write, they refuse before the charge.

A law over methods and what a study file, its data and its folder may say: the command ends well,
its files are there and in order and can be converted, or nothing was charged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.study.methods import METHODS, UNPROMISED, makes_file
from dprct.study.study import load_study
from tests.sampling import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STRICT = sorted(set(METHODS) - UNPROMISED)
PANEL = "synthetic_control"
"""Has data of its own: regions in years."""
NAMES = [
    "inc.total",
    "int",
    "if",
    "my var",
    "a" * 33,
    "_all",
    "_cons",
    "é1",
    "str9",
    "1x",
    'x"y',
    "T[1]",
]
TABLE = '\n[[table]]\nname = "NAME"\noutcomes = ["income"]\narms = ["cash"]\n'
KEYS = {
    "a long title": ("", '\n[availability]\ntitle = "' + "t" * 70_000 + '"\n'),
    "odd texts": ("", '\n[availability]\ntitle = "a|b\\n# c `d` <b>"\ncontact = "\\u202ex"\n'),
    "who declares": ("", '\n[declared]\nby = "' + "n" * 300 + ' \\u0007 <i> %s {}"\n'),
    "an output in letters of others": ("[release]", '[release]\noutput = "é ü 文.OUT"'),
    "a long output": ("[release]", '[release]\noutput = "' + "o" * 235 + '.OUT"'),
    "an output that is a folder": ("[release]", '[release]\noutput = "there.OUT"'),
    "an output in no folder": ("[release]", '[release]\noutput = "none/x.OUT"'),
    "a note of columns": ("[release]", '[release]\nkeep = ["note1"]'),
    "a unit of many words": ("[release]", '[unit]\nname = "' + "u" * 5_000 + '"\n\n[release]'),
    "an id of the data": ("-2026", "d" * 200),
    "a table of an odd name": ("", TABLE.replace("NAME", "a/b: ?")),
    "a table of a long name": ("", TABLE.replace("NAME", "n" * 3_000)),
}  # fmt: skip


def trial(n: int = 400) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    return {
        "income": rng.uniform(0, 40, n).round(2),
        "works": rng.integers(0, 2, n),
        "cash": np.arange(n) % 2,
        "enrolled": rng.integers(0, 2, n),
        "age": rng.integers(18, 66, n),
        "female": rng.integers(0, 2, n),
        "site": np.arange(n) // 100 + 1,
        "village": np.arange(n) // 20 + 1,
    }


def regions() -> dict[str, Any]:
    rng = np.random.default_rng(11)
    years = np.arange(2001, 2013)
    names = np.array(["North", *(f"region {k}" for k in range(9))], dtype=object)
    return {
        "region": np.repeat(names, len(years)),
        "year": np.tile(years, len(names)),
        "output": rng.uniform(-1, 1, len(names) * len(years)).round(2),
    }


@pytest.fixture
def put(tmp_path: Path, checkout: Path) -> Callable[..., Path]:
    """Write the study of a method and its data as .csv, with other names and another text."""

    def write(method: str, names: dict[str, str], old: str = "", new: str = "") -> Path:
        text = (checkout / "docs" / "studies" / f"{method}.toml").read_text("utf-8")
        text = text.replace("trial.dta", "trial.csv").replace("regions.dta", "trial.csv")
        for name, other in names.items():
            quoted = '"' + other.replace('"', '\\"') + '"'
            text = text.replace(f"[columns.{name}]", f"[columns.{quoted}]")
            text = text.replace(f'"{name}"', quoted)
            text = "\n".join(
                re.sub(rf"\b{name}\b", lambda _, new=quoted: new[1:-1], line)
                if line.startswith("formula")
                else line
                for line in text.split("\n")
            )
        new = new.replace(".OUT", ".dta" if makes_file(METHODS[method]) else ".json")
        text = text.replace(old, new, 1) if old else text + new
        rows = pd.DataFrame(regions() if method == PANEL else trial())
        rows.rename(columns=names).to_csv(tmp_path / "trial.csv", index=False)
        (tmp_path / "there.dta").mkdir()
        (tmp_path / "there.json").mkdir()
        (tmp_path / "study.toml").write_text(text, "utf-8")
        return tmp_path / "study.toml"

    return write


def law(dprct: Callable[..., Any], study: Path) -> str:
    """Protect, and hold the law; return the refusal."""
    ran = dprct("protect", study, "--yes")
    charged = [*study.parent.glob("*.ledger.json")]
    assert ran.code in (0, 2, 3), ran.err
    if ran.code:
        assert not charged, ran.err
        return str(ran.err)
    found = load_study(study)
    assert found.output.is_file()
    commands = [("verify", found.output), ("ledger", study), ("table", study)]
    if found.output.suffix == ".dta":
        commands.append(("convert", found.output, found.output.with_suffix(".parquet")))
    if found.package is not None:
        commands.append(("package", study, "--yes"))
    commands += [("plan", study), ("protect", study, "--yes", "--resume", "1")]
    for command in commands:
        ran = dprct(*command)
        assert ran.code == 0 or "declares no table" in ran.err, ran.err
    return ""


REGRESSION = '\n[[regression]]\nformula = "FORMULA"\nname = "é 1"\n'
MORE = {
    "a condition": REGRESSION.replace("FORMULA", "income ~ cash") + 'where = "age > 40"\n',
    "a condition of nobody": REGRESSION.replace("FORMULA", "works ~ cash") + 'where = "age > 99"\n',
    "a logit": REGRESSION.replace("FORMULA", "works ~ cash + age") + 'family = "logit"\n',
    "a logit of treatment": REGRESSION.replace("FORMULA", "cash ~ age") + 'family = "logit"\n',
    "a logit of a subgroup": REGRESSION.replace("FORMULA", "female ~ age") + 'family = "logit"\n',
    "weights": REGRESSION.replace("FORMULA", "income ~ cash") + 'weights = "age"\n',
    "a joint test": 2 * (REGRESSION.replace("FORMULA", "income ~ cash") + 'joint = "j"\n'),
    "tests together": REGRESSION.replace("FORMULA", "income ~ cash") + 'joint = "j"\n'
    + REGRESSION.replace("FORMULA", "works ~ cash").replace("é 1", "2") + 'joint = "j"\n',
    "clusters": REGRESSION.replace("FORMULA", "income ~ cash") + 'cluster = "site"\n',
    "a table": TABLE.replace("NAME", "t") + 'covariates = {"" = [], "age" = ["age"]}\n',
    "a table of levels": TABLE.replace("NAME", "t").replace("cash", "site"),
    "a derived column": '\n[derived]\nold = "1 / (age - 40)"\n[columns.old]\nfate = "modelled"\n',
    "a public file": '\n[[prepare]]\nmerge = "villages.csv"\non = "village"\n'
    '[columns.far]\nfate = "withheld"\n',
    "a sample": '\n[study]\nsample = "cash == 1"\n',
    "a package": '\n[package]\nfolder = "rep"\n',
}  # fmt: skip
"""What else a study file says, of those methods that read it."""
OFTEN = [(method, what) for method in ("calibrated", "marginals", "moments") for what in MORE]


@pytest.mark.parametrize("case", sampled(OFTEN, lambda c: c[0], ": ".join, each=8))
@pytest.mark.parametrize("kind", ["csv", "dta"])
def test_a_section_is_refused_before_the_charge_or_serves_each_next_call(
    case: tuple[str, str], kind: str, dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    method, what = case
    study = put(method, {}, "", MORE[what])
    folder = study.parent
    pd.DataFrame({"village": range(1, 21), "far": 1.5}).to_csv(folder / "villages.csv", index=False)
    (folder / "rep").mkdir()
    (folder / "rep" / "main.do").write_text("use trial, clear\nreg income cash, r\n", "utf-8")
    if kind == "dta":
        pd.read_csv(folder / "trial.csv").to_stata(folder / "trial.dta", write_index=False)
        study.write_text(study.read_text("utf-8").replace("trial.csv", "trial.dta"), "utf-8")
    law(dprct, study)


CASES = [(method, name) for method in STRICT for name in NAMES]
SAID = [(method, what) for method in STRICT for what in KEYS]


@pytest.mark.parametrize(
    "case", sampled(CASES, lambda c: c[0], lambda c: f"{c[0]}: {c[1][:9]!r}", each=12)
)
def test_a_column_of_any_name_is_refused_before_the_charge_or_written(
    case: tuple[str, str], dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    method, name = case
    said = law(dprct, put(method, {"output" if method == PANEL else "age": name}))
    if makes_file(METHODS[method]) and name != "é1":
        assert "Stata" in said or "formula" in said


@pytest.mark.parametrize("case", sampled(SAID, lambda c: c[0], ": ".join, each=12))
def test_a_key_of_any_text_is_refused_before_the_charge_or_written(
    case: tuple[str, str], dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    method, what = case
    law(dprct, put(method, {}, *KEYS[what]))


FOLDERS: dict[str, tuple[str, dict[str, bytes]]] = {
    "an ordinary folder": ("", {"main.do": b"use trial, clear\nreg income cash, r\n"}),
    "no do-file": ("", {"codebook.txt": b"of the trial"}),
    "a do-file of odd bytes": ("", {"main.do": bytes(range(256)) * 9}),
    "a do-file of an odd name": ("", {'a "b" `c.do': b"reg income cash\n"}),
    "a do-file of a long name": ("", {"d" * 230 + ".do": b"reg income cash\n"}),
    "do-files in a circle": ("", {"main.do": b"do second\n", "second.do": b"do main\n"}),
    "a public file of no format": ('public = ["a.txt"]', {"a.txt": b"\x00\xff" * 99}),
    "a public file that is not there": ('public = ["none.csv"]', {"main.do": b""}),
    "a public file that is empty": ('public = ["a.csv"]', {"a.csv": b""}),
    "an output that is a file": ('output = "there.txt"', {"main.do": b""}),
    "an output in no folder": ('output = "none/there"', {"main.do": b""}),
    "an output of a long name": (f'output = "{"o" * 255}"', {"main.do": b""}),
    "another study that is not there": ('studies = ["none.toml"]', {"main.do": b""}),
    "a merge of what is not there": ('merge = ["none.dta"]', {"main.do": b""}),
}  # fmt: skip
PACKED = [(method, what) for method in STRICT for what in FOLDERS]


@pytest.mark.parametrize("case", sampled(PACKED, lambda c: c[0], ": ".join, each=14))
def test_a_package_is_refused_before_the_charge_or_written(
    case: tuple[str, str], dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    method, what = case
    more, files = FOLDERS[what]
    study = put(method, {}, "", f'\n[package]\nfolder = "rep"\n{more}\n')
    (study.parent / "rep").mkdir()
    (study.parent / "there.txt").write_text("in the way", "utf-8")
    for name, content in files.items():
        (study.parent / "rep" / name).write_bytes(content)
    ran = dprct("package", study, "--yes")
    assert ran.code in (0, 2, 3), ran.err
    if ran.code:
        assert not [*study.parent.glob("*.ledger.json")], ran.err
        return
    output = next(study.parent.glob("*_package"))
    assert (output / "package.json").is_file()
    assert dprct("verify", load_study(study).output).code == 0
