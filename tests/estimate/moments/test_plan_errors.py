"""The errors that a plan says from public facts, checked against those of fits."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.schema import Column, Schema

FORMULA = "y ~ t + x0 + x1 + x2"


def told(facts: str) -> dict[str, float]:
    return {name: float(x) for name, x in re.findall(r"(\w+) ([\d.]+)(?:,| \()", facts)}


@pytest.mark.parametrize("grouped", [True, False])
def test_a_plan_says_the_error_of_every_coefficient_within_a_fifth(grouped: bool) -> None:
    """Section 10 of docs/methods.md: 20 % at its guesses of R squared and variance inflation.

    The noise part of a fit's errors is nearly the same in every draw, so that four draws decide.
    """
    rng, n = np.random.default_rng(5), 4000
    x = rng.normal(size=(n, 3)).clip(-5, 5)
    t = (rng.random(n) < 0.5).astype(float)
    y = (0.4 * t + x @ np.full(3, 0.3) + rng.normal(0, 0.85, n)).clip(-6, 6)
    data = pd.DataFrame({"y": y, "t": t} | {f"x{j}": x[:, j] for j in range(3)})
    schema = Schema(
        (
            Column("y", bounds=(-6, 6), missing=()),
            Column("t", "byte", levels=(0.0, 1.0), missing=()),
            *(Column(f"x{j}", bounds=(-5, 5), missing=()) for j in range(3)),
        )
    )
    schema = schema.declare(**{name: {"sd": 0.5 if name == "t" else 1.0} for name in data})
    model = dprct.PrivateMoments(
        data, schema, formulas=[FORMULA],
        assignment=dprct.Simple("t", shares=0.5) if grouped else None,
        cov_type="nonrobust" if grouped else None,
    )  # fmt: skip
    said = {
        one.term: one.value
        for one in model.plan(2, 1e-6).numbers
        if one.quantity == "error_ratio" and one.regression == FORMULA
    }
    noise = pd.DataFrame(
        [model.fit(2, 1e-6, rng=seed).ols(FORMULA).bse_noise for seed in range(4)]
    ).mean()
    own = dprct.ols(FORMULA, data, cov_type="nonrobust").bse
    assert list(said) == ["t", "x0", "x1", "x2"]
    for name, ratio in said.items():
        assert ratio == pytest.approx(np.hypot(1, noise[name] / own[name]), rel=0.2), name


@pytest.mark.parametrize(
    ("icc", "guessed"), [(None, "of y, b:"), ({"y": 0.04}, "of b:"), (0.04, "")]
)
def test_a_plan_says_that_a_correlation_is_a_guess(icc: object, guessed: str) -> None:
    never = {"missing": ()}
    schema = Schema((
        Column("y", bounds=(0, 1), sd=0.3, **never),
        Column("b", "byte", levels=(0.0, 1.0), **never),
        Column("t", "byte", levels=(0.0, 1.0), **never),
        Column("village", "int", fate="public", **never),
    ))  # fmt: skip
    village = np.arange(900) % 30
    t = village % 2 * 1.0
    data = pd.DataFrame({"y": 0.5, "b": t, "t": t, "village": village})
    logit = dprct.Regression("b ~ t", family="logit", cluster="village")
    design = dprct.Cluster("t", cluster="village", shares=0.5, icc=icc)
    model = dprct.PrivateMoments(
        data, schema, formulas=["y ~ t", logit], assignment=design,
        neighbors="replace-one-design-public",
    )  # fmt: skip
    found = [one for one in model.plan(2, 1e-6).numbers if one.quantity == "icc"]
    assert [(one.value, guessed in one.why) for one in found] == [(0.1, True)] * bool(guessed)


def test_a_plan_says_what_factors_of_many_levels_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the numbers that are drawn and, without a design, by the inverses of errors."""
    n, levels = 2000, 40
    data = pd.DataFrame({"y": np.linspace(-1, 1, n), "t": np.arange(n) % 2 * 1.0,
                         "town": np.arange(n) % levels * 1.0})  # fmt: skip
    schema = Schema(
        (
            Column("y", bounds=(-1, 1), missing=()),
            Column("t", "byte", levels=(0.0, 1.0), missing=()),
            Column("town", levels=tuple(map(float, range(levels))), missing=()),
        )
    )

    def planned(formula: str, design: dprct.Simple | None) -> list[float]:
        model = dprct.PrivateMoments(data, schema, formulas=[formula], assignment=design)
        numbers = model.plan(2, 1e-6).numbers
        return [one.value for one in numbers if one.quantity == "time"]

    design = dprct.Simple("t", shares=0.5)
    assert not planned("y ~ t + C(town)", design)
    monkeypatch.setattr("dprct.estimate.moments.plan._LONG", 0.01)
    declared, read = planned("y ~ t + C(town)", design), planned("y ~ C(town)", None)
    assert 0.01 < declared[0] < read[0] < 1
