from __future__ import annotations

import numpy as np
import pytest

from dprct.io.user_missing import Recoding, recoding_of


def single(*values: float) -> list[dict[str, float]]:
    return [{"lo": x, "hi": x} for x in values]


def test_nothing_declared_recodes_nothing() -> None:
    recoding = recoding_of([], {1.0: "one"})
    assert recoding == Recoding()
    assert recoding.codes(np.array([1.0, np.nan])).tolist() == [-1, -1]


def test_single_values_get_letters_in_ascending_order_whatever_their_order_in_the_file() -> None:
    one, two = recoding_of(single(99, -1, 98), {}), recoding_of(single(98, 99, -1), {})
    assert one == two
    assert str(one) == ".a = -1; .b = 98; .c = 99"
    assert one.codes(np.array([99.0, 98.0, 5.0, -1.0, np.nan])).tolist() == [3, 2, -1, 1, -1]
    assert not one.merged


def test_labelled_values_of_an_interval_get_their_own_letters_first() -> None:
    ranges = [{"lo": -99.0, "hi": -90.0}, *single(7)]
    recoding = recoding_of(ranges, {-98.0: "refused", 1.0: "yes", "Z": "text"})
    assert str(recoding) == ".a = -98; .b = 7; .c = -99 to -90"
    assert recoding.codes(np.array([-98.0, 7.0, -99.0, -90.0, -89.9])).tolist() == [1, 2, 3, 3, -1]
    assert recoding.merged


def test_open_intervals_reach_infinity() -> None:
    recoding = recoding_of([{"lo": 90.0, "hi": float("inf")}], {})
    assert recoding.codes(np.array([1e300, 89.0])).tolist() == [1, -1]


@pytest.mark.parametrize("labelled", [25, 26, 40])
def test_values_beyond_the_last_letter_share_it(labelled: int) -> None:
    labels = {float(k): str(k) for k in range(labelled)}
    recoding = recoding_of([{"lo": 0.0, "hi": 100.0}], labels)
    assert len(recoding.rules) == 26
    codes = recoding.codes(np.array([0.0, 24.0, 25.0, 39.0, 100.0, 101.0]))
    assert codes.tolist() == [1, 25, 26, 26, 26, -1]
