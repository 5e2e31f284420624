"""Contrasts of arms, tables of effects and what is known of their covariance."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dprct.assignment import Block, Complete, Factorial, Simple
from dprct.errors import ParameterError
from dprct.estimate.ate.facts import ATEFacts
from dprct.estimate.ate.model import PrivateATE
from dprct.estimate.ate.release import Outcome, Released
from dprct.estimate.ate.results import results_of, tabulated
from dprct.estimate.contrasts import Contrast, arm_contrasts, contrasts_of, parse_contrast
from dprct.estimate.effects import NoisyMean, NoisyVariance, combined
from dprct.estimate.experiment import compared
from dprct.privacy.budget import Budget, Guarantee
from dprct.queries.sums import Arms
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


ARMS = ("control", "a", "b", "cash-only")


def weights(contrast: str | dict[str, float]) -> list[float]:
    return [float(w) for w in parse_contrast(contrast, ARMS).weights]


def test_contrasts_are_read_as_they_are_written() -> None:
    assert weights("a - b") == [0, 1, -1, 0]
    assert weights(" -b+a") == [0, 1, -1, 0]
    assert weights("0.5*a + .5 * b - control") == [-1, 0.5, 0.5, 0]
    assert weights("`cash-only` - a") == [0, -1, 0, 1]
    assert weights({"cash-only": 2, "b": -2}) == [0, 0, -2, 2]
    assert parse_contrast({"a": 1, "b": -0.5, "control": -0.5}, ARMS).name == (
        "a - 0.5*b - 0.5*control"
    )


@pytest.mark.parametrize(
    "contrast",
    ["a - c", "a + b", "a - a", "a b", "a - ", "", "a - b = 1", "a = b = control",
     {"a": True, "b": -1}, {"a": float("nan"), "b": -1}, 3],
)  # fmt: skip
def test_what_is_no_contrast_is_refused(contrast: Any) -> None:
    with pytest.raises(ParameterError, match="compares no arms; write 'a - b'"):
        parse_contrast(contrast, ARMS)


def named(design: Any, effects: Any, control: str = "control") -> dict[str, dict[str, float]]:
    """Weights by name of contrast and arm; the control group first as in an experiment."""
    names = [str(name) for name in design.groups.names]
    order = [names.index(control), *(i for i, n in enumerate(names) if n != control)]
    arms = [names[i] for i in order]
    return {
        c.name: dict(zip(arms, map(float, c.weights), strict=True))
        for c in contrasts_of(effects, design, order, arms)
    }


def test_main_effects_average_over_the_other_factors() -> None:
    design = Factorial([Block("cash", block="b"), Simple("therapy")])
    found = named(design, "factorial")
    assert list(found) == ["cash", "therapy", "cash:therapy"]
    assert found["cash"] == {"control": -0.5, "cash": 0.5, "therapy": -0.5, "cash+therapy": 0.5}
    assert found["cash:therapy"] == {"control": 1, "cash": -1, "therapy": -1, "cash+therapy": 1}
    assert list(named(design, "main")) == ["cash", "therapy"]
    assert list(named(design, "arms")) == ["cash+therapy", "cash", "therapy"]


def test_effects_are_those_of_a_regression_on_effect_codes() -> None:
    design = Factorial([Complete(["a1", "a2"]), Simple([0, 1], arm="z"), Simple("u")])
    names = [str(name) for name in design.groups.names]
    control = names[design.combinations.index((2, 0, 1))]
    found = named(design, "factorial", control)
    assert list(found)[:4] == ["a1", "a2", "z", "u"]
    assert len(found) == 2 * 2 * 3 - 1
    arms = list(found["u"])
    means = dict(zip(arms, np.random.default_rng(1).normal(size=12), strict=True))
    table = np.empty((3, 2, 2))
    for place, name in zip(design.combinations, names, strict=True):
        table[place] = means[name]
    got = {name: sum(w * means[arm] for arm, w in of.items()) for name, of in found.items()}
    assert got["a2"] == pytest.approx(table[1].mean() - table[2].mean())
    assert got["z"] == pytest.approx(table[:, 1].mean() - table[:, 0].mean())
    a1_by_u = (table[0, :, 0] - table[0, :, 1]) - (table[2, :, 0] - table[2, :, 1])
    assert got["a1:u"] == pytest.approx(a1_by_u.mean())


def test_main_effects_need_factors() -> None:
    with pytest.raises(ParameterError, match=r"dprct.Factorial"):
        contrasts_of("main", Complete("t"), (1, 0), ("control", "t"))
    with pytest.raises(ParameterError, match="allowed: arms, main, factorial"):
        contrasts_of("both", Complete("t"), (1, 0), ("control", "t"))  # type: ignore[arg-type]
    (only,) = arm_contrasts(("control", "t"))
    assert only.weights == (Fraction(-1), Fraction(1))


MEANS = tuple(
    NoisyMean(value, b, NoisyVariance(v, b * b, 1.0))
    for value, b, v in ((1.0, 0.1, 0.04), (2.0, 0.2, 0.05), (4.0, 0.3, 0.06))
)


def test_contrasts_covary_by_the_arms_that_they_share() -> None:
    thirds = Contrast("b - a", (Fraction(0), Fraction(-1), Fraction(1)))
    contrasts = (*arm_contrasts(("control", "a", "b")), thirds)
    effects = [[combined(MEANS, contrast.weights) for contrast in contrasts]]
    found = tabulated(["y"], effects, [MEANS], contrasts, (0.05,))
    assert found["params"].to_dict() == pytest.approx({"a": 1, "b": 3, "b - a": 2})
    spread = [mean.variance.at(0.05) + 2 * mean.scale**2 for mean in MEANS]
    assert found["cov"].loc["a", "b"] == pytest.approx(spread[0])
    assert found["cov"].loc["a", "b - a"] == pytest.approx(-spread[1])
    assert found["cov"].loc["b", "b - a"] == pytest.approx(spread[2])
    assert found["bse_noise"]["b - a"] == pytest.approx(np.sqrt(2 * (0.04 + 0.09)))


def test_outcomes_are_named_where_there_are_several() -> None:
    contrasts = arm_contrasts(("control", "a", "b"))[:1]
    effects = [[combined(MEANS, contrasts[0].weights)]] * 2
    found = tabulated(["y", "z"], effects, [MEANS, ()], contrasts, (0.05,))
    assert list(found["params"].index) == ["y: a", "z: a"]
    assert np.isnan(found["cov"].iloc[0, 1])


def test_intervals_tables_and_p_values_agree(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = PrivateATE(trial(), schema, outcome="y", treatment=["t", "t2"], alphas=(0.05, 0.01))
    result = model.fit(epsilon=1, rng=2)
    half = (result.conf_int()[1] - result.conf_int()[0]) / 2
    assert (half <= 1.96 * result.bse + 1e-9).all()
    assert (result.conf_int(0.01)[0] < result.conf_int(0.1)[0]).all()
    tidy = result.tidy()
    assert tidy["p.value"].tolist() == result.pvalues.tolist()
    assert tidy["conf.low"].tolist() == result.conf_int()[0].tolist()
    for alpha in (0.1, 0.05, 0.01):
        low, high = result.conf_int(alpha).to_numpy().T
        outside = (low > 0) | (high < 0)
        assert (outside[result.pvalues < alpha]).all()
    assert result.glance()["nobs"].tolist() == [900]
    for text in (result.summary(), result.to_latex(), result.to_html()):
        assert "of which noise" in text
        assert "normal plus Laplace" in text
    assert np.isfinite(result.bse).all()
    with pytest.raises(ParameterError, match="alpha"):
        result.conf_int(0)


def test_arms_are_compared_with_each_other_after_the_fit(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    model = PrivateATE(trial(9_000), schema, outcome="y", treatment=["t", "t2"])
    result = pickle.loads(pickle.dumps(model.fit(epsilon=4, rng=2)))
    found = result.contrast("t - t2")
    assert found.params["t - t2"] == pytest.approx(result.params["t"] - result.params["t2"])
    spread = [mean.variance.value for mean in result.means[0]]
    assert [v.value for v in found.effects[0].variances] == pytest.approx(spread[1:])
    assert found.guarantee == result.guarantee
    assert found.conf_int().loc["t - t2", 0] < 3 < found.conf_int().loc["t - t2", 1]
    against = result.contrast({"t": 1, "control": -1})
    assert against.bse.iloc[0] == pytest.approx(result.bse["t"])
    three = result.contrast("t - 0.5*t2 - 0.5*control")
    assert len(three.effects[0].scales) == 3
    assert "contrast t - t2 of arm means" in found.summary()
    with pytest.raises(ParameterError, match="compares no arms"):
        result.contrast("t - u")


def test_two_arms_have_one_contrast(trial: Callable[..., pd.DataFrame], schema: Schema) -> None:
    data = trial()
    data = data[data["t2"] == 0]
    result = PrivateATE.from_formula("y ~ t", data, schema).fit(epsilon=1, rng=2)
    found = result.contrast("t - control")
    assert found.params.tolist() == result.params.tolist()
    assert found.bse.tolist() == result.bse.tolist()
    with pytest.raises(ParameterError, match="only t - control was released"):
        result.contrast("control - t")


def test_results_are_plotted_by_outcome(trial: Callable[..., pd.DataFrame], schema: Schema) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    schema = schema.declare(got={"missing_policy": "public"})
    result = PrivateATE(trial(), schema, outcome=["y", "got"], treatment=["t", "t2"]).fit(1, rng=1)
    axes = result.plot_outcomes()
    assert [ax.get_title() for ax in axes] == ["y", "got"]
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["t", "t2"]
    assert any("simulation" in text.get_text() for text in axes[0].texts)
    assert len(result.contrast("t - t2").plot_outcomes(alpha=0.1)) == 2
    with pytest.raises(ParameterError, match="alpha"):
        result.plot(alpha=0)
    plt.close("all")


PUBLIC = Arms(np.repeat([0, 1, 2], 4).astype(np.int64), ((4, 4, 4),))
GUARANTEE = Guarantee.of(Budget(1), "replace-one-design-public")


def test_the_covariance_is_known_within_outcomes_only() -> None:
    outcomes = [Outcome(Column(n, bounds=(0.0, 1.0)), PUBLIC, Fraction(1, 2)) for n in ("a", "b")]
    shared = NoisyVariance(0.04, 0.001, 0.5)
    means = (
        NoisyMean(0.5, 0.1, shared),
        *(NoisyMean(v, 0.2, NoisyVariance(0.02, 0.001, 0.5)) for v in (1.5, 2.5)),
    )
    arms = ("control", "t", "u")
    effects = tuple(combined(means, contrast.weights) for contrast in arm_contrasts(arms))
    found = [Released(effects, 0.5, 0.1, means)] * 2
    facts = ATEFacts(
        schema=Schema(tuple(outcome.column for outcome in outcomes)),
        n=12,
        comparison=compared(
            ["t", "u"], None, control=None, blocks="weight", privacy_unit="person",
        ),
        contrasts=arm_contrasts(arms),
        outcomes=tuple(outcomes),
        indexes={},
    )  # fmt: skip
    result = results_of(found, facts, (0.05,), GUARANTEE, "charged to no ledger")
    assert list(result.params.index) == ["a: t", "a: u", "b: t", "b: u"]
    cov = result.cov_params()
    assert cov.loc["a: t", "a: u"] == pytest.approx(shared.at(0.05) + 2 * 0.1**2)
    assert cov.loc["a: t", "b: t":].isna().all()
    assert result.bse["b: u"] == pytest.approx(effects[1].half_width(0.05) / 1.959964)
    assert result.bse_noise is not None
    assert result.bse_noise["a: t"] == pytest.approx(np.sqrt(2 * (0.04 + 0.01)))
    assert result.control.loc["a", "noise"] == pytest.approx(np.sqrt(2) * 0.1)
    assert sum("Estimand" in note for note in result.notes) == 2


def test_a_plot_has_the_labels_and_the_reach_of_the_schema(
    trial: Callable[..., pd.DataFrame], schema: Schema
) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    named = schema.with_columns(
        [replace(schema.column("y"), label="Income"), replace(schema.column("t"), label="Cash")]
    )
    result = PrivateATE.from_formula("y ~ t", trial(), schema).fit(0.01, rng=1)
    ax = result.plot(schema=named)
    assert ax.get_title() == "Income"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Cash"]
    low, high = schema.column("y").bounds or (0.0, 0.0)
    assert ax.get_xlim() == (low - high, high - low)  # at this budget, the interval is wider
    assert result.plot().get_xlim()[1] > high - low
    plt.close("all")
