"""A file that Stata could not hold is refused when the model is made, before any charge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Calibrated, Complete, Marginals, MVHistogram, Schema, Unit, published
from dprct.cli import main
from dprct.errors import SchemaError
from dprct.io.stata.names import check_name, former_names, stata_names, under_stata_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = 400
LEVELS = {"levels": [0, 1], "missing": "never"}


def _informed(method: Any, data: Any, schema: Any, other: str) -> Any:
    return method(
        data, schema, formula=f"y ~ t + `{other}`", treatment="t", assignment=Complete("t")
    )


METHODS: dict[str, Callable[[Any, Any, str], Any]] = {
    "MVHistogram": lambda data, schema, other: MVHistogram(data, schema, columns=["t", other]),
    "Marginals": lambda data, schema, other: Marginals(data, schema, columns=["t", other]),
    "Calibrated": lambda data, schema, other: Calibrated(
        data, schema, outcome=other, assignment=Complete("t")
    ),
    "published.MVHistogram": lambda data, schema, other: published.MVHistogram(
        data, schema, columns=["t", other]
    ),
    "published.Hybrid": lambda *given: _informed(published.Hybrid, *given),
    "published.GenModel": lambda *given: _informed(published.GenModel, *given),
}  # fmt: skip

NAMES = {
    "inc.total": "inc_total", "int": "int_", "if": "if_", "my var": "my_var", "1x": "_1x",
    "_all": "_all_", "str9": "str9_", "a" * 33: "a" * 32,
}  # fmt: skip


def bound(method: str, name: str, **facts: Any) -> Any:
    data = pd.DataFrame(
        {
            "y": np.linspace(0, 1, ROWS),
            "t": np.arange(ROWS) % 2.0,
            name: np.arange(ROWS) // 2 % 2.0,
        }
    )
    declared = {"y": {"bounds": (0, 1), "missing": "never"}, "t": LEVELS, name: LEVELS | facts}
    schema = Schema.from_frame(data).declare(**declared)
    if method in ("MVHistogram", "Marginals", "Calibrated", "published.MVHistogram"):
        schema = schema.declare(y={"fate": "filler"})
    return METHODS[method](data, schema, name)


@pytest.mark.parametrize("method", METHODS)
def test_names_that_stata_lacks_are_refused_with_one_that_it_has(method: str) -> None:
    for name, instead in NAMES.items():
        with pytest.raises(SchemaError, match=rf"Stata.*rename the column, such as to '{instead}'"):
            bound(method, name)
        bound(method, instead)


@pytest.mark.parametrize("method", METHODS)
def test_a_label_that_is_too_long_is_refused(method: str) -> None:
    with pytest.raises(SchemaError, match="label"):
        bound(method, "x", label="x" * 400)


def test_names_of_stata_are_kept_and_others_get_one_that_no_column_has() -> None:
    assert stata_names(["age", "inc_total", "b10"]) == {}
    found = stata_names([*NAMES, "inc_total", "a" * 32])
    assert found == {**NAMES, "inc.total": "inc_total_2", "a" * 33: "a" * 30 + "_2"}
    assert stata_names(["a.b", "a b", "", "é.1", "𝟙"])["a b"] == "a_b_2"
    for made in stata_names(["", " ", "9" * 40, "str5", "str2045x.", "...", "\0", "if."]).values():
        check_name(made)


def test_declared_facts_follow_the_names_of_their_columns() -> None:
    frame = pd.DataFrame({"p.id": [1.0, 2.0], "inc.total": [1.0, 3.0], "poor": [1.0, 0.0]})
    facts = Schema.from_frame(frame).declare(
        poor={"levels": [0, 1], "derived": "`inc.total` < 2"},
        unit=Unit("pupil", id="p.id"),
    )
    _, found = under_stata_names(frame, facts)
    assert found.unit.id == "p_id"
    assert found.column("poor").derived == "inc_total < 2"
    made = Schema.from_frame(frame).declare(poor={"made_of": ["inc.total"]})
    _, made = under_stata_names(frame, made)
    assert made.column("poor").made_of == ("inc_total",)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_read_under_names_of_stata_is_released_with_the_former_names(
    ending: str, tmp_path: Path
) -> None:
    names = [*NAMES, "inc_total"]
    frame = pd.DataFrame({name: np.arange(ROWS) // 2 % 2.0 for name in names})
    source = tmp_path / f"odd{ending}"
    frame.to_csv(source, index=False) if ending == ".csv" else frame.to_parquet(source)
    data, schema = dprct.read(source, names="stata")
    assert list(data) == schema.names == [*stata_names(names).values(), "inc_total"]
    schema = schema.declare(**{name: LEVELS for name in schema.names})
    model = Marginals(data, schema, columns=schema.names)
    certificate = model.fit(epsilon=4).write_dta(tmp_path / "odd.dta")
    assert "name of inc_total_2: 'inc.total' in the data" in certificate.to_text()
    assert former_names(Schema.from_dta(tmp_path / "odd.dta")) == stata_names(names)
    found = dprct.compare(source, tmp_path / "odd.dta")
    assert not found.unexpected
    assert {(d.column, d.detail) for d in found.permitted if d.facet == "name"} == {
        (new, f"{old!r} in the first") for old, new in stata_names(names).items()
    }


def test_a_study_reads_its_file_under_names_of_stata(
    tmp_path: Path, command_line: Callable[..., Any]
) -> None:
    """From the draft that describe writes to the protected file and its comparison."""
    shell = command_line(main)
    frame = pd.DataFrame({name: np.arange(ROWS) // 2 % 2 for name in ("inc.total", "int")})
    frame.to_csv(tmp_path / "odd.csv", index=False)
    study = tmp_path / "study.toml"
    assert shell("describe", tmp_path / "odd.csv", "--draft", study).code == 0
    text = study.read_text("utf-8").replace("confirm = false", "confirm = true")
    assert 'names = "stata"' in text
    for name in ("inc_total", "int_"):
        facts = 'fate = "modelled"\nlevels = [0, 1]\nmissing = "never"\n'
        text = text.replace(f"[columns.{name}]\n", f"[columns.{name}]\n{facts}")
    study.write_text(text.replace("epsilon = 1.0", "epsilon = 8.0", 1), "utf-8")
    for command in ("check", "plan"):
        ran = shell(command, study)
        assert ran.code == 0, ran.out + ran.err
    ran = shell("protect", study, "--yes")
    assert ran.code == 0, ran.err
    ran = shell("compare", tmp_path / "odd.csv", tmp_path / "odd_protected.dta")
    assert ran.code == 0, ran.out
    assert "name of inc_total: 'inc.total' in the first [permitted" in ran.out
    study.write_text(text.replace('names = "stata"', 'names = "r"'), "utf-8")
    assert "allowed: same, stata" in shell("check", study).err
    study.write_text(text.replace("odd.csv", "odd.dta"), "utf-8")
    assert "files of other programs" in shell("check", study).err
