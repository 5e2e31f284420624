"""``dprct regressions``: what do-files estimate, on a terminal and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from dprct.dofile import KEYS
from dprct.io.stata import write_dta
from dprct.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = """\
use orchard, clear
* Table 2
foreach y in apples pears {
    ivreg `y' rain (sprayed = offered) if plot <= 9, robust
}
areg apples w* [aw=size], absorb(village) cluster(village)
levelsof village, local(all)
foreach v of local all {
    reg apples offered if village == `v'
}
mixed apples offered || village:
trees apples
"""


@pytest.fixture
def do(tmp_path: Path) -> Path:
    (tmp_path / "orchard.do").write_text(TEXT)
    return tmp_path / "orchard.do"


def test_a_line_for_each(dprct: Callable[..., Any], do: Path) -> None:
    ran = dprct("regressions", do, "--treatment", "offered")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "orchard.do, Table 2",
        "     4  ivreg apples ~ sprayed rain (sprayed = offered) if plot <= 9; robust",
        "     4  ivreg pears ~ sprayed rain (sprayed = offered) if plot <= 9; robust",
        "     6  areg apples ~ w* | village; cluster village; aweight=size",
        "     9  regress apples ~ [offered] if village == levelsof village; classical; partly",
        "    11  mixed ; unread",
        "5 estimations: 3 read, 1 partly, 1 unread",
    ]
    assert "passed over: trees (1)" in ran.err


def test_json_has_the_keys(dprct: Callable[..., Any], do: Path) -> None:
    ran = dprct("regressions", do, "--json")
    rows = json.loads(ran.out)
    assert [tuple(row) for row in rows] == [KEYS] * 5
    assert rows[0] == {
        "file": "orchard.do", "line": 4, "command": "ivreg", "outcome": "apples",
        "regressors": ["sprayed", "rain"], "treatments": [], "endogenous": ["sprayed"],
        "instruments": ["offered"], "absorb": [], "sample": "plot <= 9", "weights": "",
        "vce": "robust", "cluster": [], "dataset": "orchard.dta", "status": "read",
        "note": "Table 2",
    }  # fmt: skip


def test_a_header_writes_wildcards_out(dprct: Callable[..., Any], do: Path, tmp_path: Path) -> None:
    frame = pd.DataFrame({name: [0.0, 1.0] for name in ("apples", "w1", "w2", "village", "size")})
    write_dta(frame, Schema.from_frame(frame), tmp_path / "orchard.dta")
    ran = dprct("regressions", do, "--data", tmp_path / "orchard.dta", "--json")
    rows = json.loads(ran.out)
    assert rows[2]["regressors"] == ["w1", "w2"]
    assert rows[1]["note"].endswith("not in the header: pears sprayed rain")


def test_a_file_that_is_not_there_is_said(dprct: Callable[..., Any], tmp_path: Path) -> None:
    ran = dprct("regressions", tmp_path / "none.do")
    assert ran.code == 2
    assert "'none.do' is not a file or folder" in ran.err
