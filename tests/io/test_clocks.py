from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from dprct.io.clocks import Clock, clock_of


def stata_days(day: dt.date) -> int:
    return (day - dt.date(1960, 1, 1)).days


@pytest.mark.parametrize("day", [dt.date(1582, 10, 15), dt.date(1960, 1, 1), dt.date(2024, 2, 29)])
def test_spss_counts_seconds_from_the_gregorian_reform(day: dt.date) -> None:
    seconds = (day - dt.date(1582, 10, 14)).days * 86_400.0
    raw = np.array([seconds, np.nan])
    np.testing.assert_array_equal(
        clock_of("DATE11", "SPSS").to_stata(raw), [stata_days(day), np.nan]
    )
    np.testing.assert_array_equal(
        clock_of("DATETIME20", "SPSS").to_stata(raw + 1.5),
        [stata_days(day) * 86_400_000 + 1500, np.nan],
    )


@pytest.mark.parametrize("day", [dt.date(1959, 12, 31), dt.date(2024, 2, 29)])
def test_sas_counts_from_1960_as_stata_does(day: dt.date) -> None:
    days = np.array([float(stata_days(day))])
    assert clock_of("DATE9.", "SAS").to_stata(days).tolist() == days.tolist()
    moments = clock_of("DATETIME19.", "SAS").to_stata(days * 86_400)
    assert moments.tolist() == (days * 86_400_000).tolist()


@pytest.mark.parametrize(
    ("original", "system", "expected"),
    [
        ("DATE11", "SPSS", "%td"),
        ("ADATE10", "SPSS", "%tdNN/DD/CCYY"),
        ("MOYR8", "SPSS", "%tdMon_CCYY"),
        ("YMDHMS", "SPSS", "%tc"),
        ("TIME8", "SPSS", "%tcHH:MM:SS"),
        ("F8.2", "SPSS", "%8.2f"),
        ("F3.0", "SPSS", "%3.0f"),
        ("COMMA10.2", "SPSS", "%10.2fc"),
        ("N4", "SPSS", ""),
        (None, "SAS", ""),
        ("", "SAS", ""),
        ("BEST12.", "SAS", ""),
        ("date9.", "SAS", "%td"),
        ("MMDDYY10.", "SAS", "%tdNN/DD/CCYY"),
        ("E8601DA10.", "SAS", "%tdCCYY-NN-DD"),
        ("TIME8.", "SAS", "%tcHH:MM:SS"),
    ],
)
def test_formats_are_translated(original: str | None, system: str, expected: str) -> None:
    clock = clock_of(original, system)
    assert clock.format == expected
    assert clock.lost == ""


@pytest.mark.parametrize(
    ("original", "system"), [("SEXFMT.", "SAS"), ("DOLLAR8.2", "SPSS"), ("F2.2", "SPSS?")]
)
def test_formats_that_are_not_known_leave_the_numbers_and_are_said(
    original: str, system: str
) -> None:
    clock = clock_of(original, system)
    assert clock.format == ""
    assert clock.to_stata(np.array([3.0])).tolist() == [3.0]
    assert bool(clock.lost) == (not original.startswith("F2"))


def test_durations_stay_seconds() -> None:
    assert clock_of("DTIME10", "SPSS") == Clock(lost="that seconds are shown as a duration")
