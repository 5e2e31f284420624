"""A plan from the header alone is the plan of the command, where the design says the arms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dprct.errors import DprctError
from dprct.study.header_plan import NO_NOISE, expected_errors, header_plan
from dprct.study.headers import header_and_rows
from dprct.study.ready import planned
from dprct.study.study import Study, load_study

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def histogram() -> Study:
    return load_study(DATA / "thornton.toml")


@pytest.fixture
def calibrated() -> Study:
    return load_study(DATA / "nsw.toml")


def test_a_histogram_has_the_plan_of_the_command(histogram: Study) -> None:
    found = header_plan(histogram, *header_and_rows(histogram))
    assert str(found) == str(planned(histogram))


def test_a_calibrated_file_has_its_errors_but_for_the_sizes_of_arms(calibrated: Study) -> None:
    found = header_plan(calibrated, *header_and_rows(calibrated))
    bound = planned(calibrated)
    assert found is not None
    assert [*found.facts] == [*bound.facts]
    here, there = (one.errors()["re78: treat"]["std_error"] for one in (found, bound))
    assert here == pytest.approx(there, rel=0.1)


def test_errors_fall_to_the_sampling_error(calibrated: Study) -> None:
    known = header_and_rows(calibrated)
    errors = [expected_errors(calibrated, *known, epsilon)[0] for epsilon in (0.5, 2.0, NO_NOISE)]
    half, two, free = (one.error for one in errors)
    assert half is not None
    assert two is not None
    assert free is not None
    assert half > two > free
    assert errors[0].noise == pytest.approx(4 * errors[1].noise, rel=1e-6)
    # two means of about 222 people with the declared sd of 6,500
    assert free == pytest.approx(6500 * (2 / 222.5) ** 0.5, rel=0.01)


def test_a_histogram_says_how_many_rows_survive(histogram: Study) -> None:
    known = header_and_rows(histogram)
    found = [expected_errors(histogram, *known, epsilon)[0] for epsilon in (0.1, 1.0, 8.0)]
    thresholds = [one.noise for one in found]
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[0] > thresholds[-1]
    assert all(one.error is None and "to be released" in one.what for one in found)


def test_what_the_header_does_not_tell_is_not_planned(histogram: Study) -> None:
    header, rows = header_and_rows(histogram)
    published = replace(
        histogram, release=replace(histogram.release, method="published_mv_histogram")
    )
    assert header_plan(published, header, rows) is None
    assert expected_errors(published, header, rows, 1.0) == []
    assert header_plan(histogram, header, None) is None


def test_a_budget_that_buys_nothing_is_refused(histogram: Study) -> None:
    with pytest.raises(DprctError):
        expected_errors(histogram, *header_and_rows(histogram), -1.0)
