from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.custodian import UtilityReport, utility
from dprct.errors import DisclosureError, ParameterError
from dprct.missing import tagged
from dprct.plots import WATERMARK_ID
from dprct.results.base import WATERMARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@pytest.fixture
def report(confidential: pd.DataFrame, released: list[pd.DataFrame], compare: Any) -> UtilityReport:
    found: UtilityReport = compare(
        utility,
        confidential,
        {"Hybrid": released, "Same": confidential},
        outcomes={"earn": "Earnings", "work": "Employed"},
        arms={"cash": "Cash", "therapy": "Therapy"},
        covariates={"none": [], "age": ["age"]},
    )
    return found


def marks(ax: Axes) -> list[str]:
    found = [text for text in ax.texts if text.get_gid() == WATERMARK_ID]
    return [" ".join(text.get_text().split()) for text in found]


def test_the_distribution_over_draws_is_that_of_the_frame(report: UtilityReport) -> None:
    frame, summary = report.to_frame(), report.summary((0.25,))
    assert len(summary) == 2 * 2 * 2 * 2
    assert summary["draws"].tolist() == [3] * 8 + [1] * 8
    one = summary.iloc[3]
    same = (frame[["method", "covariates", "outcome", "arm"]] == one[
        ["method", "covariates", "outcome", "arm"]
    ]).all(axis=1)  # fmt: skip
    draws = frame[same]
    assert len(draws) == one["estimated"] == 3
    assert one["estimate"] == draws["estimate"].iloc[0]
    for name in ("overlap", "difference", "abs.difference", "released.estimate"):
        assert one[f"{name}.mean"] == pytest.approx(draws[name].mean())
        assert one[f"{name}.median"] == pytest.approx(draws[name].median())
        assert one[f"{name}.q25"] == pytest.approx(draws[name].quantile(0.25))


def test_the_text_says_what_was_compared(report: UtilityReport) -> None:
    lines = report.to_text().splitlines()
    assert "Hybrid, none" in lines
    assert "Same, age" in lines
    (row,) = [line for line in lines if "Earnings: Cash" in line and "1 of 1" in line][:1]
    first = report.summary().query("method == 'Same'").iloc[0]
    assert row.split()[2] == f"{first['estimate']:.3f}"
    assert row.split()[4:8] == ["1.000"] * 4
    assert "HC1" in report.to_text()


def test_every_form_carries_the_watermark(report: UtilityReport) -> None:
    for text in (report.to_text(), str(report)):
        assert text.startswith(WATERMARK)
        assert text.endswith(f"{WATERMARK}.")
    assert WATERMARK in repr(report)
    for frame in (report.to_frame(), report.summary()):
        assert frame.attrs["dprct"] == WATERMARK


def test_frames_are_copies(report: UtilityReport) -> None:
    frame = report.to_frame()
    frame["overlap"] = -1.0
    assert (report.to_frame()["overlap"] >= 0).all()


def test_the_report_is_not_attached_to_a_release(
    report: UtilityReport, release: dprct.Release
) -> None:
    with pytest.raises(DisclosureError, match="estimates is a report on the confidential data"):
        replace(release, estimates=report)
    with pytest.raises(DisclosureError, match="protected is a report"):
        replace(release, protected=report.to_frame())
    with pytest.raises(DisclosureError):
        replace(release, estimates=report.summary())
    with pytest.raises(FrozenInstanceError):
        release.estimates = report  # type: ignore[misc]
    with pytest.raises(DisclosureError, match="not pickled"):
        pickle.dumps(report)
    assert replace(release, estimates=None).guarantee is release.guarantee


def test_heat_maps_show_the_summary(report: UtilityReport, figures: Any) -> None:
    summary = report.summary()
    for plot, column in (
        (report.plot_overlap, "overlap.mean"),
        (report.plot_difference, "abs.difference.median"),
    ):
        ax = plot()
        ax.figure.canvas.draw()
        found = ax.images[0].get_array()
        assert found.shape == (4, 4)
        # methods after each other, within them covariates, outcomes, arms
        expected = summary[column].to_numpy().reshape(2, 4, 2)
        assert np.asarray(found) == pytest.approx(np.hstack(list(expected)))
        assert next(t.get_text() for t in ax.get_xticklabels()) == "Hybrid\nCash"
        assert [t.get_text() for t in ax.get_yticklabels()][-1] == "age\nEmployed"
        assert marks(ax) == [WATERMARK]
    assert report.plot_overlap("median").images[0].get_clim() == (0, 1)
    with pytest.raises(ParameterError, match="statistic='max'"):
        report.plot_overlap("max")


