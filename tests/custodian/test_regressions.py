from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.custodian.effects_compared import Regressions
from dprct.custodian.tables import confidential_source, released_sources
from dprct.errors import ColumnError, FormulaError, ParameterError
from dprct.missing import tagged

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = ["estimate", "std.error", "df", "nobs"]


def with_gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Missing codes in one outcome and in a covariate, and weights of which some are zero."""
    rows = rows.copy()
    rows.loc[rows.index[:20], "work"] = tagged([0] * 10 + [2] * 10)
    rows.loc[rows.index[15:30], "age"] = tagged([26] * 15)
    rows["w"] = np.arange(len(rows)) % 4.0
    return rows


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cov_type": "nonrobust"},
        {"cov_type": "HC3"},
        {"cluster": "village"},
        {"weights": "w"},
        {"weights": "w", "weights_type": "pweight", "cluster": "village"},
    ],
)
def test_a_formula_gives_what_ols_gives(confidential: pd.DataFrame, options: Any) -> None:
    rows = with_gaps(confidential)
    side = "cash + therapy + age + C(village) + cash:age"
    ours, _ = Regressions.from_formula(f"earn + I(work * 2) ~ {side}", (), **options).effects(
        confidential_source(rows)
    )
    for outcome in ("earn", "I(work * 2)"):
        fit = dprct.ols(f"{outcome} ~ {side}", rows, **options)
        own = ours[ours["outcome"] == outcome].set_index("arm")
        theirs = fit.tidy().set_index("term").drop("Intercept")
        pd.testing.assert_frame_equal(
            own[["estimate", "std.error", "conf.low", "conf.high"]],
            theirs[["estimate", "std.error", "conf.low", "conf.high"]],
            check_names=False,
            rtol=1e-8,
        )
        assert set(own["nobs"]) == {fit.nobs}


def test_arms_give_what_the_table_of_effects_gives(confidential: pd.DataFrame) -> None:
    rows = with_gaps(confidential)
    rows["control"] = ((rows["cash"] == 0) & (rows["therapy"] == 0) & (rows["age"] > 25)) * 1.0
    sets = {"none": [], "age": ["age"]}
    ours = Regressions.of_arms(("earn", "work"), ("cash", "therapy"), sets, ("village",), "control")
    found, reasons = ours.effects(confidential_source(rows))
    table = dprct.itt_table(
        rows,
        outcomes=["earn", "work"],
        arms=["cash", "therapy"],
        covariates=sets,
        blocks=["village"],
        control="control",
    )
    keys = ["covariates", "outcome", "arm"]
    pd.testing.assert_frame_equal(
        found[[*keys, *NUMBERS]], table.tidy()[[*keys, *NUMBERS]], rtol=1e-8, check_dtype=False
    )
    assert reasons == []


def test_intervals_follow_alpha(confidential: pd.DataFrame) -> None:
    source = confidential_source(confidential)
    found, _ = Regressions.from_formula("earn ~ cash", (), alpha=0.2).effects(source)
    low_high = dprct.ols("earn ~ cash", confidential).conf_int(0.2).loc["cash"]
    assert found[["conf.low", "conf.high"]].iloc[0].tolist() == pytest.approx(list(low_high))


def test_residuals_add_up_and_belong_to_the_fit(confidential: pd.DataFrame) -> None:
    rows = with_gaps(confidential)
    source = confidential_source(rows)
    for options in ({}, {"weights": "w"}):
        regressions = Regressions.from_formula("earn + work ~ cash + age", (), **options)
        found = regressions.residuals(source, "work", "")
        fit = dprct.ols("work ~ cash + age", rows, **options)
        used = rows.dropna(subset=["work", "age"])
        used = used[used["w"] > 0] if options else used
        expected = fit.params["Intercept"] + used[["cash", "age"]] @ fit.params[["cash", "age"]]
        assert found.fitted == pytest.approx(expected.to_numpy())
        assert found.fitted + found.resid == pytest.approx(used["work"].to_numpy())


def test_residuals_of_a_regression_that_was_not_run_are_refused(
    confidential: pd.DataFrame,
) -> None:
    regressions = Regressions.from_formula("earn ~ cash", ())
    source = confidential_source(confidential)
    with pytest.raises(ParameterError, match=r"no regression of 'wrk'.*outcomes: earn"):
        regressions.residuals(source, "wrk", "")


def test_a_release_that_cannot_be_fitted_says_why(
    make: Callable[[int, int], pd.DataFrame],
) -> None:
    both = make(60, 5).assign(cash=1.0, therapy=1.0)
    alone = make(60, 5).assign(cash=0.0)
    empty = make(60, 5).assign(earn=np.nan)
    regressions = Regressions.of_arms(("earn",), ("cash", "therapy"))
    overlapping, no_arm, no_outcome = (
        regressions.effects(source) for source in released_sources([both, alone, empty])
    )
    assert len(overlapping[0]) == len(no_outcome[0]) == 0
    assert "release 1: arms 'cash' and 'therapy' overlap" in overlapping[1][0]
    assert no_arm[0]["arm"].tolist() == ["therapy"]
    assert "no row has a value" in no_outcome[1][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cash": 1.0}, "overlap"),
        ({"earn": np.nan}, "no row has a value"),
        ({"cash": 0.0}, "no coefficient 'cash'"),
        ({"earn": np.inf}, "infinite"),
    ],
)
def test_the_confidential_data_must_allow_the_regression(
    confidential: pd.DataFrame, change: dict[str, float], words: str
) -> None:
    regressions = Regressions.of_arms(("earn",), ("cash", "therapy"))
    with pytest.raises(ParameterError, match=words):
        regressions.effects(confidential_source(confidential.assign(**change)))


def test_columns_of_a_regression_and_names_with_spaces() -> None:
    rows = pd.DataFrame({"my y": [1.0, 2, 4, 3], "an arm": [0, 0, 1, 1], "v": [1, 1, 2, 2]})
    regressions = Regressions.of_arms(("my y",), ("an arm",), cluster="v")
    assert regressions.columns == ("my y", "an arm", "v")
    found, _ = regressions.effects(confidential_source(rows))
    assert found[["outcome", "arm"]].to_numpy().tolist() == [["my y", "an arm"]]
    assert found["estimate"].tolist() == pytest.approx([2.0])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"alpha": 1.0}, ParameterError),
        ({"cluster": [1, 2]}, ParameterError),
        ({"weights": np.ones(2)}, ParameterError),
        ({"cov_type": "HC9"}, ParameterError),
        ({"cov_type": "cluster"}, ParameterError),
    ],
)
def test_options_are_checked_before_any_fit(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Regressions.from_formula("y ~ x", (), **options)


def test_a_formula_names_an_outcome_and_columns_exist(confidential: pd.DataFrame) -> None:
    with pytest.raises(FormulaError, match="names no outcome"):
        Regressions.from_formula("~ x", ())
    with pytest.raises(ColumnError, match="no column 'cahs'"):
        Regressions.from_formula("earn ~ cahs", ()).effects(confidential_source(confidential))
    with pytest.raises(ParameterError, match="covariates='age'"):
        Regressions.of_arms(("earn",), ("cash",), "age")
