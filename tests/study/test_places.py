"""Where a study's data, ledger and output lie, read without its method."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from dprct.errors import StudyError
from dprct.study.places import places_of

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 'version = 1\ndata = "in/trial.dta"\ndataset_id = "trial"\n'


@pytest.mark.parametrize(
    ("more", "folder"),
    [("", ""), ('[release]\noutput = "out/a.dta"\n', "out"), ("release = 7\n", "")],
)
def test_the_output_lies_where_the_study_says(tmp_path: Path, more: str, folder: str) -> None:
    (tmp_path / "study.toml").write_text(HEAD + more, "utf-8")
    found = places_of(tmp_path / "study.toml")
    assert found.data == tmp_path / "in" / "trial.dta"
    assert found.dataset_id == "trial"
    assert found.folder == tmp_path / folder
    elsewhere = tmp_path / "other" / "b.dta"
    assert places_of(tmp_path / "study.toml", elsewhere).folder == elsewhere.parent


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('version = 2\ndata = "a"\ndataset_id = "b"\n', "version = 2"),
        ('version = 1\ndataset_id = "b"\n', "data is missing"),
        ('version = 1\ndata = "a.dta"\ndataset_id = "../b"\n', "b"),
        ('version = 1\ndata = "a\\u202e.dta"\ndataset_id = "b"\n', "cannot be seen"),
        (f'{HEAD}[release]\noutput = "../a.dta"\n', "outside the folder"),
    ],
)
def test_what_names_no_place_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "study.toml").write_text(text, "utf-8")
    with pytest.raises(StudyError, match=words):
        places_of(tmp_path / "study.toml")


def test_a_ledger_is_shown_without_pandas_and_without_methods(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(HEAD, "utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "trial.dta").touch()
    code = (
        "import sys\n"
        "from dprct.cli.ledger import ledger\n"
        "from pathlib import Path\n"
        "ledger(Path('study.toml'))\n"
        "heavy = {'pandas', 'numpy', 'narwhals', 'opendp', 'dprct.model', 'dprct.study.study'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ran.stdout == ("there is no ledger 'trial.ledger.json' yet: nothing was charged\n[]\n")
