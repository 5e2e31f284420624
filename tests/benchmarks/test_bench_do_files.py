"""Reading do-files made to be slow, as ratios to an ordinary one of a thousand regressions."""

from __future__ import annotations

import pytest

from dprct.dofile.reader import read_files

HEADER = [f"c{i}" for i in range(300)]
GROWING = "local a x1 x2 x3 x4 x5 x6 x7 x8\nforvalues i=1/11 {\nlocal a `a' `a'\n}\n"
FILES = {
    "ordinary": "".join(
        f"use d, clear\nkeep if c{i}==1\ngen v{i} = c{i}*c2\n"
        + "".join(f"areg c{j} c1 v{i} c4-c9, absorb(c3) cluster(c2)\n" for j in range(20, 40))
        for i in range(10, 60)
    ),
    "long lists": GROWING + "forvalues j=1/9999 {\nreg y `a' `j'\n}",
    "columns": "forv x=1/9999 {\nforv k=1/100 {\ngen y`x'_`k' = 1\n}\n}",
    "files": "forv x=1/9999 {\ngen v`x'=1\nsave f`x'\n}",
    "loops": "forv x=1/9999 {\nforv k=1/9999 {\nreg y`x' x`k'\n}\n}",
}


@pytest.mark.parametrize("what", FILES)
def test_reading(what, tmp_path, benchmark):
    """Some ten times the ordinary one, which has the size of a paper's largest."""
    benchmark.group = "do-files: ordinary, and made to be slow"
    path = tmp_path / "main.do"
    path.write_text(FILES[what])
    benchmark.pedantic(lambda: read_files([(path, tmp_path)], HEADER, "d"), rounds=3)
