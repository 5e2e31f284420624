from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dprct import IPW
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.schema import Schema


@pytest.fixture
def result(study: Callable[..., pd.DataFrame], schema: Schema) -> Any:
    model = IPW.from_formula(
        "treat ~ age + city", study(20_000), schema, outcome="earnings",
        balance=["age"], overlap=True,
    )  # fmt: skip
    return model.fit(20, 1e-5, rng=1)


def test_tables_agree_with_the_attributes(result: Any) -> None:
    row = result.tidy().iloc[0]
    assert row["term"] == "ATE"
    assert row["estimate"] == result.params["ATE"]
    assert row["std.error"] == result.bse["ATE"]
    assert row["std.error.noise"] == result.bse_noise["ATE"]
    assert [row["conf.low"], row["conf.high"]] == result.conf_int().to_numpy()[0].tolist()
    assert result.glance()["nobs"].iloc[0] == 20_000
    assert result.cov_params().to_numpy()[0, 0] == pytest.approx(result.bse["ATE"] ** 2)


def test_the_summary_says_what_the_errors_contain(result: Any) -> None:
    text = result.summary()
    for words in ("total", "Estimand: mean effect on everybody", "trimmed to", "no guarantee"):
        assert words in text
    assert "ATE" in result.to_latex()
    assert "<table" in result.to_html()


def test_intervals_and_p_values_agree(result: Any) -> None:
    p = result.pvalues["ATE"]
    assert 0 < p < 0.05
    low, high = result.conf_int(0.05).to_numpy()[0]
    assert low > 0 or high < 0
    wider = result.conf_int(0.01).to_numpy()[0]
    assert wider[0] < low < high < wider[1]
    with pytest.raises(ParameterError, match="alpha="):
        result.conf_int(2)


def test_released_propensities_rise_with_age(result: Any) -> None:
    rows = pd.DataFrame({"age": [-1.0, 0.0, 1.0], "city": ["north"] * 3})
    e = result.propensity(rows)
    assert (np.diff(e) > 0).all()
    assert abs(e[1] - 1 / (1 + np.exp(-0.3))) < 0.1


def test_diagnostics_are_released_numbers(result: Any) -> None:
    assert abs(result.balance_table.loc["age", "smd"]) < 0.3
    assert result.balance_table.loc["age", "noise"] > 0
    assert result.overlap_table.to_numpy().sum() == pytest.approx(10_000, abs=200)
    treated = result.overlap_table["treated"].to_numpy()
    assert treated[5:].sum() > treated[:5].sum()


def test_a_plot_has_one_interval(result: Any) -> None:
    axes = result.plot()
    assert len(axes.lines) + len(axes.collections) > 0
    plt.close("all")
