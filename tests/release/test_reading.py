"""What commands find on a file whose residuals were calibrated."""

import numpy as np
import pandas as pd
import pytest

from dprct.certificate.valid_regressions import Validity
from dprct.release.calibrated.reading import breaks_of, reading_of
from dprct.release.calibrated.residuals import Specification, residuals
from dprct.results.ols import ols
from dprct.schema import Column, Schema

TARGET = 0.31


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    n = 240
    frame = pd.DataFrame(
        {
            "treat": rng.permutation(np.repeat([0.0, 1.0], [150, 90])),
            "age": rng.normal(40, 9, n),
            "town": rng.integers(0, 12, n).astype(float),
            "village": np.repeat(np.arange(24.0), 10),
        }
    )
    towns = pd.get_dummies(frame["town"], drop_first=True).to_numpy(float)
    ones = np.ones(n)
    W = np.column_stack([frame["treat"], ones, frame["age"], towns])
    start = rng.normal(size=n)
    frame["earn"] = (
        2.0
        + 0.5 * frame["treat"]
        + residuals([Specification.of(W, 1, np.array([[TARGET**2]]))], start).values
    )
    cluster = Specification.of(
        W, 1, np.array([[TARGET**2]]), frame["village"].to_numpy().astype(np.int64)
    )
    frame["hours"] = 2.0 + 0.5 * frame["treat"] + residuals([cluster], start).values
    return frame


@pytest.fixture(scope="module")
def schema(rows):
    return Schema(tuple(Column(name) for name in rows))


def by_command(reading):
    return {ratio.command: ratio for ratio in reading.ratios}


def test_the_calibrated_errors_have_ratio_one(rows, schema):
    valid = Validity(
        outcomes=("earn",), arms=("treat",), covariates=(("age", "C(town)"),), subsets_valid=True
    )
    found = by_command(reading_of(rows, schema, valid, {"earn": [TARGET]}))
    for command in (
        "regress y t x, vce(robust)",
        "regress y t x",
        "areg y t x, absorb() vce(robust)",
    ):
        assert found[command].smallest == pytest.approx(1, abs=1e-8), command
        assert not found[command].too_small
    assert found["regress y t x, vce(hc3)"].smallest > found["regress y t x, vce(hc2)"].smallest
    assert found["reghdfe y t x, absorb() vce(robust)"].where == "earn on treat"
    assert found["regress y t, vce(robust)"].too_small


def test_an_error_that_is_too_small_is_found(rows, schema):
    valid = Validity(outcomes=("earn",), arms=("treat",), covariates=(("age", "C(town)"),))
    found = by_command(reading_of(rows, schema, valid, {"earn": [1.1 * TARGET]}))
    assert found["regress y t x, vce(robust)"].too_small
    assert found["regress y t x, vce(robust)"].largest == pytest.approx(1 / 1.1, abs=1e-8)


def test_clusters_have_ratio_one_and_others_do_not(rows, schema):
    valid = Validity(
        outcomes=("hours",),
        arms=("treat",),
        covariates=(("age", "C(town)"),),
        cov_type="CR1",
        cluster="village",
    )
    found = by_command(reading_of(rows, schema, valid, {"hours": [TARGET]}))
    assert found["regress y t x, vce(cluster village)"].smallest == pytest.approx(1, abs=1e-8)
    assert abs(found["regress y t x, vce(robust)"].smallest - 1) > 1e-3
    assert any(command.startswith("reghdfe") for command in found)


def test_errors_that_do_not_exist_say_so(rows, schema):
    lonely = rows.assign(town=np.where(np.arange(len(rows)) == 0, 99.0, rows["town"]))
    valid = Validity(outcomes=("earn",), arms=("treat",), covariates=(("age", "C(town)"),))
    found = by_command(reading_of(lonely, schema, valid, {"earn": [TARGET]}))
    assert np.isnan(found["regress y t x, vce(hc3)"].smallest)
    assert np.isfinite(found["regress y t x, vce(robust)"].smallest)


def test_what_breaks_with_codes_and_bounds(rows):
    valid = Validity(outcomes=("got", "earn"), arms=("treat",))
    original = Schema(
        (Column("got", "byte", levels=(0, 1)), Column("earn", bounds=(0, 2)), Column("treat"))
    )
    lines = breaks_of(rows.assign(got=rows["earn"]), valid, original)
    assert "assert inlist(got, 0, 1) fails: 240 of 240 values" in lines[0]
    assert "logit got, probit got stop" in lines[1]
    outside = int(((rows["earn"] < 0) | (rows["earn"] > 2)).sum())
    assert lines[2] == f"{outside} of 240 values of earn lie outside its bounds"
    assert any("balance tables" in line for line in lines)
    assert any("R-squared" in line for line in lines)


def test_legal_values_break_nothing_of_their_own(rows):
    valid = Validity(outcomes=("got",), arms=("treat",))
    original = Schema((Column("got", "byte", levels=(0, 1)), Column("treat")))
    lines = breaks_of(rows.assign(got=rows["treat"]), valid, original)
    assert not any("inlist" in line or "logit" in line for line in lines)


def test_arms_of_one_categorical_column_are_its_coefficients(rows, schema):
    three = rows.assign(treat=rows["treat"] + (rows["village"] > 20))
    valid = Validity(outcomes=("earn",), arms=("C(treat)",), covariates=(("age",),))
    reading = reading_of(three, schema, valid, {"earn": [1.0, 2.0]})
    fit = ols("earn ~ C(treat) + age", three, schema)
    ratios = sorted([fit.bse["C(treat)[T.1]"] / 1.0, fit.bse["C(treat)[T.2]"] / 2.0])
    found = by_command(reading)["regress y t x, vce(robust)"]
    assert [found.smallest, found.largest] == pytest.approx(ratios)


@pytest.mark.parametrize(
    ("cov_type", "command"),
    [
        ("HC1", "regress y t x, vce(robust)"),
        ("nonrobust", "regress y t x"),
        ("HC2", "regress y t x, vce(hc2)"),
        ("HC3", "regress y t x, vce(hc3)"),
    ],
)
def test_every_command_finds_what_ols_finds(rows, schema, cov_type, command):
    both = rows.assign(hours=rows["hours"].where(rows["age"] > 30))  # each outcome has its rows
    valid = Validity(outcomes=("earn", "hours"), arms=("treat",), covariates=(("age", "C(town)"),))
    found = by_command(reading_of(both, schema, valid, {"earn": [1.0], "hours": [1.0]}))[command]
    errors = [
        ols(f"{y} ~ treat + age + C(town)", both, schema, cov_type=cov_type).bse["treat"]
        for y in ("earn", "hours")
    ]
    assert [found.smallest, found.largest] == pytest.approx(sorted(errors), rel=1e-9)
