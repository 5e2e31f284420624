"""The release: public facts decide it, its noise has its law, and what is asked wrongly is said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Schema
from dprct.errors import ColumnError, DprctError, FormulaError, ParameterError, SchemaError
from dprct.estimate.moments.groups import names_of
from dprct.estimate.moments.release import DrawnMoments, matrices
from dprct.privacy.aggregates import _open
from dprct.privacy.budget import Budget
from dprct.queries.group_moments import moment_sums

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("wage", bounds=(-8.0, 8.0), **NEVER),
        Column("age", bounds=(-4.0, 4.0), **NEVER),
        Column("late", bounds=(-8.0, 8.0), missing=(".",)),
        Column("region", "byte", levels=(1.0, 2.0, 3.0), **NEVER),
        Column("town", "str5", levels=("north", "south"), **NEVER),
        Column("trained", "byte", levels=(0.0, 1.0), **NEVER),
        Column("flat", bounds=(2.0, 3.0), **NEVER),
        Column("one", "byte", levels=(1.0,), **NEVER),
        Column("free", **NEVER),
    )
)
N = 6000
PUBLIC = SCHEMA.declare(late={"missing_policy": "public"})
HALF = dprct.Simple("trained", shares=0.4)


def people(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.normal(size=n).clip(-4, 4)
    trained = (rng.random(n) < 0.4).astype(float)
    region = rng.integers(1, 4, n).astype(float)
    town = np.array(["north", "south"], object)[rng.integers(0, 2, n)]
    wage = 0.5 * trained + 0.8 * age + 0.3 * (region == 2) + rng.normal(size=n)
    return pd.DataFrame(
        {
            "wage": wage.clip(-8, 8),
            "age": age,
            "late": np.where(np.arange(n) % 4 == 0, np.nan, rng.normal(size=n).clip(-8, 8)),
            "region": region,
            "town": town,
            "trained": trained,
            "flat": np.full(n, 2.5),
            "one": np.ones(n),
            "free": rng.normal(size=n),
        }
    )


ROWS = people()


def model(schema: Schema = SCHEMA, **options: Any) -> PrivateMoments:
    return PrivateMoments(ROWS, schema, **options)


def scaled(**sd: float) -> Schema:
    return SCHEMA.declare(**{name: {"sd": scale} for name, scale in sd.items()})


def without_noise(asked: PrivateMoments) -> Moments:
    """Return what a fit would release if it drew no noise: nothing that the package offers."""
    facts = asked.facts
    sums = moment_sums(
        asked._table.frame, facts.layout.grid, facts.grouping.cells, asked.spec.neighbors
    )
    drawn = DrawnMoments(matrices(facts.layout, facts.grouping, _open(sums)), 0.0)
    guarantee = asked.guarantee(Budget(1, 1e-6))
    return Moments.of(facts, drawn, guarantee, "", "exact", asked.spec.outcomes)


FORMULAS = [
    "wage ~ age",
    "wage ~ trained + age + C(region)",
    "wage ~ trained*town + age",
    "wage ~ age + I(age ** 2)",
    "age ~ wage + C(region):wage",
]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("grouped", [False, True])
def test_without_noise_it_is_least_squares_of_the_rows(formula: str, grouped: bool) -> None:
    options: dict[str, Any] = {"formulas": FORMULAS, "radius": "box"}
    if grouped:
        options |= {"assignment": HALF, "subgroups": ["town"]}
    found = without_noise(model(**options)).ols(formula, cov_type="nonrobust")
    plain = dprct.ols(formula, ROWS, SCHEMA, cov_type="nonrobust")
    assert list(found.params.index) == list(plain.params.index)
    np.testing.assert_allclose(found.params, plain.params, atol=1e-3)
    np.testing.assert_allclose(found.bse, plain.bse, rtol=1e-3)
    assert found.nobs == plain.nobs


@pytest.mark.parametrize("grouped", [False, True])
def test_without_noise_instruments_are_two_stage_least_squares(grouped: bool) -> None:
    formula = "wage ~ age + [flat ~ trained] | region"
    rows = ROWS.assign(flat=2.5 + 0.3 * ROWS["trained"] - 0.05 * ROWS["age"])
    options: dict[str, Any] = {"assignment": HALF} if grouped else {}
    asked = PrivateMoments(rows, SCHEMA, formulas=[formula], radius="box", **options)
    found = without_noise(asked).iv(formula, cov_type="nonrobust")
    region = pd.get_dummies(rows["region"], dtype=float).to_numpy()
    X = np.column_stack([region, rows["age"], rows["flat"]])
    Z = np.column_stack([region, rows["age"], rows["trained"]])
    expected = np.linalg.solve(Z.T @ X, Z.T @ rows["wage"].to_numpy())
    assert found.params["flat"] == pytest.approx(expected[-1], abs=2e-3)
    assert found.params["age"] == pytest.approx(expected[-2], abs=2e-3)


def test_a_fixed_effect_is_its_levels() -> None:
    m = without_noise(model(formulas=["wage ~ age | region"]))
    one, other = m.ols("wage ~ age | region"), m.ols("wage ~ age + C(region)")
    pd.testing.assert_series_equal(one.params, other.params)


def test_indices_and_joint_tests_are_those_of_effects() -> None:
    asked = model(scaled(wage=1.4, age=1), formulas=["wage + age ~ trained"], assignment=HALF)
    m = asked.fit(epsilon=4, delta=1e-6)
    effects = m.effects()
    index = m.outcome_index(["wage", "age"], scales={"wage": 2.0, "age": 1.0})
    expected = effects.params["wage: trained"] / 4 + effects.params["age: trained"] / 2
    assert index.params.iloc[0] == pytest.approx(expected)
    assert m.outcome_index(["wage", "age"]).bse.iloc[0] > 0
    wanted = effects.params["wage: trained"] - effects.params["age: trained"]
    assert m.lincom("wage: trained - age: trained").params.iloc[0] == pytest.approx(wanted)
    assert 0 <= m.wald_test("wage: trained = age: trained").pvalue <= 1


@pytest.mark.parametrize("neighbors", ["replace-one", "replace-one-design-public"])
def test_effects_are_differences_in_means(neighbors: str) -> None:
    asked = model(
        PUBLIC, columns=["wage", "late"], assignment=HALF, subgroups=["town"],
        neighbors=neighbors, attrition=True,
    )  # fmt: skip
    m = without_noise(asked)
    for where in (None, {"town": "south"}):
        rows = ROWS if where is None else ROWS[ROWS["town"] == "south"]
        found = m.effects(["wage"], where=where).params["trained"]
        means = rows.groupby("trained")["wage"].mean()
        assert found == pytest.approx(means[1.0] - means[0.0], abs=1e-3)
    means = ROWS.groupby("trained")["late"].mean()
    assert m.effects("late").params["trained"] == pytest.approx(means[1.0] - means[0.0], abs=1e-3)


def test_the_noise_of_sums_has_the_size_that_is_said() -> None:
    """30 releases of one table: 30 * 4 noisy sums, of which a scaled sum of squares is chi-square.

    The bounds are passed with probability 1e-8; noise that is a third off fails surely.
    """
    small = people(50)
    asked = PrivateMoments(small, SCHEMA, columns=["wage", "age", "flat"])
    scaled = []
    for _ in range(60):
        m = asked.fit(epsilon=1, delta=1e-6)
        (cell,) = m.cells
        place = m.layout.places
        z = np.column_stack(
            [(small[p.variable.name] - p.centre) / p.scale * p.weight for p in place]
        )
        scaled += list((cell.totals - z.sum(0)) / cell.s1)
        gap = (cell.cross - z.T @ z) / cell.s2
        scaled += [*np.diag(gap), *(gap[np.triu_indices(3, 1)] * math.sqrt(2))]
    squares, count = float(np.square(scaled).sum()), len(scaled)
    assert 0.6 < squares / count < 1.5
    assert abs(np.sum(scaled)) < 6 * math.sqrt(count)


def test_rows_of_private_cells_are_noisy_and_add_up_to_a_public_number() -> None:
    m = model(columns=["wage"], assignment=HALF).fit(epsilon=1, delta=1e-6)
    assert "noisy numbers of people" in m.ols("wage ~ trained").notes[-1]
    assert all(not cell.n_is_public and cell.n_noise > 1 for cell in m.cells)
    assert abs(m.cells[0].n - (ROWS["trained"] == 0).sum()) < 8 * m.cells[0].n_noise
    whole = m.ols("wage ~ 1")
    assert whole.nobs == N
    assert "noisy numbers of people" not in whole.notes[-1]
    public = model(columns=["wage"], assignment=HALF, neighbors="replace-one-design-public")
    assert [group.rows for group in public.facts.grouping.groups] == [
        int((ROWS["trained"] == arm).sum()) for arm in (0, 1)
    ]


def test_engines_release_the_same_layout_and_effects() -> None:
    data = pl.from_pandas(ROWS, nan_to_null=True).lazy()
    options: dict[str, Any] = {
        "columns": ["wage", "late", "C(region)"], "assignment": HALF,
        "neighbors": "replace-one-design-public", "attrition": True,
    }  # fmt: skip
    here, there = model(PUBLIC, **options), PrivateMoments(data, PUBLIC, **options)
    assert [vars_of(g) for g in here.facts.grouping.groups] == [
        vars_of(g) for g in there.facts.grouping.groups
    ]
    assert str(here.plan(1, 1e-6)) == str(there.plan(1, 1e-6))
    one, other = (without_noise(x).effects("wage").params["trained"] for x in (here, there))
    assert one == other


@pytest.mark.parametrize("lazy", [True, False])
def test_an_engine_adds_no_more_than_one_query_takes(lazy: bool) -> None:
    """The sensitivity is that of sums over the same rows, and two queries may read others."""
    names = [f"x{j}" for j in range(109)]
    data = pl.DataFrame({name: [0.0, 1.0] * 20 for name in names})
    schema = dprct.Schema(tuple(Column(name, bounds=(0, 1), missing=()) for name in names))
    rows = data.lazy() if lazy else data
    PrivateMoments(rows, schema, columns=names[1:])
    if lazy:
        with pytest.raises(ParameterError, match=r"109 columns .* at most 108 .* ask for fewer"):
            PrivateMoments(rows, schema, columns=names)
    else:
        PrivateMoments(rows, schema, columns=names)


def vars_of(group: Any) -> Any:
    return group.arm, group.values, group.absent, group.rows


def test_a_block_is_a_group_where_it_is_asked() -> None:
    data = ROWS.assign(trained=(np.arange(N) % 2).astype(float), region=1.0 + np.arange(N) // 2000)
    block = dprct.Block("trained", block="region")
    asked = PrivateMoments(
        data, SCHEMA, columns=["wage"], assignment=block, subgroups=["region"],
        neighbors="replace-one-design-public",
    )  # fmt: skip
    m = without_noise(asked)
    by_block = data.groupby(["region", "trained"])["wage"].mean().unstack()
    expected = (by_block[1.0] - by_block[0.0]).mean()
    assert m.effects().params["trained"] == pytest.approx(expected, abs=1e-3)


def test_accountants_take_the_charge_with_its_mu() -> None:
    asked = model(columns=["wage", "age"])
    allocation = asked._allocated(Budget(1, 1e-6))
    assert allocation.cost().squared_mu() is not None
    for composition in ("gdp", "zcdp", "sequential"):
        account = dprct.Accountant(3, 1e-5, composition=composition)
        asked.fit(epsilon=1, delta=1e-6, accountant=account)
        asked.fit(epsilon=1, delta=1e-6, accountant=account)
        assert len(account.ledger) == 2
    assert float(allocation.cost().squared_mu()[0]) ** 0.5 == pytest.approx(0.237, abs=5e-4)


def test_a_plan_is_a_function_of_public_facts() -> None:
    known, asked = scaled(wage=1.5, age=1.0), {"formulas": ["wage ~ trained + age"]}
    plan = str(model(known, **asked).plan(1, 1e-6))
    other = ROWS.assign(wage=-8.0, age=4.0, trained=1.0)
    assert str(PrivateMoments(other, known, **asked).plan(1, 1e-6)) == plan
    assert "times those without privacy, of 2 estimates" in plan
    few = PrivateMoments(people(60), known, **asked).plan(1, 1e-6)
    assert "likely not estimated" in str(few)
    assert "clipped at its own bounds" in str(model(columns=["wage"]).plan(1, 1e-6))


CLIPPED: dict[str, Any] = {
    "schema": scaled(wage=1.2, age=1.0, late=1.0).declare(late={"missing_policy": "public"}),
    "formulas": ["wage ~ age"], "radius": 1.5,
    "clipped": 0.02, "cov_type": "nonrobust",
}  # fmt: skip
LATE: dict[str, Any] = {
    "formulas": ["wage ~ age + late"],
}


@pytest.mark.parametrize("options", [{}, {"assignment": HALF}, LATE])
def test_the_share_of_clipped_rows_is_released_with_its_error(options: dict[str, Any]) -> None:
    asked = model(**{**CLIPPED, **options})
    names = ["age", "late"] if options is LATE else ["age"]
    squared = (ROWS[names].fillna(0) ** 2).sum(axis=1)
    outside = squared > 1.5**2
    m = asked.fit(epsilon=4, delta=1e-6)
    assert m.clipped is not None
    arms = {"all": outside} if not m.arms else {
        arm: outside[ROWS["trained"] == k] for k, arm in enumerate(m.arms)}  # fmt: skip
    assert m.clipped.shares.keys() == arms.keys()
    for arm, rows in arms.items():
        assert abs(m.clipped.shares[arm] - rows.mean()) < 6 * m.clipped.bse[arm] + 2e-3
    # the law of the noise: a fiftieth of mu squared, for one row that changes its group
    mu = float(asked._allocated(Budget(4, 1e-6)).cost().squared_mu()[0]) ** 0.5
    cells = len(m.groups) / len(arms)
    for arm, rows in arms.items():
        wanted = math.sqrt(2 * cells) / (mu * math.sqrt(0.02) * len(rows))
        assert m.clipped.bse[arm] == pytest.approx(wanted, rel=6e-2)  # divided by noisy n
    without = model(**{**CLIPPED, **options, "clipped": None})
    ratio = m.drawn.sigma / without.fit(epsilon=4, delta=1e-6).drawn.sigma
    assert ratio == pytest.approx(0.98**-0.5, rel=1e-6)
    outside = "rows outside the ball"
    assert asked.plan(4, 1e-6).value(outside, "are released") == pytest.approx(0.02)
    assert without.plan(4, 1e-6).value(outside, "``clipped=0.02`` releases them") == 0.02


def test_a_covariate_in_the_ball_is_not_explained() -> None:
    m = model(**CLIPPED, assignment=HALF).fit(epsilon=4, delta=1e-6)
    for ask in (lambda: m.ols("age ~ wage"), lambda: m.effects("age")):
        with pytest.raises(ParameterError, match="about projected rows"):
            ask()
    assert "wage clipped to [" in m.summary()
    assert "projected" in m.summary()


def test_a_saved_ledger_entry_is_read_again(tmp_path: Any) -> None:
    account = dprct.Accountant.open(
        tmp_path / "study.ledger.json", dataset_id="study", epsilon=3, delta=1e-5
    )
    schema = Schema(SCHEMA.columns, dataset_id="study")
    asked = PrivateMoments(ROWS, schema, columns=["wage", "age"])
    first = asked.fit(epsilon=1, delta=1e-6, accountant=account)
    again = asked.resume(account.ledger[0].id, accountant=account)
    assert (again.drawn.sums == first.drawn.sums).all()


BAD: list[tuple[dict[str, Any], type[DprctError], str]] = [
    ({"columns": []}, ParameterError, "name no column to release"),
    ({"columns": ["salary"]}, ColumnError, "salary"),
    ({"columns": ["free"]}, SchemaError, "neither bounds nor levels"),
    ({"columns": ["one"]}, SchemaError, "'one' is a constant"),
    ({"columns": ["late"]}, SchemaError, "may be missing"),
    ({"columns": ["wage"], "radius": 0}, ParameterError, "radius=0"),
    ({"columns": ["wage"], "radius": "ball"}, ParameterError, "radius='ball'"),
    ({"columns": ["I(age / wage)"]}, FormulaError, "not a product of columns"),
    ({"formulas": ["wage ~"]}, FormulaError, "formula"),
    ({"columns": ["wage"], "subgroups": ["age"]}, SchemaError, "no declared levels"),
    ({"columns": ["wage"], "control": 1.0}, ParameterError, "control= needs assignment="),
    ({"columns": ["wage"], "neighbors": "add-remove"}, ParameterError, "neighbors='add-remove'"),
    (
        {"columns": ["wage"], "neighbors": "replace-one-design-public"},
        ParameterError,
        "needs assignment=",
    ),
    (
        {"columns": ["wage"], "assignment": dprct.Cluster("trained", cluster="region")},
        ParameterError,
        "clusters were assigned",
    ),
    (
        {"columns": ["wage"], "assignment": HALF, "subgroups": ["trained"]},
        ParameterError,
        "is the treatment",
    ),
    ({"columns": ROWS["wage"]}, ParameterError, "columns="),
    (
        {"formulas": ["wage ~ age"], "cov_type": "HC1", "weights": "age"},
        SchemaError,
        "needs bounds, 0 or above",
    ),
    ({"columns": ["wage"], "clipped": 0.6}, ParameterError, "clipped=0.6"),
    ({"columns": ["wage"], "clipped": True}, ParameterError, "clipped= is True"),
    ({"columns": ["wage"], "touched": 0.02}, ParameterError, "no option touched="),
    ({"formulas": ["wage ~ age"], "radius": 1e-305}, ParameterError, "at least 0.001"),
    ({"columns": ["wage"], "radius": 2.0}, ParameterError, "this release has none"),
    ({"columns": ["wage"], "weight": "age"}, ParameterError, "no option weight="),
    ({"formulas": ["wage ~ C(age)"]}, SchemaError, "factor without levels"),
    ({"formulas": ["town ~ age"]}, FormulaError, "holds text or categories"),
    ({"formulas": ["log(wage) ~ age"]}, FormulaError, "uses log()"),
    ({"formulas": ["wage ~ wage + age"]}, FormulaError, "outcome 'wage' on the right"),
    ({"formulas": ["wage ~ age + [age ~ wage]"]}, FormulaError, "outcome 'wage' on the right"),
]


@pytest.mark.parametrize(("options", "kind", "words"), BAD)
def test_what_is_wrong_is_said_in_one_sentence(
    options: dict[str, Any], kind: type[DprctError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        model(**options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.long
def test_delta_is_needed_and_hundreds_of_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="delta > 0"):
        model(columns=["wage"]).plan(1)
    names = [f"q{i}" for i in range(1200)]
    schema = Schema(tuple(Column(name, bounds=(0, 1), **NEVER) for name in names))
    data = pd.DataFrame(np.zeros((3, len(names))), columns=names)
    with pytest.raises(ParameterError, match="1200 columns in 1 groups are 1,442,401 numbers"):
        PrivateMoments(data, schema, columns=names)
    few = PrivateMoments(data, schema, columns=names[:100])
    assert few.plan(1, 1e-6).value("released") == 10_200


def test_delta_of_0_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta > 0"):
        model(columns=["wage"]).plan(1, 0)


@pytest.mark.parametrize("value", [2.5, 3.0])
def test_a_column_that_does_not_vary_is_not_estimated_and_nobody_is_told(value: float) -> None:
    """Neither plan nor warning shows it: whether a column varies is confidential."""
    rows = ROWS.assign(flat=value)
    rows.loc[0, "flat"] = 2.0 + (value == 2.5)
    made = [PrivateMoments(data, SCHEMA, formulas=["wage ~ flat + age"]) for data in (ROWS, rows)]
    assert str(made[0].plan(2, 1e-6)) == str(made[1].plan(2, 1e-6))
    fit = made[1].fit(epsilon=2, delta=1e-6).ols("wage ~ flat + age")
    ends = fit.conf_int(1e-5).loc["flat"]  # estimated once in a hundred runs
    assert not fit.estimated["flat"] or ends.iloc[0] < 0 < ends.iloc[1]


def test_a_column_without_any_value() -> None:
    rows = ROWS.assign(late=np.nan)
    zero = SCHEMA.declare(late={"missing_policy": 0.0})
    filled = PrivateMoments(rows, zero, columns=["wage", "late"])
    said = "a missing value of late counts as 0"
    assert said in " ".join(str(filled.plan(epsilon=2, delta=1e-6)).split())
    m = filled.fit(epsilon=2, delta=1e-6)
    assert said in " ".join(m.summary().split())
    assert said in " ".join(m.ols("late ~ 1").notes)
    assert abs(float(m.ols("late ~ 1").params.iloc[0])) < 0.2
    known = PrivateMoments(rows, PUBLIC, columns=["wage", "late"])
    m = known.fit(epsilon=2, delta=1e-6)
    assert names_of(m.groups, m.schema) == ["without late"]
    with pytest.raises(ParameterError, match="release has values"):
        m.ols("wage ~ late")
    assert np.isfinite(m.ols("wage ~ 1").params).all()


def test_questions_to_a_release_that_it_cannot_answer() -> None:
    m = model(columns=["wage", "C(region)"], assignment=HALF).fit(epsilon=1, delta=1e-6)
    more = model(columns=["wage", "age", "C(region)"], assignment=HALF).fit(1, 1e-6)
    for ask, words in (
        (lambda: m.ols("salary ~ wage"), "'salary' was not released; released: wage"),
        (lambda: m.ols("wage ~ age"), "'age' was not released"),
        (lambda: m.ols("wage ~ wage"), "outcome 'wage' on the right"),
        (lambda: m.ols("wage ~ C(region) + wage:trained"), "outcome 'wage' on the right"),
        (lambda: more.ols("wage ~ age:C(region)"), "was not released"),
        (lambda: m.effects("age"), "was not released"),
        (lambda: m.iv("wage ~ 1"), "names no instruments"),
        (lambda: more.ols("wage ~ [age ~ trained]"), "fit it with iv"),
        (lambda: m.effects(where={"age": 1}), "makes no groups"),
        (lambda: m.effects(where={"trained": 7}), "levels are 0, 1"),
        (lambda: m.ols("wage + wage ~ 1", cov_type="HC1"), "allowed: by group"),
        (lambda: dprct.ols("wage ~ 1", m, cluster="region"), "released moments take a formula"),
        (lambda: model(columns=["wage"]).fit(epsilon=1, delta=1e-6).effects(), "has no arms"),
    ):
        with pytest.raises(DprctError) as caught:
            ask()
        assert words in str(caught.value).strip("\"'").replace('"', "")


@pytest.mark.parametrize("option", ["sd", "centre", "missing"])
def test_facts_of_columns_are_declared_with_them(option: str) -> None:
    with pytest.raises(ParameterError, match=f"option {option}=: .* is a fact of a column"):
        PrivateMoments(ROWS, SCHEMA, columns=["wage"], **{option: {"wage": 1}})
