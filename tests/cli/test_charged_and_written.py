"""What ``dprct protect`` and ``package`` would refuse to write, they refuse before the charge.

A law over methods and what a study file, its data and its folder may say: the command ends well,
its files are there and in order and can be converted, or nothing was charged.
"""

from __future__ import annotations

import errno
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import DprctWarning
from dprct.io import read, write
from dprct.io.formats import WRITABLE
from dprct.io.stata.names import stata_names
from dprct.rbridge.files import r_is_here
from dprct.study.methods import METHODS, UNPROMISED, makes_file
from dprct.study.study import load_study
from tests.sampling import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STRICT = sorted(set(METHODS) - UNPROMISED)
EVERY = sorted(METHODS)
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
        worked = "mv_histogram" if method == "published_mv_histogram" else method
        worked = worked if worked in STRICT else "calibrated"
        text = (checkout / "docs" / "studies" / f"{worked}.toml").read_text("utf-8")
        text = text.replace(f'method = "{worked}"', f'method = "{method}"')
        if worked == "calibrated" != method:
            section = '[informed]\nx_method = "strict"'
            text = text.replace('[calibrated]\ncovariate_release = "filler"', section)
            text = re.sub(r"(\[columns.(cash|site)\]\nfate = )\"public\"", r'\1"modelled"', text)
            text = text.replace("bounds = [18, 65]", "bounds = [18, 65]\nbins = 3")
            text = re.sub(
                r"(columns.site\]\n.*)", r'\1\nlevels = [1, 2, 3, 4]\nmissing = "never"', text
            )
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
        suffix = ".dta" if makes_file(METHODS[method]) else ".json"
        new = new.replace(".OUT", "_no_dp_guarantee" * (method in UNPROMISED) + suffix)
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
    unpromised = "published_" in study.read_text("utf-8")
    accepted = ["--accept-no-guarantee"] * unpromised
    ran = dprct("protect", study, "--yes", *accepted)
    charged = [*study.parent.glob("*.ledger.json")]
    assert ran.code in (0, 2, 3), ran.err
    if ran.code:
        assert not charged, ran.err
        return str(ran.err)
    found = load_study(study)
    if makes_file(METHODS[found.release.method]):
        _written_again(found.output)
    assert found.output.is_file()
    commands = [("verify", found.output), ("ledger", study), ("table", study)]
    if found.output.suffix == ".dta":
        commands.append(("convert", found.output, found.output.with_suffix(".parquet")))
    if found.package is not None:
        commands.append(("package", study, "--yes"))
    commands.append(("plan", study))
    if not unpromised:  # what is saved of these is no release
        commands.append(("protect", study, "--yes", "--resume", "1"))
    for command in commands:
        ran = dprct(*command)
        assert ran.code == 0 or "declares no table" in ran.err, ran.err
    return ""


def _written_again(output: Path) -> None:
    """Write a protected file in every format that this machine has a writer for."""
    data, schema = read(output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DprctWarning)  # what the format cannot keep
        for extension in set(WRITABLE) - {".rds"} | ({".rds"} if r_is_here() else set()):
            place = output.with_suffix(f".again{extension}")
            write(data, schema, place)
            assert len(read(place)[0]) == len(data)


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
    "a table of an outcome among the covariates": TABLE.replace("NAME", "t")
    + 'covariates = ["age", "income"]\n',
    "a table of an arm among the outcomes": TABLE.replace("NAME", "t").replace("income", "cash"),
    "a table of an arm that is the control": TABLE.replace("NAME", "t") + 'control = "cash"\n',
    "a table of an outcome twice": TABLE.replace("NAME", "t").replace("income", 'works", "works'),
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


CASES = [(method, name) for method in EVERY for name in NAMES]
SAID = [(method, what) for method in EVERY for what in KEYS]


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


MAPPED = [(*case, kind) for case in CASES for kind in ("parquet", "csv")]


@pytest.mark.parametrize(
    "case", sampled(MAPPED, lambda c: c[0], lambda c: f"{c[0]}: {c[1][:9]!r}, {c[2]}", each=24)
)
def test_under_names_of_stata_a_column_of_any_name_is_written(
    case: tuple[str, str, str], dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    method, name, kind = case
    column = "output" if method == PANEL else "age"
    new = stata_names([name]).get(name, name)
    study = put(method, {column: new}, "version = 1", 'version = 1\nnames = "stata"')
    data = study.with_name("trial.csv")
    rows = pd.read_csv(data).rename(columns={new: name})
    if kind == "csv":
        rows.to_csv(data, index=False)
    else:
        rows.to_parquet(data.with_suffix(".parquet"))
        study.write_text(study.read_text("utf-8").replace("trial.csv", "trial.parquet"), "utf-8")
    said = law(dprct, study)
    assert said == "" or "formula" in said


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
    "an output of too long a name": (f'output = "{"o" * 256}"', {"main.do": b""}),
    "an output of a long name": (f'output = "{"o" * 255}"', {"main.do": b""}),
    "a folder where a file is needed": ("", {"report.html/x.do": b"reg income cash\n"}),
    "published numbers of another form": ('published = "there.txt"', {"main.do": b""}),
    "another study that is not there": ('studies = ["none.toml"]', {"main.do": b""}),
    "a merge of what is not there": ('merge = ["none.dta"]', {"main.do": b""}),
}  # fmt: skip
PACKED = [(method, what) for method in STRICT for what in FOLDERS]


