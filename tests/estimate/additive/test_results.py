from __future__ import annotations

import numpy as np
import pytest

from dprct.errors import ColumnError, ParameterError
from dprct.estimate.additive.fitted import AdditiveFit
from dprct.estimate.additive.release import layout_of, mechanism_of, released_sums
from dprct.estimate.additive.results import linear_projection
from dprct.estimate.additive.terms import terms_of
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source


def fitted(schema, budget, seed=1, n=5000, **options):
    """X and z are correlated; psi = 0.5 x - 0.25 (z - 5) / 5 at the middles of bins."""
    rng = np.random.default_rng(seed)
    terms = terms_of(schema, ["x", "age"], bins=10, **options)
    base = rng.normal(size=n)
    x = np.clip((base + rng.normal(size=n)) / 4, -0.99, 0.99)
    z = np.clip((base + rng.normal(size=n)) / 4, -0.99, 0.99)
    codes = [((v + 1) * 5).astype(np.int32) for v in (x, z)]
    mx, mz = ((c + 0.5) / 5 - 1 for c in codes)
    psi = 0.5 * mx - 0.25 * mz + rng.normal(0, 0.3, n)
    layout = layout_of(terms.blocks(), 2.0, budget)
    sums = released_sums(codes, psi, layout, mechanism_of(layout, budget), source(seed))
    return AdditiveFit(terms, sums)


def test_it_is_least_squares_on_the_middles_of_bins(schema):
    fit = fitted(schema, Budget.asked(20, 1e-2), projection=["x", "age"])
    table = linear_projection(fit, ["x", "age"]).set_index("term")["estimate"]
    assert table["x"] == pytest.approx(0.5, abs=0.06)
    assert table["age"] == pytest.approx(-0.25 / 5, abs=0.012)


def test_alone_a_feature_takes_what_it_is_correlated_with(schema):
    fit = fitted(schema, Budget.asked(20, 1e-2), projection=["x", "age"])
    alone = linear_projection(fit, ["x"])["estimate"][1]
    assert alone == pytest.approx(0.5 - 0.25 * 0.5, abs=0.05)


@pytest.mark.long
def test_its_errors_are_those_of_many_fits(schema):
    """120 draws of noise and people; a ratio is within 0.45 of 1 but once in 1e9."""
    budget = Budget.asked(2, 1e-5)
    fits = [fitted(schema, budget, seed, n=1500, projection=["x", "age"]) for seed in range(120)]
    tables = [linear_projection(fit, ["x", "age"]) for fit in fits]
    estimates = np.array([t["estimate"] for t in tables])
    claimed = np.array([t["std.error"] for t in tables]).mean(axis=0)
    assert estimates.std(axis=0) == pytest.approx(claimed, rel=0.45)
    assert all((t["std.error.noise"] < t["std.error"]).all() for t in tables)


def test_what_is_refused(schema):
    fit = fitted(schema, Budget.asked(1))
    with pytest.raises(ParameterError, match="joint counts of 'x' and 'age' were not released"):
        linear_projection(fit, ["age", "x"])
    with pytest.raises(ParameterError, match="no column"):
        linear_projection(fit, [])
    with pytest.raises(ColumnError):
        linear_projection(fit, ["y"])
