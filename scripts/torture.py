#!/usr/bin/env python3
"""Damage, kill, race, starve and insult dprct, and write what happened into docs/reliability.md.

    python scripts/torture.py [--quick] [--seed N] [--page docs/reliability.md] [FAMILY ...]

Every run has an expected end: a sentence (a ``DprctError``, an exit code of the command line), or
a result that is right.  Anything else is a finding, which is printed and makes the exit code 1:
another exception, a hang, a charge that was lost or made twice, a file that is not that of its
certificate, something left behind, a file outside the study's folder.  ``tests/torture`` runs each
family small.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import datetime as dt
import io
import json
import math
import os
import platform
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import tomlkit

import dprct
from dprct.cli import main
from dprct.dofile.reader import read_files
from dprct.errors import DprctError, LedgerError
from dprct.estimate.moments.document import digest_of
from dprct.io.convert import convert
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.openings import RECORD
from dprct.release.verify import verify
from dprct.schema import Column, FileFacts, Schema
from dprct.study.headers import read_header
from dprct.study.study import load_study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOP = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- figures of make torture -->", "<!-- end of figures -->"
_HANG = 20
"""Seconds of processor after which one run counts as hanging; the slowest takes some five."""
_SMALL = 60_000
"""Bytes up to which a public file is damaged: in larger ones nearly all bytes are cells."""

STUDY = """\
version = 1
data = "trial.dta"
dataset_id = "trial"

[unit]
name = "person"

[release]
method = "mv_histogram"
epsilon = 1.0

[budget]
epsilon = 3.0

[header]
confirm = true

[columns.got]
levels = [0, 1]
missing = "never"
fate = "modelled"

[columns.age]
bounds = [15, 80]
bins = [30, 50]
missing = "never"
fate = "modelled"

