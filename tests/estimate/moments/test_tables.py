"""Tables of effects hold the effects, and what is printed is what was asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ParameterError


@pytest.fixture(scope="module")
def moments() -> dprct.Moments:
    rng = np.random.default_rng(8)
    bits = {"levels": (0.0, 1.0), "missing": (), "exclusive": "arm"}
    schema = dprct.Schema(
        (
            dprct.Column("income", bounds=(-5.0, 5.0), sd=1, missing=(), label="Monthly income"),
            dprct.Column("health", bounds=(-5.0, 5.0), sd=1, missing=()),
            dprct.Column("cash", "byte", **bits),
            dprct.Column("talk", "byte", **bits),
        )
    )
    arm = rng.integers(0, 3, 3000)
    data = pd.DataFrame(
        {"income": rng.normal(size=3000) + (arm == 1), "health": rng.normal(size=3000),
         "cash": (arm == 1).astype(float), "talk": (arm == 2).astype(float)}
    )  # fmt: skip
    model = dprct.PrivateMoments(
        data, schema, formulas=["income + health ~ cash + talk"],
        assignment=dprct.Simple(["cash", "talk"]),
    )  # fmt: skip
    return model.fit(epsilon=4, delta=1e-6)


def test_a_table_has_every_arm_on_every_outcome(moments: dprct.Moments) -> None:
    table, effects = moments.itt_table(arms={"cash": "Cash grant"}), moments.effects()
    text = table.to_text()
    assert all(word in text for word in ("Monthly income", "health", "Cash grant", "talk"))
    assert table.tidy()["estimate"].tolist() == effects.params.tolist()
    assert table.tidy()["std.error"].tolist() == effects.bse.tolist()
    assert table.to_frame().loc["income", ("cash", "estimate")] == effects.params["income: cash"]
    assert str(moments.guarantee).splitlines()[0] in table.notes


def test_adjusted_p_values_are_those_of_the_whole_table(moments: dprct.Moments) -> None:
    table = moments.itt_table(adjust=True).tidy()
    assert table["p.adjusted"].tolist() == moments.effects().adjusted_pvalues().tolist()
    assert (table["family_size"] == 4).all()


def test_an_arm_that_is_not_there(moments: dprct.Moments) -> None:
    with pytest.raises(ParameterError, match="the arms are cash, talk"):
        moments.itt_table(arms={"food": "Food"})
