"""Treatment and weights that are private: the regression as written, and its doors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dprct
from dprct import Column, Moments, PrivateMoments, Regression, Schema
from dprct.errors import ParameterError
from dprct.estimate.moments.members import law_of, planned_law
from dprct.estimate.moments.one_step import Clips, _later
from dprct.queries.sums import GRID

NEVER: Any = {"missing": ()}
BINARY: Any = {"type": "byte", "levels": (0.0, 1.0), **NEVER}
SCHEMA = Schema(
    (
        Column("y", bounds=(-4, 6), sd=1.3, centre=0.5, **NEVER),
        Column("seen", bounds=(-4, 6), sd=1.3, centre=0.5, missing=(".",),
               missing_policy="private"),
        Column("t", **BINARY),
        Column("arm", "str4", levels=("none", "cash", "both"), missing=()),
        Column("x", bounds=(-3, 3), sd=1.0, **NEVER), Column("female", **BINARY),
        Column("village", "int", fate="public", **NEVER), Column("wave", **BINARY, fate="public"),
        Column("w", bounds=(0, 4), sd=0.6, centre=1.1, **NEVER),
    ),
    dataset_id="study",
)  # fmt: skip
SHARE, DESIGN = 0.3, dprct.Simple("t", shares=0.3)
CODES = dprct.Simple(["none", "cash", "both"], arm="arm", shares=[0.4, 0.3, 0.3])


def table(n: int = 6000, seed: int = 1) -> pd.DataFrame:
    """Effects that differ between women and men; who is seen differs between arms."""
    rng = np.random.default_rng(seed)
    t, female = (rng.random(n) < SHARE) * 1.0, rng.choice([0.0, 1.0], n)
    arm = rng.choice(["none", "cash", "both"], n, p=[0.4, 0.3, 0.3])
    x, w = rng.normal(size=n).clip(-3, 3), np.exp(rng.normal(size=n) / 2).clip(0.25, 4)
    village = np.arange(n) // 20
    y = 1.0 + 0.6 * x + 0.3 * t * (1 + female) + 0.5 * (arm == "both") + 0.3 * np.log(w)
    y = y + rng.normal(size=n) + 0.3 * rng.normal(size=n // 20)[village]
    seen = np.where(rng.random(n) < np.where(t == 1, 0.7, 0.9), y.clip(-4, 6), np.nan)
    return pd.DataFrame({
        "y": y.clip(-4, 6), "seen": seen, "t": t, "arm": arm, "x": x, "female": female,
        "village": village * 1.0, "wave": np.arange(n) % 2.0, "w": w,
    })  # fmt: skip


ROWS = table()


def model(*formulas: Any, data: Any = ROWS, schema: Schema = SCHEMA, **options: Any) -> Any:
    return PrivateMoments(data, schema, **{"formulas": formulas, "assignment": DESIGN, **options})


def asked(formula: str = "y ~ t + x", **more: Any) -> Regression:
    return Regression(formula, name="it", **more)


SERVED: list[tuple[Regression, str, dict[str, Any]]] = [
    (asked(), "t == t", {}),
    (asked(where="female == 1 & wave == 0"), "female == 1 & wave == 0", {}),
    (asked("seen ~ t + x"), "seen == seen", {}),
    (asked("seen ~ t", where="female == 0"), "seen == seen & female == 0", {}),
    (asked(cluster="village"), "t == t", {}),
    (asked(weights="w"), "t == t", {}),
    (asked("y ~ C(arm) + x"), "t == t", {"assignment": CODES, "control": "none"}),
    (asked("y ~ C(arm) + x", weights="w", where="wave == 1"), "wave == 1",
     {"assignment": CODES, "control": "none"}),
    (asked("seen ~ t", weights="w"), "seen == seen", {"neighbors": "replace-one-design-public"}),
    (asked("y ~ t + x", weights="w", cluster="village", where="female == 1"), "female == 1",
     {"neighbors": "replace-one-design-public"}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "query", "options"), SERVED)
def test_the_regression_is_that_of_the_rows_that_count(
    one: Regression, query: str, options: dict[str, Any]
) -> None:
    rows = ROWS.query(query)
    more = {"weights": one.weights} if one.weights else {}
    if one.cluster:
        more["cluster"] = rows["village"]
    rows = rows.assign(**{f"C(arm)[T.{k}]": (rows["arm"] == k) * 1.0 for k in ("cash", "both")})
    right = one.formula.replace("C(arm)", "`C(arm)[T.cash]` + `C(arm)[T.both]`")
    plain = dprct.ols(right, rows, **more)
    found = model(one, **options).fit(25, 1e-6, rng=2).ols("it")
    terms = list(found.params.index)
    assert terms == [name for name in plain.params.index if name.startswith(("t", "C(arm)"))]
    gap = (found.params - plain.params[terms]).abs()
    assert (gap < 4 * np.hypot(found.bse_noise, 0.4 * plain.bse[terms])).all()
    ratio = found.bse / plain.bse[terms]
    assert ((ratio > 0.8) & (ratio < 1.7)).all(), ratio
    assert found.cov_type == ("CR1" if one.cluster else "HC1")
    assert abs(found.nobs - len(rows)) < 0.1 * len(rows)
    words = " ".join(found.notes)
    assert ("Who was treated is private" in words) == ("neighbors" not in options)
    assert ("Weights are private" in words) == (
        one.weights is not None and "neighbors" in options and found.nobs == len(ROWS)
    )


@pytest.mark.parametrize("weights", [None, "w"])
def test_without_noise_the_coefficient_is_exact(weights: str | None) -> None:
    """Four sums give the difference in (weighted) means of those who are seen, to the digit."""
    one = asked("seen ~ t", weights=weights)
    bound = model(one).facts.steps.bound[0]
    g = ROWS["seen"].notna() * (ROWS["w"] / 4 if weights else 1.0)
    arm = 1 - ROWS["t"].to_numpy(int)  # the design has the arm first, and those in none last
    a = bound.weights[0, arm]
    r = ROWS["seen"].fillna(0) - 1
    sums = np.array([(g * a * r).sum(), (g * r).sum(), (g * a).sum(), g.sum()])
    law = law_of(bound, sums, np.full(4, 1e-9))
    kept = ROWS.dropna()
    plain = dprct.ols("seen ~ t", kept, weights=weights) if weights else dprct.ols("seen ~ t", kept)
    assert law.theta[0] == pytest.approx(plain.params["t"], rel=1e-9)
    e = r - law.centres[arm]
    psi = law.psi[0, arm]
    n = int(ROWS["seen"].notna().sum())
    error = float(np.sqrt(((g * psi * e) ** 2).sum() * n / (n - 2)))
    assert error == pytest.approx(plain.bse["t"], rel=1e-9)


BLOCKS = Schema((
    *(one for one in SCHEMA.columns if one.name in ("seen", "t", "x")),
    Column("block", "byte", levels=(0.0, 1.0, 2.0), **NEVER), Column("village", "int", **NEVER),
    Column("v", bounds=(1, 3), fate="public", **NEVER),
))  # fmt: skip


def in_blocks(n: int = 6000) -> pd.DataFrame:
    """Blocks of which treatment keeps some people and loses others; half of villages or people."""
    rng = np.random.default_rng(7)
    village = np.arange(n) // 20
    block, t = village % 3, (village // 3 % 2).astype(float)
    x = rng.normal(size=n).clip(-3, 3)
    y = block + 0.3 * x + t * (0.2 + 0.3 * block) + rng.normal(size=n)
    y += 0.5 * np.random.default_rng(8).normal(size=1 + village.max())[village]
    gone = rng.random(n) < 0.1 + 0.25 * np.where(t == 1, block, 2 - block)
    return pd.DataFrame({
        "seen": np.where(gone, np.nan, y.clip(-4, 6)), "t": t, "x": x, "block": block * 1.0,
        "village": village, "v": 1.0 + village % 7 % 3,
    })  # fmt: skip


BLOCKED = in_blocks()
VILLAGES = dprct.BlockCluster("t", block="block", cluster="village", shares=0.5)


def blocked(*formulas: Any, design: Any = VILLAGES) -> PrivateMoments:
    return model(*formulas, data=BLOCKED, schema=BLOCKS, assignment=design, attrition=True,
                 neighbors="replace-one-design-public")  # fmt: skip


def sums_in_blocks(bound: Any, cells: Any, weights: str | None) -> Any:
    """S, R of every block, A, N and the members of each arm of a block."""
    g, a = BLOCKED["seen"].notna().to_numpy(), bound.weights[:, cells]
    v = np.ones(len(g)) if weights is None else BLOCKED["v"].to_numpy() / 3
    r, more = np.nan_to_num(BLOCKED["seen"] - 1), bound.chosen.more[:, cells]
    of_blocks = [(g * v * r)[bound.blocks[cells] == b].sum() for b in range(3)]
    own = (g * a).sum(axis=1), (g * v).sum(keepdims=True), (g * more).sum(axis=1)
    return np.concatenate([(g * a * r).sum(axis=1), of_blocks, *own])


@pytest.mark.parametrize("weights", [None, "v"])
def test_the_noise_of_blocks_is_that_of_the_coefficient(weights: str | None) -> None:
    """Of numbers whose noise is large, each part by itself: the error it gives and no bias."""
    steps = blocked(asked("seen ~ t | block", weights=weights, cov_type="HC1")).facts.steps
    bound = steps.bound[0]
    sums, rng = sums_in_blocks(bound, steps.cells.codes, weights), np.random.default_rng(5)
    right = law_of(bound, sums, np.full(len(sums), 1e-9)).theta[0]
    scale = float(np.abs(bound.weights).max())
    for s, r, c in ((60.0, 0.1, 0.1), (0.1, 60.0, 0.1), (0.1, 0.1, 60.0), (0.1, 60.0, 60.0)):
        sds = np.array([s * scale, *[r] * 3, c * scale, c, *[c] * 6])
        noise = rng.normal(size=(2000, len(sds))) * sds
        laws = [law_of(bound, sums + one, sds) for one in noise]
        found = np.array([one.theta[0] for one in laws])
        error = float(np.sqrt(np.mean([one.covariance[0, 0] for one in laws])))
        assert error == pytest.approx(found.std(), rel=0.07), (s, r, c)
        assert abs(found.mean() - right) < 0.1 * error


@pytest.mark.parametrize("weights", [None, "v"])
def test_without_noise_blocks_of_those_who_are_seen_are_exact(weights: str | None) -> None:
    steps = blocked(asked("seen ~ t | block", weights=weights, cov_type="HC1")).facts.steps
    bound, cells = steps.bound[0], steps.cells.codes
    assert bound.chosen is not None
    assert bound.chosen.within is not None
    assert len(bound.chosen.more) == 3 * 2  # arms of blocks, whatever the weights of their rows
    g, r = BLOCKED["seen"].notna().to_numpy(), np.nan_to_num(BLOCKED["seen"] - 1)
    v = np.ones(len(g)) if weights is None else BLOCKED["v"].to_numpy() / 3
    sums = sums_in_blocks(bound, cells, weights)
    law = law_of(bound, sums, np.full(len(sums), 1e-9))
    formula, kept = "seen ~ t + C(block)", BLOCKED.dropna()
    plain = dprct.ols(formula, kept, cov_type="HC1", **({"weights": "v"} if weights else {}))
    assert law.theta[0] == pytest.approx(plain.params["t"], rel=1e-6)
    e, psi = (r - law.centres[cells])[g], law.psi[0, cells][g]
    n = len(kept)
    assert np.sqrt(((psi * e) ** 2).sum() * n / (n - 4)) == pytest.approx(plain.bse["t"], rel=1e-6)
    assert law.share == pytest.approx((g * v).sum() / v.sum(), rel=1e-6)
    alone = dprct.ols("seen ~ t", kept, **({"weights": "v"} if weights else {})).params["t"]
    assert abs(alone - plain.params["t"]) > 3 * plain.bse["t"]


@pytest.mark.parametrize("cluster", [None, "village"])
def test_blocks_hold_those_apart_whom_treatment_moved(cluster: str | None) -> None:
    one = asked("seen ~ t + x | block", **({} if cluster else {"cov_type": "HC1"}))
    found = blocked(one).fit(25, 1e-6).ols("it")
    more: Any = {"cluster": "village"} if cluster else {"cov_type": "HC1"}
    plain = dprct.ols("seen ~ t + x + C(block)", BLOCKED.dropna(), **more)
    gap = abs(found.params["t"] - plain.params["t"])
    assert gap < 5 * np.hypot(found.bse_noise["t"], 0.3 * plain.bse["t"])
    assert 0.8 < found.bse["t"] / plain.bse["t"] < 1.7
    rows = dprct.ols("seen ~ t + x + C(block)", BLOCKED.dropna(), cov_type="HC1").bse["t"]
    assert not cluster or plain.bse["t"] > 1.5 * rows
    assert "Who has a value is private" in " ".join(found.notes)
    assert "these do not correct for it" in " ".join(found.notes)


def test_cells_that_do_not_count_have_no_squares() -> None:
    """It is claimed that nobody there moves them, whatever the weights that were released."""
    m = blocked(asked("seen ~ t | block", cov_type="HC1"))
    bound, score = m.facts.steps.bound[0], m.facts.steps.bound[0].score(GRID)
    law = replace(planned_law(bound, GRID, 0.0), least=0.0)
    assert law.psi.all()
    counts = np.arange(score.weights.shape[1]) > 0
    clip = Clips(0, (), (1.0, 0.0))
    layout = m.spec.layout(m.schema, len(BLOCKED))
    found, most = _later(bound, replace(score, counts=counts), law, [0], layout, clip)
    assert [bool(one) for one in found.weights[0]] == counts.tolist()
    assert not found.squares(most).squared[0]


def test_blocks_of_too_few_people_have_no_coefficient() -> None:
    """The noise of their number is compared with it, by a rule of released numbers."""
    assert blocked(asked("seen ~ t + x | block")).fit(0.02, 1e-6).ols("it").params.isna().all()


@pytest.mark.parametrize(
    "options", [{"where": "female == 1"}, {"weights": "w"}, {"weights": "w", "where": "wave == 1"},
                {"where": "x > -1", "weights": "w", "cluster": "village"}],
)  # fmt: skip
def test_products_of_people_whom_private_columns_choose_or_weigh(
    options: Any, tmp_path: Any
) -> None:
    one = asked("y ~ t*x + female", **options)
    public = {"assignment": dprct.Simple("t", shares=SHARE), "attrition": True}
    m = model(one, neighbors="replace-one-design-public", **public).fit(25, 1e-6)
    rows = ROWS.query(options.get("where", "t == t"))
    more = {name: options[name] for name in ("weights", "cluster") if name in options}
    plain = dprct.ols(
        one.formula, rows, **({} if "cluster" in more else {"cov_type": "HC1"}), **more
    )
    found, names = m.ols("it"), ["t", "t:x"]
    gap = (found.params[names] - plain.params[names]).abs()
    assert (gap < 5 * np.hypot(found.bse_noise[names], 0.5 * plain.bse[names])).all()
    for name, effect in zip(found.params.index, found.laws, strict=True):
        wanted = plain.bse[name] ** 2
        assert abs(effect.parts[0] - wanted) < 6 * effect.spreads[0] + 0.5 * wanted
    public = options.get("where", "wave == 1") == "wave == 1"
    assert abs(found.nobs - len(rows)) < (1 if public else 0.1 * len(rows))
    words = " ".join(found.notes)
    said = ["Who has a value" in words, "Who meets" in words, "Weights are private" in words]
    assert said == [False, not public, public]
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert str(back.ols("it")) == str(found)


def test_a_release_says_what_is_public_and_what_is_not() -> None:
    m = model(asked(), "seen ~ t").fit(4, 1e-6)
    said = m.guarantee.public_facts
    assert m.guarantee.relation == "replace-one"
    assert any("arms and levels of the design: control, t" in one for one in said)
    assert not any("columns" in one and "treatment, blocks" in one for one in said)


def test_plans_say_shares_and_weights() -> None:
    plan = model(asked(weights="w")).plan(2, 1e-6)
    assert plan.value("weights", regression="it") == pytest.approx(1.1 / 4)
    weighted = plan.value("noise_sd", regression="it")
    alone = model(asked()).plan(2, 1e-6).value("noise_sd", regression="it")
    assert 2.5 < weighted / alone < 5
    shares = {number.quantity for number in model(asked()).plan(2, 1e-6).numbers}
    assert "share" not in shares


def test_levels_of_private_treatment_cost_as_one() -> None:
    levels = [Regression("y ~ t", where=f"female == {k}", name=f"{k}") for k in (0, 1)]
    noise = [
        model(*some).plan(2, 1e-6).value("noise_sd", regression="1")
        for some in (levels[1:], levels)
    ]
    assert noise[1] == pytest.approx(noise[0], rel=0.15)


@pytest.mark.parametrize("engine", ["polars", "lazy"])
def test_engines_have_the_same_bits(engine: str) -> None:
    formulas = [Regression("seen ~ t + x", weights="w", name="a"), asked(cluster="village")]
    wanted = model(*formulas).fit(4, 1e-6, rng=1)
    other = pl.from_pandas(ROWS, nan_to_null=True)
    found = model(*formulas, data=other.lazy() if engine == "lazy" else other).fit(4, 1e-6, rng=1)
    for name in ("a", "it"):
        pd.testing.assert_series_equal(found.ols(name).params, wanted.ols(name).params)
        pd.testing.assert_series_equal(found.ols(name).bse, wanted.ols(name).bse)


def test_documents_are_read_again(tmp_path: Any) -> None:
    m = model(asked(where="female == 1")).fit(4, 1e-6)
    back = Moments.load(m.save(tmp_path / "study.moments.json"))
    assert str(back.ols("it")) == str(m.ols("it"))


def test_what_moments_serve_is_left_to_them() -> None:
    """Slopes of covariates and other regressions, where something else is read off the moments."""
    assert model("y ~ t + x").facts.steps
    for options in ({"columns": ["female"]}, {"subgroups": ["female"]}):
        assert not model("y ~ t + x", **options).facts.steps
    assert not model("y ~ t + x", "y ~ x").facts.steps
    m = model("y ~ t + x", asked(where="female == 1"), columns=["female"]).fit(8, 1e-6)
    assert list(m.ols("y ~ t + x").params.index) == ["Intercept", "t", "x"]
    assert list(m.ols("it").params.index) == ["t"]


REFUSED: list[tuple[Regression, dict[str, Any], str]] = [
    (asked(where="wave == 1"), {"assignment": dprct.Complete("t", shares=SHARE)},
     "not drawn for each person by itself, as by dprct.Simple"),
    (asked(where="t == 1 | female == 1"), {}, "joins treatment"),
    (asked(where="wave == 1 & t == 1"), {}, "treatment is private, and its condition names it"),
    (asked("y ~ t*x", where="wave == 1"), {}, "treatment is private, and t:x is a product"),
    (asked("y ~ [seen ~ t]", where="wave == 1"), {}, "private, and it has instruments"),
    (asked("seen ~ t*x", weights="w"), {"neighbors": "replace-one-design-public"},
     "it is private who has a value of seen, and t:x is a product with a covariate"),
    (asked(cov_type="nonrobust"), {}, "treatment is private, and it has classical errors"),
    (asked(weights="x"), {}, "needs bounds, 0 or above"),
    (asked("y + w ~ t", weights="w"), {}, "which treatment may have changed"),
    (asked("seen ~ t + wave:t + wave", weights="w"), {"neighbors": "replace-one-design-public"},
     "private who has a value of seen, and it has public controls, or blocks of several columns"),
    (asked("seen ~ t*wave", cluster="village"), {},
     "treatment is private, it is private who has a value of seen, and it has blocks"),
    (asked(cluster="female"), {}, "who is in which cluster must be public"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "options", "words"), REFUSED)
def test_what_is_not_offered_is_refused_by_name(
    one: Regression, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        model(one, **options)


def test_a_file_carries_no_private_treatment_and_no_private_values() -> None:
    for neighbors, formula, words in (
        ("replace-one", "y ~ t + x", "treatment is public in declared regressions"),
        ("replace-one-design-public", "seen ~ t + x", "it is private who has a value of seen"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=words):
            dprct.Calibrated(ROWS, SCHEMA, formulas=[formula], assignment=DESIGN,
                             neighbors=neighbors).fit(4, 1e-6)  # fmt: skip


@pytest.mark.parametrize("formulas", [["y ~ t + x"], ["y ~ t + x", asked(where="female == 1")]])
def test_rows_in_an_engine_without_a_public_column_give_the_same_release(formulas: Any) -> None:
    here, there = (
        model(*formulas, data=data, attrition=False).fit(4, 1e-6, rng=3)
        for data in (ROWS, pl.from_pandas(ROWS, nan_to_null=True).lazy())
    )
    for one, other in zip(here.regressions, there.regressions, strict=True):
        np.testing.assert_array_equal(one.params, other.params)
        np.testing.assert_array_equal(one.cov, other.cov)
