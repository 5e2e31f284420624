from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from dprct.encoding import encodings
from dprct.privacy.aggregates import _open
from dprct.queries.counts import cell_counts, one_way_counts
from dprct.schema import Column, Schema
from dprct.schema.tables import eager

SCHEMA = Schema(
    (
        Column("arm", "byte", levels=(0.0, 1.0, 2.0), bounds=(0.0, 2.0), missing=()),
        Column("region", "str5", levels=("north", "south", "")),
    )
)


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "arm": rng.integers(0, 3, n).astype(float),
            "region": np.array(["north", "south", ""], object)[rng.integers(0, 3, n)],
        }
    )


def cells(counts: object) -> Counter[tuple[int, ...]]:
    digits, numbers = _open(counts)  # type: ignore[arg-type]
    return Counter({tuple(d): int(c) for d, c in zip(digits.tolist(), numbers, strict=True)})


def test_counts_are_those_of_a_counter() -> None:
    data = table(3_000)
    found = encodings(SCHEMA, ["arm", "region"])
    names = {"north": 0, "south": 1, "": 2}
    expected = Counter(
        (int(arm), names[region]) for arm, region in zip(data["arm"], data["region"], strict=True)
    )
    counts = cell_counts(eager(data), found)
    assert cells(counts) == expected
    assert counts.radices == (3, 3)
    one_way = _open(one_way_counts(eager(data), found))
    arms, regions = Counter(data["arm"]), Counter(data["region"])
    assert one_way.tolist() == [*(arms[k] for k in range(3)), *(regions[r] for r in names)]
