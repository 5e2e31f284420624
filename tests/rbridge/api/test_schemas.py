from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dprct.errors import ColumnError, ParameterError
from dprct.rbridge.registry import exported
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.rbridge.convert import Table


def test_a_file_is_read_and_written_as_it_was(nsw_path: str, tmp_path: Path) -> None:
    table = exported("read_dta")(nsw_path)
    assert table.attach
    copy = tmp_path / "copy.dta"
    exported("write_dta")(table, str(copy), None)
    assert copy.read_bytes() == (tmp_path / nsw_path).read_bytes()
    same = exported("compare")(nsw_path, str(copy)).fields
    assert same["identical"]
    assert list(same["differences"].columns) == [
        "facet",
        "column",
        "detail",
        "permitted",
        "reason",
    ]
    table.data["age"] += 1
    other = exported("compare")(nsw_path, table).fields
    assert other["differences"]["column"].tolist() == ["age"]


def test_schemas_come_from_headers_and_toml(nsw_path: str, nsw: Table, tmp_path: Path) -> None:
    saved = tmp_path / "nsw.toml"
    exported("schema_save")(nsw.schema, str(saved))
    assert exported("schema_read")(str(saved)).live.column("re78").bounds == (0, 40000)
    assert not exported("schema_read")(nsw_path).live.opened
    with pytest.raises(ParameterError, match=r"not a \.dta or \.toml"):
        exported("schema_read")("nsw.csv")
    assert exported("schema_of_frame")(nsw).live is nsw.schema
    assert exported("schema_seal")(nsw.schema, "me").live.seal_of.by == "me"
    facts = exported("schema_facts")(nsw.schema).set_index("name")
    assert facts.loc["re78", ["low", "high"]].tolist() == [0, 40000]


def test_facts_arrive_in_the_types_of_python() -> None:
    schema = Schema(
        tuple(Column(name, "double") for name in ("age", "arm", "unit", "q", "flag", "hh"))
    )
    facts = {
        "age": {"bounds": np.array([15.0, 60.0]), "bins": 5.0, "missing": "."},
        "arm": {"levels": np.array([0.0, 1.0])},
        "unit": {"levels": 7.0},
        "q": {"bounds": np.array([0.0, 10.0]), "bins": np.array([2.0, 5.0]), "decimals": 2.0},
        "flag": {"levels": np.array([0.0, 1.0]), "missing": "never"},
    }
    unit = {"name": "household", "id": "hh", "max_rows": 3.0}
    found = exported("schema_declare")(schema, facts, "study", unit).live
    assert (found.column("age").bounds, found.column("age").bins) == ((15, 60), 5)
    assert found.column("age").missing == (".",)
    assert found.column("unit").levels == (7,)
    assert found.column("q").bins == (2, 5)
    assert (found.unit.name, found.unit.max_rows, found.dataset_id) == ("household", 3, "study")
    assert found.column("flag").missing == ()
    assert exported("schema_declare")(found, rest="drop").live.column("arm").fate == "drop"
    with pytest.raises(ColumnError, match="age"):
        exported("schema_declare")(schema, {"aeg": {"levels": 1.0}})