[columns.village]
fate = "drop"
"""


@dataclass
class Family:
    """What came of one kind of torture."""

    name: str
    what: str
    ends: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """How many there were."""
        return sum(self.ends.values())

    def ended(self, how: str) -> None:
        """Count one end."""
        self.ends[how] = self.ends.get(how, 0) + 1

    def wrong(self, words: str) -> None:
        """Count and keep a finding."""
        self.ended("FOUND WRONG")
        self.findings.append(f"{self.name}: {words}")


def trial(folder: Path) -> Path:
    """Write a small experiment and its study file; return the study file."""
    rng = np.random.default_rng(7)
    n = 300
    data = pd.DataFrame(
        {
            "got": rng.integers(0, 2, n).astype(float),
            "age": rng.integers(15, 81, n).astype(float),
            "village": [f"village {k % 9}" for k in range(n)],
        }
    )
    schema = Schema(
        (
            Column("got", "byte", "%8.0g", label="came for the result", value_label="yesno"),
            Column("age", "int", "%8.0g"),
            Column("village", "str12", "%12s"),
        ),
        FileFacts(label="a trial", value_labels={"yesno": {0: "no", 1: "yes"}}),
    )
    folder.mkdir(parents=True, exist_ok=True)
    dprct.write_dta(data, schema, folder / "trial.dta")
    (folder / "study.toml").write_text(STUDY, "utf-8")
    return folder / "study.toml"


class Hang(BaseException):
    """A run that did not end in time."""


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Raise Hang if the block takes too long; where others work on the machine, it may wait."""

    def late(*_: object) -> None:
        raise Hang

    before = [(sent, signal.signal(sent, late)) for sent in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, _HANG)
    signal.alarm(10 * _HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for sent, handler in before:
            signal.signal(sent, handler)


def attempt(family: Family, what: str, act: Callable[[], str]) -> None:
    """Run something that may refuse in a sentence, and do nothing worse."""
    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            how = act()
    except DprctError as error:
        how = "refused" if str(error).strip() else ""
        if not how:
            family.wrong(f"{what}: {type(error).__name__} without words")
            return
    except Hang:
        family.wrong(f"{what}: no end after {_HANG} s")
        return
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        family.wrong(f"{what}: {type(error).__name__} at {place}: {str(error)[:100]}")
        return
    if how.startswith("WRONG"):
        family.wrong(f"{what}: {how[6:]}")
    else:
        family.ended(how)


def mutated(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return a damage in words, and what it makes of a file; never the same file."""
    while True:
        what, new = _mutated(content, rng)
        if new != content:
            return what, new


def _mutated(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    at, size = rng.randrange(len(content)), len(content)
    kind = rng.choice(("bit", "byte", "cut", "doubled", "hole", "extreme", "swapped"))
    if kind == "bit":
        new = content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
    elif kind == "byte":
        new = content[:at] + rng.randbytes(1) + content[at + 1 :]
    elif kind == "cut":
        new = content[:at]
    elif kind == "doubled":
        new = content[:at] + content[max(0, at - rng.randrange(1, 200)) :]
    elif kind == "hole":
        end = min(size, at + rng.randrange(1, 64))
        new = content[:at] + bytes(end - at) + content[end:]
    elif kind == "extreme":
        new = content[:at] + b"\xff" * 4 + content[at + 4 :]
    else:
        end = min(size, at + rng.randrange(1, 64))
        new = content[:at] + content[at:end][::-1] + content[end:]
    return f"{kind} at byte {at} of {size}", new


# --- damaged files ------------------------------------------------------------------------------


RELEASES = (102, 103, 104, 105, 108, 110, 111, 113, 114, 115, 117, 118, 119)


def sound_dta(folder: Path) -> list[bytes]:
    """Return small .dta files of every release, and the small public ones that are at hand."""
    trial(folder)
    data, schema = dprct.read_dta(folder / "trial.dta")
    sound = []
    for version in RELEASES:
        dprct.write_dta(data, schema, folder / "sound.dta", version=version)
        sound.append((folder / "sound.dta").read_bytes())
    public = [*(TOP / "data").rglob("*.dta"), *(TOP.parent / "shared" / "data").rglob("*.dta")]
    return sound + [p.read_bytes() for p in sorted(public) if p.stat().st_size < _SMALL]


def damaged_dta(runs: int, rng: random.Random, folder: Path) -> Family:
    """Damaged .dta files are read or refused."""
    family = Family("Damaged .dta files", "`read_dta`, header and data")
    sound = sound_dta(folder)
    path = folder / "damaged.dta"

    def act() -> str:
        Schema.from_dta(path)
        dprct.read_dta(path)
        return "read"

    for k in range(runs):
        what, content = mutated(sound[k % len(sound)], rng)
        path.write_bytes(content)
        attempt(family, f"release {content[:1]!r}, {what}", act)
    return family


def sound_others(folder: Path) -> list[tuple[str, bytes]]:
    """Return small files of the formats that are not Stata's, by their extension."""
    import pyreadstat

    trial(folder)
    data, _ = dprct.read_dta(folder / "trial.dta")
    frame = data.head(40)
    pyreadstat.write_sav(frame, folder / "a.sav", column_labels={"got": "came"})
    pyreadstat.write_sav(frame, folder / "b.sav", compress=True)
    pyreadstat.write_por(frame, folder / "a.por")
    pyreadstat.write_xport(frame, folder / "a.xpt", file_format_version=5)
    pyreadstat.write_xport(frame, folder / "b.xpt", file_format_version=8)
    frame.to_csv(folder / "a.csv", index=False)
    convert(folder / "trial.dta", folder / "a.parquet")
    files = [*folder.glob("[ab].*")]
    shared = TOP.parent / "shared" / "data"
    files += [p for end in ("sas7bdat", "sav", "xpt", "por") for p in shared.rglob(f"*.{end}")]
    return [(p.suffix, p.read_bytes()) for p in sorted(files) if p.stat().st_size < _SMALL]


def damaged_others(runs: int, rng: random.Random, folder: Path) -> Family:
    """Damaged files of other formats are read or refused, whatever the libraries below do.

    Each is read in a process of its own, for some of these libraries are written in C.
    """
    family = Family(
        "Damaged files of other formats", "`read` of .sav .por .xpt .sas7bdat .csv .parquet"
    )
    sound = sound_others(folder)
    for k in range(runs):
        suffix, content = sound[k % len(sound)]
        what, content = mutated(content, rng)
        path = folder / f"damaged{suffix}"
        path.write_bytes(content)
        if suffix == ".parquet":
            shutil.copy(folder / "a.schema.toml", folder / "damaged.schema.toml")

        def act(path: Path = path) -> None:
            if path.suffix == ".parquet":
                convert(path, folder / "back.dta", overwrite=True)
            else:
                dprct.read(path)

        code = end_of(forked_act(act, before=small))
        if code in (0, 1):
            family.ended("refused" if code else "read")
        else:
            family.wrong(f"{suffix} {what}: {code}, seed {k}")
    return family


def forked_act(act: Callable[[], object], before: Callable[[], None] | None = None) -> int:
    """Start something in a process of its own, which ends with 0, or with 1 if it is refused."""
    process = os.fork()
    if process:
        return process
    code = 98
    try:
        warnings.simplefilter("ignore")
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (3 * _HANG, 3 * _HANG))
        if before is not None:
            before()
        act()
        code = 0
    except DprctError as error:
        code = 1 if str(error).strip() else 96
    finally:
        os._exit(code)


def damaged_moments(runs: int, rng: random.Random, folder: Path) -> Family:
    """Released moments that were damaged are read or refused, and so is what is asked of them."""
    family = Family("Damaged released moments", "`Moments.load`, then `effects` and `ols`")
    trial(folder)
    data, schema = dprct.read_dta(folder / "trial.dta")
    schema = schema.declare(
        got={"levels": [0, 1], "missing": "never"}, age={"bounds": (15, 80), "missing": "never"}
    )
    model = dprct.PrivateMoments(data, schema, columns=["age"],
                                 assignment=dprct.Simple("got"))  # fmt: skip
    path = folder / "trial.moments.json"
    model.fit(epsilon=1.0, delta=1e-6, accountant=Accountant(1, 1e-6)).save(path)
    sound = path.read_bytes()

    def act() -> str:
        found = dprct.Moments.load(path)
        with contextlib.suppress(DprctError):
            verify(path)
        assert found.summary()
        assert found.effects().summary()
        assert found.ols("age ~ got").summary()
        return "read"

    for k in range(runs):
        if k % 2:
            what, content = mutated(sound, rng)
            path.write_bytes(content)
        else:  # by somebody who seals again what was changed
            document = json.loads(sound)
            what = odd_part(document, rng)
            document = json.loads(json.dumps(document, default=str))
            document["digest"] = digest_of(document)
            path.write_text(json.dumps(document), "utf-8")
        attempt(family, what, act)
    return family


def odd_part(document: Any, rng: random.Random) -> str:
    """Change one part of a document for an odd one; say which."""
    parts = list(parts_of(document))
    holder, key, path = rng.choice(parts)
    other, there, _ = rng.choice(parts)
    holder[key] = copy.deepcopy(rng.choice((rng.choice(ODD), other[there], "\ud800", None, -0.0)))
    return f"{path} = {ascii(holder[key])[:60]}"


def parts_of(found: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Yield what holds a part of a document, under which key, and where that is."""
    keys = found if isinstance(found, dict) else range(len(found))
    for key in keys:
        yield found, key, f"{path}.{key}"
        if isinstance(found[key], (dict, list)):
            yield from parts_of(found[key], f"{path}.{key}")


def damaged_studies(runs: int, rng: random.Random, folder: Path) -> Family:
    """Damaged study files are read or refused."""
    family = Family("Damaged study files", "`load_study`, then what `dprct check` asks")
    study = trial(folder)
    sound = study.read_bytes()

    def act() -> str:
        found = load_study(study)
        found.problems(read_header(found))
        return "read"

    for _ in range(runs):
        what, content = mutated(sound, rng)
        study.write_bytes(content)
        attempt(family, what, act)
    return family


ODD: tuple[Any, ...] = (
    True, False, 0, 1, -1, 2, 1000, 2**31, 2**62, 10**400, 0.5, -0.5, 1.5, 1e-9, 5e-324, 1e-300,
    1e300, math.inf, -math.inf, math.nan, "", " ", "x", ".", "..", ".a", "cash", "age", "income",
    "age + cash", "age ~ cash", "cash ~ age | site", "C(age)", "never", "public", "private",
    "modelled", "drop", "é", "\u202e", "\ufffe", "a" * 5000, "((((", "1/0", "replace-one",
    dt.date(2020, 1, 1), dt.datetime(9999, 12, 31), dt.time(1), [], [0], [1, 0], [0, 0], [0, 1, 2],
    [math.nan], [0.5, 0.5], ["cash"], ["age", "age"], [""], [[]], [["cash"], ["age"]], [0, "x"],
    [True], [-1e300, 1e300], [0, 5e-324], {}, {"age": 1}, {"x": "y"}, {"": 0}, {"cash": [0]},
    {"age": {}}, [{}], list(range(3000)),
)  # fmt: skip
"""What the values of a study file are replaced by."""

_OPTIONS = (
    "epsilon", "delta", "neighbors", "method", "formula", "output", "keep", "columns", "seed",
    "missing", "subgroups", "sd", "centre", "shares", "arms", "block", "cluster", "kind", "alphas",
    "bounds", "bins", "levels", "decimals", "fate", "role", "built_from", "exclusive", "derived",
    "made_of", "id", "name", "rows_each", "separate", "confirm", "weights", "covariates",
    "treatment", "unit", "time", "gamma", "confidence", "estimand", "outcome", "index", "draws",
    "lambda", "threshold",
)  # fmt: skip


def places(table: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where every value and every table of a document is."""
    for key, value in table.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from places(value, (*path, key))


def odd(document: Any, rng: random.Random) -> str:
    """Change one to three values of a document for odd ones; say which."""
    told = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(list(places(document)))
        table = document
        for key in path[:-1]:
            table = table[key]
        key = path[-1]
        if isinstance(table[key], dict) and rng.random() < 0.7:
            table, key = table[key], rng.choice(_OPTIONS)
        if rng.random() < 0.15 and key in table:
            del table[key]
            told.append(f"without {'.'.join(path)}")
            continue
        value = rng.choice(ODD)
        if rng.random() < 0.4:  # what is sensible in another place
            value = document
            for step in rng.choice(list(places(document))):
                value = value[step]
        table[key] = copy.deepcopy(value)
        told.append(f"{'.'.join(path[:-1])}.{key} = {ascii(table[key])[:60]}")
    return "; ".join(told)


def worked(folder: Path) -> dict[str, Any]:
    """Write data for the study files of docs/studies; return these by method."""
    rng, n = np.random.default_rng(11), 400
    site = np.arange(n) // 100 + 1.0
    cash = np.tile([0.0, 1.0], n // 2)
    age = rng.integers(18, 66, n).astype(float)
    trial_data = {
        "income": (12 + 3 * cash + 0.1 * age + rng.normal(0, 3, n)).clip(0, 40),
        "works": (rng.random(n) < 0.4 + 0.1 * cash).astype(float),
        "cash": cash,
        "enrolled": (rng.random(n) < 0.5).astype(float),
        "age": age,
        "female": rng.integers(0, 2, n).astype(float),
        "site": site,
        "village": np.arange(n) // 20 + 1.0,
    }
    whole = [Column(name, "byte") for name in list(trial_data)[1:]]
    folder.mkdir(parents=True, exist_ok=True)
    schema = Schema((Column("income"), *whole))
    dprct.write_dta(pd.DataFrame(trial_data), schema, folder / "trial.dta")
    names = ["North", *(f"R{k:02}" for k in range(1, 25))]
    rows = [(name, year, float(rng.uniform(-1, 1))) for name in names for year in range(2001, 2013)]
    columns = (Column("region", "str5"), Column("year", "int"), Column("output"))
    regions = pd.DataFrame(rows, columns=["region", "year", "output"]).astype({"year": float})
    dprct.write_dta(regions, Schema(columns), folder / "regions.dta")
    files = sorted((TOP / "docs" / "studies").glob("*.toml"))
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in files}


def odd_studies(runs: int, rng: random.Random, folder: Path) -> Family:
    """Put odd values into study files of every method; what is refused has cost nothing."""
    family = Family(
        "Odd values in study files", "`check`, `plan`, `protect` of one of each strict method"
    )
    studies = worked(folder / "data")
    for k in range(runs):
        method = sorted(studies)[k % len(studies)]
        document = copy.deepcopy(studies[method])
        words = odd(document, rng)
        place = folder / "study"
        shutil.copytree(folder / "data", place)
        study = place / "study.toml"
        study.write_text(tomlkit.dumps(document), "utf-8")
        code = end_of(forked_act(lambda study=study: _in_turn(study), before=small))
        if code in (0, 1):
            family.ended("refused" if code else "done")
        else:
            why = {97: "no end", 98: "an exception", 95: "check is content, plan refuses"}
            saw = (place / "why").read_text("utf-8") if (place / "why").exists() else ""
            family.wrong(f"{method}: {words}: {why.get(code, code)} {saw}")
        shutil.rmtree(place)
    return family


def _in_turn(study: Path) -> None:
    """Run check, plan and protect; leave what is wrong in a file next to the study."""
    before = {path.name for path in study.parent.iterdir()}
    codes, said = {}, {}
    for words in (("check",), ("plan",), ("protect", "--yes")):
        codes[words[0]], said[words[0]] = call(study, *words)
    ledgers = [*study.parent.glob("*.ledger.json")]
    spent = sum(Accountant.load(path).charges for path in ledgers)
    left = {path.name for path in study.parent.iterdir() if not path.name.endswith(RECORD)} - before
    told = ""
    if set(codes.values()) - {0, 1, 2, 3}:
        told = f"exit codes {codes}: {[*said.values()]}"
    elif codes["protect"] and spent:
        told = f"charged, and then refused: {said['protect']}"
    elif codes["check"] == 0 and codes["plan"] and not _needs_rows(study, said["plan"]):
        told = f"check is content, plan refuses: {said['plan']}"
    elif codes["protect"] and left - {path.name + end for path in ledgers for end in ("", ".lock")}:
        told = f"refused, and left {sorted(left)}"
    if told:
        (study.parent / "why").write_text(told[-1500:], "utf-8")
        os._exit(96)
    if codes["protect"]:
        os._exit(1)


def _needs_rows(study: Path, refusal: str) -> bool:
    """Whether a plan refuses by what only the rows of a file tell, which check does not read."""
    return "the data" in refusal or load_study(study).release.method == "calibrated"


def damaged_ledgers(runs: int, rng: random.Random, folder: Path) -> Family:
    """Damage a ledger, which never says then that less was spent."""
    family = Family("Damaged ledgers", "refused, or read with every charge in it")
    path = folder / "trial.ledger.json"
    folder.mkdir(parents=True)
    accountant = Accountant.open(path, dataset_id="trial", epsilon=10)
    for epsilon in (1, 2, 3):
        entry = accountant.charge(Budget(epsilon), method="m", relation="replace-one")
        accountant.note_content(f"{epsilon}" * 64)
        accountant.record(entry.id, {"x": epsilon})
    sound, head = path.read_bytes(), accountant.head

    def act() -> str:
        found = Accountant.load(path)
        if found.spent != Budget(6) or len(found.ledger) != 3 or found.head != head:
            return "WRONG it was read with other charges"
        return "read whole"

    for _ in range(runs):
        what, content = mutated(sound, rng)
        path.write_bytes(content)
        attempt(family, what, act)
    return family


def damaged_certificates(runs: int, rng: random.Random, folder: Path) -> Family:
    """Damage a certificate, which is refused or checked against the file."""
    family = Family("Damaged certificates", "`verify` and `compare`")
    study = trial(folder)
    call(study, "protect", "--yes")
    place = folder / "trial_protected.certificate.json"
    sound = place.read_bytes()

    def act() -> str:
        found = verify(folder / "trial_protected.dta")
        dprct.compare(folder / "trial.dta", folder / "trial_protected.dta")
        return "checked against the file" if found else "found to differ"

    for _ in range(runs):
        what, content = mutated(sound, rng)
        place.write_bytes(content)
        attempt(family, what, act)
    return family


# --- processes ----------------------------------------------------------------------------------


def call(study: Path, *words: str) -> tuple[int, str]:
    """Run the command line in this process; return its exit code and what it wrote."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main([words[0], str(study), *words[1:]])
        except SystemExit as end:
            return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


def forked(study: Path, *words: str, before: Callable[[], None] | None = None) -> int:
    """Start the command line in a process of its own; return its id."""
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if before is not None:
            before()
        code, _ = call(study, *words)
    except BaseException:
        code = 98
    finally:
        os._exit(code)


def end_of(process: int) -> int:
    """Wait for a process; return its exit code, below 0 for a signal; kill what hangs.

    Where others work on the machine, it may wait longer than a limit on its processor time says.
    """
    deadline = time.monotonic() + 30 * _HANG
    while time.monotonic() < deadline:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return 97 if code == -signal.SIGXCPU else code
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return 97


def disorder(study: Path) -> list[str]:
    """Return what a sound folder does not have, whatever happened before.

    A command runs first, because what a killed process left is swept by the next one.
    """
    folder, found = study.parent, []
    call(study, "check")
    for path in folder.rglob("*"):
        if path.name.startswith(".dprct-") or path.suffix in (".part",):
            found.append(f"{path.name} is left")
    out = folder / "trial_protected.dta"
    if out.exists():
        try:
            held = verify(out)
            if not held:
                found.append("file and certificate differ, or the ledger lacks the entry")
            elif not held.identical:
                found.append("the file is not byte for byte its certificate's")
        except DprctError as error:
            found.append(f"the file has no certificate that can be used: {error}")
    return found


def charges(study: Path) -> int:
    """Return how many charges the ledger has; 0 without one."""
    path = study.parent / "trial.ledger.json"
    return Accountant.load(path).charges if path.exists() else 0


def kills(runs: int, rng: random.Random, folder: Path) -> Family:
    """Kill a release at any moment, which leaves a sound folder."""
    family = Family("Kills", "`dprct protect`, SIGKILL, SIGTERM or SIGINT at a random moment")
    whole = 0.0
    for k in range(3):  # the first is slow: it reads the libraries
        start = time.monotonic()
        end_of(forked(trial(folder / f"whole {k}"), "protect", "--yes"))
        whole = time.monotonic() - start
    for k in range(runs):
        study = trial(folder / f"{k}")
        if k % 2:
            end_of(forked(study, "protect", "--yes"))  # something there is to be replaced
        before = charges(study)
        process = forked(study, "protect", "--yes")
        time.sleep(rng.random() * whole)
        sent = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[k % 3]
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, sent)
        _sound_after(family, study, end_of(process), before, f"{sent.name} in run {k}")
    return family


def _sound_after(family: Family, study: Path, code: int, before: int, what: str) -> None:
    """Judge a folder in which a release was killed, and remove it."""
    wrong = disorder(study)
    if code not in (0, -9, -signal.SIGTERM, 130, 143):  # -15: before the command line began
        wrong.append(f"exit code {code}")
    try:
        spent = charges(study)
        if not before <= spent <= before + 1 or (code == 0 and spent == before):
            wrong.append(f"{spent} charges after {before}")
        wrong += unsaved(study)
    except LedgerError as error:
        wrong.append(f"the ledger cannot be read: {error}")
    if not wrong and call(study, "protect", "--yes")[0] != 0:
        wrong.append("protect does not work any more")
    shutil.rmtree(study.parent)
    if wrong:
        family.wrong(f"{what}: {'; '.join(wrong)}")
    else:
        family.ended("ended by the signal" if code else "done before it")


CALLS = ("open", "fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "truncate")
"""Calls of the system that change what is on a disk."""


def _killed_at(number: int, sent: signal.Signals) -> None:
    """Let this process be sent a signal just before its ``number``-th call that changes a disk."""
    left = [number]

    def counted(act: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), sent)
            return act(*arguments, **options)

        return run

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))


_MOST_CALLS = 140
"""A release of the trial makes 117 of these calls, and 142 where it replaces another."""


def system_calls(runs: int, rng: random.Random, folder: Path) -> Family:
    """Kill a release at a call of the system, each in turn."""
    family = Family("Kills at system calls", "`dprct protect`, a signal before a call of "
                    + ", ".join(f"`{name}`" for name in CALLS))  # fmt: skip
    for k in range(runs):
        study = trial(folder / f"{k}")
        if rng.random() < 0.5:
            end_of(forked(study, "protect", "--yes"))
        before, number = charges(study), 1 + k % _MOST_CALLS
        sent = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT))

        def aim(number: int = number, sent: signal.Signals = sent) -> None:
            _killed_at(number, sent)

        code = end_of(forked(study, "protect", "--yes", before=aim))
        _sound_after(family, study, code, before, f"{sent.name} before call {number}, run {k}")
    return family


def unsaved(study: Path) -> list[str]:
    """Return what is wrong with resuming the last entry, if it was saved."""
    path = study.parent / "trial.ledger.json"
    if not path.exists():
        return []
    accountant = Accountant.load(path)
    entries = accountant.ledger
    if not entries or not accountant.is_saved(entries[-1].id):
        return []
    before = accountant.spent
    code, words = call(study, "protect", "--resume", entries[-1].id)
    if code:
        return [f"a saved entry cannot be resumed: {words.strip()[-200:]}"]
    return [] if accountant.spent == before else ["resuming was charged"]


def races(runs: int, rng: random.Random, folder: Path) -> Family:
    """Two releases at once leave two charges and one sound pair of file and certificate."""
    family = Family("Races", "two `dprct protect` of one study at once")
    for k in range(runs):
        study = trial(folder / f"{k}")
        budget = rng.choice(("1.0", "3.0"))
        study.write_text(STUDY.replace("epsilon = 3.0", f"epsilon = {budget}"), "utf-8")
        both = [forked(study, "protect", "--yes") for _ in range(2)]
        codes = sorted(map(end_of, both))
        wrong = disorder(study)
        if codes not in ([0, 0], [0, 3]) or (codes == [0, 0]) != (budget == "3.0"):
            wrong.append(f"exit codes {codes} with a total of {budget}")
        if charges(study) != codes.count(0):
            wrong.append(f"{charges(study)} charges, {codes.count(0)} releases")
        shutil.rmtree(study.parent)
        if wrong:
            family.wrong(f"race {k}: {'; '.join(wrong)}")
        else:
            family.ended("both released" if codes == [0, 0] else "one released, one refused")
    return family


def full_disks(runs: int, rng: random.Random, folder: Path) -> Family:
    """Let a disk take no more bytes, which costs no budget that nothing comes of."""
    family = Family("Full disks", "`dprct protect` with a limit on the size of files")
    for k in range(runs):
        study = trial(folder / f"{k}")
        if k % 2:
            call(study, "protect", "--yes")
        before, out = charges(study), study.parent / "trial_protected.dta"
        old = out.read_bytes() if out.exists() else None
        limit = int(10 ** rng.uniform(0, 5))

        def starve(limit: int = limit) -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        code = end_of(forked(study, "protect", "--yes", before=starve))
        wrong, spent = disorder(study), charges(study)
        if code not in (0, 2, 3):
            wrong.append(f"exit code {code} with a limit of {limit}")
        if code and out.exists() and out.read_bytes() != old:
            wrong.append("the older file was changed")
        if spent - before not in ((1,) if code == 0 else (0, 1)):
            wrong.append(f"{spent - before} charges with exit code {code}")
        if spent > before and code:
            saved = [*Accountant.load(study.parent / "trial.ledger.json").ledger][-1]
            accountant = Accountant.load(study.parent / "trial.ledger.json")
            if not accountant.is_saved(saved.id):
                wrong.append(f"a charge of which nothing is saved, with a limit of {limit}")
        wrong += unsaved(study)
        shutil.rmtree(study.parent)
        if wrong:
            family.wrong(f"run {k}: {'; '.join(wrong)}")
        elif code == 0:
            family.ended("released")
        else:
            family.ended("nothing charged" if spent == before else "charged, resumed later")
    return family


ODD = (
    "inc.total", "int", "if", "my var", "_all", "_cons", "1x", "T[1]", "a" * 33, "str9", 'x"y', "é",
    "\u202e", "\U0001f600", "", " ", "a\tb", "a,b", "NaN", "None", "`x'",
    "$x", "x" * 300, "-", "*", "?",
)  # fmt: skip
"""Names that CSV files and R have and Stata lacks, and others."""


def odd_names(runs: int, rng: random.Random, folder: Path) -> Family:
    """Charge nothing for a file that cannot be written: odd names, labels and titles."""
    family = Family("Odd names", "`dprct protect` of .csv files whose names, and studies whose "
                    "texts, are odd")  # fmt: skip
    for k in range(runs):
        study = trial(folder / f"{k}")
        data, _ = dprct.read_dta(study.parent / "trial.dta")
        name = rng.choice(ODD) + rng.choice(("", "", rng.choice(ODD)))
        data.rename(columns={"age": name}).to_csv(study.parent / "trial.csv", index=False)
        document = tomlkit.parse(STUDY.replace("trial.dta", "trial.csv"))
        columns: Any = document["columns"]
        columns[name] = columns.pop("age")
        title, output = rng.choice(ODD) * rng.choice((1, 1, 400)), rng.choice(ODD)
        document["availability"] = {"title": title}
        if rng.random() < 0.5:
            document["names"] = "stata"
        if rng.random() < 0.3:
            document["release"]["output"] = f"{output}.dta"  # type: ignore[index]
        study.write_text(tomlkit.dumps(document), "utf-8")
        code, words = call(study, "protect", "--yes")
        written = [*study.parent.glob("*.certificate.json")]
        if code not in (0, 2, 3):
            family.wrong(f"{name!r}, {title!r}, {output!r}: exit code {code}: {words[-150:]}")
        elif code and charges(study):
            family.wrong(f"{name!r}, {title!r}, {output!r}: charged, then {words[-150:]}")
        elif code == 0 and not (written and call(study, "ledger")[0] == 0):
            family.wrong(f"{name!r}, {title!r}, {output!r}: charged, and no file")
        else:
            family.ended("refused, nothing charged" if code else "written")
        shutil.rmtree(study.parent)
    return family


DO_WORDS = (
    "use trial, clear", "keep if got==1", "gen x`i' = age*got", "forvalues i=1/9999 {", "}", "{",
    "foreach v in a b c {", "foreach v of varlist g* {", "local a `a' `a'", "global b $b $b x",
    "reg got age", "areg got age, absorb(village) cluster(village)", "merge 1:1 village using b",
    "program define p", "end", "p", "while 1 {", "if 1 {", "else {", "do main", "include main",
    "reshape long g, i(village) j(t)", "collapse (mean) got, by(village)", "/*", "*/", "//", "///",
    "#delimit ;", ";", "#delimit cr", "bys village: egen m = mean(got)",
    "qui xi: reg got i.village", "mata:", "tempvar z", "save x, replace",
    'local s "`"', "'\"'", "``a''", "`=1/0'", "preserve",
)  # fmt: skip


def do_files(runs: int, rng: random.Random, folder: Path) -> Family:
    """Read do-files made of words at random, and damaged: rows and notes, never an error."""
    family = Family("Odd do-files", "what `dprct regressions` reads: lines at random, then damaged")
    folder.mkdir(parents=True)
    path = folder / "main.do"

    def act() -> str:
        read_files([(path, folder)], ["got", "age", "village"], "trial")
        return "read"

    for k in range(runs):
        text = "\n".join(rng.choices(DO_WORDS, k=rng.randrange(1, 60))).encode()
        content = mutated(text, rng)[1] if k % 2 else text
        path.write_bytes(content)
        attempt(family, repr(content[:300]), act)
    return family


def little_memory(runs: int, rng: random.Random, folder: Path) -> Family:
    """Answer within the memory that a small machine gives, whatever a file says of its size."""
    family = Family("Little memory", "`check`, `plan`, `ledger`, `verify` and `protect` with 300 "
                    "to 1,000 MB beyond what Python has")  # fmt: skip
    pages = Path("/proc/self/statm")
    study = trial(folder / "whole")
    call(study, "protect", "--yes")
    for k in range(runs):
        more = rng.randrange(300, 1000) * 2**20

        def bound(more: int = more) -> None:
            has = int(pages.read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (has + more, resource.RLIM_INFINITY))

        command = ("check", "plan", "ledger", "verify", "protect")[k % 5]
        one = study.parent / "trial_protected.dta" if command == "verify" else study
        words = (command, "--yes") if command == "protect" else (command,)
        code = end_of(forked(one, *words, before=bound))
        if code in (0, 1, 2, 3):
            family.ended("refused or open" if code else "done")
        else:
            family.wrong(f"{command} with {more >> 20} MB: exit code {code}")
    return family


# --- strangers ----------------------------------------------------------------------------------


def hostile(folder: Path) -> list[tuple[str, str, Callable[[Path], None] | None]]:
    """Return study files of strangers: words, text, and what lies beside them."""

    def pipe(name: str) -> Callable[[Path], None]:
        return lambda place: os.mkfifo(place / name)

    def link(name: str, to: str) -> Callable[[Path], None]:
        return lambda place: (place / name).symlink_to(to)

    def put(text: str, **changes: str) -> str:
        for old, new in changes.items():
            text = text.replace({"data": '"trial.dta"', "id": '"trial"', "eps": "1.0"}[old], new)
        return text

    output = 'epsilon = 1.0\noutput = "{}"'
    cases: list[tuple[str, str, Callable[[Path], None] | None]] = [
        ("data is a pipe", put(STUDY, data='"p.dta"'), pipe("p.dta")),
        ("data is a pipe, .csv", put(STUDY, data='"p.csv"'), pipe("p.csv")),
        ("data is a device", put(STUDY, data='"z.dta"'), link("z.dta", "/dev/zero")),
        ("data is a device, .tab", put(STUDY, data='"/dev/zero"'), None),
        ("data is a folder", put(STUDY, data='"."'), None),
        ("data is empty", put(STUDY, data='""'), None),
        ("data with NUL", put(STUDY, data='"a\\u0000.dta"'), None),
        ("data with an escape", put(STUDY, data='"a\\u001b[2J.dta"'), None),
        ("the ledger is a pipe", STUDY, pipe("trial.ledger.json")),
        ("the lock is a pipe", STUDY, pipe("trial.ledger.json.lock")),
        ("the states are a file", STUDY, lambda p: (p / "trial.ledger.released").touch()),
        ("the certificate is a pipe", STUDY, pipe("trial_protected.certificate.json")),
        ("the certificate is a link", STUDY, link("trial_protected.certificate.txt", "trial.dta")),
        ("the output is a link", STUDY, link("trial_protected.dta", "trial.dta")),
        ("the README is a link", STUDY, link("trial_protected.README-data.md", "study.toml")),
        ("another's README", STUDY, lambda p: (p / "trial_protected.README-data.md").touch()),
        ("output in other capitals", STUDY, lambda p: (p / "TRIAL_protected.dta").touch()),
        ("one brace too many", STUDY + "}\n", None),
        ("no TOML at all", "\x00" * 4000, None),
        ("a long list", "version = [" + "1," * 300_000 + "]", None),
        ("brackets in brackets", "version = " + "[" * 50_000, None),
        ("tables in tables", "[" + ".".join("a" * 5000) + "]\nx = 1", None),
        (
            "a version without end",
            STUDY.replace("version = 1", "version = 0x" + "f" * 10_000),
            None,
        ),
        ("a file without end", STUDY + "#" * (17 * 2**20), None),
        (
            "a column for every letter",
            STUDY + "".join(f"[columns.c{k}]\n" for k in range(5000)),
            None,
        ),
        ("bounds without end", STUDY.replace("[15, 80]", "[-inf, inf]"), None),
        ("bounds that are none", STUDY.replace("[15, 80]", "[nan, nan]"), None),
        (
            "bins without number",
            STUDY.replace("[30, 50]", str([20 + k / 9999 for k in range(9999)])),
            None,
        ),
        (
            "a domain without end",
            STUDY.replace("levels = [0, 1]", "levels = " + str([*range(20000)])),
            None,
        ),
    ]
    cases += [
        (f"epsilon = {value}", put(STUDY, eps=value), None)
        for value in ("0", "-1", "nan", "inf", "1e400", "1e-400", '"1"', "true", "[]", "9" * 5000)
    ]
    cases += [
        (f"dataset_id = {value!r}", put(STUDY, id=json.dumps(value)), None)
        for value in ("", "..", "../x", "a/b", "CON", "x" * 300, "a\nb", "\x1b[2J", "é", ".hidden")
    ]
    cases += [
        (f"output = {value!r}", STUDY.replace("epsilon = 1.0", output.format(value)), None)
        for value in (
            "../out.dta", f"{folder}/out.dta", "/tmp/dprct-torture-out.dta", "a/../../out.dta",
            "..\\\\out.dta", "C:\\\\out.dta", "trial.dta", "study.dta/../x.dta", "x.csv", ".dta",
            "x" * 250 + ".dta", "x" * 235 + ".dta", "a\\u001b[2J.dta", "a\\u0000.dta",
            "a\\u202e.dta", "a\\nb.dta", "out/../trial.dta", "linked/out.dta",
        )
    ]  # fmt: skip
    cases += [
        (
            f"derived = {value!r}",
            STUDY.replace("[columns.village]", f"[columns.village]\nderived = {json.dumps(value)}"),
            None,
        )
        for value in (
            "__import__('os').system('touch owned')", "got" + " + got" * 20_000, "((((" * 2000,
            "9**9**9", "got ** 1e9", "lambda: 1", "{x for x in got}", "", "\x00",
        )
    ]  # fmt: skip
    return cases


def hostile_studies(runs: int, rng: random.Random, folder: Path) -> Family:
    """Run the study files of strangers, which cannot hang, fill the memory or write elsewhere."""
    family = Family("Hostile study files", "`check`, `plan`, `protect`, `ledger`, `table` of each")
    cases = hostile(folder)
    if runs < len(cases):
        cases = rng.sample(cases, runs)
    folder.mkdir(parents=True)
    outside = {path.name for path in folder.parent.iterdir()}
    for k, (words, text, prepare) in enumerate(cases):
        place = folder / f"{k}" / "inner"
        study = trial(place)
        study.write_text(text, "utf-8")
        (folder / f"{k}" / "target").mkdir()
        (place / "linked").symlink_to(folder / f"{k}" / "target")
        data = (place / "trial.dta").read_bytes()
        if prepare is not None:
            prepare(place)
        for command in (("check",), ("plan",), ("protect", "--yes"), ("ledger",), ("table",)):
            code = end_of(forked(study, *command, before=small))
            what = f"{words[:60]}: dprct {command[0]}"
            if code not in (0, 1, 2, 3):
                family.wrong(f"{what}: exit code {code}")
            else:
                family.ended("refused" if code else "done")
        wrong = []
        if (place / "trial.dta").read_bytes() != data or (place / "owned").exists():
            wrong.append("the data were changed, or code was run")
        around = {path.name for path in (folder / f"{k}").iterdir()} - {"inner", "target"}
        if around or [*(folder / f"{k}" / "target").iterdir()]:
            wrong.append("something was written outside the folder")
        if {path.name for path in folder.parent.iterdir()} != outside:
            wrong.append("something was written far outside the folder")
        family.findings += [f"{family.name}: {words[:60]}: {one}" for one in wrong]
        shutil.rmtree(folder / f"{k}")
    return family


def small() -> None:
    """Bound what a process may take at 4 GB more than it has from the process that forked it."""
    pages = Path("/proc/self/statm")
    has = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 0
    resource.setrlimit(resource.RLIMIT_AS, (has + 4 * 2**30, resource.RLIM_INFINITY))


def api(runs: int, rng: random.Random, folder: Path) -> Family:
    """Call everything with wrong arguments, which are refused in a sentence."""
    import inspect

    family = Family("Wrong arguments", "every public function and constructor")
    folder.mkdir(parents=True)
    trial(folder)
    data, schema = dprct.read_dta(folder / "trial.dta")
    pool: list[Any] = [
        None, True, 0, -1, 10**400, 0.5, float("nan"), float("inf"), "", "a", "got", "\x00",
        "\ud800", b"a", "x" * 5000, [], [1, "a"], {}, {"got": 1}, (), set(), object(), int,
        folder, folder / "trial.dta", data, data["got"], schema, np.arange(3), Budget(1),
    ]  # fmt: skip
    good = {"data": data, "schema": schema, "frame": data, "path": folder / "trial.dta",
            "epsilon": 1.0, "formula": "got ~ age", "columns": ["got"]}  # fmt: skip
    calls = [getattr(dprct, name) for name in dprct.__all__ if name != "__version__"]
    calls = [one for one in calls if callable(one)]
    for _ in range(runs):
        one = rng.choice(calls)
        try:
            known = list(inspect.signature(one).parameters.values())
        except ValueError:
            continue
        chosen: dict[str, Any] = {}
        for parameter in known:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.default is not parameter.empty and rng.random() < 0.6:
                continue
            named = good.get(parameter.name) if rng.random() < 0.6 else None
            chosen[parameter.name] = rng.choice(pool) if named is None else named
        if one is dprct.write_dta:
            chosen["path"] = folder / "written.dta"
        said = ", ".join(f"{k}={_short(v)}" for k, v in chosen.items())
        positional = [p.name for p in known if p.kind is p.POSITIONAL_ONLY]
        first = [chosen.pop(name) for name in positional if name in chosen]
        attempt(family, f"{one.__name__}({said})", lambda o=one, f=first, c=chosen: _made(o, f, c))
    return family


def _made(one: Callable[..., Any], first: list[Any], rest: dict[str, Any]) -> str:
    one(*first, **rest)
    return "taken"


def _short(value: Any) -> str:
    text = type(value).__name__ if isinstance(value, (pd.DataFrame, pd.Series, Schema)) else ""
    return text or ascii(value)[:24]


# --- figures ------------------------------------------------------------------------------------

FAMILIES: dict[str, tuple[Callable[[int, random.Random, Path], Family], int, int]] = {
    "dta": (damaged_dta, 44_000, 200),
    "others": (damaged_others, 3_000, 30),
    "moments": (damaged_moments, 1_000, 30),
    "studies": (damaged_studies, 3_000, 60),
    "odd": (odd_studies, 2_000, 12),
    "ledgers": (damaged_ledgers, 5_000, 100),
    "certificates": (damaged_certificates, 1_000, 40),
    "kills": (kills, 200, 6),
    "calls": (system_calls, 140, 6),
    "names": (odd_names, 150, 6),
    "do": (do_files, 4_000, 60),
    "memory": (little_memory, 30, 5),
    "races": (races, 50, 2),
    "disks": (full_disks, 100, 4),
    "hostile": (hostile_studies, 76, 6),
    "api": (api, 4_000, 300),
}
"""By name: what runs, how often in full, and how often in the quick form."""


def tortured(name: str, runs: int, seed: int) -> Family:
    """Run one family in a folder of its own, which is removed."""
    act = FAMILIES[name][0]
    with tempfile.TemporaryDirectory(prefix="dprct-torture-") as folder:
        return act(runs, random.Random(f"{seed} {name}"), Path(folder) / "work" / "here")


Row = tuple[int, float, float, int]


def charging(lengths: tuple[int, ...] = (100, 1_000, 10_000)) -> list[Row]:
    """Return, by entries of a ledger: CPU ms of a charge, of opening and charging; its bytes."""
    rows = []
    facts = {"public_facts": ["the number of rows, n = 4,820"], "not_covered": ["column village"]}

    def charge(purse: Accountant) -> None:
        purse.charge(Budget(1), method="MVHistogram", relation="replace-one", **facts)

    for length in lengths:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "long.ledger.json"
            accountant = Accountant(100_000)
            for _ in range(length):
                charge(accountant)
            accountant.save(path, dataset_id="long")
            accountant = Accountant.load(path)
            rounds = 20
            start = time.process_time()
            for _ in range(rounds):
                charge(accountant)
            warm = (time.process_time() - start) / rounds
            start = time.process_time()
            for _ in range(rounds):
                charge(Accountant.load(path))
            cold = (time.process_time() - start) / rounds
            rows.append((length, warm * 1e3, cold * 1e3, path.stat().st_size))
    return rows


@dataclass(frozen=True)
class Kept:
    """One family, and what it was run on."""

    family: Family
    commit: str
    day: str


def commit_here() -> str:
    """Return the commit of this checkout, with a + if something was changed since."""

    def git(*words: str) -> str:
        told = subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=False)
        return told.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    return commit + "+" * bool(git("status", "--porcelain", "--", "dprct"))


def kept_in(path: Path | None) -> dict[str, Kept]:
    """Return the families of earlier runs."""
    if path is None or not path.exists():
        return {}
    stored = json.loads(path.read_text("utf-8"))
    return {
        name: Kept(Family(**one["family"]), one["commit"], one["day"])
        for name, one in stored.items()
    }


def figures(kept: list[Kept], rows: list[Row], command: str) -> str:
    """Return the figures as Markdown."""
    lines = [
        f"Written by `{command}`, a family at a time, on {platform.system()} with Python "
        f"{platform.python_version()}.",
        "",
        "| what | how | runs | how they ended | found wrong | at commit |",
        "|---|---|---:|---|---:|---|",
    ]
    for one in kept:
        family = one.family
        ends = "; ".join(f"{n:,} {how}" for how, n in sorted(family.ends.items()) if n)
        lines.append(
            f"| {family.name} | {family.what} | {family.runs:,} | {ends} | "
            f"{len(family.findings)} | {one.commit}, {one.day} |"
        )
    if rows:
        lines += [
            "",
            "| entries in the ledger | CPU of a charge | of opening it and a charge | size |",
            "|---:|---:|---:|---:|",
        ]
        lines += [
            f"| {n:,} | {warm:.1f} ms | {cold:.1f} ms | {size / 1e6:.1f} MB |"
            for n, warm, cold, size in rows
        ]
    return "\n".join(lines)


def written(page: str, words: str) -> str:
    """Return the page with its figures brought up to date.

    Raises
    ------
    ValueError
        If the page has no place for them.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    return f"{before}{begin}\n{words}\n{end}{after}"


def run() -> int:
    """Run the campaign; return 1 if anything was found wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--page", type=Path, help="the page whose figures are renewed")
    parser.add_argument("--share", type=float, default=1.0, help="of the full number of runs")
    parser.add_argument("--kept", type=Path, help="a file in which families are kept for the page")
    given = parser.parse_args()
    unknown = set(given.families) - set(FAMILIES)
    if unknown:
        parser.error(f"no family {sorted(unknown)}; there are {', '.join(FAMILIES)}")
    found, kept = [], kept_in(given.kept)
    for name in given.families or FAMILIES:
        _, full, quick = FAMILIES[name]
        start = time.monotonic()
        family = tortured(name, quick if given.quick else round(full * given.share), given.seed)
        print(f"{name}: {family.ends}, {time.monotonic() - start:.0f} s", flush=True)
        found.append(family)
        kept[name] = Kept(family, commit_here(), dt.datetime.now(dt.UTC).date().isoformat())
        if given.kept is not None:
            stored = {one: asdict(what) for one, what in kept.items()}
            given.kept.write_text(json.dumps(stored, indent=1), "utf-8")
    for line in [line for family in found for line in family.findings]:
        print(line)
    if given.page is not None:
        rows = charging()
        command = "make torture" if not (given.families or given.quick) else "scripts/torture.py"
        shown = [kept[name] for name in FAMILIES if name in kept]
        text = written(given.page.read_text("utf-8"), figures(shown, rows, command))
        given.page.write_text(text, "utf-8")
    return int(any(family.findings for family in found))


if __name__ == "__main__":
    sys.exit(run())
