from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from dprct.estimate.synthetic_control.results import SyntheticControlResults


def fitted(epsilon: float = 30, **options: Any) -> SyntheticControlResults:
    X = np.add.outer(np.linspace(-0.4, 0.4, 9), np.linspace(0, 0.1, 8))
    y = X.mean(axis=0) + np.where(np.arange(8) < 5, 0.0, 0.3)
    model = SyntheticControl.from_arrays(
        X, y, 5, 1.0, treated="Łódź", times=np.arange(1990, 1998), **options
    )
    return model.fit(epsilon, rng=4)


def test_series_are_by_time_and_add_up() -> None:
    plain, full = fitted(), fitted(pre_fit=True)
    assert plain.counterfactual.index.tolist() == [1995, 1996, 1997]
    assert full.counterfactual.index.tolist() == list(range(1990, 1998))
    assert plain.observed.index.tolist() == list(range(1990, 1998))
    gap = plain.observed.loc[1995:] - plain.counterfactual
    assert plain.effect.tolist() == pytest.approx(gap.tolist())
    assert plain.att == pytest.approx(plain.effect.mean())
    assert math.isnan(plain.pre_rmse)
    assert full.pre_rmse >= 0


def test_bands_are_of_the_noise() -> None:
    result = fitted()
    law = result.released.post.effect_noise
    band = result.noise_band(0.1)
    assert band.index.tolist() == result.params.index.tolist()
    half = (band["high"] - band["low"]) / 2
    mean = result.att_noise.half_width(0.1)
    assert half.tolist() == pytest.approx([law.half_width(0.1)] * 3 + [mean])
    joint = result.noise_band(0.1, joint=True)
    wider = law.half_width(1 - 0.9 ** (1 / 3))
    assert (joint["high"] - result.params).tolist() == pytest.approx([wider] * 3 + [mean])
    low, high = result.noise_band().loc["mean effect"]
    assert (low + high) / 2 == pytest.approx(result.att)
    assert result.att_noise.sd == pytest.approx(law.sd / math.sqrt(3))
    with pytest.raises(ParameterError, match="alpha=2"):
        result.noise_band(2)


def test_noise_alone_is_no_interval() -> None:
    result = fitted()
    with pytest.raises(ParameterError, match=r"no interval.*noise_band\(\) is the band of"):
        result.conf_int()
    assert not {"att_interval", "band"} & set(dir(result))
    shown = str(result.summary())
    assert "noise low" in shown
    assert "noise high" in shown
    assert "[0.025" not in shown
    assert "It is not an interval for the effect" in " ".join(shown.split())
    assert not {name for name in result.tidy() if name.startswith("conf")}


@pytest.mark.long
@pytest.mark.parametrize("rule", ["uniform", "ridge"])
def test_with_unlike_donors_the_band_misses_the_effect(rule: str) -> None:
    """The treated unit grows as no donor does; measured in docs/synthetic_control.md."""
    rng, years = np.random.default_rng(4), np.arange(12.0)
    series = [50 + rng.uniform(0, 1) * years + rng.normal(0, 0.3, 12) for _ in range(30)]
    treated = 40 + 3 * years + rng.normal(0, 0.3, 12) - 5 * (years >= 9)
    data = pd.DataFrame(
        {
            "unit": np.repeat(np.arange(31.0), 12),
            "year": np.tile(years, 31),
            "y": np.concatenate([*series, treated]).clip(0, 100),
        }
    )
    schema = Schema.from_frame(data).declare(y={"bounds": (0, 100), "missing": "never"})
    model = SyntheticControl(
        data, schema, outcome="y", treated=30, treatment_time=9, unit="unit", time="year",
        donor_weights=rule,
    )  # fmt: skip
    held = [model.fit(100, rng=seed).noise_band().loc["mean effect"] for seed in range(20)]
    assert sum(low <= -5 <= high for low, high in held) <= 2


def test_tidy_and_glance_have_the_names_of_broom() -> None:
    table = fitted(pre_fit=True).tidy()
    assert table["period"].tolist() == ["pre"] * 5 + ["post"] * 3
    assert table.columns[4:].tolist() == ["estimate", "std.error.noise", "noise.low", "noise.high"]
    assert (table["estimate"] == table["observed"] - table["counterfactual"]).all()
    row = fitted().glance().iloc[0]
    assert (row["donors"], row["pre.periods"], row["post.periods"]) == (9, 5, 3)
    assert row["weights"] == "ridge"


def test_the_summary_says_first_who_and_then_what_is_not_covered() -> None:
    text = fitted(pre_fit=True).summary()
    lines = text.splitlines()
    assert lines[0] == "Private synthetic control"
    assert "a donor may be a state, not a person" in lines[2]
    assert "Łódź" in text
    assert "mean effect" in text
    assert "does not cover the error of these weights" in " ".join(text.split())
    assert "For simulation only" in text
    assert "1990" in text


def test_latex_and_html_hold_the_same_numbers() -> None:
    result = fitted()
    number = f"{result.att:.3f}"
    for page in (result.to_latex(), result.to_html(), result._repr_html_()):
        assert number in page
    assert r"\toprule" in result.to_latex()
    assert str(result) == result.summary()
    assert "9 donors" in repr(result)


