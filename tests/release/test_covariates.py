from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import SchemaError
from dprct.model import BoundTable
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.release.calibrated.covariates import (
    completed,
    covariates_of,
    resembles_jointly,
    resembles_one_by_one,
)
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from dprct.release.calibrated.covariates import Covariates

N = 900


def made(columns: int = 6, *, filler: bool = False, **facts: Any) -> Covariates:
    known: dict[str, Any] = {"levels": (0.0, 1.0, 2.0), "missing": (), **facts}
    schema = Schema(tuple(Column(f"x{j}", "byte", **known) for j in range(columns)))
    return covariates_of(schema, frozenset({"x0"}), N, filler=filler)


def draw(covariates: Covariates, rule: Any, budget: Budget, table: Any = None) -> Any:
    """Draw from a table of zeros, or from ``table``."""
    zeros = pd.DataFrame({name: np.zeros(N) for name in covariates.names})
    rows = BoundTable(zeros if table is None else table)
    return covariates.draw(rule, rows, covariates.allocation(rule, budget), source())


def test_auto_prefers_the_joint_then_the_single_then_nothing() -> None:
    assert made(3).chosen(Budget(2))[0] == "histogram"
    assert made(6).chosen(Budget(1))[0] == "marginals"  # 729 cells for 900 rows
    rule, reason = made(6).chosen(Budget(0.05))
    assert rule == "filler"
    assert "would not resemble" in reason
    assert made(0).chosen(Budget(1)) == ("filler", "no covariate is modelled")


@pytest.mark.parametrize("rule", ["histogram", "marginals"])
def test_drawn_covariates_resemble_and_filler_does_not(rule: Any) -> None:
    covariates, rng = made(2), np.random.default_rng(1)
    drawn = draw(covariates, rule, Budget(20))
    assert (covariates.columns(drawn, rng)["x1"] == 0).mean() > 0.95
    assert (covariates.columns(None, rng)["x1"] == 0).mean() < 0.5


def test_covariates_of_regressions_have_no_missing_values() -> None:
    covariates = made(2, missing=(".",))
    data = pd.DataFrame({"x0": np.full(N, np.nan), "x1": np.full(N, np.nan)})
    drawn = draw(covariates, "marginals", Budget(50), data)
    columns = covariates.columns(drawn, np.random.default_rng(1))
    assert not np.isnan(columns["x0"]).any()  # also where nearly everybody's is missing
    assert np.isnan(columns["x1"]).mean() > 0.9


def test_a_protected_cluster_divides_the_budget_among_its_rows() -> None:
    alone, together = made(2), replace(made(2), rows=10)
    plans = [c.plan("marginals", c.allocation("marginals", Budget(1))) for c in (alone, together)]
    sds = [plan.value("noise of a count") for plan in plans]
    assert sds[1] == pytest.approx(10 * sds[0], rel=0.01)
    assert alone.chosen(Budget(0.6))[0] == "histogram"
    assert together.chosen(Budget(0.6))[0] == "filler"
    drawn = [draw(together, "marginals", Budget(1)) for _ in range(40)]
    counts = np.array([one.counts[0] for one in drawn])
    assert counts.std() > 20  # a scale of 40, against 4 for one row


def test_a_missing_code_takes_the_code_of_another_row() -> None:
    rng = np.random.default_rng(1)
    codes = np.array([0] * 300 + [1] * 100 + [2] * 1000)
    found = completed(codes, np.array([0, 1]), rng)
    assert found[:400].tolist() == codes[:400].tolist()
    assert np.bincount(found).tolist()[0] / 1400 == pytest.approx(0.75, abs=0.06)
    alone = completed(np.full(50, 2), np.array([0, 1]), rng)
    assert set(alone.tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("facts", "bins"),
    [
        ({"bounds": (0.0, 99.0)}, 10),
        ({"bounds": (0.0, 5.0)}, 6),
        ({"bounds": (0.0, 99.0), "bins": 4}, 4),
    ],
)
def test_bins_are_those_declared_else_ten(facts: dict[str, Any], bins: int) -> None:
    assert made(1, levels=None, **facts).facts.encodings[0].size == bins


def test_filler_needs_no_bins_and_no_look_at_the_data() -> None:
    facts: dict[str, Any] = {"levels": None, "bounds": (0.0, 90.0), "missing": (".",)}
    schema = Schema((Column("income_std", "int", **facts),))
    covariates = covariates_of(schema, frozenset(), N, filler=True)
    values = covariates.columns(None, np.random.default_rng(1))["income_std"]
    assert values.min() >= 0
    assert values.max() <= 90
    assert values.mean() == pytest.approx(45, abs=6)
    assert not np.isnan(values).all()


@pytest.mark.parametrize("facts", [{"missing": None}, {"levels": None}])
def test_a_covariate_without_public_facts_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="covariate: column 'x0'"):
        made(1, **facts)


def test_covariates_resemble_where_counts_are_above_threshold_and_noise() -> None:
    assert resembles_jointly(1_000, 10, 100, 20.0)
    assert not resembles_jointly(999, 10, 100, 1.0)  # below t
    assert not resembles_jointly(1_000, 10, 1, 20.1)  # below five noise sds
    assert resembles_one_by_one(1_000, [2, 10], 20.0)
    assert not resembles_one_by_one(1_000, [2, 11], 20.0)
    assert resembles_one_by_one(1, [], 20.0)
