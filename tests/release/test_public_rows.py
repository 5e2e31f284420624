from __future__ import annotations

import numpy as np
import pytest

from dprct.assignment import Block, Complete, Simple
from dprct.missing import tagged
from dprct.release.calibrated.outcomes import PublicRows
from dprct.release.columns import Packed

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


def test_columns_are_packed_where_whole_numbers_give_them_back_to_the_bit() -> None:
    long = np.arange(70_000) % 2 * 1.0
    columns = {
        "byte": np.array([-128.0, 127]), "int": np.array([0.0, 128]), "long": np.array([1.0, 2e9]),
        "large": np.array([0.0, 2.0**31]), "half": np.array([0.5, 1]), "minus": np.array([-0.0, 1]),
        "missing": tagged(np.array([0, 3])), "infinite": np.array([np.inf, 1]),
        "text": np.array(["a", ""], object), "codes": np.array([1, 2]),
        "late": np.append(long, 0.25), "all": long,
        "odd": np.array(["a", "a\0", b"a", "\udcff"], object), "gap": np.array([None, "a"], object),
        "texts": np.array([*map(str, range(70_000))], object),
    }  # fmt: skip
    packed = Packed(columns)
    sizes = {name: values.itemsize for name, values in packed._held.items()}
    assert sizes == {
        **dict.fromkeys(columns, 8),
        "byte": 1,
        "int": 2,
        "long": 4,
        "all": 1,
        "text": 2,
        "odd": 2,
    }
    for name, values in columns.items():
        assert packed[name].dtype == values.dtype
        assert packed[name].tobytes() == values.tobytes()
        assert packed.taken(np.array([1, 0]))[name].tolist()[0] is not None


def test_who_changes_a_packed_column_does_not_change_it_for_others() -> None:
    packed = Packed({"t": np.array([0.0, 1.0])})
    packed["t"][:] = 7
    assert packed["t"].tolist() == [0, 1]
