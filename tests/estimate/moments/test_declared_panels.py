"""Declared regressions of people who have several rows: rounds, and differences in differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Regression, Schema, Unit
from dprct.errors import ParameterError
from dprct.estimate.moments.members import read_members
from dprct.estimate.moments.one_step import _clips, place_of, residual_of
from dprct.privacy.aggregates import _open
from dprct.queries.one_step import ResidualRows
from dprct.schema.tables import table as data_table

NEVER: Any = {"missing": ()}
BINARY: Any = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
SCHEMA = Schema(
    (
        Column("person", "long", **NEVER), Column("village", "int", **NEVER),
        Column("wave", "byte", levels=(0.0, 1.0, 2.0, 3.0), fate="public", **NEVER),
        Column("post", fate="public", **BINARY), Column("treat", **BINARY),
        Column("on", **BINARY), Column("d", **BINARY), Column("female", **BINARY),
        Column("y", bounds=(-4, 4), sd=1.0, **NEVER), Column("x", bounds=(-3, 3), sd=1.0, **NEVER),
    ),
    unit=Unit("person", id="person", max_rows=4),
)  # fmt: skip
DID, ROUNDS = "y ~ treat:post + C(wave) | person", "y ~ treat + x + C(wave)"
PERSONS = dprct.Cluster("treat", cluster="person", shares=0.5)
VILLAGES = dprct.Cluster("treat", cluster="village", shares=0.5)


def table(n: int = 1000, seed: int = 1) -> pd.DataFrame:
    """Four waves, of which a tenth of the rows is missing; villages of 20 were assigned."""
    rng = np.random.default_rng(seed)
    person, wave = np.repeat(np.arange(n), 4), np.tile(np.arange(4.0), n)
    treat = rng.permutation(np.arange(n // 20) % 2)[person // 20] * 1.0
    post, x = (wave >= 2) * 1.0, rng.normal(size=4 * n)
    y = 0.7 * rng.normal(size=n)[person] + 0.7 * rng.normal(size=4 * n) + 0.2 * wave + 0.3 * x
    female = np.arange(n)[person] % 9 < 4
    y = y + 0.3 * female * (wave + treat * post)
    rows = pd.DataFrame({
        "person": person, "village": person // 20, "wave": wave, "post": post, "treat": treat,
        "on": (rng.random(4 * n) < 0.5) * 1.0, "d": (x > 0) * 1.0, "female": female * 1.0,
        "y": (y + 0.2 * treat * post - 0.3).clip(-4, 4), "x": x.clip(-3, 3),
    })  # fmt: skip
    return rows[rng.random(4 * n) < 0.9].sample(frac=1, random_state=1).reset_index(drop=True)


ROWS = table()


def model(rows: Any = ROWS, **options: Any) -> PrivateMoments:
    given: dict[str, Any] = {
        "assignment": PERSONS, "neighbors": "replace-one-design-public",
        "formulas": [DID, ROUNDS], **options,
    }  # fmt: skip
    return PrivateMoments(rows, SCHEMA, **given)


SEEDS = {"person": range(1, 2), "village": range(1, 17)}


def check_errors(found: list[float], exact: list[float], cluster: str, rel: float) -> None:
    """Check errors by persons one by one, and those by 50 villages on average over releases.

    The squares of villages have more noise, for which their errors are raised.
    """
    ratios = np.divide(found, exact)
    if cluster == "person":
        assert ratios == pytest.approx(1, rel=rel)
    else:
        assert 1 < ratios.mean() < 1.4


@pytest.mark.parametrize("cluster", ["person", "village"])
def test_coefficients_and_errors_are_those_of_the_regression(cluster: str) -> None:
    own = model(assignment=PERSONS if cluster == "person" else VILLAGES)
    m, *more = [own.fit(30, 1e-6, rng=seed) for seed in SEEDS[cluster]]
    rows = ROWS.assign(tp=ROWS["treat"] * ROWS["post"])
    persons = rows["person"].nunique()
    for formula, plain, term in (
        (DID, "y ~ tp + C(wave) | person", "tp"), (ROUNDS, ROUNDS, "treat"),
    ):  # fmt: skip
        found, raw = m.ols(formula), dprct.ols(plain, rows, cluster=cluster)
        gap = abs(found.params.iloc[0] - raw.params[term])
        assert gap < 5 * np.hypot(found.bse_noise.iloc[0], 0.1 * raw.bse[term])
        counted = (len(rows) - 5 - persons) / (len(rows) - 5) if formula == DID else 1.0
        exact = raw.bse[term] * counted**0.5  # of persons, whose effects are not counted here
        printed = [one.ols(formula).bse.iloc[0] for one in (m, *more)]
        check_errors(printed, [exact] * len(printed), cluster, rel=0.15)
        assert found.df_inference == rows[cluster].nunique() - 1
        assert found.nobs == len(rows)


@pytest.mark.parametrize("one", [Regression(ROUNDS), Regression(ROUNDS, where="female == 1")])
def test_errors_by_village_hold_what_its_people_share(one: Regression) -> None:
    """A sum over a village is beyond what one person moves, and is not clipped there."""
    shared = np.random.default_rng(3).normal(scale=0.5, size=50)
    rows = ROWS.assign(y=(ROWS["y"] + shared[ROWS["village"]]).clip(-4, 4))
    raw = dprct.ols(ROUNDS, rows[rows["female"] == 1] if one.where else rows, cluster="village")
    found = model(rows, assignment=VILLAGES, formulas=[one]).fit(30, 1e-6, rng=1).ols(one)
    assert found.bse.iloc[0] == pytest.approx(raw.bse["treat"], rel=0.1)


def test_errors_by_village_hold_what_its_people_share_in_a_wave() -> None:
    """Weights of a difference in differences add up to nothing in a village, but shocks do not."""
    shared = np.random.default_rng(3).normal(scale=0.6, size=(50, 4))
    shocks = shared[ROWS["village"], ROWS["wave"].astype(int)]
    rows = ROWS.assign(y=(ROWS["y"] + shocks).clip(-4, 4), tp=ROWS["treat"] * ROWS["post"])
    raw = dprct.ols("y ~ tp + C(wave) | person", rows, cluster="village").bse["tp"]
    counted = 1 - rows["person"].nunique() / len(rows)  # person effects are not counted here
    found = model(rows, assignment=VILLAGES, formulas=[DID]).fit(30, 1e-6, rng=1).ols(DID)
    assert 0.97 < found.bse.iloc[0] / (raw * counted**0.5) < 1.2


def test_sums_of_villages_are_clipped_at_what_icc_says_their_people_share() -> None:
    """Of 20 people whose weights add up to nothing, 1 + 19 icc times the squares of their rows."""

    def clip(icc: float, cluster: str = "village") -> float:
        m = model(assignment=dprct.Cluster("treat", cluster=cluster, icc=icc), formulas=[DID])
        (bound,) = m.facts.steps.bound
        return _clips(bound, place_of(m.facts.layout, "y"), 100.0, icc)(10**6, 1.0)[0]

    assert clip(0.2) / clip(0.0) == pytest.approx((1 + 19 * 0.2) ** 0.5, rel=1e-3)
    assert clip(0.2, "person") == clip(0.0, "person")


def test_without_noise_the_weights_give_the_coefficient_balanced_or_not() -> None:
    steps = model(formulas=[DID]).facts.steps
    weights = steps.bound[0].weights[:, steps.cells.codes]
    rows = ROWS.assign(tp=ROWS["treat"] * ROWS["post"])
    raw = dprct.ols("y ~ tp + C(wave) | person", rows).params["tp"]
    assert float(weights[0] @ ROWS["y"]) / len(ROWS) == pytest.approx(raw, abs=1e-9)
    for of in ("person", "wave"):
        assert np.abs(np.bincount(ROWS[of].astype(int), weights[0])).max() < 1e-6


def test_treatment_that_goes_on_and_off_is_served_with_errors_by_person() -> None:
    one = "y ~ on + C(wave) | person"
    m = model(assignment=dprct.Simple("on", shares=0.5), formulas=[one]).fit(30, 1e-6, rng=2)
    found, raw = m.ols(one), dprct.ols(one, ROWS, cluster="person")
    assert abs(found.params["on"] - raw.params["on"]) < 5 * found.bse_noise["on"]
    assert found.of.groups == ROWS["person"].nunique()


WOMEN, MEN = ([Regression(one, where=f"female == {k}") for one in (DID, ROUNDS)] for k in (1, 0))
ON = Regression("y ~ on + C(wave) | person", where="female == 1")


@pytest.mark.parametrize(
    ("asked", "design"), [(*WOMEN[:1], PERSONS), (*MEN[:1], PERSONS), (WOMEN[1], PERSONS),
                          (ON, dprct.Simple("on", shares=0.5))]
)  # fmt: skip
def test_without_noise_a_private_condition_gives_the_coefficient(asked: Any, design: Any) -> None:
    """With all of the periods' levels, whoever is a member: without covariates, as moments are."""
    steps, layout = (m := model(assignment=design, formulas=[asked])).facts.steps, m.facts.layout
    (bound,) = steps.bound
    residual = residual_of(place_of(layout, "y"), None)
    score = bound.score(residual.reach)
    sums = ResidualRows.of(data_table(ROWS), [residual], steps.cells, (), steps.kinds)
    units = _open(sums.effects([0], [score]))
    law = read_members(bound, score, score.effects, list(units), 0.0)
    some = ROWS.assign(tp=ROWS["treat"] * ROWS["post"]).query(asked.where)
    plain = asked.formula.replace("treat:post", "tp").replace(" + x", "")
    raw = dprct.ols(plain, some).params
    assert law.theta[0] * residual.half_step == pytest.approx(
        raw[[one for one in ("tp", "treat", "on") if one in raw.index]].iloc[0], abs=1e-6
    )
    assert law.share * bound.n == pytest.approx(len(some), abs=1e-3)


