"""Data that are typed into programs are seen in every language, and do-files without are clear."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dprct.custodian.rows_in_texts import Table, Text, places_of_rows
from dprct.dofile import read_files
from dprct.dofile.reader import decoded
from dprct.io import read
from dprct.study.public_files import table_line
from dprct.study.typed_data import encoded, typed_in

INPUT = [
    "input id wage\n1 2\nend\n",
    "clear\nINPUT id wage\n1 2\nend\n",
    "inp id wage\n1 2\nend\n",
    "qui input id wage\n1 2\nend\n",
    "cap noi input id wage\n1 2\nend\n",
    "capture noisily quietly input id wage\n1 2\nend\n",
    "by g: input id wage\n1 2\nend\n",
    "bysort g (x): input id\n1\nend\n",
    "version 14: input id wage\n1 2\nend\n",
    "version 9.2 : qui: inpu id wage\n1 2\nend\n",
    "quietly {\n  input id wage\n 1 2\n end\n}\n",
    "if 1 input id wage\n1 2\nend\n",
    "#delimit ;\ninput id wage ;\n1 2 ;\nend ;\n",
    "#d ;\nclear; qui input\n id wage;\n1 2;\nend;\n",
    "frame new: input id wage\n1 2\nend\n",
    "input str10 name id\n a 1\nend\n",
    "input ///\n id wage\n1 2\nend\n",
    "/* x */ input id wage\n1 2\nend\n",
    'input "id number" id\n1\nend\n',
    "infile dictionary {\n double x\n}\n77\n",
    "dictionary {\n double x\n}\n77\n",
    "mat A = (1,2,77\\3,4,5)\nsvmat A\n",
    "mata:\nX = (1, 2 \\ 3, 4)\nst_store(., ., X)\nend\n",
    "set obs 2\ngen h = 1\nreplace h = 77 in 1\n",
    "qui set obs 2\ngen h = cond(_n == 1, 77, 78)\n",
    "* 1 23 45.6\n* 2 33 41.2\n* 3 11 40.9\n* 4 17 12.5\n* 5 17 12.1\n",
    "/*\n1,23,45.6\n2,33,41.2\n3,11,40.9\n4,17,12.5\n5,17,12.1\n*/\n",
    'set obs 4\ngen x = real(word("1 2 3 4", _n))\n',
    "set obs 4\nmata: st_store(1, 1, 77)\n",
    "set obs 4\ngen byte h = 77 in 1\n",
    "postfile h a b using x\n" + "post h (1) (23.5)\n" * 5,
    "file open h using x, write\n" + 'file write h "1,23.5,0" _n\n' * 5,
    "local c inp\n`c'ut id wage\n" + "22 1\n" * 6 + "end\n",
    'di "' + "\\x32\\x33\\x2e\\x35\\x2c" * 10 + '"\n',
    "* " + "&#50;&#51;&#46;" * 10 + "\n",
    "local x " + "QUJDREVGR0hJSktMTU5PUA" * 20 + "\n",
]

VALUES = ", ".join(str(7 * k % 31) for k in range(40))

OTHERS = [
    ("a.R", 'd <- read.table(header=TRUE, text="id wage\n1 2\n3 4")'),
    ("a.R", "d <- read.csv(text = 'id,wage\n1,2\n3,4')"),
    ("a.R", 'd <- fread("id,wage\\n1,2\\n3,4")'),
    ("a.R", 'con <- textConnection(c("id wage\n1 2\n3 4"))'),
    ("a.R", "d <- structure(list(id = c(1, 2), wage = c(3, 4)), class = 'data.frame')"),
    ("a.R", "d <- structure (\n  list (\n id = 1:2))".replace("1:2", "c(1L, 2L)")),
    ("a.R", "d <- tribble(~id, ~wage,\n 1, 2,\n 3, 4)"),
    ("a.r", f"d <- data.frame(id = c({VALUES}))"),
    ("a.R", "x <- c(" + ",\n".join(str(k * 3 % 17) for k in range(40)) + ")"),
    ("a.py", 'd = pd.read_csv(io.StringIO("""id,wage\n1,2\n3,4"""))'),
    ("a.py", "d = pd.read_csv(StringIO('id;wage\\n1;2\\n3;4'))"),
    ("a.py", f"x = [{VALUES}]"),
    ("a.py", f"x = np.array('{VALUES.replace(', ', ' ')}'.split(), float)"),
    ("a.py", "x = bytes.fromhex('" + "00ff17" * 30 + "')"),
    ("a.py", "rows = [\n" + "".join(f"  ({k}, {k * 7 % 5}, 2.5),\n" for k in range(6)) + "]"),
    ("a.jl", 'd = CSV.read(IOBuffer("id,wage\n1,2\n3,4"), DataFrame)'),
    ("a.m", "x = [\n1 2 3\n4 5 6\n7 8 9\n1 2 2\n3 3 3\n];"),
    ("a.sas", "data p; input id; datalines;\n1\n2\n;\nrun;"),
    ("a.sas", "data p;\n input id;\n CARDS ;\n1\n;\nrun;"),
    ("a.sas", "data p;\ninput id;\ndatalines4;\n1\n;;;;\n"),
    ("a.sas", "data p; infile cards; input x; lines;\n1\n;"),
    ("a.sps", "DATA LIST FREE / id.\nBEGIN DATA\n1\nEND DATA.\n"),
    ("a.sps", "data list free / id.\n  begin data.\n1\nend data.\n"),
    ("README.md", "| 1 | 2 |\n| 3 | 4.5 |\n| 5 | 6 |\n| 7 | 8 |\n| 9 | 10 |\n"),
]

CLEAR = [
    ("a.do", "input using firms.dct, clear\n"),
    ("a.do", "* input the data by hand\nuse firms, clear\n"),
    ("a.do", "reg input output, r\nlocal input = 3\ngen input2 = 1\n"),
    ("a.do", "infile id wage using firms.raw\n"),
    ("a.do", "mat A = (1, 2 \\ 3, 4)\nmat list A\n"),
    ("a.do", "replace wage = 12 in 3\n"),
    ("a.do", "label define yn 0 no 1 yes\nrecode x (1 2 3 4 5 = 0) (6 7 8 = 1)\n"),
    ("a.do", "inputs, 3\nby g: gen x = _n\n"),
    ("a.do", "*" * 600 + "\n"),
    ("a.R", "x <- structure(list(fit = fit, call = call), class = 'mine')\n"),
    ("a.R", "d <- read.table('firms.txt', header = TRUE)\nx <- c(1, 2, 3)\n"),
    ("a.R", 'cat("one line\nand another 12\n")\n'),
    ("a.py", "d = pd.read_csv('firms.csv')\nx = [1, 2, 3]\npickle.loads(raw)\n"),
    ("a.sas", "data p; set firms; lines = 3; cards = 4; run;\n"),
    ("a.sps", "GET FILE='firms.sav'.\n* begin data here.\n"),
    ("README.md", "Run main.do, then tables.do.\n\n1. Unzip 3 files\n2. Run 2 files\n"),
]


@pytest.mark.parametrize("text", INPUT)
def test_data_typed_into_do_files_are_seen(text: str) -> None:
    assert typed_in(text, ".do")
    assert typed_in(text.replace("\n", "\r\n"), ".ado")


@pytest.mark.parametrize(("name", "text"), OTHERS)
def test_data_typed_into_other_programs_are_seen(name: str, text: str) -> None:
    assert typed_in(text, Path(name).suffix)


@pytest.mark.parametrize(("name", "text"), CLEAR)
def test_programs_without_data_are_clear(name: str, text: str) -> None:
    assert typed_in(text, Path(name).suffix) == ""


def test_the_line_is_said() -> None:
    assert typed_in("clear\n\nqui input x\n1\nend\n", ".do") == "input, line 3"


@pytest.mark.parametrize("text", ['"' * 60_000, "'(" * 40_000, "1," * 200_000, "{" * 90_000,
                                  "a:" * 60_000, "\\" * 90_000, "<" * 90_000])  # fmt: skip
@pytest.mark.parametrize("suffix", [".do", ".R", ".py"])
def test_no_text_takes_long(text: str, suffix: str) -> None:
    typed_in(text, suffix)
    table_line(text, ["wage"])


def made_up(names: list[str], rng: np.random.Generator) -> Table:
    """Return a table of the columns that a do-file names: zeros and ones, counts, and amounts."""
    n = 1_500
    kinds = [
        lambda: rng.integers(0, 2, n).astype(float),
        lambda: rng.integers(0, 12, n).astype(float),
        lambda: rng.integers(1, 200, n).astype(float),
        lambda: rng.lognormal(5, 2, n).round(2),
        lambda: rng.normal(size=n),
        lambda: rng.permutation(np.arange(1001.0, 1001.0 + n)),
    ]
    data = {name: kinds[at % len(kinds)]() for at, name in enumerate(names)}
    return Table(pd.DataFrame(data), {})


@pytest.mark.long
def test_published_do_files_give_no_alarm(shared: Path) -> None:
    rng = np.random.default_rng(3)
    paths = sorted((shared / "data" / "do_files").rglob("*.do"))
    assert len(paths) > 20
    for path in paths:
        text = decoded(path.read_bytes())
        rows = read_files([(path, path.parent)])
        names = sorted({name for row in rows for name in (*row.regressors, *row.treatments)
                        if name.isidentifier()})[:60] or ["y"]  # fmt: skip
        assert typed_in(text, ".do") == "", path.name
        assert table_line(text, names) == 0, path.name
        assert places_of_rows([Text(path.name, text)], [made_up(names, rng)]) == [], path.name
    own = shared / "data" / "do_files" / "microcredit"
    table = Table.of(*read(own / "Data.dta"))
    text = decoded((own / "Regression.do").read_bytes())
    assert places_of_rows([Text("Regression.do", text)], [table]) == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("local v " + "0110100111001" * 4, True),
        ("local ruler 1234567890123456789012345678901234567890", False),
        ("* " + "0" * 80, False),
        ("\n".join(f"* 2000{at}4311234{at}" for at in range(10, 16)), True),
        ("\n".join(f"{at}4312{at}123.4{at}" for at in range(10, 16)), True),
        ("\n".join(f"drop if id == 2000{at}" for at in range(10, 16)), False),
        ("\n".join(f"{at}" for at in [18, 43, 21] * 120), False),
    ],
)
def test_figures_without_blanks_are_data(text: str, seen: bool) -> None:
    assert bool(encoded(text)) is seen
