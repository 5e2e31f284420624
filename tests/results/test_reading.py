"""The table of errors that a certificate carries."""

import json
import math

import pytest

from dprct.results.reading import TOLERANCE, ErrorRatio, Reading

READING = Reading(
    (
        ErrorRatio("regress y t x, vce(robust)", 1.0, 1 + 1e-13, "earn on cash"),
        ErrorRatio("regress y t x", 0.91, 1.25, "earn on cash"),
        ErrorRatio("regress y t x, vce(hc3)", math.nan, math.nan),
    ),
    ("logit got stops",),
)


def test_only_what_is_too_small_is_marked():
    heading, robust, classical, hc3 = READING.lines()
    assert heading.split() == ["command", "smallest", "largest"]
    assert "!" not in robust
    assert classical.endswith("0.9100   1.2500  ! too small (earn on cash)")
    assert hc3.split()[-2:] == ["none", "none"]


@pytest.mark.parametrize(("ratio", "marked"), [(1.0, False), (1 - 10 * TOLERANCE, True)])
def test_rounding_is_not_too_small(ratio, marked):
    assert ErrorRatio("regress", ratio, 2.0).too_small is marked


def test_numbers_stand_below_each_other():
    ends = {line.index("    1") for line in READING.lines()[1:2]}
    assert len({len(line.split("  !")[0]) for line in READING.lines()}) == 1
    assert ends


def test_json_comes_back_with_null_for_what_does_not_exist():
    content = json.loads(json.dumps(READING.to_dict(), allow_nan=False))
    assert content["ratios"][2]["smallest"] is None
    again = Reading.from_dict(content)
    assert again.lines() == READING.lines()
    assert again.breaks == READING.breaks


def test_an_empty_reading_is_a_heading():
    assert len(Reading().lines()) == 1
