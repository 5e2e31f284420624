from __future__ import annotations

import numpy as np
import pytest

from dprct.assignment import Block, Complete, Simple
from dprct.release.calibrated.outcomes import PublicRows

N = 400


def rows(seed: int = 1) -> PublicRows:
    rng = np.random.default_rng(seed)
    block = np.arange(N) % 4 * 1.0
    arm = np.concatenate([rng.permutation(np.arange(100) % 2) for _ in range(4)])
    arm = arm.reshape(4, 100).T.reshape(-1)
    columns = {"block": block, "t": arm * 1.0, "place": block * 10}
    return PublicRows(columns, arm, (np.ones(N, bool), rng.random(N) < 0.8), None)


def test_rows_are_shuffled_together() -> None:
    before, after = rows(), rows().shuffled(np.random.default_rng(2))
    assert after.columns["block"].tolist() != before.columns["block"].tolist()
    assert (after.columns["place"] == after.columns["block"] * 10).all()
    assert (after.columns["t"] == after.arms).all()
    kept = [sorted(zip(r.arms, r.observed[1], strict=True)) for r in (before, after)]
    assert kept[0] == kept[1]


def test_treatment_is_drawn_anew_where_arm_sizes_hold() -> None:
    before = PublicRows(rows().columns, rows().arms, (np.ones(N, bool),), None)
    after = before.reassigned(Block("t", block="block"), np.random.default_rng(2))
    assert (after.arms != before.arms).mean() == pytest.approx(0.5, abs=0.15)
    assert (after.columns["t"] == after.arms).all()
    for block in range(4):
        assert after.arms[after.columns["block"] == block].sum() == 50


@pytest.mark.parametrize("design", [Simple("t"), Complete("t", shares=0.3), Complete("t")])
def test_the_realised_assignment_stays_where_a_draw_has_other_sizes(design: object) -> None:
    before = rows()  # of Complete: among those observed
    after = before.reassigned(design, np.random.default_rng(3))  # type: ignore[arg-type]
    assert after is before


def test_codes_follow_the_control_group_that_was_named() -> None:
    before = PublicRows(
        {"t": 1.0 - rows().arms}, rows().arms, (np.ones(N, bool),), None
    )  # control is t == 1
    after = before.reassigned(Complete([0, 1], arm="t"), np.random.default_rng(2))
    assert (after.columns["t"] == 1 - after.arms).all()
