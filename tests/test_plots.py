from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dprct import Marginals, PrivateATE, ols, plots
from dprct.errors import MissingDependencyError, ParameterError
from dprct.schema import Column, Schema
from dprct.schema.columns import FileFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


pytestmark = pytest.mark.usefixtures("figures")


def drawn(ax: Axes) -> None:
    """Draw for real: some mistakes show, and warn, no earlier."""
    ax.figure.canvas.draw()


def points(ax: Axes, which: int = 0) -> np.ndarray[Any, Any]:
    return np.asarray(ax.collections[which].get_offsets())


def test_residuals_over_fitted_values_with_their_smooth() -> None:
    rng = np.random.default_rng(1)
    fitted = np.linspace(-1, 1, 400)
    resid = 3 * fitted**2 + rng.normal(scale=0.1, size=400)
    ax = plots.residuals_fitted(fitted, resid, title="y", watermark="secret")
    drawn(ax)
    assert points(ax).tolist() == np.column_stack([fitted, resid]).tolist()
    zero, smooth = ax.lines
    assert set(zero.get_ydata()) == {0}
    x, y = smooth.get_data()
    ends, middle = y[[0, -1]], y[np.argmin(np.abs(x))]
    assert (ends > middle + 0.8).all()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("Fitted values", "Residuals", "y")


@pytest.mark.parametrize("fitted", [np.zeros(5), np.array([0.0, 0, 1, 1, 1])])
def test_too_few_fitted_values_have_no_smooth(fitted: np.ndarray[Any, Any]) -> None:
    ax = plots.residuals_fitted(fitted, np.arange(5.0))
    drawn(ax)
    assert len(ax.lines) == 1


@pytest.mark.parametrize("n", [7, 200])
def test_quantiles_of_normal_residuals_follow_the_line(n: int) -> None:
    probabilities = (np.arange(1, n + 1) - 0.5) / n
    normal = 2 + 3 * stats.norm.ppf(probabilities)
    ax = plots.normal_quantiles(np.random.default_rng(2).permutation(normal))
    drawn(ax)
    found = points(ax)
    assert found[:, 1] == pytest.approx(normal)
    if n > 10:
        assert found[:, 0] == pytest.approx(stats.norm.ppf(probabilities))
    (line,) = ax.lines
    x, y = line.get_data()
    assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(3, rel=0.2 if n < 10 else 0.02)
    assert y.mean() == pytest.approx(2)


def test_a_few_residuals_stand_where_r_puts_them() -> None:
    ax = plots.normal_quantiles([0.0, 1.0, 5.0])
    # qnorm(ppoints(3))
    assert points(ax)[:, 0] == pytest.approx([-0.8694238, 0.0, 0.8694238], abs=1e-6)


