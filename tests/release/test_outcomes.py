from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.release.calibrated.covariates import Target
from dprct.release.calibrated.layout import continuous, differences_of, regressions_of
from dprct.release.calibrated.outcomes import (
    PublicRows,
    check_room,
    constructed,
    covariate_matrices,
    legalised,
)
from dprct.schema import Column, Schema

RNG = np.random.Generator(np.random.PCG64(1))


def rows(n: int = 300, arms: int = 2, clusters: int | None = None) -> PublicRows:
    arm = np.arange(n) % arms
    member = None if clusters is None else np.arange(n) // arms % clusters * arms + arm
    return PublicRows({}, arm, (np.ones(n, bool),), member)


def effect(y: Any, arm: Any, X: Any) -> Any:
    W = np.column_stack([*(arm == a for a in range(1, arm.max() + 1)), X]).astype(float)
    return np.linalg.lstsq(W, y, rcond=None)[0][: arm.max()]


def test_an_index_moves_the_outcome_and_leaves_the_effects() -> None:
    public, x = rows(), RNG.normal(size=300)
    X = np.column_stack([np.ones(300), x])
    everybody = np.ones(300, bool)
    target = Target(np.array([3.0]), np.array([[0.01]]), 40.0, index=5 * x)
    found = constructed(target, [X], public, everybody, RNG)
    assert effect(found.values, public.arms, X) == pytest.approx([3.0], abs=1e-10)
    assert np.corrcoef(found.values, x)[0, 1] > 0.8
    assert found.values[public.arms == 0].mean() == pytest.approx(40, abs=1e-10)


def test_what_the_regression_cannot_explain_of_an_index_is_left_out() -> None:
    public, x = rows(), RNG.normal(size=300)
    one = np.ones((300, 1))
    target = Target(np.array([3.0]), np.array([[0.01]]), 40.0, index=5 * x)
    found = constructed(target, [one], public, np.ones(300, bool), RNG)
    assert effect(found.values, public.arms, one) == pytest.approx([3.0], abs=1e-10)


def test_who_has_no_value_is_missing_in_the_file() -> None:
    public, mask = rows(), RNG.random(300) < 0.7
    target = Target(np.array([1.0]), np.array([[0.01]]), 0.0)
    found = constructed(target, [np.ones((300, 1))], public, mask, RNG)
    assert np.isnan(found.values).tolist() == (~mask).tolist()
    one = np.ones((int(mask.sum()), 1))
    assert effect(found.values[mask], public.arms[mask], one) == pytest.approx([1.0], abs=1e-10)


def test_levels_that_may_be_drawn_need_room_before_anything_is_spent() -> None:
    levels = tuple(float(level) for level in range(8))
    schema = Schema((Column("x", levels=levels, missing=()), Column("b", missing=())))
    table = pd.DataFrame({"x": np.zeros(12), "b": np.arange(12) % 3.0})
    declared = regressions_of(["y"], ("t",), ["C(x)", "C(b)"], [], ["t"])
    # an intercept, 7 levels of x besides one, 2 of b, and the effect: 11
    check_room(declared, table, schema, ["b"], 12)
    with pytest.raises(ParameterError, match="up to 10 columns of covariates"):
        check_room(declared, table, schema, ["b"], 11)


def test_clusters_and_several_arms() -> None:
    public = rows(600, arms=3, clusters=20)
    target = Target(np.array([1.0, 2.0]), np.array([[0.04, 0.02], [0.02, 0.05]]), 0.0)
    found = constructed(target, [np.ones((600, 1))], public, np.ones(600, bool), RNG)
    assert found.exact == (True,)
    assert effect(found.values, public.arms, np.ones((600, 1))) == pytest.approx([1.0, 2.0])


def test_a_derived_covariate_that_is_missing_leaves_its_rows_out_everywhere() -> None:
    table = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 5.0]})
    schema = Schema((Column("a"), Column("b")))
    matrices, used = covariate_matrices([("a",), ("b",)], table, schema)
    assert used.tolist() == [True, False, True]
    assert matrices[0].tolist() == [[1, 1], [0, 0], [1, 3]]
    assert matrices[1].tolist() == [[1, 1], [1, 2], [1, 5]]


@pytest.mark.parametrize(
    ("facts", "given", "legal"),
    [
        ({"type": "byte", "levels": (0.0, 1.0)}, [-3, 0.49, 0.51, 9], [0, 0, 1, 1]),
        ({"type": "byte", "levels": (1.0, 2.0, 5.0)}, [3.4, 3.6], [2, 5]),
        ({"type": "int", "bounds": (-2.0, 5.0)}, [-9, 0.6, 9], [-2, 1, 5]),
        ({"bounds": (0.0, 1.05), "decimals": 1}, [0.26, 7], [0.3, 1.0]),
        ({"bounds": (0.0, 1.0)}, [-0.1, 0.123, 2], [0, 0.123, 1]),
    ],
)
def test_the_nearest_legal_value(
    facts: dict[str, Any], given: list[float], legal: list[float]
) -> None:
    found = legalised(Column("y", **facts), np.array([*given, np.nan]))
    assert found[:-1].tolist() == pytest.approx(legal)
    assert np.isnan(found[-1])


def test_a_calibrated_outcome_is_a_real_number_and_the_certificate_lists_it() -> None:
    labelled = {"value_label": "yesno", "levels": (0.0, 1.0)}
    got = Column("got", "byte", "%8.0g", **labelled, missing=(".a",))
    any_ = Column("any", "byte", value_label="yesno")
    new = continuous(got)
    assert (new.type, new.levels, new.value_label, new.missing) == ("double", None, "", (".", ".a"))
    found = {(d.facet, d.column) for d in differences_of(got, Schema((got, any_)))}
    assert found == {
        ("type", "got"), ("value-label", "got"), ("sharing", "got"), ("sharing", "any")
    }  # fmt: skip
    assert list(differences_of(Column("y"), Schema((Column("y"),)))) == []
