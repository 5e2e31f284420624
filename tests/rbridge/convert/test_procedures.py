from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dprct import Custom
from dprct.errors import ColumnError, DprctError
from dprct.rbridge.convert import RError, RProcedure, from_r

ROWS = pd.DataFrame({"site": [1.0, 2, 2, 1]})


@pytest.fixture
def design(r):
    table = from_r(r("data.frame(site = factor(c('u', 'v')), day = as.Date('2020-01-01') + 0:1)"))

    def made(code: str, columns="t", **facts) -> Custom:
        procedure = RProcedure(from_r(r(code)), table.schema, table.like)
        return Custom(procedure, columns, uses=["site"], **facts)

    return made


def test_a_closure_sees_the_rows_as_r_knows_them(r, design):
    code = """function(d) {
        stopifnot(is.factor(d$site), identical(levels(d$site), c("u", "v")), ncol(d) == 1L)
        as.integer(d$site == "v")
    }"""
    assert design(code).assign(ROWS)["t"].tolist() == [0, 1, 1, 0]


def test_its_random_numbers_follow_the_generator_and_leave_r_alone(r, design):
    chance = design("function(d) rbinom(nrow(d), 1, 0.5)")
    rows = pd.concat([ROWS] * 30, ignore_index=True)
    r("set.seed(1)")
    first, again, other = (chance.assign(rows, rng=k)["t"].to_numpy() for k in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert r.identical(r("runif(1)"), r("{set.seed(1); runif(1)}"))


def test_several_columns_come_as_a_frame_or_a_list(r, design):
    for code in ("data.frame(a = c(1, 0, 0, 0), b = 0)", "list(a = c(1, 0, 0, 0), b = rep(0, 4))"):
        found = design(f"function(d) {code}", ["a", "b"]).assign(ROWS)
        assert found.to_numpy().tolist() == [[1, 0], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("function(d) c(0, 1, 0)", "3 rows"),
        ("function(d) NULL", "treatment|table"),
        ("function(d) c(0, 1, 2, 0)", "refused"),
        ("function(d) c(0, 1, NA, 0)", "refused"),
    ],
)
def test_length_and_arms_are_checked(r, design, code, words):
    with pytest.raises(DprctError, match=words):
        design(code).assign(ROWS)


def test_other_columns_are_refused(r, design):
    with pytest.raises(ColumnError):
        design("function(d) data.frame(u = rep(0, 4))").assign(ROWS)


def test_an_error_in_the_closure_is_its_own(r, design):
    with pytest.raises(RError, match="my own"):
        design("function(d) stop('my own words')").assign(ROWS)
