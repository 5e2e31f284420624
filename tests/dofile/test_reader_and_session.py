"""Other files, encodings, bounds, and input that no one would write: a reading, never an error."""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dprct.dofile import read_files
from dprct.dofile.macros import BoundReached
from dprct.dofile.reader import MOST_PASSES, WORK, Reader, decoded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dprct.dofile import Reading


def test_files_that_are_run(outcomes: Callable[..., list[str]]) -> None:
    text = "global g x\nlocal l z\ndo part a\ninclude more\nreg d `l' `seen'\nrun nowhere"
    part = "reg `1' t $g `l'"
    more = "local seen yes\nreg c `l'"
    assert outcomes(text, part=part, more=more) == ["a: t x", "c: z", "d: z yes"]


def test_a_file_that_another_one_runs_is_listed_once(tmp_path: Path) -> None:
    (tmp_path / "a_part.do").write_text("reg y $x")
    (tmp_path / "main.do").write_text("global x t\ndo a_part.do\nreg z t")
    files = [(tmp_path / name, tmp_path) for name in ("a_part.do", "main.do")]
    for order in (files, files[::-1]):
        rows = read_files(order)
        assert [(r.file, r.outcome, r.regressors) for r in rows] == [
            ("a_part.do", "y", ("t",)),
            ("main.do", "z", ("t",)),
        ]


def test_paths_of_other_machines_are_found_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "part.do").write_text("reg y t")
    (tmp_path / "main.do").write_text('do "C:\\Users\\me\\x\\part.do"\ndo code/part\n')
    (tmp_path / "code" / "other.do").write_text('do "/far/away/part.do"')
    assert len(read_files([(tmp_path / "main.do", tmp_path)])) == 1
    assert len(read_files([(tmp_path / "code" / "other.do", tmp_path)])) == 1


@pytest.mark.parametrize("how", ["../secret.do", "{outside}/secret.do", "link.do", "deep/link.do"])
def test_nothing_outside_the_folder_is_read(tmp_path: Path, how: str) -> None:
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (tmp_path / "secret.do").write_text("reg secret t")
    for link in (inside / "link.do", inside / "deep" / "link.do"):
        link.symlink_to(tmp_path / "secret.do")
    (inside / "main.do").write_text(f'do "{how.format(outside=tmp_path)}"\nreg y t')
    found = read_files([(inside / "main.do", inside)])
    assert [row.outcome for row in found] == ["y"]
    assert "is not in the folder" in found.notes[0]