@pytest.mark.parametrize("cluster", ["person", "village"])
def test_private_conditions_on_persons_have_the_errors_of_the_regression(cluster: str) -> None:
    design = PERSONS if cluster == "person" else VILLAGES
    own = model(assignment=design, formulas=[*WOMEN, *MEN])
    m, *more = [own.fit(30, 1e-6, rng=seed) for seed in SEEDS[cluster]]
    assert "A person with several rows counts if all of them" in " ".join(
        str(m.ols(WOMEN[0])).split()
    )
    for asked in (*WOMEN, *MEN):
        some = ROWS.assign(tp=ROWS["treat"] * ROWS["post"]).query(asked.where)
        plain = asked.formula.replace("treat:post", "tp")
        found, raw = m.ols(asked), dprct.ols(plain, some, cluster=cluster)
        term = "tp" if "tp" in plain else "treat"
        persons = some["person"].nunique() if "| person" in plain else 0
        exact = raw.bse[term] * ((len(some) - 5 - persons) / (len(some) - 5)) ** 0.5
        assert abs(found.params.iloc[0] - raw.params[term]) < 6 * np.hypot(
            found.bse_noise.iloc[0], 0.2 * raw.bse[term]
        )
        fits = [one.ols(asked) for one in (m, *more)]
        wanted = [np.hypot(exact, one.bse_noise.iloc[0]) for one in fits]
        check_errors([one.bse.iloc[0] for one in fits], wanted, cluster, rel=0.25)


