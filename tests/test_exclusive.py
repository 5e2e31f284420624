"""Arms that exclude each other are one code, so that no synthetic row is in two of them."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dprct import MVHistogram, Schema
from dprct.encoding import decoded, encodings, prepared_for
from dprct.errors import SchemaError
from dprct.privacy.aggregates import cell_count
from dprct.schema import Column

ARMS = ("cash", "therapy", "both")


def schema(**changes: object) -> Schema:
    dummy = {"levels": [0, 1], "missing": "never", "exclusive": "arm", "fate": "modelled"}
    facts: dict[str, object] = {name: dict(dummy) for name in ARMS}
    facts["y"] = {"levels": [0, 1], "missing": "never", "fate": "modelled"}
    facts.update(changes)
    columns = tuple(Column(name, "byte") for name in ("cash", "y", "therapy", "both"))
    return Schema(columns).declare(**facts)


def table(n: int = 400) -> pd.DataFrame:
    group = np.arange(n) % 4
    dummies = {name: (group == k).astype(float) for k, name in enumerate(ARMS, 1)}
    return pd.DataFrame({**dummies, "y": (np.arange(n) % 3 == 0).astype(float)})[
        ["cash", "y", "therapy", "both"]
    ]


def test_three_dummies_have_four_codes_and_come_back() -> None:
    found = schema()
    codes = encodings(found, found.names)
    assert [(code.name, code.size) for code in codes] == [("cash", 4), ("y", 2)]
    for data in (table(), pl.DataFrame(table())):
        frame = nw.from_native(data, eager_only=True)
        rows = prepared_for(frame, codes).select(*[code.expression() for code in codes]).to_numpy()
        back = decoded(codes, rows, np.random.default_rng(1))
        for name in found.names:
            np.testing.assert_array_equal(back[name], table()[name].to_numpy())


def test_encoding_is_total() -> None:
    odd = pd.DataFrame({name: [1.0, np.nan, np.inf, -5.0, 1.0] for name in ARMS} | {"y": [0.0] * 5})
    codes = encodings(schema(), ARMS)
    frame = prepared_for(nw.from_native(odd, eager_only=True), codes)
    found = frame.select(*[code.expression() for code in codes]).to_numpy()
    assert ((found >= 0) & (found <= 3)).all()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_released_row_is_in_two_arms(epsilon: float) -> None:
    """One by one the dummies would have 16 cells with y, 8 of them impossible."""
    model = MVHistogram(table(), schema())
    assert "K" in model.plan(epsilon).facts
    assert cell_count(model.facts.sizes) == 8
    for _ in range(20):
        protected = model.fit(epsilon, confirm=True).protected
        assert protected[list(ARMS)].sum(axis=1).max() <= 1
    assert list(protected) == ["cash", "y", "therapy", "both"]


def test_several_ones_are_refused_at_the_door() -> None:
    data = table()
    data.loc[7, list(ARMS)] = 1.0
    with pytest.raises(SchemaError, match="cash, therapy, both: a row with several") as caught:
        MVHistogram(data, schema())
    assert "7" not in str(caught.value)


@pytest.mark.parametrize(
    "facts",
    [
        {"levels": [0, 1, 2], "missing": "never"},
        {"levels": [0, 1], "missing": ["."]},
        {"bounds": (0, 1), "missing": "never"},
    ],
)
def test_a_member_is_zero_or_one_and_never_missing(facts: dict[str, object]) -> None:
    declared = schema(cash=facts | {"exclusive": "arm", "fate": "modelled"})
    with pytest.raises(SchemaError, match=r"'cash' is in the exclusive group 'arm'"):
        MVHistogram(table(), declared)


@pytest.mark.parametrize(
    ("fate", "said"), [("public", "modelled or public"), ("filler", "filler or modelled")]
)
def test_a_group_is_modelled_or_public_as_a_whole(fate: str, said: str) -> None:
    apart = {"levels": [0, 1], "missing": "never", "exclusive": "arm", "fate": fate}
    with pytest.raises(SchemaError, match=f"'arm' has columns whose fate is {said}, so"):
        MVHistogram(table(), schema(cash=apart))
    filled = {**apart, "fate": "filler"}
    with pytest.raises(SchemaError, match="'arm' has columns whose fate is filler, so"):
        MVHistogram(table(), schema(cash=filled, therapy=filled, both=filled))
    given = {**apart, "fate": "public"}
    public = schema(cash=given, therapy=given, both=given)
    found = MVHistogram(table(), public).fit(20).protected[list(ARMS)]
    assert (found.sum() == table()[list(ARMS)].sum()).all()
    assert found.sum(axis=1).max() == 1