def test_a_heat_map_has_its_numbers_in_its_cells() -> None:
    values = pd.DataFrame(
        [[0.25, np.nan], [1.0, 0.001]],
        index=pd.MultiIndex.from_tuples([("", "earn"), ("full", "work")]),
        columns=["A", "B"],
    )
    ax = plots.heat_map(values, limits=(0, 1), title="t", label="overlap")
    drawn(ax)
    shades = ax.images[0]
    assert shades.get_clim() == (0, 1)
    assert shades.get_array().mask.tolist() == [[False, True], [False, False]]
    assert sorted(text.get_text() for text in ax.texts) == ["0.25", "1.00", "1e-03"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["earn", "full\nwork"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["A", "B"]
    assert ax.figure.axes[1].get_ylabel() == "overlap"


def test_a_heat_map_by_the_logarithm_shades_ratios_alike() -> None:
    ax = plots.heat_map(pd.DataFrame({"A": [0.01, 0.1, 1.0, 0.0]}), log=True)
    drawn(ax)
    norm = ax.images[0].norm
    assert norm(np.array([0.01, 0.1, 1.0])).tolist() == pytest.approx([0, 0.5, 1])


@pytest.mark.parametrize("values", [[0.0, 0.0], [np.nan, np.nan], [2.0, 2.0]])
@pytest.mark.parametrize("log", [True, False])
def test_a_heat_map_of_one_number_or_none_is_drawn(values: list[float], log: bool) -> None:
    ax = plots.heat_map(pd.DataFrame({"A": values}), log=log)
    drawn(ax)
    assert len(ax.texts) == np.isfinite(values).sum()


def test_densities_have_common_bins_and_area_1() -> None:
    rng = np.random.default_rng(3)
    tables = [rng.normal(size=300), rng.normal(size=200) + 5, np.array([np.nan, 1.0, 2.0])]
    ax = plots.distribution(tables[0], tables[1:])
    drawn(ax)
    steps = [patch.get_data() for patch in ax.patches]
    assert len(steps) == 3
    for step in steps:
        assert step.edges.tolist() == steps[0].edges.tolist()
        assert (step.values * np.diff(step.edges)).sum() == pytest.approx(1)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["released", "original"]
    # the original is drawn last, over the releases
    middle = steps[-1].edges[:-1][steps[-1].values > 0]
    assert middle.max() < 4


def test_a_column_without_numbers_is_drawn_empty() -> None:
    ax = plots.distribution([np.nan], [[np.nan]])
    drawn(ax)
    assert all((patch.get_data().values == 0).all() for patch in ax.patches)


def test_shares_of_levels_with_their_spread() -> None:
    shares = pd.DataFrame({0: [0.4, 0.6], 1: [0.2, 0.8], 2: [0.6, 0.4]}, index=["no", "yes"])
    ax = plots.level_shares(shares)
    drawn(ax)
    original, released = (
        [bar.get_height() for bar in found] for found in ax.containers if hasattr(found, "patches")
    )
    assert original == [0.4, 0.6]
    assert released == pytest.approx([0.4, 0.6])
    segments = ax.collections[0].get_segments()
    assert [sorted(s[:, 1]) for s in segments] == [
        pytest.approx([0.2, 0.6]),
        pytest.approx([0.4, 0.8]),
    ]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["no", "yes"]


def test_distribution_functions_in_one_colour_per_name() -> None:
    ax = plots.cumulative({"released": [[3.0, 1.0], [2.0]], "holdout": [[0.0]]}, label="distance")
    drawn(ax)
    x, y = ax.lines[0].get_data()
    assert (list(x), list(y)) == ([1.0, 3.0], [0.5, 1.0])
    colours = [line.get_color() for line in ax.lines]
    assert colours[0] == colours[1] != colours[2]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["released", "holdout"]
    assert ax.get_xlabel() == "distance"


DRAWINGS = {
    "residuals_fitted": ([1.0, 2, 3], [0.0, 1, -1]),
    "normal_quantiles": ([0.0, 1, -1],),
    "heat_map": (pd.DataFrame({"A": [0.5]}),),
    "distribution": ([0.0, 1.0], [[0.5]]),
    "level_shares": (pd.DataFrame({0: [1.0], 1: [1.0]}),),
    "cumulative": ({"a": [[1.0]]},),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_figure_takes_axes_and_a_watermark(name: str) -> None:
    function = getattr(plots, name)
    own = plots.panels(1)[0]
    ax = function(*DRAWINGS[name], ax=own, watermark="CONFIDENTIAL: do not publish")
    drawn(ax)
    assert ax is own
    marks = [text for text in ax.texts if text.get_gid() == plots.WATERMARK_ID]
    assert [" ".join(mark.get_text().split()) for mark in marks] == ["CONFIDENTIAL: do not publish"]
    plain = function(*DRAWINGS[name])
    assert not [text for text in plain.texts if text.get_gid() == plots.WATERMARK_ID]


@pytest.mark.parametrize(("count", "grid"), [(1, (1, 1)), (2, (1, 2)), (5, (2, 3))])
def test_panels_fill_rows(count: int, grid: tuple[int, int]) -> None:
    axes = plots.panels(count, columns=3)
    assert len(axes) == count == len(axes[0].figure.axes)
    spec = axes[0].get_subplotspec()
    assert spec is not None
    assert spec.get_gridspec().get_geometry() == grid


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'dprct\[plot\]'"):
        plots.panels(1)


def test_boxes_have_their_medians_and_marks() -> None:
    samples = {"a": [1.0, 2.0, 3.0, 50.0, np.nan], "b": [4.0, 5.0, 6.0]}
    ax = plots.boxes(samples, [2.5, 5.5], label="effect", outliers=False)
    drawn(ax)
    assert points(ax).tolist() == [[1, 2.5], [2, 5.5]]
    flat = [line.get_ydata() for line in ax.lines]
    assert any(np.array_equal(y, [2.5, 2.5]) for y in flat)
    assert max(float(np.max(y)) for y in flat if len(y)) < 50
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b"]


def test_a_thing_and_another_stand_next_to_each_other_in_their_colours() -> None:
    raw = pd.DataFrame({"estimate": [1.0, 2.0], "low": [0.5, 1.0], "high": [1.5, 3.0]}, ["a", "b"])
    private = pd.DataFrame({"estimate": [2.5, np.nan], "low": [1, 0], "high": [4, 0]}, ["b", "c"])
    noisy = private.assign(noise=[0.5, np.nan])
    ax = plots.side_by_side([raw, noisy], ["raw", "private"], watermark="mine")
    drawn(ax)
    assert ax.containers[2].lines[2][0].get_segments()[0][:, 0].tolist() == [2.0, 3.0]
    assert ax.containers[2].get_label() == "private: privacy noise alone"
    rows = {tick.get_text(): tick.get_position()[1] for tick in ax.get_yticklabels()}
    assert rows["a"] > rows["b"] > rows["c"]  # from top to bottom
    segments = [bars.lines[2][0].get_segments() for bars in ax.containers]
    assert [one[:, 0].tolist() for one in segments[0]] == [[0.5, 1.5], [1.0, 3.0]]
    assert [one[:, 0].tolist() for one in segments[1]] == [[1.0, 4.0]]  # c has no estimate
    above, below = segments[0][1][0, 1], segments[1][0][0, 1]
    assert rows["b"] + 0.5 > above > rows["b"] > below > rows["b"] - 0.5
    assert any(text.get_text() == "mine" for text in ax.texts)


def test_no_axis_reaches_where_no_number_can_be() -> None:
    columns = (Column("y", label="Score", bounds=(2.0, 10.0)), Column("g", levels=(0.0, 1.0)))
    labels = plots.Labels(Schema((*columns, Column("s", "str4", levels=("a", "b")))))
    assert labels.bounds("y") == (2.0, 10.0)
    assert labels.reach("y") == (-8.0, 8.0)
    assert labels.bounds("g") == (0.0, 1.0)
    assert labels.bounds("s") is labels.bounds("other") is labels.reach("other") is None
    assert plots.Labels().bounds("y") is None
    assert plots.within((-9.0, 4.0), labels.reach("y")) == (-8.0, 4.0)


def test_levels_have_their_value_labels() -> None:
    file = FileFacts(value_labels={"yn": {0: "no", 1: "yes"}})
    labels = plots.Labels(Schema((Column("g", "byte", value_label="yn"),), file))
    assert [labels.level("g", text) for text in ("0", "1.0", "2")] == ["no", "yes", "2"]
    assert labels.level("h", "1") == plots.Labels().level("g", "1") == "1"


def test_the_plan_as_a_picture_is_the_plans_numbers() -> None:
    schema = Schema((Column("y", bounds=(0.0, 9.0), missing=()), Column("t"))).declare(
        t={"levels": [0, 1], "missing": "never"}
    )
    data = pd.DataFrame({"y": [1.0, 5.0] * 90, "t": [0.0, 0.0, 1.0] * 60})
    model = PrivateATE(data, schema, outcome="y", treatment="t")
    (ax,) = plots.plan_errors(model, epsilon=0.7)
    drawn(ax)
    lines = {line.get_label(): line for line in ax.lines}
    epsilons = lines["sampling and privacy noise"].get_xdata().tolist()
    assert epsilons == sorted([*plots.EPSILONS, 0.7])
    for at, total, noise in zip(
        epsilons,
        lines["sampling and privacy noise"].get_ydata(),
        lines["privacy noise alone"].get_ydata(),
        strict=True,
    ):
        errors = model.plan(at).errors()["y: t"]
        assert total == errors["std_error"]
        assert noise == errors["noise_sd"]
    floor = model.plan(1000).errors()["y: t"]["std_error"]
    assert lines["sampling error"].get_ydata()[0] == floor
    assert floor < lines["sampling and privacy noise"].get_ydata().min()
    assert lines["asked for"].get_xdata()[0] == 0.7


def test_a_method_without_effects_is_drawn_by_the_errors_of_shares() -> None:
    schema = Schema((Column("g", "byte"),)).declare(g={"levels": [0, 1], "missing": "never"})
    model = Marginals(pd.DataFrame({"g": [0.0, 1.0] * 100}), schema, columns=["g"])
    axes = plots.plan_errors(model)
    assert [ax.get_title() for ax in axes] == ["g"]
    sds = axes[0].lines[0].get_ydata()
    assert list(sds) == sorted(sds, reverse=True)

    class Nothing:
        def plan(self, *_: float, **__: object) -> Any:
            raise ParameterError("no budget")

    with pytest.raises(ParameterError, match="no number of Nothing has an error"):
        plots.plan_errors(Nothing())


def test_an_event_study_is_in_the_order_of_its_periods() -> None:
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(60, 3)), columns=["y", "late", "early"])
    fit = ols("y ~ late + early", data)
    ax = plots.event_study(fit, {"late": 2, "early": -1}, reference=0)
    drawn(ax)
    x, y = ax.lines[1].get_data()
    assert list(x) == [-1, 2]
    assert list(y) == [fit.params["early"], fit.params["late"]]
    assert list(ax.get_xticks()) == [-1, 0, 2]
    with pytest.raises(ParameterError, match="no coefficient 'other'"):
        plots.event_study(fit, {"other": 1})


def test_the_flow_of_participants_adds_up() -> None:
    ax = plots.participants({"a": 10, "b": 7}, {"a": 8, "b": 7}, note="released")
    drawn(ax)
    said = [text.get_text() for text in ax.texts if text.get_text()]
    assert said[0] == "17 people assigned"
    assert {"a\n10 people", "lost\n2", "analysed\n8", "lost\n0", "released"} <= set(said)
    with pytest.raises(ParameterError, match="the same arms"):
        plots.participants({"a": 1}, {"b": 1})
