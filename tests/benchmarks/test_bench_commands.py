"""How long commands take to begin, as ratios to ``import pandas`` in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from dprct.cli.main import COMMANDS


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demonstration")
    _run("-m", "dprct", "demo", "there", folder=folder)
    return folder / "there"


def _run(*arguments, folder=None):
    """Run Python with modules that are compiled once, as those of an installation are."""
    command = [sys.executable, *arguments]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=folder, env=own, capture_output=True, check=False, timeout=120)


@pytest.mark.parametrize("started", ["import pandas", *COMMANDS])
def test_help_of_a_command(started, benchmark):
    """Every help takes less than ``import pandas``: it imports neither that nor SciPy."""
    benchmark.group = "start: import pandas, help of each command"
    own = ("-c", started) if started.startswith("import") else ("-m", "dprct", started, "--help")
    benchmark.pedantic(_run, own, rounds=3, warmup_rounds=1)


@pytest.mark.parametrize(
    "started", ["import pandas", "check nsw", "ledger nsw", "plan nsw", "plan thornton"]
)
def test_a_command_on_a_study(started, demonstration, benchmark):
    """In units of ``import pandas``: a ledger .3, a check .9 to 1.3, a plan .7 to 1.4."""
    benchmark.group = "run: import pandas, commands on a study"
    study = f"{started}.toml".split()
    own = ("-c", started) if started.startswith("import") else ("-m", "dprct", *study)
    benchmark.pedantic(_run, own, {"folder": demonstration}, rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("what", ["import pandas", "thornton.toml", "nsw.toml"])
def test_protect(what, demonstration, tmp_path, benchmark):
    """From a study to its file, a histogram and a calibrated one: each in a folder of its own."""
    benchmark.group = "dprct protect: import pandas, a histogram, a calibrated file"
    folders = (tmp_path / str(number) for number in range(99))

    def fresh():
        folder = next(folders)
        folder.mkdir()
        for path in [*demonstration.glob("*.toml"), *demonstration.glob("*.dta")]:
            if "protected" not in path.name:
                shutil.copy(path, folder)
        own = ("-c", what) if what.startswith("import") else ("-m", "dprct", "protect", what, "-y")
        return own, {"folder": folder}

    benchmark.pedantic(_run, setup=fresh, rounds=3)
    made = [*tmp_path.glob("*/*_protected.dta")]
    rounds = 3 if benchmark.enabled else 1
    assert len(made) == (0 if what.startswith("import") else rounds)