def test_effects_of_persons_that_count_are_those_of_members() -> None:
    (steps,) = (model(formulas=[replace(WOMEN[0], count_effects=True)]).facts.steps.bound,)
    (bound,) = steps
    assert bound.persons.sum() == ROWS["person"].nunique()
    n, persons = len(ROWS) / 3, ROWS["person"].nunique() / 3
    k = bound.coefficients - 2 / 3 * ROWS["person"].nunique()
    assert bound.inflated(n) == pytest.approx((n - 1) / (n - k), rel=0.003)
    assert k == pytest.approx(persons + 4, abs=1)


def test_a_release_is_planned_saved_and_says_what_is_public(tmp_path: Any) -> None:
    asked = model(formulas=[DID, Regression("y ~ treat", where="post == 1", name="after")])
    allocation: Any = asked._allocated(dprct.Budget(8, 1e-6))
    m = asked.fit(8, 1e-6)
    for one, planned in zip(m.regressions, allocation.planned, strict=True):
        np.testing.assert_allclose(one.bse_noise, planned.noise, rtol=0.02)
        np.testing.assert_allclose(one.bse, planned.error, rtol=0.35)
    said = " ".join(str(m.guarantee).split())
    assert "whose each row is (person)" in said
    assert "columns post, wave of every row" in said
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert str(back.ols("after")) == str(m.ols("after"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"formulas": [Regression("y ~ treat*x", where="post == 1")]}, "may have several rows"),
        ({"formulas": [Regression("y ~ [d ~ treat]", where="post == 1")]}, "may have several rows"),
        ({"formulas": ["y ~ treat | person"]}, "collinear with each other"),
        ({"formulas": [Regression("y ~ treat", where="female == 1", cov_type="nonrobust")]},
         "with classical errors, and private columns choose"),
        ({"formulas": [Regression("y ~ treat", where="female == 1", joint="a"),
                       Regression("x ~ treat", where="female == 1", joint="a")]},
         "private columns"),
        ({"formulas": [Regression("y + x ~ treat", joint="a")]}, "people who may have several"),
        ({"rows": pl.from_pandas(ROWS).lazy()}, "collect them first"),
    ],
)  # fmt: skip
def test_what_is_not_served_is_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model(**options)


def test_what_is_made_of_periods_is_declared_public_beside_private_conditions() -> None:
    late = Column("late", made_of=("wave",), **BINARY)
    asked = [Regression("y ~ treat + x", where="female == 1 and late == 1")]
    rows = ROWS.assign(late=(ROWS["wave"] == 3) * 1.0)
    given: dict[str, Any] = {
        "assignment": PERSONS, "formulas": asked, "neighbors": "replace-one-design-public",
    }  # fmt: skip
    shown = replace(late, fate="public")
    hidden, public = (replace(SCHEMA, columns=(*SCHEMA.columns, one)) for one in (late, shown))
    with pytest.raises(ParameterError, match="declare late public as well"):
        PrivateMoments(rows, hidden, **given)
    PrivateMoments(rows, public, **given)


def test_a_person_in_several_clusters_is_refused() -> None:
    rows = ROWS.assign(village=np.arange(len(ROWS)) % 40)
    rows["treat"] = rows["village"] % 2 * 1.0
    with pytest.raises(ParameterError, match="rows in several clusters of village"):
        model(rows, assignment=VILLAGES, formulas=[ROUNDS])
