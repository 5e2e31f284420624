"""What every strict method returns and plans, in the same words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct import Moments, Release
from dprct.errors import ParameterError
from dprct.results.typeset import Summary

COLUMNS = ["quantity", "value", "unit", "why", "regression", "outcome", "term"]


INTERFACE = (
    "params", "bse", "bse_noise", "guarantee", "conf_int", "tidy", "glance", "summary", "plot",
)  # fmt: skip
"""What all results have; where no sampling error is proved, bse is that of the noise, or NaN."""

FITTED: dict[str, Any] = {}
"""By subject: results do not change, so that one fit serves all tests."""


@pytest.fixture
def results(strict: Any) -> Any:
    """The numbers that a fit returns; a release of rows alone has none."""
    if strict.name not in FITTED:
        FITTED[strict.name] = strict.fit(strict.make(strict.make_table()), rng=3)
    found = FITTED[strict.name]
    if isinstance(found, Release):
        if found.estimates is None:
            pytest.skip("releases rows and no numbers")
        return found.estimates
    if isinstance(found, Moments):
        return found.regressions[0] if found.regressions else found.effects()
    return found


def test_results_offer_the_same(results: Any) -> None:
    assert [name for name in INTERFACE if not hasattr(results, name)] == []
    names = list(results.params.index)
    assert len(set(names)) == len(names)
    for values in (results.params, results.bse, results.bse_noise):
        assert isinstance(values, pd.Series)
        assert list(values.index) == names
    assert (results.bse.dropna() >= 0).all()
    assert isinstance(results.tidy(), pd.DataFrame)
    assert len(results.glance()) == 1


def test_intervals_contain_the_estimate_and_grow_with_the_level(results: Any) -> None:
    if hasattr(results, "noise_band"):
        with pytest.raises(ParameterError, match="no interval"):
            results.conf_int(0.1)
        wide, narrow = (results.noise_band(a).set_axis([0, 1], axis=1) for a in (0.01, 0.1))
    else:
        wide, narrow = results.conf_int(0.01), results.conf_int(0.1)
    assert list(wide.columns) == [0, 1]
    assert list(wide.index) == list(results.params.index)
    known = ~narrow[0].isna()
    for band in (wide[known], narrow[known]):
        assert (band[0] <= results.params[known]).all()
        assert (band[1] >= results.params[known]).all()
    assert (wide[1] - wide[0])[known].ge((narrow[1] - narrow[0])[known] * (1 - 1e-9)).all()


def test_a_summary_is_a_text_with_html_and_latex(results: Any) -> None:
    summary = results.summary()
    assert isinstance(summary, Summary)
    assert str(results) == str(summary)
    assert summary._repr_html_() == results._repr_html_()
    assert results.to_html().startswith("<table")
    assert summary.as_latex() == results.to_latex()
    assert r"\begin{tabular}" in summary.as_latex()


def test_a_plot_returns_its_axes(results: Any, strict: Any) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    if strict.name == "CATE, S-learner":
        pytest.skip("an S-learner has the same effect for everybody, and no shape")
    figure, ax = plt.subplots()
    assert results.plot(alpha=0.1, ax=ax) is ax
    plt.close(figure)


def test_a_plan_has_its_numbers_in_a_table(strict: Any) -> None:
    model = strict.make(strict.make_table())
    plan = strict.plan(model)
    table = plan.to_frame()
    assert list(table.columns) == COLUMNS
    assert table["value"].iloc[:2].tolist() == [strict.epsilon, strict.delta]
    epsilons, shares, deltas, scales = (
        table.loc[table["quantity"] == f"draw_{one}", "value"]
        for one in ("epsilon", "share", "delta", "scale")
    )
    assert len(epsilons) >= 1
    assert (shares <= 1 + 1e-12).all()
    assert np.allclose(epsilons, shares.to_numpy() * strict.epsilon)
    assert (deltas <= strict.delta + 1e-15).all()
    assert (scales > 0).all()
    for errors in plan.errors().values():
        noise = errors.get("noise_sd", 0.0)
        assert not noise > errors.get("std_error", math.inf) * (1 + 1e-9)


def test_a_plan_begins_with_cost_error_and_estimand(strict: Any) -> None:
    plan = strict.plan(strict.make(strict.make_table()))
    assert list(plan.facts)[:3] == ["cost", "error", "estimand"]
    assert not any(math.isinf(one.value) for one in plan.numbers)


def test_twice_the_budget_halves_a_pure_scale(strict: Any) -> None:
    if strict.delta:
        pytest.skip("only Laplace scales are inverse to epsilon")
    model = strict.make(strict.make_table())
    once, twice = (
        [one.value for one in model.plan(epsilon).numbers if one.quantity == "draw_scale"]
        for epsilon in (strict.epsilon, 2 * strict.epsilon)
    )
    if not once:
        pytest.skip("one mechanism that draws several laws has no single scale")
    ratio = [a / b for a, b in zip(once, twice, strict=True)]
    assert all(math.isclose(one, 2.0, rel_tol=0.3) for one in ratio)
