"""The one draw of moments on worst-case neighbours: a lower bound on mu of the whole fit.

A row moves sums by r r', and another one in its place by s s': together by root 2 |r|^2 where the
two rows are in different cells, or at right angles, and both on the surface of the ball.  The score
is the projection of all that is released on that direction, so that one threshold and two error
rates bound mu.  An audit alarms falsely once in 1e9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Budget, Column, PrivateATE, PrivateMoments, Schema
from dprct.estimate.moments.release import gaussian_of
from dprct.privacy.aggregates import _open
from dprct.privacy.noise import source
from tests.statistical.auditing import lower_mu

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, float]

N = 40
BUDGET = Budget(4, 1e-6)
NEVER: dict[str, Any] = {"missing": ()}
SCHEMA = Schema(
    (
        Column("y", bounds=(-8.0, 8.0), **NEVER),
        Column("w", bounds=(-8.0, 8.0), **NEVER),
        Column("g", "byte", levels=(0.0, 1.0), **NEVER),
        Column("t", "byte", levels=(0.0, 1.0), **NEVER),
    )
)
HALF = dprct.Simple("t", shares=0.5)
SCALED = SCHEMA.declare(y={"sd": 1.0, "centre": 0.0}, w={"sd": 1.0, "centre": 0.0})


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in the first row."""

    method: str
    neighbours: str
    first: Row
    other: Row
    model: Callable[[pd.DataFrame], Any]

    def models(self) -> tuple[Any, Any]:
        """Return the model on either table."""
        rows = pd.DataFrame({"y": 0.0, "w": 0.0, "g": 0.0, "t": np.arange(N) % 2.0})
        tables = []
        for row in (self.first, self.other):
            table = rows.copy()
            table.loc[0, list(row)] = list(row.values())
            tables.append(table)
        return self.model(tables[0]), self.model(tables[1])


PAIRS = [
    Pair(
        "PrivateMoments", "a row at the corner of the box moves to another private cell",
        {"y": 8.0, "w": -8.0, "g": 0.0}, {"y": 8.0, "w": -8.0, "g": 1.0},
        lambda rows: PrivateMoments(rows, SCHEMA, columns=["y", "w"], subgroups=["g"]),
    ),
    Pair(
        "PrivateMoments", "a row far outside the ball, which is counted, moves to another cell",
        {"y": 8.0, "w": 8.0, "g": 0.0}, {"y": 8.0, "w": 8.0, "g": 1.0},
        lambda rows: PrivateMoments(
            rows, SCALED, formulas=["y ~ w"], subgroups=["g"], radius=1.5, cov_type="nonrobust"
        ),
    ),
    Pair(
        "PrivateATE, delta > 0", "a control person moves from bound to bound",
        {"y": 8.0}, {"y": -8.0},
        lambda rows: PrivateATE(rows, SCHEMA, outcome="y", treatment="t"),
    ),
    Pair(
        "PrivateATE, delta > 0", "treatment private: a person moves to the other arm",
        {"y": 8.0, "w": 8.0, "t": 0.0}, {"y": 8.0, "w": 8.0, "t": 1.0},
        lambda rows: PrivateATE(rows, SCHEMA.declare(y={"sd": 1.0}, w={"sd": 1.0}),
                                outcome=["y", "w"], assignment=HALF, neighbors="replace-one"),
    ),
]  # fmt: skip


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Add each frame up once; the sealed sums are kept, in the order of the frames."""
    from dprct.estimate.moments import release

    kept: dict[int, Any] = {}
    sealed: list[Any] = []
    original = release.moment_sums

    def once(frame: Any, *rest: Any) -> Any:
        if id(frame) not in kept:
            kept[id(frame)] = (frame, original(frame, *rest))
            sealed.append(kept[id(frame)][1])
        return kept[id(frame)][1]

    monkeypatch.setattr(release, "moment_sums", once)
    return sealed


def scores(model: Any, direction: np.ndarray[Any, Any], draws: int) -> Any:
    """Return the projection of what each fit draws on a direction of its symmetric matrices."""
    allocation, noise = model._allocated(BUDGET), source()
    return np.array(
        [
            float((model._draw(allocation, noise).sums.astype(float) * direction).sum())
            for _ in range(draws)
        ]
    )


def directed(pair: Pair, sealed: list[Any]) -> tuple[Any, Any, Any]:
    """Return both models, and the difference of their sums as matrices; it is the sensitivity."""
    one, other = pair.models()
    allocation = one._allocated(BUDGET)
    for model in (one, other):
        model._draw(allocation, source())
    first, second = (np.array(_open(vector), float) for vector in sealed)
    assert ((first - second) ** 2).sum() >= 0.999 * float(gaussian_of(allocation).l2_squared)
    size = len(one._draw(allocation, source()).sums[0])
    apart = (second - first).reshape(-1, size * size - (len(first) % (size * size) != 0))
    if apart.shape[1] < size * size:  # a public number of rows is not released
        apart = np.column_stack([np.zeros(len(apart)), apart])
    return one, other, apart.reshape(-1, size, size)


@pytest.mark.audit
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.neighbours)
def test_the_claim_holds_and_is_nearly_reached(
    pair: Pair, remembered: list[Any], certified: Callable[..., None]
) -> None:
    one, other, direction = directed(pair, remembered)
    claim = float(gaussian_of(one._allocated(BUDGET)).noise.mu)
    found = lower_mu(
        scores(one, direction, 60_000), scores(other, direction, 60_000), alpha=1e-9
    )  # fmt: skip
    certified(
        found, claim, method=pair.method, neighbours=pair.neighbours,
        event="projection of all sums on the direction that moves",
    )  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.neighbours)
def test_these_neighbours_move_the_sums_by_the_whole_sensitivity(
    pair: Pair, remembered: list[Any]
) -> None:
    """And noise of a quarter of the claimed size is refuted by a hundredth of the draws."""
    one, other, direction = directed(pair, remembered)
    claim = float(gaussian_of(one._allocated(BUDGET)).noise.mu)
    first, second = scores(one, direction, 1000), scores(other, direction, 1000)
    assert not lower_mu(first, second, alpha=1e-9).refutes(claim)
    middle = float(np.mean(first)), float(np.mean(second))
    less = [centre + (found - centre) / 4 for found, centre in
            zip((first, second), middle, strict=True)]  # fmt: skip
    assert lower_mu(*less, alpha=1e-9).refutes(claim)