def test_placebos_in_a_table() -> None:
    result = fitted(placebos="all", donor_weights="uniform", pre_fit=True)
    effects = result.placebo_effects()
    assert effects.shape == (3, 9)
    table = result.placebo_table()
    assert table["placebo"].tolist() == [False] + [True] * 9
    assert table["att"].iloc[1:].tolist() == pytest.approx(effects.mean().tolist())
    assert (table["pre.rmse"] >= 0).all()
    assert isinstance(fitted().placebo_effects(), pd.DataFrame)


def test_equal_weights_have_no_noise() -> None:
    result = fitted(donor_weights="uniform")
    assert result.noisy_weights is None
    assert result.donor_weights.tolist() == [1 / 9] * 9


@pytest.mark.parametrize("kind", ["paths", "gap", "placebos", "weights"])
def test_every_figure_is_drawn(kind: str) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    result = fitted(placebos=["donor 2"], pre_fit=True)
    ax = result.plot(kind)
    ax.figure.canvas.draw()
    if kind != "weights":
        assert set(ax.lines[-1].get_xdata()) == {result.times[result.T0]}
        assert ax.get_legend() is not None
    assert result.plot(kind, ax=ax) is ax
    plt.close("all")


def test_a_figure_that_is_none_is_refused() -> None:
    with pytest.raises(ParameterError, match="allowed: paths, gap, placebos, weights"):
        fitted().plot("pie")


@pytest.fixture(scope="module")
def with_placebo() -> SyntheticControlResults:
    X = np.add.outer(np.linspace(-0.4, 0.4, 9), np.linspace(0, 0.1, 8))
    model = SyntheticControl.from_arrays(X, X.mean(axis=0) + 0.1, 5, 1.0, placebos=["donor 2"])
    return model.fit(30, rng=4)


def test_periods_that_were_not_paid_for_are_not_there(
    with_placebo: SyntheticControlResults,
) -> None:
    table = with_placebo.tidy(0.1)
    assert table["time"].tolist() == [6, 7, 8]
    half = with_placebo.released.post.effect_noise.half_width(0.1)
    assert (table["noise.high"] - table["estimate"]).tolist() == pytest.approx([half] * 3)


def test_the_sheet_ends_with_the_mean(with_placebo: SyntheticControlResults) -> None:
    grid = with_placebo.grid(0.05)
    assert grid.lines[-1].name == "mean effect"
    assert f"{with_placebo.att:.3f}" in map(str, grid.lines[-1].cells)
    assert "does not cover" in grid.notes[0]


def test_the_treated_unit_is_the_first_row(with_placebo: SyntheticControlResults) -> None:
    table = with_placebo.placebo_table()
    assert table["unit"].tolist() == ["treated", "donor 2"]
    assert table["att"].iloc[0] == with_placebo.att
    # the series of a placebo is confidential, and noisy too
    assert table["std.error.noise"].iloc[1] > table["std.error.noise"].iloc[0]
    assert math.isnan(with_placebo.pre_rmse)


def test_a_mean_by_itself_is_said_to_be_no_mean_of_the_rows() -> None:
    X = np.add.outer(np.linspace(-0.4, 0.4, 9), np.linspace(0, 0.1, 8))
    model = SyntheticControl.from_arrays(X, X.mean(axis=0), 3, 1.0, mean_effect=True)
    result = model.fit(30, rng=4)
    assert result.att != pytest.approx(result.effect.mean(), abs=1e-9)
    assert "by itself too" in " ".join(result.summary().split())


@pytest.mark.parametrize("pre_fit", [True, False])
def test_pictures_have_one_scale_and_hold_what_they_show(*, pre_fit: bool) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    result = fitted(placebos=["donor 2"], pre_fit=pre_fit)
    axes = {kind: result.plot(kind) for kind in ("paths", "gap", "placebos")}
    heights = [high - low for low, high in (ax.get_ylim() for ax in axes.values())]
    assert heights == pytest.approx([heights[0]] * 3)
    assert len({ax.get_xlim() for ax in axes.values()}) == 1
    for ax in axes.values():
        low, high = ax.get_ylim()
        inside = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) > 2]
        assert all(low < np.min(y) and np.max(y) < high for y in inside)
    low, high = axes["gap"].get_ylim()
    assert low == -high
    band = result.noise_band(0.05)
    assert low < band.to_numpy().min()
    assert band.to_numpy().max() < high
    plt.close("all")


def test_every_picture_of_a_simulation_says_so_and_names_the_outcome() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    result = replace(fitted(placebos=["donor 2"], pre_fit=True), outcome="gdp")
    schema = Schema((Column("gdp", label="GDP per head (USD)"),))
    words = {"paths": "GDP per head (USD)", "gap": "Effect on GDP per head (USD)"}
    for kind in ("paths", "gap", "placebos", "weights"):
        ax = result.plot(kind, schema=schema)
        assert any("simulation" in text.get_text() for text in ax.texts), kind
        assert ax.get_ylabel() == words.get(kind, ax.get_ylabel())
    said = [text.get_text() for text in result.plot("gap").get_legend().get_texts()]
    assert said == ["privacy noise alone", "effect"]
    plt.close("all")
