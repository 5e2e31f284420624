"""What of a replication folder is published: an allow-list, and nothing like the confidential."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from dprct.custodian.rows_in_texts import Table
from dprct.errors import FileError
from dprct.io.stata import write_dta
from dprct.schema import Schema
from dprct.study.package_allowed import (
    check_no_rows,
    content,
    elsewhere,
    folder_of,
    roots,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.study.package_allowed import Folder

COLUMNS = ("wage", "union", "pid")


def saved(path: Path, *names: str) -> None:
    frame = pd.DataFrame({name: [1.0, 2.0] for name in names})
    write_dta(frame, Schema.from_frame(frame), path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "rep"
    (folder / "code").mkdir(parents=True)
    saved(folder / "firms.dta", *COLUMNS)
    for name, text in {
        "code/main.do": "use firms\n",
        "code/mine.ado": "program mine\nend\n",
        "README.md": "how to run\n",
        "LICENSE": "CC BY\n",
        "prep.R": "x <- 1\n",
        "main.log": "mean of wage 12.3\n",
        "table1.tex": "1.2 & 3.4\n",
        "notes.txt": "Anna said no\n",
        "codes.csv": "region,name\n1,North\n",
        ".hidden.do": "use firms\n",
    }.items():
        (folder / name).write_text(text)
    return folder


def found(root: Path, *public: str) -> Folder:
    return folder_of(root, public, {root / "firms.dta": COLUMNS}, "pid")


def test_programs_are_copied_and_nothing_that_may_hold_numbers(root: Path) -> None:
    whole = found(root)
    assert set(whole.copied) == {
        "LICENSE", "README.md", "code/main.do", "code/mine.ado", "prep.R",
    }  # fmt: skip
    assert set(whole.left_out) == {
        "firms.dta", "main.log", "table1.tex", "notes.txt", "codes.csv",
    }  # fmt: skip


def test_what_is_named_is_copied(root: Path) -> None:
    assert "codes.csv" in found(root, "codes.csv").copied


@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("data.do", b"input wage union\n1 2\nend\n", "values are typed into it"),
        ("old.do", b"<stata_dta>...", "its content is not text"),
        ("zip.do", b"PK\x03\x04", "its content is not text"),
        ("nul.R", b"a\0b", "its content is not text"),
        ("long.do", b"*" * (2 * 2**20 + 1), "longer than a program"),
    ],
)
def test_a_program_in_name_only_is_left_out(root: Path, name: str, raw: bytes, why: str) -> None:
    (root / name).write_bytes(raw)
    assert why in found(root).left_out[name]


def test_the_confidential_file_under_the_name_of_a_program_is_left_out(root: Path) -> None:
    secret = root / "secret.csv"
    secret.write_text("wage,union,pid\n3,1,7\n")
    (root / "readme.txt").write_text("wage,union,pid\n3,1,7\n")
    whole = folder_of(root, (), {secret: COLUMNS}, "pid")
    assert whole.left_out["readme.txt"] == "it is the confidential file"


@pytest.mark.parametrize(
    ("name", "copied"),
    [
        ("readme.txt", True),
        ("Readme", True),
        ("LICENCE.md", True),
        ("CITATION.cff", True),
        ("README_individual_listing.txt", False),
        ("README-rows.md", False),
        ("citations.txt", False),
        ("license_plates.txt", False),
        ("README.csv", False),
        ("readme.txt.txt", False),
        ("CITATION.json", False),
    ],
)
def test_a_readme_goes_by_its_exact_name(root: Path, name: str, copied: bool) -> None:
    (root / "README.md").unlink()
    (root / "LICENSE").unlink()
    (root / name).write_text("how to run\n")
    assert (name in found(root).copied) is copied


@pytest.mark.parametrize("name", ["README.md", "code/main.do", "prep.R", "code/mine.ado"])
def test_a_table_below_names_of_columns_is_left_out(root: Path, name: str) -> None:
    (root / name).write_text("how to run\n\n# Wage;UNION;Pid\n# 3;1;7\n# 4;0;8\n")
    assert "line 3" in found(root).left_out[name]


@pytest.mark.parametrize("name", ["README.md", "prep.R", "codes.csv", "code/main.do"])
def test_a_row_stops_the_package_and_its_values_are_not_said(root: Path, name: str) -> None:
    table = Table(
        pd.DataFrame({"wage": [3.25751, 877.125], "union": [1.0, 0.0], "pid": [7_771.0, 81_234.0]}),
        {},
    )
    (root / name).write_text("a first line\nmean of 877.125 and 0 of 81234 by 3.25751 or 1,7771\n")
    folder = found(root, "codes.csv")
    assert name in folder.copied
    check_no_rows(folder, [replace(table, data=table.data + 12_345.5)], {})
    with pytest.raises(FileError, match=rf"'{name}' \(line 2\).*take these lines out") as caught:
        check_no_rows(folder, [table], {})
    for value in ("877", "81234", "3.25", "7771"):
        assert value not in str(caught.value)


def test_names_of_files_and_the_study_file_are_searched(root: Path) -> None:
    table = Table(pd.DataFrame({"wage": [877.1257], "union": [0.0], "pid": [81_234_551.0]}), {})
    with pytest.raises(FileError, match=r"'study.toml' \(line 1\)"):
        check_no_rows(found(root), [table], {"study.toml": "877.1257, 0, 81234551"})
    (root / "code" / "877.1257_0_81234551.do").write_text("use firms\n")
    with pytest.raises(FileError, match="the names of the files"):
        check_no_rows(found(root), [table], {})


def test_a_file_that_changes_before_it_is_searched_stops_the_package(root: Path) -> None:
    folder = found(root)
    (root / "prep.R").write_text("x <- 2\n")
    with pytest.raises(FileError, match=r"'prep.R' was changed"):
        check_no_rows(folder, [], {})


def test_what_is_too_large_is_refused(root: Path) -> None:
    with (root / "codes.csv").open("wb") as file:
        file.truncate(257 * 2**20)
    with pytest.raises(FileError, match="more than 256 MB"):
        found(root, "codes.csv")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("region", "pid"), "the column 'pid', which identifies people"),
        (("wage", "union"), "has 2 of the 3 columns of the confidential file"),
    ],
)
@pytest.mark.parametrize("suffix", [".dta", ".csv"])
def test_a_file_like_the_confidential_one_is_never_public(
    root: Path, columns: tuple[str, ...], said: str, suffix: str
) -> None:
    path = root / f"other{suffix}"
    if suffix == ".dta":
        saved(path, *columns)
    else:
        path.write_text(",".join(columns) + "\n1,2\n")
    with pytest.raises(FileError, match=said):
        found(root, path.name)
    path.unlink()
    with pytest.raises(FileError, match="released by dprct protect alone"):
        found(root, "firms.dta")


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.do").write_text("use firms\n")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "deep.do").write_text("use firms\n")
    os.symlink(tmp_path / "outside.do", root / "link.do")
    os.symlink(tmp_path / "far", root / "linked")
    whole = found(root)
    assert "link" in whole.left_out["link.do"]
    assert not any(name.startswith("linked/") for name in (*whole.copied, *whole.left_out))
    with pytest.raises(FileError, match="is a link"):
        content(root / "link.do")
    with pytest.raises(FileError, match="is a link"):
        found(root, "link.do")
    os.symlink(root, tmp_path / "rep2")
    with pytest.raises(FileError, match="is not a folder"):
        folder_of(tmp_path / "rep2", (), {root / "firms.dta": COLUMNS}, None)


def test_what_is_named_and_not_there_is_refused(root: Path) -> None:
    with pytest.raises(FileError, match=r"'code.csv', which is not a file"):
        found(root, "code.csv")
    with pytest.raises(FileError, match="'code', which is not a file"):
        found(root, "code")


def test_names_that_are_one_on_some_disks_are_refused(root: Path) -> None:
    (root / "Prep.r").write_text("y <- 1\n")
    if len([name for name in os.listdir(root) if name.lower() == "prep.r"]) < 2:
        pytest.skip("this disk does not tell capitals apart")
    with pytest.raises(FileError, match="one file on some disks"):
        found(root)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ('use "C:\\Users\\me\\farms.dta", clear', "C:\\Users\\me\\farms.dta"),
        ("use C:\\me\\farms, clear", "C:\\me\\farms"),
        ('merge 1:1 id using "/srv/me/farms.dta"', "/srv/me/farms.dta"),
        ('global d "~/paper/farms"', "~/paper/farms"),
        ('use "\\\\server\\share\\farms.dta"', "\\\\server\\share\\farms.dta"),
    ],
)
def test_paths_of_other_machines_are_found(line: str, path: str) -> None:
    (one,) = elsewhere({"a.do": f"* Table 1\n{line}\n"}, ["in/farms.dta"])
    assert (one.line, one.path, one.here) == (2, path, "in/farms.dta")


@pytest.mark.parametrize(
    "line",
    [
        'use "data/farms.dta"',
        '* use "C:\\me\\farms.dta"',
        'label define a 1 "yes/no" 2 "/"',
        'use "$root/farms.dta"',
        "di 3/4",
        "local http http://x.org/y",
    ],
)
def test_what_is_no_path_of_another_machine(line: str) -> None:
    assert elsewhere({"a.do": line}, []) == []


def test_globals_that_stand_for_folders() -> None:
    texts = {"a.do": 'use "${data}/x"\nreg y $controls\nuse "$out\\y"\nuse "$known/z"'}
    assert roots(texts, ["controls", "data", "out"]) == ("data", "out")
