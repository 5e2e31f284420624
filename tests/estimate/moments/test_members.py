"""Regressions of people whom private columns choose: the regression as written, and its doors."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Regression, Schema
from dprct.errors import ParameterError
from dprct.estimate.moments.members import declared_loads

NEVER: Any = {"missing": ()}
BINARY: Any = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
SCHEMA = Schema(
    (
        Column("y", bounds=(-4, 6), sd=1.3, centre=0.5, **NEVER),
        Column("t1", **BINARY), Column("t2", **BINARY), Column("treat", **BINARY),
        Column("x", bounds=(-3, 3), sd=1.0, **NEVER),
        Column("block", "byte", levels=tuple(range(6)), **NEVER),
        Column("village", "int", **NEVER),
        Column("female", "byte", levels=(0.0, 1.0), missing=(".",)),
        Column("age", bounds=(15, 90), sd=12, centre=40, missing=(".",)),
        Column("town", "str4", levels=("a", "b", "c"), missing=()),
        Column("wave", **BINARY, fate="public"),
        Column("w", bounds=(0, 8), fate="public", **NEVER),
    ),
    dataset_id="study",
)  # fmt: skip
PUBLIC = "replace-one-design-public"


def table(seed: int = 1) -> pd.DataFrame:
    """Three arms within six blocks of unequal shares; 200 villages, half of them treated."""
    rng = np.random.default_rng(seed)
    n = 6000
    block = np.repeat(np.arange(6.0), 1000)
    arm = np.concatenate([
        rng.permutation(np.repeat([0, 1, 2], (200, 300, 500) if b < 3 else (400, 400, 200)))
        for b in range(6)
    ])  # fmt: skip
    village = rng.permutation(np.repeat(np.arange(200.0), 30))
    treat = rng.permutation(np.arange(200) % 2.0)[village.astype(int)]
    x, female = rng.normal(size=n).clip(-3, 3), rng.choice([0.0, 1.0, np.nan], n, p=[0.4, 0.5, 0.1])
    effect = 0.3 * (arm == 1) + 0.6 * (arm == 2) + 0.3 * treat
    y = 0.6 * x + effect * (1 + (female == 1)) + (female == 1) + rng.normal(size=n)
    y = y + 0.3 * rng.normal(size=200)[village.astype(int)]
    return pd.DataFrame({
        "y": y.clip(-4, 6), "t1": (arm == 1) * 1.0, "t2": (arm == 2) * 1.0, "treat": treat,
        "x": x, "block": block, "village": village, "female": female,
        "age": np.where(rng.random(n) < 0.05, np.nan, rng.normal(40, 12, n).clip(15, 90)),
        "town": rng.choice(["a", "b", "c"], n), "wave": np.arange(n) % 2.0,
        "w": np.arange(n) % 4 + 1.0,
    })  # fmt: skip


ROWS = table()
BLOCKS = dprct.Block(
    ["t1", "t2"], block="block",
    shares={float(b): [0.3, 0.5] if b < 3 else [0.4, 0.2] for b in range(6)},
)  # fmt: skip
PEOPLE = dprct.Complete("treat", shares=0.5)
VILLAGES = dprct.Cluster("treat", cluster="village", shares=0.5)


def model(data: Any = ROWS, schema: Schema = SCHEMA, **options: Any) -> PrivateMoments:
    given: dict[str, Any] = {
        "assignment": BLOCKS, "neighbors": PUBLIC, "attrition": True, **options,
    }  # fmt: skip
    return PrivateMoments(data, schema, **given)


def near(found: Any, plain: Any, terms: list[str], sampling: float = 0.4) -> None:
    """The coefficients differ by noise, and by what fits and realised blocks leave."""
    gap = np.abs(found.params[terms] - plain.params[terms].to_numpy())
    assert (gap < 4 * np.hypot(found.bse_noise[terms], sampling * plain.bse[terms])).all()
    np.testing.assert_allclose(found.bse[terms], plain.bse[terms], rtol=0.25)


CONDITIONS = [
    ("y ~ t1 + t2 + x | block", "female == 1", "female == 1", ["t1", "t2"]),
    ("y ~ t1 + t2 + x | block", "female != 1 & wave == 1", "female == 0 & wave == 1", ["t1", "t2"]),
    ("y ~ t1 + t2 | block", 'inrange(age, 30, 50) | town == "a"',
     "age >= 30 & age <= 50 | town == 'a'", ["t1", "t2"]),
    ("y ~ t1 + x | block", "age < 40 | missing(age)", "age < 40 | age != age", ["t1"]),
    ("y ~ t2 + x | block", "female | wave == 1", "female == 1 | wave == 1", ["t2"]),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "where", "query", "terms"), CONDITIONS)
def test_a_private_condition_gives_the_regression_of_its_people(
    formula: str, where: str, query: str, terms: list[str]
) -> None:
    rows = ROWS.query(query)
    plain = dprct.ols(formula.replace("| block", "+ C(block)"), rows)
    one = Regression(formula, where=where, name="them")
    found = model(formulas=[one]).fit(30, 1e-6, rng=1).ols("them")
    near(found, plain, terms)
    assert found.cov_type == "HC1"
    assert abs(found.nobs - len(rows)) < 0.05 * len(rows)
    assert any("Who meets the condition is private" in note for note in found.notes)
    assert found.estimand == "y clipped to [-4, 6] where " + (one.condition or "")


def test_without_noise_two_arms_are_two_means() -> None:
    """The four sums solve for the means of members by arm, however unequal the realised shares."""
    from dprct.estimate.moments.members import law_of

    one = Regression("y ~ treat", where="female == 1", name="women")
    bound = model(assignment=PEOPLE, formulas=[one]).facts.steps.bound[0]
    cells = model(assignment=PEOPLE, formulas=[one]).facts.steps.cells.codes
    g, a = ROWS["female"] == 1, bound.weights[0, cells]
    r = ROWS["y"] - 1
    sums = np.array([(g * a * r).sum(), (g * r).sum(), (g * a).sum(), g.sum()])
    law = law_of(bound, sums, np.full(4, 1e-9))
    plain = dprct.ols("y ~ treat", ROWS[g])
    assert law.theta[0] == pytest.approx(plain.params["treat"], abs=1e-10)
    e = r - (law.centres[cells])
    hc0 = (((law.psi[0, cells] * e) ** 2)[g]).sum()
    n = int(g.sum())
    assert hc0 * n / (n - 2) == pytest.approx(plain.bse["treat"] ** 2, rel=1e-9)


@pytest.mark.parametrize(("formula", "where", "query", "terms"), CONDITIONS[:3])
def test_classical_errors_of_people_of_a_private_condition(
    formula: str, where: str, query: str, terms: list[str]
) -> None:
    plain = dprct.ols(formula.replace("| block", "+ C(block)"), ROWS.query(query),
                      cov_type="nonrobust")  # fmt: skip
    one = Regression(formula, where=where, name="them", cov_type="nonrobust")
    released = model(formulas=[one, "y ~ t1 + t2 | block"]).fit(30, 1e-6)
    found = released.ols("them")
    near(found, plain, terms)
    assert found.cov_type == "nonrobust"
    gap = found.lincom("t2 - t1").bse.iloc[0]
    assert gap == pytest.approx(plain.lincom("t2 - t1").bse.iloc[0], rel=0.25)


def test_products_of_weights_are_spanned_by_no_more_functions_than_needed() -> None:
    from dprct.estimate.moments.members import _spanning

    rng = np.random.default_rng(7)
    n, shape = rng.integers(0, 4, 60).astype(float), (3, 60)
    basis = np.vstack([np.ones(60), rng.integers(0, 2, shape)])
    z = np.vstack([basis, basis[1] - 2 * basis[2]])
    j, k = np.triu_indices(len(z))
    targets = z[j] * z[k] * 1e-3
    more, by = _spanning(basis, targets, n)
    functions, here = np.vstack([basis, more]), n > 0
    np.testing.assert_allclose((by @ functions)[:, here], targets[:, here], atol=1e-12)
    rank = np.linalg.matrix_rank
    assert len(functions) == rank(np.vstack([basis, 1e3 * targets])[:, here])
    assert np.abs(more).max() == 1
    assert not more[:, ~here].any()


def test_without_noise_classical_errors_of_members_are_those_of_least_squares() -> None:
    from dprct.estimate.moments.members import law_of

    one = Regression("y ~ treat", where="female == 1", name="women", cov_type="nonrobust")
    facts = model(assignment=PEOPLE, formulas=[one]).facts
    bound, cells = facts.steps.bound[0], facts.steps.cells.codes
    g, a = ROWS["female"] == 1, bound.weights[0, cells]
    r = ROWS["y"] - 1
    sums = np.array([(g * a * r).sum(), (g * r).sum(), (g * a).sum(), g.sum()])
    law = law_of(bound, sums, np.full(4, 1e-9))
    e = (r - law.centres[cells])[g]
    plain = dprct.ols("y ~ treat", ROWS[g], cov_type="nonrobust")
    found = (e**2).sum() / (g.sum() - 2) * law.gram[0, 0]
    assert found == pytest.approx(plain.bse["treat"] ** 2, rel=1e-9)


def test_a_block_of_one_arm_does_not_make_classical_errors_of_members_smaller() -> None:
    """Its residuals are not added, and so its rows are not divided by."""
    rows = ROWS.copy()
    rows.loc[rows["block"] >= 3, ["t1", "t2"]] = 0.0
    rows["y"] = np.random.default_rng(5).normal(size=len(rows)).clip(-4, 6)
    one = Regression("y ~ t1 + t2 | block", where="female == 1", name="them",
                     cov_type="nonrobust")  # fmt: skip
    found = model(rows, formulas=[one]).fit(30, 1e-6).ols("them")
    plain = dprct.ols("y ~ t1 + t2 + C(block)", rows.query("female == 1"), cov_type="nonrobust")
    assert found.bse["t1"] == pytest.approx(plain.bse["t1"], rel=0.15)


def test_clusters_have_the_errors_of_clusters() -> None:
    one = Regression("y ~ treat + x", where="female == 1", name="women")
    m = model(assignment=VILLAGES, formulas=[one], cov_type="CR1").fit(20, 1e-6)
    plain = dprct.ols("y ~ treat + x", ROWS[ROWS["female"] == 1], cluster="village")
    near(m.ols("women"), plain, ["treat"])
    assert m.ols("women").df_inference == 199


def test_public_weights_of_people_of_a_private_condition() -> None:
    one = Regression("y ~ treat + x", where="female == 1", weights="w", name="women")
    found = model(assignment=PEOPLE, formulas=[one]).fit(20, 1e-6).ols("women")
    plain = dprct.ols("y ~ treat + x", ROWS[ROWS["female"] == 1], weights="w",
                      weights_type="pweight")  # fmt: skip
    near(found, plain, ["treat"])


LEVELS = [
    Regression("y ~ treat + x", where=f"female == {k}", name=name)
    for k, name in ((1, "women"), (0, "men"))
]


def test_levels_of_a_partition_cost_as_one_and_overlapping_conditions_do_not() -> None:
    both = [*LEVELS, Regression("y ~ treat + x", where="age >= 40", name="old")]
    plans = [
        model(assignment=PEOPLE, formulas=asked).plan(1, 1e-6)
        for asked in (LEVELS[1:], LEVELS, both)
    ]
    noise = [plan.value("noise_sd", regression="men") for plan in plans]
    assert noise[1] == pytest.approx(noise[0], rel=0.15)
    assert noise[2] > 1.3 * noise[1]
    assert [plan.value("regressions that count") for plan in plans[1:]] == pytest.approx([1, 2])


def test_a_regression_of_everybody_stands_beside_them() -> None:
    m = model(assignment=PEOPLE, formulas=[*LEVELS, "y ~ treat + x"]).fit(20, 1e-6)
    near(m.ols("y ~ treat + x"), dprct.ols("y ~ treat + x", ROWS), ["treat"])
    for one, level in zip(LEVELS, (1, 0), strict=True):
        near(m.ols(one), dprct.ols("y ~ treat + x", ROWS[ROWS["female"] == level]), ["treat"])


@pytest.mark.parametrize("engine", ["polars", "lazy"])
def test_engines_have_the_same_bits(engine: str) -> None:
    wanted = model(assignment=VILLAGES, formulas=LEVELS).fit(4, 1e-6, rng=1)
    other = pl.from_pandas(ROWS, nan_to_null=True)
    found = model(other.lazy() if engine == "lazy" else other, assignment=VILLAGES,
                  formulas=LEVELS).fit(4, 1e-6, rng=1)  # fmt: skip
    for one in LEVELS:
        pd.testing.assert_series_equal(found.ols(one).params, wanted.ols(one).params)
        pd.testing.assert_series_equal(found.ols(one).bse, wanted.ols(one).bse)


def test_few_people_are_not_estimated_and_the_plan_says_so() -> None:
    one = Regression("y ~ treat", where="age > 75", name="old")
    asked = model(assignment=PEOPLE, formulas=[one])
    plan = asked.plan(0.5, 1e-6)
    assert plan.value("people") < 100
    assert "will probably not be estimated" in " ".join(str(plan).split())
    assert any("is likely not estimated at this n and budget: an arm" in x for x in plan.warnings)
    found = asked.fit(0.5, 1e-6).ols("old")
    assert found.params.isna().all()
    assert any("some arm has fewer people" in note for note in found.notes)


def test_documents_keep_what_was_released(tmp_path: Any) -> None:
    few = Regression("y ~ treat", where="age > 89", name="few")
    m = model(assignment=PEOPLE, formulas=[*LEVELS, few]).fit(1, 1e-6)
    m.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    schema = json.loads((files("dprct.estimate.moments") / "moments.schema.json").read_text())
    jsonschema.validate(content, schema)
    again = Moments.load(tmp_path / "m.json")
    for one in (*LEVELS, few):
        found, wanted = again.ols(one.name), m.ols(one.name)
        pd.testing.assert_series_equal(found.params, wanted.params)
        pd.testing.assert_series_equal(found.bse, wanted.bse)
        assert (found.nobs, found.notes) == (wanted.nobs, wanted.notes)
    assert again.ols("few").params.isna().all()


def test_of_a_private_condition_the_promise_names_bounds_and_levels_alone() -> None:
    m = model(assignment=PEOPLE, formulas=LEVELS).fit(1, 1e-6)
    (said,) = (fact for fact in m.guarantee.public_facts if "female" in fact)
    assert said.startswith("the declared bounds and levels of ")


def test_a_file_does_not_carry_who_meets_a_private_condition() -> None:
    schema = SCHEMA.declare(
        y={"fate": "modelled"}, treat={"fate": "public"}, x={"fate": "filler"},
        female={"fate": "filler"},
    )  # fmt: skip
    with pytest.raises(ParameterError, match=r"chooses people by private columns \(female\)"):
        dprct.Calibrated(ROWS, schema, formulas=LEVELS, assignment=PEOPLE)


def test_a_condition_that_declared_levels_rule_out_is_refused() -> None:
    with pytest.raises(ParameterError, match="holds for nobody"):
        model(
            ROWS.fillna({"female": 0.0}),
            SCHEMA.declare(female={"levels": (0, 1), "missing": "never"}), assignment=PEOPLE,
            formulas=[Regression("y ~ treat", where="female == 3")],
        )  # fmt: skip


def test_joint_tests_across_people_of_private_conditions_are_refused() -> None:
    asked = [Regression("y ~ treat", where=f"female == {k}", joint="both") for k in (0, 1)]
    with pytest.raises(ParameterError, match="is of people whom private columns choose"):
        model(assignment=PEOPLE, formulas=asked)


def test_weights_with_levels_are_planned_as_weights_within_the_same_bounds() -> None:
    levels, bounds = Column("w", levels=(1.0, 2.0, 3.0)), Column("w", bounds=(1, 3))
    assert declared_loads(levels) == declared_loads(bounds)
    assert declared_loads(levels)[0] == pytest.approx(2 / 3)
