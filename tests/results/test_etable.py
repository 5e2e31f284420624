"""Fits side by side: the same numbers as each alone, named for people."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ColumnError, ParameterError
from dprct.privacy.budget import Budget, Guarantee
from dprct.schema import Column, Schema
from dprct.schema.columns import FileFacts


def rows(n=90):
    rng = np.random.default_rng(6)
    data = pd.DataFrame(
        {"x": rng.normal(size=n), "z": rng.normal(size=n), "v": np.arange(n) % 3 + 1}
    )
    data["y"] = 1 + data["x"] + rng.normal(size=n)
    return data.assign(twice=2 * data["x"], g=np.arange(n) % 15)


DATA = rows()
FITS = [
    dprct.ols("y ~ x", DATA),
    dprct.ols("y ~ x + z + C(v)", DATA, cluster="g"),
    dprct.ols("y ~ x + twice + x:C(v)", DATA),
]
SCHEMA = Schema(
    (Column("y", label="Earnings"), Column("x", label="Age"), Column("v", value_label="towns")),
    FileFacts(value_labels=MappingProxyType({"towns": MappingProxyType({1: "A", 2: "B"})})),
)


def shown(table, **options):
    return {
        line.name: [str(c) for c in line.cells] for line in table.styled(**options).grid().lines
    }


def test_the_numbers_are_those_of_the_fits():
    frame = dprct.etable(FITS).to_frame()
    for k, fit in enumerate(FITS, start=1):
        for name in fit.params.index:
            assert frame.loc[name, (f"({k})", "estimate")] == fit.params[name]
            assert frame.loc[name, (f"({k})", "std.error")] == fit.bse[name]
            assert frame.loc[name, (f"({k})", "p.value")] == fit.pvalues[name]
        assert frame.loc["nobs", (f"({k})", "estimate")] == 90
    assert frame.loc["n_groups", ("(2)", "estimate")] == 15
    assert np.isnan(frame.loc["n_groups", ("(1)", "estimate")])


def test_names_come_from_the_schema_and_labels_go_before():
    names = [row.name for row in dprct.etable(FITS, SCHEMA).rows]
    assert names[:5] == ["Age", "z", "v = B", "v = 3", "twice"]
    assert "Age × v = B" in names
    assert names.index("Constant") == len(names) - 4
    table = dprct.etable(FITS, SCHEMA, labels={"z": "Zeal", "v": "Town", "y": "Y"})
    assert [row.name for row in table.rows][1:3] == ["Zeal", "Town = B"]
    assert {column.over for column in table.columns} == {"Y"}
    assert {column.over for column in dprct.etable(FITS, SCHEMA).columns} == {"Earnings"}


def test_omitted_and_absent_differ():
    cells = shown(dprct.etable(FITS))
    assert cells["twice"] == ["", "", "(omitted)"]


def test_keep_orders_and_drop_hides():
    kept = dprct.etable(FITS, keep=["C(v)", "x"])
    assert [row.key for row in kept.rows][:3] == ["C(v)[T.2]", "C(v)[T.3]", "x"]
    assert "Intercept" not in [row.key for row in kept.rows]
    dropped = [row.key for row in dprct.etable(FITS, drop=["C(v)", "Intercept"]).rows]
    assert "C(v)[T.2]" not in dropped
    assert "z" in dropped


def test_rows_that_say_yes_or_no_and_rows_by_hand():
    table = dprct.etable(
        FITS, indicate={"Town effects": ["C(v)"]}, rows={"Mean of outcome": [1.0, 1.0, None]}
    )
    cells = shown(table)
    assert cells["Town effects"] == ["No", "Yes", "No"]
    assert cells["Mean of outcome"] == ["1.000", "1.000", ""]
    assert "C(v)[T.2]" not in [row.key for row in table.rows]
    order = list(cells)
    assert (
        order.index("Town effects") < order.index("Mean of outcome") < order.index("Observations")
    )


def test_statistics_that_nobody_has_are_left_out():
    assert "Clusters" not in shown(dprct.etable(FITS[:1]))
    assert shown(dprct.etable(FITS))["Clusters"] == ["", "15", ""]
    cells = shown(dprct.etable(FITS, stats=["cov_type", "rsquared", "df_resid"]))
    assert cells["Standard errors"] == ["HC1", "cluster", "HC1"]
    assert cells["R-squared"][0] == f"{FITS[0].rsquared:.3f}"
    assert cells["Residual degrees of freedom"] == ["88", "85", "86"]


def test_the_style_of_the_aer():
    text = dprct.etable(FITS, style="aer", title="T").to_text(notes=False)
    assert "*" not in text
    assert f"({FITS[0].bse['x']:.3f})" in text
    assert text.startswith("T\n")


def test_shares_keep_their_decimals_beside_rounded_estimates():
    cells = shown(dprct.etable(FITS), digits=0)
    assert cells["R-squared"][0] == f"{FITS[0].rsquared:.3f}"
    assert cells["x"][0].rstrip("*") == f"{FITS[0].params['x']:.0f}"


def test_errors_beside_keep_the_outcome_in_the_heading():
    grid = dprct.etable(FITS, SCHEMA, style="paper").grid()
    assert [heading for heading, _ in grid.spans[1]] == [f"Earnings ({k})" for k in (1, 2, 3)]


def test_headings_by_name():
    table = dprct.etable({"Short": FITS[0], "Long": FITS[1]})
    assert [column.heading for column in table.columns] == ["Short", "Long"]


def test_guarantees_are_printed_once():
    guarantee = Guarantee.of(Budget(1), "replace-one", unit="person")
    released = dprct.ols("y ~ x", DATA, guarantee=guarantee)
    text = dprct.etable([released, released, FITS[0]], notes=["Mine."]).to_text()
    flat = " ".join(text.split())
    assert flat.count("epsilon=1") == 1
    assert flat.count("do not include the noise of the release") == 1
    assert "Mine." in text


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (([],), ParameterError, "at least one fit"),
        ((["y ~ x"],), ParameterError, r"model \(1\) is str; give results"),
    ],
)
def test_what_is_no_model(arguments, error, says):
    with pytest.raises(error, match=says):
        dprct.etable(*arguments)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"keep": ["xx"]}, ColumnError, "no column 'xx' in the models; did you mean 'x'"),
        ({"drop": ["q"]}, ColumnError, "'q'"),
        ({"indicate": {"Q": ["q"]}}, ColumnError, "'q'"),
        ({"stats": ["aic"]}, ParameterError, "'aic'; allowed: nobs"),
        ({"style": "apa"}, ParameterError, "allowed: paper"),
        ({"rows": {"Short": [1]}}, ParameterError, "'Short' has 1 cells for 3 columns"),
    ],
)
def test_options_that_do_not_fit(options, error, says):
    with pytest.raises(error, match=says):
        dprct.etable(FITS, **options)


def test_one_fit_by_itself_is_refused():
    with pytest.raises(ParameterError, match="models= is OLSResults; give a list"):
        dprct.etable(dprct.ols("y ~ x", rows()))


def test_absorbed_effects_have_a_row_of_their_own():
    rows = pd.DataFrame(
        {"y": [1.0, 2, 4, 3, 6, 5], "x": [0, 1, 1, 0, 1, 0], "v": [1, 1, 2, 2, 3, 3]}
    )
    fits = [dprct.ols(formula, rows) for formula in ("y ~ x", "y ~ x | v")]
    table = dprct.etable(fits, labels={"v": "Village"})
    (line,) = (text for text in table.to_text().splitlines() if text.startswith("Village effects"))
    assert line.split()[-2:] == ["No", "Yes"]
    assert "effects" not in dprct.etable(fits[:1]).to_text()


FOUR = {"short": FITS[0], "long": FITS[1], "sites": dprct.ols("y ~ x | g", DATA), "both": FITS[2]}
GROUPED = {"Without & with": ["short", 2], "Last": ["both"]}


def test_groups_stand_above_neighbouring_models():
    grid = dprct.etable(FOUR, SCHEMA, groups=GROUPED).grid()
    assert grid.spans[0] == (("Without & with", 2), ("", 1), ("Last", 1))
    assert grid.spans[1] == (("Earnings", 2), ("Earnings", 1), ("Earnings", 1))
    top, below, *_ = dprct.etable(FOUR, SCHEMA, groups=GROUPED).to_text().splitlines()[1:]
    assert top.split() == ["Without", "&", "with", "Last"]
    assert below.split() == ["Earnings"] * 3
    beside = dprct.etable(FOUR, groups=GROUPED, style="paper").grid()
    assert beside.spans[0] == (("Without & with", 4), ("", 2), ("Last", 2))
    frame = dprct.etable(FOUR, groups=GROUPED).displayed()
    assert list(frame.columns)[3] == ("Last", "y", "both")
    assert dprct.etable(FOUR).grid().spans[0] == (("", 4),)
    assert dprct.etable(FOUR).grid().above == ((("y", 4),),)


def test_groups_in_html_and_latex_span_their_models():
    table = dprct.etable(FOUR, groups=GROUPED)
    assert '<th colspan="2" style="text-align:center">Without &amp; with</th>' in table.to_html()
    written = table.to_latex()
    assert r"\multicolumn{2}{c}{Without \& with}" in written
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){5-5}" in written


def test_groups_keep_their_columns_where_a_table_is_cut():
    text = dprct.etable(FOUR, groups=GROUPED, style="paper").to_text(60)
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("Last") == 1
    words = dprct.etable(FITS[:2], groups={"A heading wider than its models": [1, 2]}).to_text()
    assert "A heading wider than its models" in words


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ({"a": [1, 3]}, "not adjacent"), ({"a": [1, 1]}, "not adjacent"),
        ({"a": [1, 2], "b": [2, 3]}, "in the groups 'a' and 'b'"), ({"a": []}, "no list of models"),
        ({"a": ["tall"]}, "numbers from 1 to 4, or the headings short"), ({"a": [5]}, "model 5"),
        ({"a": "long"}, "no list of models"),
    ],
)  # fmt: skip
def test_groups_that_cannot_be(groups, says):
    with pytest.raises(ParameterError, match=says):
        dprct.etable(FOUR, groups=groups)


def test_absorbed_effects_and_groups_compile(compiled):
    table = dprct.etable(
        FOUR, SCHEMA, groups=GROUPED, indicate={"Towns": ["C(v)"]}, labels={"g": "Sites & 50%"}
    )
    assert shown(table)["Sites & 50% effects"] == ["No", "No", "Yes", "No"]
    assert shown(table)["Towns"] == ["No", "Yes", "No", "No"]
    assert "Output written on t.pdf" in compiled(table.to_latex(), table.to_latex(style="paper"))


def test_a_table_is_drawn_with_an_interval_per_model():
    plt = pytest.importorskip("matplotlib.pyplot")
    table = dprct.etable(FOUR, SCHEMA, groups=GROUPED, title="Earnings")
    ax = table.plot(keep=["x", "z"])
    ax.figure.canvas.draw()
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said == ["Without & with short", "Without & with long", "sites", "Last both"]
    assert {tick.get_text() for tick in ax.get_yticklabels()} == {"Age", "z"}
    (segment,) = ax.containers[0].lines[2][0].get_segments()
    half = 1.959963984540054 * FITS[0].bse["x"]
    assert segment[:, 0].tolist() == pytest.approx(
        [FITS[0].params["x"] - half, FITS[0].params["x"] + half]
    )
    assert "Constant" not in [tick.get_text() for tick in table.plot().get_yticklabels()]
    assert not ax.texts
    other = dprct.etable([FITS[0], dprct.ols("z ~ x", DATA)]).plot()
    assert [text.get_text() for text in other.get_legend().get_texts()] == ["(1) y", "(2) z"]
    assert ax.get_xlabel() == "Estimate, with 95% interval (units of Earnings)"
    simulated = dprct.etable([dprct.ols("y ~ x", DATA, guarantee=Guarantee.of(
        Budget(1), "replace-one", unit="person").as_simulation())])  # fmt: skip
    assert any("simulation" in text.get_text() for text in simulated.plot().texts)
    with pytest.raises(ParameterError, match="keep= leaves no row"):
        table.plot(keep=["nobs"])
    with pytest.raises(ParameterError, match="alpha"):
        table.plot(alpha=2)
    plt.close("all")
