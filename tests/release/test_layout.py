from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct.errors import SchemaError
from dprct.release.calibrated.layout import Layout, prepared_schema, regressions_of

if TYPE_CHECKING:
    from dprct.schema import Schema

REGRESSIONS = regressions_of(["earn"], ("t", "t2"), ["old", "female", "C(village)"], [], ["t"])


def laid(schema: Schema, *, strict: bool = False) -> Layout:
    return Layout(prepared_schema(schema, REGRESSIONS, ["t", "t2"]), REGRESSIONS, strict)


def test_outcomes_are_modelled_and_the_design_is_public(trial_schema: Schema) -> None:
    found = prepared_schema(trial_schema, REGRESSIONS, ["t", "t2"])
    fates = {c.name: c.fate for c in found.columns}
    assert (fates["earn"], fates["t"], fates["village"]) == ("modelled", "public", "public")
    assert prepared_schema(found, REGRESSIONS, ["t", "t2"]) is found


def test_covariates_are_what_is_modelled_and_no_outcome(trial_schema: Schema) -> None:
    layout = laid(trial_schema)
    assert layout.covariates.names == ["age", "female", "region"]
    assert layout.complete == {"old", "age", "female", "village"}  # parents of derived ones too
    fates = {c.name: c.fate for c in layout.fated("filler").columns}
    assert (fates["age"], fates["earn"]) == ("filler", "modelled")
    assert layout.fated("marginals") is layout.schema


def test_released_outcomes_are_doubles_unless_strict(trial_schema: Schema) -> None:
    layout = laid(trial_schema)
    assert layout.released(layout.schema).column("earn").type == "double"
    strict = laid(trial_schema, strict=True)
    assert strict.released(strict.schema) == strict.schema


@pytest.mark.parametrize("values", [np.array([1.0, np.nan]), np.array(["a", ""], dtype=object)])
def test_a_public_covariate_is_complete(trial_schema: Schema, values: Any) -> None:
    layout = laid(trial_schema)
    layout.check_public({"village": np.array([1.0, 2.0]), "school": values})
    with pytest.raises(SchemaError, match="'village' is in a regression and has missing"):
        layout.check_public({"village": values})


@pytest.mark.parametrize(
    ("name", "facts", "words"),
    [
        ("earn", {"fate": "filler"}, "an outcome and its declared fate is 'filler'"),
        ("earn", {"derived": "age * 2"}, "an outcome and derived"),
        *(
            ("t", {"fate": fate}, f"'t' is part of the design, which is public.* is {fate!r}; give")
            for fate in ("modelled", "filler", "withheld", "key", "drop")
        ),
        ("female", {"fate": "key"}, "a covariate and its declared fate is 'key'"),
    ],
)
def test_fates_that_contradict_the_part_a_column_plays(
    trial_schema: Schema, name: str, facts: dict[str, Any], words: str
) -> None:
    with pytest.raises(SchemaError, match=words):
        laid(trial_schema.declare(**{name: facts}))
