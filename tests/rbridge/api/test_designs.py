from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ParameterError
from dprct.rbridge.api.models import DESIGNS, design_of
from dprct.rbridge.convert import Table
from dprct.rbridge.registry import exported
from dprct.schema import Schema

ROWS = pd.DataFrame({"region": [1.0, 1, 2, 2, 3, 3], "village": [1.0, 2, 3, 4, 5, 6]})
TABLE = Table(ROWS, Schema.from_frame(ROWS))

OPTIONS: dict[str, dict[str, Any]] = {
    "Simple": {"arms": "t", "shares": 0.5},
    "Complete": {"arms": ["a", "b"], "counts": np.array([1.0, 2.0])},
    "Block": {"arms": "t", "block": "region"},
    "Cluster": {"arms": "t", "cluster": "village", "counts": 3.0},
    "BlockCluster": {"arms": "t", "block": "region", "cluster": "village"},
    "Factorial": {
        "factors": [
            {"kind": "Simple", "options": {"arms": "a"}},
            {"kind": "Simple", "options": {"arms": "b"}},
        ]
    },
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_design_from_r_is_the_one_from_python(kind: str) -> None:
    spec = {"kind": kind, "options": OPTIONS[kind]}
    drawn = exported("design_assign")(spec, TABLE, 3.0)
    pd.testing.assert_frame_equal(drawn, design_of(spec).assign(ROWS, 3))
    described = exported("design_describe")(spec)
    assert described["columns"] == list(drawn.columns)
    assert "andomisation" in described["text"]


def test_all_designs_are_there() -> None:
    assert set(OPTIONS) | {"Custom"} == set(DESIGNS)
    assert all(hasattr(dprct, kind) for kind in DESIGNS)
    with pytest.raises(ParameterError, match="no design 'Latin'"):
        design_of({"kind": "Latin", "options": {}})


def test_shares_by_block_are_named_by_codes() -> None:
    shares = {"1": 0.0, "2": 1.0, "3": 0.5}
    spec = {"kind": "Block", "options": {"arms": "t", "block": "region", "shares": shares}}
    drawn = exported("design_assign")(spec, TABLE, 1)
    assert drawn["t"].groupby(ROWS["region"]).sum().tolist() == [0, 2, 1]


def test_shares_by_block_of_text_keep_their_names() -> None:
    rows = pd.DataFrame({"region": ["1", "1", "b", "b"]})
    shares = {"1": 1.0, "b": 0.0}
    spec = {"kind": "Block", "options": {"arms": "t", "block": "region", "shares": shares}}
    drawn = exported("design_assign")(spec, Table(rows, Schema.from_frame(rows)), 1)
    assert drawn["t"].tolist() == [1, 1, 0, 0]


def test_an_r_function_is_asked(r: Any) -> None:
    arguments = """list(
        spec = list(kind = "Custom", options = list(
            procedure = function(rows) rows$village %% 2, columns = "t", uses = "village")),
        data = data.frame(region = c(1, 1, 2), village = c(1, 2, 3)))"""
    frame = r.cross("design_assign", arguments)
    assert frame["status"][0] == "ok"
    assert list(frame["value"][0]) == [1, 0, 1]
