"""The statistic that is printed has the p-value that is printed beside it, in every result."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

import dprct
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

N = 2000
SCHEMA = Schema(
    (
        Column("y", bounds=(0.0, 10.0), missing=(), sd=2.0),
        Column("d", "byte", levels=(0.0, 1.0), missing=()),
        Column("t", "byte", levels=(0.0, 1.0), missing=()),
        Column("x", bounds=(-1.0, 1.0), missing=(), sd=0.6),
    )
)


def rows() -> pd.DataFrame:
    g = np.random.default_rng(4)
    t, x = np.arange(N) % 2.0, g.uniform(-1, 1, N)
    d = (g.random(N) < 0.2 + 0.1 * t).astype(float)
    y = (5 + 0.2 * t + x + g.normal(0, 1.5, N)).clip(0, 10)
    return pd.DataFrame({"y": y, "d": d, "t": t, "x": x})


@cache
def moments() -> Any:
    return dprct.PrivateMoments(rows(), SCHEMA, formulas=["y ~ t + x + d"]).fit(4, 1e-6, rng=1)


def effect() -> Any:
    model = dprct.PrivateATE(rows(), SCHEMA, outcome="y", treatment="t", alphas=(0.05, 0.01))
    return model.fit(1, rng=2)


RESULTS: dict[str, Callable[[], Any]] = {
    "PrivateATE": effect,
    "PrivateATE, jointly": lambda: dprct.PrivateATE(
        rows(), SCHEMA, outcome=["y", "d"], treatment="t"
    ).fit(1, 1e-6, rng=2),
    "IPW": lambda: dprct.IPW(
        rows(), SCHEMA, treatment="t", covariates=["x"], outcome="y"
    ).fit(4, 1e-6, rng=1),
    "PrivateMoments, effects": lambda: dprct.PrivateMoments(
        rows(), SCHEMA, columns=["y"], assignment=dprct.Complete("t")
    ).fit(2, 1e-6, rng=1).effects(),
    "PrivateMoments, ols": lambda: moments().ols("y ~ t + x"),
    "PrivateMoments, iv, weak": lambda: moments().iv("y ~ x + [d ~ t]"),
    "ols": lambda: dprct.ols("y ~ t + x", rows()),
    "iv": lambda: dprct.iv("y ~ x + [d ~ t]", rows()),
    "logit": lambda: dprct.logit("d ~ t + x", rows()),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_the_p_value_is_that_of_the_statistic(name: str) -> None:
    found = RESULTS[name]()
    table = found.tidy()
    assert table["p.value"].notna().any()
    known = table[table["p.value"].notna()]
    p = 2 * special.stdtr(found.df_inference, -np.abs(known["statistic"]))
    np.testing.assert_allclose(known["p.value"], p, rtol=1e-6, atol=1e-12)
    signs = np.sign(known["statistic"]) * np.sign(known["estimate"])
    assert (signs >= 0).all()
    said = any("is the quantile of the p-value" in note for note in found.grid().notes)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.allclose(table["statistic"], table["estimate"] / table["std.error"], rtol=1e-3)
    assert said or plain


def test_significance_is_that_of_the_interval() -> None:
    """An effect is beyond 1.96 if and only if its interval leaves 0 out."""
    for seed in range(6):
        model = dprct.PrivateATE(rows(), SCHEMA, outcome="y", treatment="t", alphas=(0.05, 0.01))
        found = model.fit(0.2, rng=seed)
        low, high = found.conf_int().iloc[0]
        assert (abs(found.tvalues.iloc[0]) > 1.959964) == (not low <= 0 <= high)
