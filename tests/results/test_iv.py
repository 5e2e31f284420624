"""Two-stage least squares against R's AER and sandwich (``tests/reference/ordinary_r.R``)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dprct
from dprct.errors import ColumnError, FormulaError, ParameterError

REFERENCE = json.loads(
    (Path(__file__).resolve().parents[1] / "reference" / "ordinary_r.json").read_text("utf-8")
)
ROWS = pd.DataFrame(REFERENCE["data"])
CASES = {case["name"]: case for case in REFERENCE["iv"]}


def order_of(fit, case):
    """Where R's coefficients stand in ours."""
    ours = [str(name) for name in fit.params.index]
    return [ours.index(named(term)) for term in case["term"]]


def named(term):
    if term == "(Intercept)":
        return "Intercept"
    return f"C(v)[T.{term.removeprefix('factor(v)')}]" if term.startswith("factor") else term


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1", "cluster"])
@pytest.mark.parametrize("name", CASES)
def test_estimates_and_errors_are_those_of_r(name, cov_type):
    case = CASES[name]
    fit = dprct.iv(
        case["formula"], ROWS, cov_type=cov_type, cluster="v" if cov_type == "cluster" else None
    )
    at = order_of(fit, case)
    np.testing.assert_allclose(fit.params.to_numpy()[at], case["estimate"], rtol=1e-9)
    theirs = np.array(case[cov_type])
    scale = np.sqrt(np.outer(np.diag(theirs), np.diag(theirs)))
    gap = (fit.cov.to_numpy()[np.ix_(at, at)] - theirs) / scale
    if name == "villages" and cov_type == "cluster":  # clusters leave the dummies no variance
        at, gap = [0], gap[1:2, 1:2]
    assert np.abs(gap).max() < 1e-8
    df = 14 if cov_type == "cluster" else case["n"] - case["k"]
    assert fit.df_inference == df
    t = case["estimate"][1] / np.sqrt(theirs[1, 1])
    assert fit.pvalues["d"] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-7)
    assert fit.first_stage_f == pytest.approx(case[f"f_{cov_type}"], rel=1e-8)


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1"])
def test_absorbed_effects_are_dummies(cov_type):
    dummies = dprct.iv("y ~ x + C(v) + [d ~ z]", ROWS, cov_type=cov_type)
    for absorbed in (
        dprct.iv("y ~ x + [d ~ z] | v", ROWS, cov_type=cov_type),
        dprct.iv("y ~ x + [d ~ z]", ROWS, cov_type=cov_type, absorb="v"),
    ):
        for name in ("d", "x"):
            assert absorbed.params[name] == pytest.approx(dummies.params[name], rel=1e-9)
            assert absorbed.bse[name] == pytest.approx(dummies.bse[name], rel=1e-9)
        assert absorbed.first_stage_f == pytest.approx(dummies.first_stage_f, rel=1e-8)
        assert "areg: 15 parameters" in absorbed.summary()


def test_a_binary_instrument_alone_gives_walds_ratio():
    fit = dprct.iv("y ~ [d ~ z]", ROWS)
    gaps = ROWS.groupby("z")[["y", "d"]].mean().diff().loc[1]
    assert fit.params["d"] == pytest.approx(gaps["y"] / gaps["d"], rel=1e-10)


def test_a_regressor_as_its_own_instrument_is_least_squares():
    own = dprct.iv("y ~ x + [d ~ I(d * 2)]", ROWS)
    plain = dprct.ols("y ~ d + x", ROWS)
    assert own.params[["d", "x"]].to_numpy() == pytest.approx(plain.params[["d", "x"]].to_numpy())
    assert own.bse[["d", "x"]].to_numpy() == pytest.approx(plain.bse[["d", "x"]].to_numpy())


@pytest.mark.parametrize("kind", ["fweight", "aweight", "pweight"])
def test_weights_do_what_they_do_in_least_squares(kind):
    rows = ROWS.assign(k=np.arange(len(ROWS)) % 3)
    fit = dprct.iv("y ~ x + [d ~ z]", rows, weights="k", weights_type=kind)
    repeated = rows.loc[rows.index.repeat(rows["k"])]
    assert fit.params["d"] == pytest.approx(dprct.iv("y ~ x + [d ~ z]", repeated).params["d"])
    if kind == "fweight":
        assert fit.bse["d"] == pytest.approx(dprct.iv("y ~ x + [d ~ z]", repeated).bse["d"])
    assert fit.rows_dropped == 60


def test_what_no_row_of_which_is_held_is_printed():
    fit = dprct.iv("y ~ x + [d ~ z]", ROWS.assign(y=ROWS["y"].where(ROWS.index > 4)))
    text = fit.summary()
    assert fit.rows_dropped == 5
    for words in ("Two-stage least squares", "First-stage F", "Endogenous", "Rows dropped"):
        assert words in text
    assert not [v for v in map(np.size, vars_of(fit)) if v > 20]
    assert fit.lincom("d + x").params.iloc[0] == pytest.approx(fit.params["d"] + fit.params["x"])
    assert fit.predict(ROWS.head(3)).to_numpy() == pytest.approx(
        (fit.params["Intercept"] + ROWS[["d", "x"]].head(3) @ fit.params[["d", "x"]]).to_numpy()
    )


def vars_of(fit):
    return [getattr(fit, name) for name in type(fit).__dataclass_fields__]


def test_released_moments_answer_the_same_verb():
    schema = dprct.Schema(
        (
            dprct.Column("y", bounds=(-6.0, 8.0), missing=()),
            dprct.Column("d", bounds=(-4.0, 6.0), missing=()),
            dprct.Column("z", "byte", levels=(0.0, 1.0), missing=(), built_from="own"),
        )
    )
    model = dprct.PrivateMoments(ROWS[["y", "d", "z"]], schema, columns=["y", "d", "z"])
    moments = model.fit(10, 1e-6)
    found = dprct.iv("y ~ [d ~ z]", moments)
    assert found.conf_int().equals(moments.iv("y ~ [d ~ z]").conf_int())
    with pytest.raises(ParameterError, match="need rows"):
        dprct.iv("y ~ [d ~ z]", moments, cluster="v")


@pytest.mark.parametrize(
    ("formula", "options", "error", "words"),
    [
        ("y ~ d", {}, FormulaError, "names no instruments"),
        ("y + x ~ [d ~ z]", {}, FormulaError, "one outcome"),
        ("y ~ [C(v) ~ z]", {}, FormulaError, "in brackets stands one column"),
        ("y ~ [town ~ z]", {}, FormulaError, "name one endogenous number"),
        ("y ~ x + [d ~ x]", {}, ParameterError, "no instrument of 'd' varies"),
        ("y ~ [d ~ nothing]", {}, ColumnError, "nothing"),
        ("y ~ [d ~ z]", {"cov_type": "HC3"}, ParameterError, "not defined for instruments"),
        ("y ~ [d ~ z]", {"cluster": [1] * 180}, ParameterError, "one cluster"),
        ("y ~ [d ~ z]", {"weights": "v", "weights_type": "x"}, ParameterError, "weights_type"),
    ],
)
def test_what_is_not_identified_or_known_is_refused(formula, options, error, words):
    with pytest.raises(error, match=words):
        dprct.iv(formula, ROWS.assign(town=ROWS["v"].map("t{}".format)), **options)
    with pytest.raises(FormulaError, match="use iv"):
        dprct.ols("y ~ [d ~ z]", ROWS)
