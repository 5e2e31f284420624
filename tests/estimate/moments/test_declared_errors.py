"""Errors that a declared regression asks for: classical ones, robust ones, effects that count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dprct
from dprct import Moments, Regression
from dprct.errors import ParameterError
from dprct.estimate.moments.declared_results import declared_results
from tests.estimate.moments import test_declared_panels as panels
from tests.estimate.moments.test_one_step import BLOCKS, ROWS, SCHEMA, VILLAGES, model, within

CLASSICAL: Any = {"cov_type": "nonrobust"}
PLAIN, TERMS = "y ~ t1 + t2 + x | block", ["t1", "t2"]


def test_classical_errors_are_those_of_regress() -> None:
    m = model(formulas=[Regression(PLAIN, **CLASSICAL), PLAIN]).fit(30, 1e-6, rng=1)
    one = f"{PLAIN}, classical errors"
    found, robust = m.ols(one), m.ols(PLAIN)
    raw = dprct.ols(PLAIN.replace("| block", "+ C(block)"), ROWS, **CLASSICAL)
    within(found, raw, TERMS)
    np.testing.assert_allclose(found.bse, raw.bse[TERMS], rtol=0.06)
    assert found.cov.loc["t1", "t2"] == pytest.approx(raw.cov.loc["t1", "t2"], rel=0.1)
    assert (found.cov_type, found.df_inference) == ("nonrobust", raw.df_resid)
    assert robust.cov_type == "HC1"
    other, plain = found.lincom("t2 - t1"), raw.lincom("t2 - t1")
    assert other.bse.iloc[0] == pytest.approx(plain.bse.iloc[0], rel=0.06)
    exact = raw.wald_test("t1 = t2 = 0").statistic
    assert found.wald_test("t1 = t2 = 0").statistic == pytest.approx(exact, rel=0.2)


def test_all_of_a_classical_covariance_is_one_draw(tmp_path: Any) -> None:
    """Its noise is that of one number: in a combination it adds up as the covariance does."""
    m = model(formulas=[Regression(PLAIN, **CLASSICAL, name="it")]).fit(4, 1e-6)
    found = m.ols("it")
    drawn, w = found.drawn, np.array([-1.0, 1.0])
    ratio = drawn.sampling / drawn.spread
    np.testing.assert_allclose(ratio, ratio[0, 0])
    law = found.lincom("t2 - t1").laws[0]
    assert law.spreads[0] == pytest.approx(w @ drawn.spread @ w)
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert str(back.ols("it").lincom("t2 - t1")) == str(found.lincom("t2 - t1"))


def test_rows_whose_treatment_is_alike_in_their_block_count_in_classical_errors() -> None:
    rows = ROWS.assign(t1=np.where(ROWS["block"] == 0, 1.0, ROWS["t1"]))
    rows["t2"] = rows["t2"].where(rows["t1"] == 0, 0.0)
    rows["y"] = np.where(
        rows["block"] == 0, (2 * rows["y"]).clip(-4, 6), rows["y"]
    )  # of this block nothing but its residuals is in them
    one = Regression("y ~ t1 | block", **CLASSICAL)
    wide = SCHEMA.declare(y={"sd": 2.6})
    m = model(rows, wide, formulas=[one], attrition=True,
              assignment=BLOCKS)  # fmt: skip
    raw = dprct.ols("y ~ t1 + C(block)", rows, **CLASSICAL)
    found = m.fit(30, 1e-6, rng=1).ols(one)
    assert found.bse["t1"] == pytest.approx(raw.bse["t1"], rel=0.05)


def test_errors_of_rows_are_released_where_villages_were_assigned() -> None:
    asked = [Regression("y ~ treat + x", cov_type=kind, name=kind) for kind in ("HC1", "nonrobust")]
    m = model(formulas=[*asked, "y ~ treat + x"], assignment=VILLAGES).fit(30, 1e-6, rng=1)
    for kind in ("HC1", "nonrobust"):
        raw = dprct.ols("y ~ treat + x", ROWS, cov_type=kind)
        assert m.ols(kind).bse["treat"] == pytest.approx(raw.bse["treat"], rel=0.06)
    assert m.ols("y ~ treat + x").bse["treat"] > 2 * m.ols("HC1").bse["treat"]


def test_a_variance_that_was_drawn_below_0_is_named_by_its_coefficient() -> None:
    """Of products what is released is of combinations of the coefficients."""
    asked = "y ~ treat*x"
    found = model(formulas=[asked], assignment=VILLAGES).fit(30, 1e-6, rng=1).ols(asked)
    assert found.drawn.basis is not None
    back = np.linalg.inv(found.drawn.basis)
    for at, name in enumerate(found.params.index):
        wanted = np.diag(np.where(np.arange(2) == at, -1.0, 1.0))
        drawn = replace(found.drawn, sampling=back @ wanted @ back.T)
        (note,) = (x for x in declared_results(drawn, found.of, found.guarantee).notes
                   if "drawn at 0" in x)  # fmt: skip
        assert note.startswith(f"The sampling variance of {name} was drawn at 0 or below")


def test_effects_count_as_areg_and_xtreg_count_them() -> None:
    rows = panels.ROWS.assign(tp=panels.ROWS["treat"] * panels.ROWS["post"])
    persons = rows["person"].nunique()
    asked = [Regression(panels.DID, count_effects=True, name="areg"), panels.DID]
    m = panels.model(formulas=asked).fit(30, 1e-6, rng=1)
    raw = dprct.ols("y ~ tp + C(wave) | person", rows, cluster="person")  # which counts them
    areg, plain = m.ols("areg"), m.ols(panels.DID)
    assert areg.bse.iloc[0] == pytest.approx(raw.bse["tp"], rel=0.1)
    assert areg.df_resid == len(rows) - 4 - persons
    ratio = ((len(rows) - 5) / (len(rows) - 4 - persons)) ** 0.5
    sampling = areg.drawn.sampling[0, 0] / plain.drawn.sampling[0, 0]
    assert sampling == pytest.approx(ratio**2, rel=0.1)


def test_rounds_without_effects_have_classical_errors_too() -> None:
    one = Regression(panels.ROUNDS, **CLASSICAL)
    found = panels.model(formulas=[one]).fit(30, 1e-6, rng=1).ols(one)
    raw = dprct.ols(panels.ROUNDS, panels.ROWS, **CLASSICAL)
    assert found.bse.iloc[0] == pytest.approx(raw.bse["treat"], rel=0.1)
    assert found.df_inference == raw.df_resid


def test_effects_of_blocks_need_not_count() -> None:
    one = Regression("y ~ t1 + t2 | block", count_effects=False)
    assert model(formulas=[one]).facts.declared[0].coefficients == 3
    assert model(formulas=["y ~ t1 + t2 | block"]).facts.declared[0].coefficients == 8
    assert one.title == "y ~ t1 + t2 | block, effects not counted"


def test_a_plan_keeps_its_word() -> None:
    for asked in (model(formulas=[Regression(PLAIN, **CLASSICAL)]),
                  panels.model(formulas=[Regression(panels.ROUNDS, **CLASSICAL)])):  # fmt: skip
        allocation: Any = asked._allocated(dprct.Budget(4, 1e-6))
        (planned,) = allocation.planned
        (one,) = asked.fit(4, 1e-6, rng=2).regressions
        np.testing.assert_allclose(one.bse_noise, planned.noise, rtol=0.02)
        np.testing.assert_allclose(one.bse, planned.error, rtol=0.25)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"weights": "share"}, "is not offered with sampling weights; leave it out"),
    ({"joint": "all"}, "is not offered with ``joint=``; leave it out, for robust errors"),
    ({"cluster": "town"}, "are both given; give one of them"),
    ({"formula": "y ~ x + [works ~ t1]"}, "is not offered with instruments; leave it out"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_errors_that_contradict_another_option_are_refused(options: Any, words: str) -> None:
    words = words.replace("``", "")
    with pytest.raises(ParameterError, match=words):
        Regression(**{"formula": "y ~ t1", **CLASSICAL, **options})


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Regression("y ~ treat*x", **CLASSICAL), "with classical errors"),
        (Regression("y ~ treat*x", where="x > 0", **CLASSICAL), "with classical errors"),
        (Regression("y ~ treat + x", cov_type="CR1"), "no clusters were assigned"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(one: Regression, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model(formulas=[one], assignment=dprct.Simple("treat"))


def test_errors_that_take_rows_of_a_person_for_others_are_refused() -> None:
    with pytest.raises(ParameterError, match="each person has an effect, which classical errors"):
        panels.model(formulas=[Regression(panels.DID, **CLASSICAL)])
    with pytest.raises(ParameterError, match="which robust errors take for others"):
        panels.model(formulas=[Regression("y ~ treat", cov_type="HC1")])


def test_a_file_carries_no_classical_errors() -> None:
    with pytest.raises(ParameterError, match="asks for other errors than a file carries"):
        dprct.Calibrated(ROWS, SCHEMA, formulas=[Regression("y ~ treat + x", **CLASSICAL)],
                         assignment=dprct.Simple("treat"))  # fmt: skip
