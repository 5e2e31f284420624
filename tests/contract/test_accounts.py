"""Fits on one budget: which of them one accountant takes, and what it says of their sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import ParameterError
from dprct.privacy.budget import Budget

SCHEMA = dprct.Schema(
    (
        dprct.Column("y", bounds=(0, 1), missing=(), fate="modelled", bins=2),
        dprct.Column("t", "byte", levels=(0.0, 1.0), missing=(), fate="public"),
        dprct.Column("g", "int", levels=tuple(np.arange(20.0)), missing=(), fate="public"),
        dprct.Column("u", "byte", levels=(0.0, 1.0), missing=(), fate="modelled"),
        dprct.Column("pid", "int", missing=(), fate="key"),
    )
)
N = 200


def data() -> pd.DataFrame:
    g = np.repeat(np.arange(20.0), 10)
    return pd.DataFrame(
        {"y": 0.5, "t": g % 2, "g": g, "u": np.tile([0.0, 1.0], 100), "pid": np.arange(N) + 1.0}
    )


def effect(largest: int | None = None, **options: Any) -> dprct.PrivateATE:
    design = dprct.Cluster("t", cluster="g", largest=largest)
    return dprct.PrivateATE(data(), SCHEMA, outcome="y", assignment=design, **options)


def histogram(**unit: Any) -> dprct.MVHistogram:
    schema = SCHEMA.declare(unit=dprct.Unit("person", **unit)) if unit else SCHEMA
    return dprct.MVHistogram(data(), schema)


@pytest.mark.filterwarnings("ignore:not usable at this n")
def test_a_default_accountant_takes_a_default_effect_and_a_histogram() -> None:
    accountant = dprct.Accountant(2)
    histogram().fit(epsilon=1, accountant=accountant, confirm=True)
    assert accountant.together is not None
    assert accountant.together.relations == ("replace-one", "replace-one-design-public")
    calibrated = dprct.Calibrated(
        data(), SCHEMA, outcome="y", assignment=dprct.Cluster("t", cluster="g"), covariates=["u"]
    )
    release = calibrated.fit(epsilon=0.5, accountant=accountant, confirm=True)
    result = effect().fit(epsilon=0.5, accountant=accountant)
    together = accountant.together
    assert together is not None
    assert together.relations == ("replace-one-design-public",)
    assert {*release.guarantee.not_covered, *result.guarantee.not_covered} <= {
        *together.not_covered
    }
    assert {*release.guarantee.public_facts, *result.guarantee.public_facts} <= {
        *together.public_facts
    }
    assert together.unrecorded == ()
    text = " ".join(str(release.certificate()).split())
    assert "All 2 charges together hold with epsilon=1.5 for every person, under" in text


def test_public_missingness_under_replace_one_stands_beside_the_sum() -> None:
    rows = data()
    rows.loc[1, "y"] = np.nan
    schema = SCHEMA.declare(y={"missing": ["."], "missing_policy": "public"})
    accountant = dprct.Accountant(1)
    dprct.PrivateATE(
        rows, schema, outcome="y", assignment=dprct.Simple("t", shares=0.5),
        neighbors="replace-one",
    ).fit(epsilon=0.5, accountant=accountant)  # fmt: skip
    assert "whether anybody's y is missing" in str(accountant)
    assert "who has a value of y" in str(accountant)


def test_units_that_differ_leave_single_rows() -> None:
    accountant = dprct.Accountant(3)
    histogram(id="pid").fit(epsilon=1, accountant=accountant, confirm=True)
    clusters = effect(12, privacy_unit="cluster")
    clusters.fit(epsilon=1, accountant=accountant)
    entry = accountant.ledger[1]
    assert (entry.unit, entry.unit_id, entry.max_rows) == ("cluster of g", "g", 12)
    assert accountant.together is not None
    assert accountant.together.unit == "row"
    donors = dprct.SyntheticControl.from_arrays(np.zeros((4, 6)), np.zeros(6), 4, bound=1)
    with pytest.raises(ParameterError, match="both protect"):
        donors.fit(epsilon=1, accountant=accountant)
    assert accountant.spent == Budget(2)


@pytest.mark.parametrize("composition", ["zcdp", "gdp"])
def test_a_rule_that_cannot_book_a_fit_says_so_before_anything_is_drawn(
    composition: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    accountant = dprct.Accountant(2, 1e-6, composition=composition)
    model = histogram()
    monkeypatch.setattr(type(model), "_draw", None)
    with pytest.raises(ParameterError, match="without one: fit with delta=0"):
        model.fit(epsilon=1, delta=1e-7, accountant=accountant, confirm=True)
    assert accountant.ledger == ()
    effect().fit(epsilon=0.2, accountant=accountant)  # pure: what README says that they take
    effect().fit(epsilon=0.1, accountant=accountant)
    assert accountant.spent.fits(accountant.total)