def test_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "main.do").write_text(
        "shell touch made\n!touch made\nerase main.do\nrm main.do\nsave made\n"
        "file open f using made, write\nlog using made\nmkdir made\ncd /\ncopy main.do made\n"
        'python: open("made", "w")\npython\nopen("made", "w")\nend\nmata: unlink("main.do")\n'
        'local x : dir "/" files "*"\nreg y t `x\'\n'
    )
    before = {path.name for path in tmp_path.iterdir()}
    (row,) = read_files([(tmp_path / "main.do", tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == before
    assert (row.status, row.outcome) == ("partly", "y")


@pytest.mark.parametrize(
    ("raw", "note"),
    [
        ("reg y t // \xe9t\xe9".encode("latin-1"), None),
        ("\ufeffreg y t".encode(), None),
        ("reg y t".encode("utf-16"), None),
        (b"\x00reg y t\x00", None),
        (b"reg y t\r\n", None),
        (b'di "open\nreg y t', None),
        (b"reg y t if (a == 1", None),
        (b"reg y t, cluster(v", None),
        (b"foreach x in a {\nreg y t\n", "not closed"),
        (b"reg y t\n}\n}\n", "closes nothing"),
        (b"program p\nreg z t\n", "not closed"),
        (b"reg y t\n/* and so", "not closed"),
    ],
)
def test_text_that_is_not_as_it_should_be(
    read: Callable[..., Reading], raw: bytes, note: str | None
) -> None:
    found = read(raw)
    assert [row.outcome for row in found] == ([] if b"program" in raw else ["y"])
    assert all(note is not None and note in text for text in found.notes)
    assert bool(found.notes) == (note is not None)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("while 1 {\nlocal i = 1\n}\nreg y t", f"only {MOST_PASSES} passes"),
        ("forvalues i = 1/1000000000 {\ngen x`i' = 1\n}\nreg y t", f"only {MOST_PASSES} passes"),
        ("do main\nreg y t", "runs itself"),
        ("include main\nreg y t", "runs itself"),
        ("program p\np\nend\np\nreg y t", "deep"),
        ("program p\nq\nend\nprogram q\np\nend\np\nreg y t", "deep"),
        ("if 1 {\n" * 200 + "reg z t\n" + "}\n" * 200 + "reg y t", "levels deep"),
        ("for num 1/3: for num 1/3: reg y t", None),
    ],
)
def test_bounds_end_a_reading_and_are_said(
    read: Callable[..., Reading], text: str, note: str | None
) -> None:
    found = read(text)
    assert {row.outcome for row in found} == {"y"}
    assert note is None or any(note in one for one in found.notes)


@pytest.mark.long
def test_the_work_of_a_reading_is_bounded(read: Callable[..., Reading]) -> None:
    text = "reg y t\n" + "forv i=1/9999 {\nforv j=1/9999 {\ngen x`i'`j' = `i'\n}\n}\nreg z t"
    found = read(text)
    assert [row.outcome for row in found] == ["y"]
    assert found.notes == (
        "the bound on the work of one reading is reached; what follows is not read",
    )


def test_refusing_made_columns_again_is_counted_as_work(read: Callable[..., Reading]) -> None:
    """Each pass went through all columns that were made: 72 s of processor for 284 bytes."""
    text = "forv i=1/9999 {\ngen x`i' = y\ncollapse (mean) y, by(v)\n}\nreg y t"
    read("reg y t")
    begin = time.process_time()
    read(text)
    assert time.process_time() - begin < 15


@pytest.mark.parametrize("name", ["main", "nowhere"])
def test_looking_for_a_file_is_counted_as_work(name: str, tmp_path: Path) -> None:
    """A file of 330 bytes that includes itself in loops took 10 s of processor."""
    (tmp_path / "main.do").write_text(f"while 1 {{\nwhile 1 {{\ninclude {name}\n}}\n}}")
    reader = Reader([], "d", frozenset(), WORK // 50)
    found, looked = reader.found, []
    with (
        patch.object(reader, "found", lambda text: (looked.append(text), found(text))[1]),
        pytest.raises(BoundReached),
    ):
        reader.read(tmp_path / "main.do", tmp_path)
    assert 100 < len(looked) <= WORK // 50 // 100


GROWING = "local a x1 x2 x3 x4 x5 x6 x7 x8\nforvalues i=1/11 {\nlocal a `a' `a'\n}\n"
DEEP = "local a0 x\n" + "".join(f"local a{i} \\`a{i - 1}' \\`a{i - 1}'\n" for i in range(1, 30))
COSTLY = {
    "long lists": GROWING + "forvalues j=1/9999 {\nreg y `a' `j'\n}",
    "macros of macros": DEEP + "forvalues j=1/9999 {\nreg y `a25'\n}",
    "columns": "forv x=1/9999 {\nforv k=1/100 {\ngen y`x'_`k' = 1\n}\n}",
    "files": "forv x=1/9999 {\ngen v`x'=1\nsave f`x'\n}",
    "states": "forv x=1/9999 {\ngen v`x'=1\npreserve\n}",
    "merges": "forv x=1/9999 {\nmerge 1:1 id using f`x'\nreg y x\n}",
    "conditions": 'local c `"'
    + "b==2 & " * 99
    + "b==1\"'\nforv x=1/9999 {\nkeep if x==`x' & `c'\nreg y x\n}",
    "numbers": "forv x=1/9999 {\nlocal a`x' 1\nforv y=1/9999 {\ncontinue, break\n}\n}",
    "patterns": "forv x=1/9999 {\ngen v`x'=1\n}\nforv x=1/9999 {\nkeep v*\ndrop v`x'\n}",
}
"""Do-files of less than a kB that took up to 64 s, or 430 MB, before the work was counted."""


@pytest.mark.long
@pytest.mark.parametrize("what", COSTLY)
def test_a_small_do_file_takes_little_memory_and_no_more_than_the_bound(
    what: str, tmp_path: Path
) -> None:
    (tmp_path / "main.do").write_text(COSTLY[what])
    reader = Reader([f"c{i}" for i in range(300)], "d", frozenset(), WORK)
    tracemalloc.start()
    try:
        with pytest.raises(BoundReached):
            reader.read(tmp_path / "main.do", tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_braces_in_braces_are_read_to_a_depth(read: Callable[..., Reading]) -> None:
    found = read("{\n" * 3_000 + "reg z t\n" + "}\n" * 3_000 + "reg y t")
    assert [row.outcome for row in found] == ["y"]
    assert any("levels deep" in note for note in found.notes)


@pytest.mark.long
def test_a_hundred_thousand_lines_are_within_the_bound(tmp_path: Path) -> None:
    lines = [
        f"gen x{n} = y{n}*t if z=={n}" if n % 100 else f"reg y{n} t x1 if a=={n}, cluster(v)"
        for n in range(100_000)
    ]
    (tmp_path / "long.do").write_text("\n".join(lines))
    found = read_files([(tmp_path / "long.do", tmp_path)])
    assert (len(found), found.notes) == (1_000, ())
    assert found[-1].line == 99_901


def test_what_is_not_known_is_passed_over_and_counted(read: Callable[..., Reading]) -> None:
    found = read("mycmd y t\nqui mycmd z\nother, x\nset more off\nsum y\nreg y t")
    assert found.passed_over == {"mycmd": 2, "other": 1}


def test_undefined_globals_are_said(read: Callable[..., Reading]) -> None:
    assert read("reg y t $gone").notes == ("globals that nothing defines are empty: gone",)


def test_every_encoding_gives_text() -> None:
    assert decoded(b"\xff\xfea\x00") == "a"
    assert decoded("\ue000x\ue001".encode()) == " x "


PIECES = st.sampled_from(
    [
        "reg y t x", "areg y t, a(v)", "`", "'", '"', "`\"", "\"'", "{", "}", "(", ")", "[", "]",
        "/*", "*/", "//", "///", "\n", "\n", "\n", ";", "#delimit ;", "#d cr", "local a", "`a'",
        "global g", "$g", "${", "=", "==", "1", "3/9", "x", "y", "foreach v in a b {", "end",
        "forvalues i = 1/", "while ", "if ", "else ", "else if ", "program p", "p ", "args a",
        "syntax varlist [if] [, A(int 3) *]", "tokenize", "gettoken a b : 0", "mac shift",
        "do main", "include main", "by v: ", "xi: ", "for num 1/9: ", "use ", "merge 1:1 id using ",
        "append using", "keep if ", "drop ", "gen z = ", "egen", "rename ", "reshape long ",
        "collapse (mean) ", ", by(v)", "preserve", "restore", "tempfile f", "save `f'",
        "est store ", "suest ", "esttab using ", "`: word 1 of ", "`=", "`++i'", "local ++i",
        "exit", "continue", "mata", ":", ",", "-", "*", "[pw=w]", "ivreg y (a = b)", "using",
        "in 1/5", "1e400", "0/0", "round(1,0)", "substr(", "\t", "i.a##c.b", "a-z", "z*",
    ]
)  # fmt: skip


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.one_of(
        st.lists(PIECES, max_size=40).map(" ".join).map(str.encode),
        st.lists(PIECES, max_size=40).map("".join).map(str.encode),
        st.binary(max_size=300),
    ),
    header=st.sampled_from([None, ["y", "t", "x", "a", "b", "z1", "z2"]]),
)
def test_any_text_is_read_within_the_bound(
    tmp_path: Path, text: bytes, header: list[str] | None
) -> None:
    (tmp_path / "main.do").write_bytes(text)
    for row in read_files([(tmp_path / "main.do", tmp_path)], header, None, ["t"], 20_000):
        assert row.status in ("read", "partly", "unread")
        assert not {"\ue000", "\ue001"} & set(str(row.to_dict()))