def test_diagnostics_show_the_truth_first_and_then_each_method(
    report: UtilityReport, confidential: pd.DataFrame, figures: Any
) -> None:
    axes = report.plot_residuals("work", "age")
    axes[0].figure.canvas.draw()
    assert [ax.get_title() for ax in axes] == [
        "Employed: the confidential data",
        "Employed: release 1 of Hybrid",
        "Employed: release 1 of Same",
    ]
    fit = dprct.ols("work ~ cash + therapy + age", confidential)
    fitted = fit.params["Intercept"] + confidential[["cash", "therapy", "age"]] @ fit.params[1:]
    for ax in (axes[0], axes[2]):
        assert np.asarray(ax.collections[0].get_offsets()) == pytest.approx(
            np.column_stack([fitted, confidential["work"] - fitted])
        )
    assert [marks(ax) for ax in axes] == [[WATERMARK]] * 3


def test_diagnostics_of_another_draw(
    report: UtilityReport, released: list[pd.DataFrame], figures: Any
) -> None:
    axes = report.plot_quantiles(draw=3)
    assert [ax.get_title() for ax in axes][1:] == ["Earnings: release 3 of Hybrid"]
    residuals = np.asarray(axes[1].collections[0].get_offsets())[:, 1]
    centred = released[2]["earn"] - released[2].groupby(["cash", "therapy"])["earn"].transform(
        "mean"
    )
    assert residuals == pytest.approx(np.sort(centred))
    assert [marks(ax) for ax in axes] == [[WATERMARK]] * 2
    with pytest.raises(ParameterError, match="numbered 1 to 3"):
        report.plot_residuals(draw=4)


def test_distributions_of_columns(
    report: UtilityReport, confidential: pd.DataFrame, figures: Any
) -> None:
    axes = report.plot_distributions()
    axes[0].figure.canvas.draw()
    assert [ax.get_title() for ax in axes] == ["earn", "work", "cash", "therapy", "age"]
    assert [ax.get_ylabel() for ax in axes] == ["Density", "Share", "Share", "Share", "Density"]
    assert len(axes[0].patches) == 1 + 3
    bars = [bar.get_height() for bar in axes[2].containers[0]]
    assert bars == pytest.approx([1 - confidential["cash"].mean(), confidential["cash"].mean()])
    assert [marks(ax) for ax in axes] == [[WATERMARK]] * 5
    assert len(report.plot_distributions(["earn"], "Same")[0].patches) == 2
    with pytest.raises(ParameterError, match="'Hybrid', 'Same'"):
        report.plot_distributions(method="GenModel")


def test_levels_stand_in_order_with_missing_codes_last_and_rare_ones_together(
    compare: Any, figures: Any
) -> None:
    rows = pd.DataFrame(
        {
            "y": np.arange(40.0),
            "t": [0.0, 1.0] * 20,
            "n": [*[10.0] * 18, *[2.0] * 20, *tagged([0, 2])],
            "name": [f"person {k:02d}" for k in range(30)] + ["anna"] * 10,
        }
    )
    report = compare(utility, rows, rows[::-1], formula="y ~ t")
    numbers, names = report.plot_distributions(["n", "name"])
    assert [tick.get_text() for tick in numbers.get_xticklabels()] == ["2", "10", ".", ".b"]
    labels = [tick.get_text() for tick in names.get_xticklabels()]
    assert (labels[0], labels[-1], len(labels)) == ("anna", "(others)", 13)
    assert names.containers[0][-1].get_height() == pytest.approx((30 - 11) / 40)


def test_reasons_are_not_all_printed(confidential: pd.DataFrame, compare: Any) -> None:
    draws = [confidential.assign(earn=np.nan)] * 8
    report = compare(utility, confidential, draws, formula="earn ~ cash")
    text = report.to_text()
    assert text.count("Not estimated on") == 5
    assert "And 3 more." in text
    assert "0 of 8" in text


def test_raw_and_private_effects_stand_next_to_each_other(
    report: UtilityReport, figures: Any
) -> None:
    ax = report.plot_effects("work", "age", draw=1)
    ax.figure.canvas.draw()
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said == ["confidential", "Hybrid", "Same"]
    assert {tick.get_text() for tick in ax.get_yticklabels()} == {"Cash", "Therapy"}
    here = report.to_frame().query("outcome == 'work' and covariates == 'age' and draw == 1")
    hybrid = here[here["method"] == "Hybrid"]
    for bars, prefix in zip(ax.containers, ("", "released."), strict=False):
        ends = [one[:, 0].tolist() for one in bars.lines[2][0].get_segments()]
        expected = hybrid[[f"{prefix}conf.low", f"{prefix}conf.high"]].to_numpy().tolist()
        assert ends == [pytest.approx(one) for one in expected]
    assert marks(ax) == [WATERMARK]
    with pytest.raises(ParameterError, match="with covariates 'age' in draw 9"):
        report.plot_effects("work", "age", draw=9)
