"""A file that Stata could not hold is refused when the model is made, before any charge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct import Calibrated, Complete, Marginals, MVHistogram, Schema, published
from dprct.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

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