def packing(put: Callable[..., Path], method: str, what: str) -> Path:
    more, files = FOLDERS[what]
    study = put(method, {}, "", f'\n[package]\nfolder = "rep"\n{more}\n')
    folder = study.parent
    pd.read_csv(folder / "trial.csv").to_stata(folder / "trial.dta", write_index=False)
    study.write_text(study.read_text("utf-8").replace("trial.csv", "trial.dta"), "utf-8")
    (folder / "there.txt").write_text("in the way", "utf-8")
    for name, content in files.items():
        place = folder / "rep" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return study


@pytest.mark.parametrize("case", sampled(PACKED, lambda c: c[0], ": ".join, each=14))
def test_a_package_is_refused_before_the_charge_or_written(
    case: tuple[str, str], dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    study = packing(put, *case)
    ran = dprct("package", study, "--yes")
    assert ran.code in (0, 2, 3), ran.err
    if ran.code:
        assert not [*study.parent.glob("*.ledger.json")], ran.err
        return
    assert len([*study.parent.glob("*/package.json")]) == 1
    assert dprct("verify", load_study(study).output).code == 0


UNPACKABLE = {
    "an output of too long a name": "a name that is too long",
    "a folder where a file is needed": "a name that the package needs",
    "published numbers of another form": "not a list of published numbers",
    "an output that is a file": "exists and is not a folder",
    "an output in no folder": "does not exist",
    "no do-file": "no file that ends in .do",
}
AFTERWARDS = [(method, what) for method in ("calibrated", "moments") for what in FOLDERS]


@pytest.mark.parametrize("case", sampled(AFTERWARDS, lambda c: c[0], ": ".join, each=8))
def test_what_package_would_refuse_protect_refuses_before_the_charge(
    case: tuple[str, str], dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    method, what = case
    assert UNPACKABLE.get(what, "") in law(dprct, packing(put, method, what))


PLACES = {
    "--output": ["/proc/package", "none/package", "p" * 256, "there.txt", "rep", "a\x07b"],
    "--custodian": ["/proc/page.html", "none/page.html", "p" * 252 + ".html", "there.txt",
                    "rep/page.html"],
}  # fmt: skip


@pytest.mark.parametrize(("option", "place"), [(o, p) for o, some in PLACES.items() for p in some])
def test_a_place_that_cannot_be_written_costs_nothing(
    option: str, place: str, dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    study = packing(put, "calibrated", "an ordinary folder")
    ran = dprct("package", study, "--yes", option, study.parent / place)
    assert ran.code == 2
    assert "error: " in ran.err
    assert not [*study.parent.glob("*.ledger.json")]
    assert not [*study.parent.glob(".dprct-*")]


def test_a_disk_without_room_for_the_package_costs_nothing(
    dprct: Callable[..., Any], put: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = packing(put, "calibrated", "an ordinary folder")

    def full(path: Path, size: int) -> None:
        assert size > path.stat().st_size
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dprct.study.package.reserve", full)
    for command in ("protect", "package"):
        ran = dprct(command, study, "--yes")
        assert (ran.code, "does not fit on the disk" in ran.err) == (2, True)
    assert not [*study.parent.glob("*.ledger.json")]


def test_public_text_that_parquet_cannot_hold_costs_nothing(
    dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    study = put("marginals", {}, "", '\n[columns.name]\nfate = "public"\n')
    rows = pd.read_csv(study.with_name("trial.csv"))
    rows["name"] = "cafZ"
    place = study.with_name("trial.dta")
    rows.to_stata(place, write_index=False, version=118)
    place.write_bytes(place.read_bytes().replace(b"cafZ", b"caf\xe9"))
    study.write_text(study.read_text("utf-8").replace("trial.csv", "trial.dta"), "utf-8")
    said = law(dprct, study)
    assert "text in no known encoding" in said
    assert "caf" not in said


def test_no_ledger_is_begun_for_a_charge_beyond_its_total(
    dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    study = put("published_hybrid", {}, "", "\n[budget]\nepsilon = 0.5\n")
    assert "asked for" in law(dprct, study)


def test_a_column_that_the_study_makes_is_a_permitted_difference(
    dprct: Callable[..., Any], put: Callable[..., Path]
) -> None:
    made = '\n[derived]\nold = "age > 40"\n[columns.old]\nfate = "modelled"\n'
    study = put("marginals", {}, "", made)
    assert law(dprct, study) == ""
    ran = dprct("compare", study.with_name("trial.csv"), load_study(study).output)
    assert "variables of old: only in the second [permitted: made by the study" in ran.out
