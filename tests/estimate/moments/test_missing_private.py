"""Who has a value is private: cells of which complete cases are added up, and their noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf

import dprct
from dprct import Column, Moments, PrivateMoments, Schema
from dprct.errors import ParameterError
from dprct.estimate.moments.groups import names_of
from dprct.estimate.moments.release import DrawnMoments, matrices
from dprct.estimate.moments.results import scores_by
from dprct.estimate.moments.robust_errors import DrawnScores
from dprct.privacy.aggregates import _open
from dprct.privacy.budget import Budget
from dprct.queries.group_moments import moment_sums
from dprct.queries.scores import score_sums

MAY: Any = {"missing": (".", ".a"), "missing_policy": "private"}
NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("milk", bounds=(-4.0, 4.0), **MAY),
        Column("hay", bounds=(-4.0, 4.0), **MAY),
        Column("herd", bounds=(0.0, 2.0), **NEVER),
        Column("vet", "byte", levels=(0.0, 1.0), **NEVER),
        Column("soil", "byte", levels=(1.0, 2.0, 3.0), **MAY),
        Column("valley", "byte", levels=(1.0, 2.0), **NEVER),
        *(Column(f"late{j}", bounds=(0.0, 1.0), **MAY) for j in range(7)),
    )
)
HALF = dprct.Simple("vet", shares=0.5)
COLUMNS = ["milk", "hay", "herd", "vet", "C(soil)", "hay:herd"]


def farms(n: int = 2000) -> pd.DataFrame:
    """Rows in which milk is missing more often under treatment, and more often in large herds."""
    rng = np.random.default_rng(3)
    herd, vet = rng.uniform(0, 2, n), rng.integers(0, 2, n).astype(float)
    soil = rng.integers(1, 4, n).astype(float)
    hay = (0.5 * herd + rng.normal(0, 0.6, n)).clip(-4, 4)
    milk = (herd - 1 + 0.5 * vet + 0.3 * hay + rng.normal(0, 0.5 + 0.3 * herd, n)).clip(-4, 4)
    milk[rng.random(n) < 0.05 + 0.2 * vet + 0.1 * herd] = np.nan
    hay[rng.random(n) < 0.3] = np.nan
    soil[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {"milk": milk, "hay": hay, "herd": herd, "vet": vet, "soil": soil,
         "valley": rng.integers(1, 3, n).astype(float), **{f"late{j}": 0.5 for j in range(7)}}
    )  # fmt: skip


ROWS = farms()


def model(data: Any = ROWS, schema: Schema = SCHEMA, **options: Any) -> PrivateMoments:
    return PrivateMoments(data, schema, **{"radius": "box", **options})


NEXT_TO_NONE = 1e6
"""In steps squared, of which sums have millions of millions; of noise 0 no constant is told."""


def without_noise(asked: PrivateMoments, sigma: float = 0.0) -> Moments:
    """Return what a fit would release if it drew no noise: nothing that the package offers."""
    facts, spec, frame = asked.facts, asked.spec, asked._table.frame
    grid, cells = facts.layout.grid, facts.grouping.cells
    sums = _open(moment_sums(frame, grid, cells, spec.neighbors))
    drawn = DrawnMoments(matrices(facts.layout, facts.grouping, sums), sigma)
    return Moments.of(
        facts, drawn, asked.guarantee(Budget(1, 1e-6)), "", "exact", spec.outcomes
    )  # fmt: skip


PLAIN = without_noise(model(columns=COLUMNS))


@pytest.mark.parametrize(
    "formula",
    ["milk ~ vet + herd", "milk ~ hay + hay:herd + C(soil)", "hay ~ vet", "herd ~ vet"],
)
def test_without_noise_it_is_least_squares_of_complete_cases(formula: str) -> None:
    found, plain = PLAIN.ols(formula), smf.ols(formula, ROWS).fit()
    np.testing.assert_allclose(
        found.params.sort_index(), plain.params.sort_index(), atol=1e-3, rtol=0
    )
    np.testing.assert_allclose(found.bse.sort_index(), plain.bse.sort_index(), rtol=1e-3)
    assert found.nobs == plain.nobs


def test_robust_errors_are_those_of_complete_cases() -> None:
    """Of errors none of which is so large that its score is shortened."""
    formula = "milk ~ vet + herd"
    sign = np.where(np.arange(len(ROWS)) % 2 == 0, 1.0, -1.0)
    error = sign * (0.2 + 0.5 * (ROWS["herd"] - 1).abs())
    data = ROWS.assign(milk=(0.5 * ROWS["vet"] + error).where(ROWS["milk"].notna()))
    asked = model(data, formulas=[formula], cov_type="HC1")
    first = without_noise(asked, NEXT_TO_NONE)
    facts, k = asked.facts, 3
    sums = _open(
        score_sums(
            asked._table.frame, facts.layout.grid, facts.grouping.cells,
            scores_by(first, formula, NEXT_TO_NONE), "replace-one",
        )
    )  # fmt: skip
    matrix = np.array([int(number) for number in sums], object).reshape(k, k)
    names = tuple(PLAIN.ols(formula).params.index)
    scores = (DrawnScores("milk", names, matrix + matrix.T, NEXT_TO_NONE),)
    found = replace(first, drawn=replace(first.drawn, scores=scores)).ols(formula)
    plain = smf.ols(formula, data).fit(cov_type="HC1")
    np.testing.assert_allclose(found.bse, plain.bse[found.bse.index], rtol=0.01)
    usual = first.ols(formula, cov_type="nonrobust").bse
    assert float(abs(found.bse / usual - 1).max()) > 0.1  # which the usual errors are not


def test_effects_are_of_whoever_has_a_value_and_blocks_weigh_by_public_rows() -> None:
    public: dict[str, Any] = {"neighbors": "replace-one-design-public", "attrition": True}
    asked = model(
        columns=["milk"], subgroups=["valley"],
        assignment=dprct.Block("vet", block="valley"), **public,
    )  # fmt: skip
    found = without_noise(asked).effects()
    sizes = ROWS["valley"].value_counts(normalize=True)
    means = ROWS.groupby(["valley", "vet"])["milk"].mean().unstack()
    expected = float(((means[1.0] - means[0.0]) * sizes).sum())
    assert found.params["vet"] == pytest.approx(expected, abs=1e-3)
    hidden = without_noise(model(columns=["milk"], assignment=HALF)).effects()
    means = ROWS.groupby("vet")["milk"].mean()
    assert hidden.params["vet"] == pytest.approx(means[1.0] - means[0.0], abs=1e-3)
    assert any("noisy numbers of people" in note for note in hidden.notes)


def test_the_noise_is_that_of_the_cells_a_regression_adds_up() -> None:
    """One cell has the noise of a release without missing values; two have root 2 times it."""
    asked = model(columns=["milk", "herd"])
    m = asked.fit(epsilon=4, delta=1e-6)
    one = m.ols("milk ~ herd").fit.system.s2
    two = m.ols("herd ~ 1").fit.system.s2
    s2 = m.layout.noise(m.drawn.sigma)[1]
    assert one.tolist() == [s2]
    assert two == pytest.approx([s2 * math.sqrt(2)])
    known = SCHEMA.declare(milk={"missing_policy": 0.0})
    filled = model(schema=known, columns=["milk", "herd"]).fit(epsilon=4, delta=1e-6)
    assert m.drawn.sigma == filled.drawn.sigma
    assert m.ols("herd ~ 1").nobs == len(ROWS)  # of all cells together n is public
    assert asked.plan(epsilon=4, delta=1e-6).value("missing, private", "for milk") == 2


def test_who_has_no_value_takes_no_room_in_the_ball() -> None:
    """Values that are missing are at the centre: the others of the row are not moved by them."""
    known = SCHEMA.declare(
        milk={"sd": 1.5}, hay={"sd": 0.8, "centre": -3.9}, herd={"sd": 0.6, "centre": 1.0}
    )
    asked: dict[str, Any] = {
        "formulas": ["milk ~ hay + herd"], "columns": ["milk"], "radius": 4.0,
        "cov_type": "nonrobust",
    }  # fmt: skip
    lone = ROWS.assign(hay=np.nan)
    for policy in ("private", "public"):
        schema = known.declare(hay={"missing_policy": policy})
        m = without_noise(model(lone, schema, **asked))
        plain = smf.ols("milk ~ herd", lone).fit()
        np.testing.assert_allclose(m.ols("milk ~ herd").params, plain.params, atol=1e-3)


def test_effects_of_several_outcomes_say_whose_they_are() -> None:
    m = without_noise(model(columns=["milk", "hay"], assignment=HALF))
    assert any("values of all of milk, hay" in note for note in m.effects().notes)
    assert not any("values of all" in note for note in m.effects("milk").notes)
    assert m.effects().nobs == len(ROWS.dropna(subset=["milk", "hay"]))


def test_engines_have_the_same_cells() -> None:
    asked = model(columns=COLUMNS, assignment=HALF)
    lazy = model(pl.from_pandas(ROWS.fillna(np.nan)).lazy(), columns=COLUMNS, assignment=HALF)
    groups = asked.facts.grouping.groups
    assert names_of(groups, SCHEMA) == names_of(lazy.facts.grouping.groups, SCHEMA)
    one, other = without_noise(asked).drawn.sums, without_noise(lazy).drawn.sums
    assert (one == other).all()


def test_cells_are_those_of_the_schema_and_nothing_of_the_rows_is_said() -> None:
    complete = ROWS.fillna({"milk": 0.0, "hay": 0.0, "soil": 1.0})
    empty = ROWS.assign(milk=np.nan)
    asked = [model(data, columns=["milk", "hay"]) for data in (ROWS, complete, empty)]
    assert len({str(one.plan(epsilon=1, delta=1e-6)) for one in asked}) == 1
    assert len({str(one.guarantee(Budget(1, 1e-6))) for one in asked}) == 1
    groups = asked[2].facts.grouping.groups
    assert [group.absent for group in groups] == [(), ("hay",), ("milk",), ("milk", "hay")]
    assert all(group.rows is None for group in groups)
    m = asked[2].fit(epsilon=1, delta=1e-6)
    assert m.ols("hay ~ 1").nobs > 1000
    try:
        fit = m.ols("milk ~ hay")
    except ParameterError as error:
        assert "leave nothing to estimate" in str(error)  # noqa: PT017 -- noise decides it
    else:
        assert not fit.estimated.all()


def test_it_is_saved_with_its_cells(tmp_path: Any) -> None:
    m = model(columns=["milk", "hay"]).fit(epsilon=4, delta=1e-6)
    again = Moments.load(m.save(tmp_path / "farms.moments.json"))
    pd.testing.assert_series_equal(again.ols("milk ~ 1").params, m.ols("milk ~ 1").params)
    assert "missing" not in str(m.guarantee)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"columns": [f"late{j}" for j in range(7)]}, "128 cells, and it is offered for 6"),
    ({"formulas": ["milk ~ herd"], "weights": "herd", "cov_type": "HC1"}, "not how many rows"),
    ({"columns": ["herd"], "formulas": ["herd ~ vet"], "weights": "milk", "cov_type": "HC1"},
     "may be missing"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_not_offered_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        model(**options)
