"""A release is rebuilt from what its entry paid for: the same released numbers, other rows."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct import Accountant, Calibrated, Marginals, MVHistogram, ols, published
from dprct.errors import LedgerError, ParameterError
from dprct.privacy.budget import Budget
from dprct.release import histogram
from dprct.results.plan import Plan
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

FACTS: dict[str, Any] = {"missing": (), "fate": "modelled"}
SCHEMA = Schema(
    (
        Column("y", "double", bounds=(0.0, 1.0), bins=4, **FACTS),
        Column("t", "byte", levels=(0.0, 1.0), **FACTS),
        Column("a", "byte", levels=(0.0, 1.0), **FACTS),
    )
)


def table(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    t = np.tile([0.0, 1.0], 500)
    y = np.clip(0.3 + 0.2 * t + rng.normal(0, 0.1, 1000), 0, 1)
    return pd.DataFrame({"y": y, "t": t, "a": rng.integers(0, 2, 1000).astype(float)})


def calibrated(data: pd.DataFrame, schema: Schema = SCHEMA, **options: Any) -> Calibrated:
    schema = schema.declare(t={"fate": "public"})
    model: Calibrated = Calibrated.from_formula(
        "y ~ t + a",
        data,
        schema,
        treatment="t",
        **{"covariate_release": "histogram", **options},
    )
    return model


MODELS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "MVHistogram": lambda data: MVHistogram(data, SCHEMA),
    "Marginals": lambda data: Marginals(data, SCHEMA),
    "Calibrated": calibrated,
    "Calibrated, filler": lambda data: calibrated(data, covariate_release="filler"),
}


@pytest.fixture(params=MODELS)
def make(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    return MODELS[request.param]


def account(model: Any) -> Accountant:
    relation = model.guarantee(Budget(1)).relation
    return Accountant(4, relation=relation, unit=SCHEMA.unit.name)


def test_what_was_released_is_what_is_rebuilt(make: Any) -> None:
    model = make(table())
    accountant = account(model)
    first = model.fit(epsilon=4, accountant=accountant, confirm=True)
    (entry,) = accountant.ledger
    again = model.resume("1", accountant=accountant)
    assert accountant.ledger == (entry,)
    assert again.guarantee == first.guarantee
    assert (again.plan, again.schema.names) == (first.plan, first.schema.names) or again.estimates
    assert not again.protected.equals(first.protected)
    assert "resumed from its saved state" in again.certificate().ledger
    if first.estimates is not None:
        pd.testing.assert_series_equal(again.estimates.params, first.estimates.params)
        pd.testing.assert_series_equal(again.estimates.bse, first.estimates.bse)
        fit = ols("y ~ t + a", again.protected, again.schema)
        assert fit.params["t"] == pytest.approx(first.estimates.params["t"], abs=1e-10)
        assert fit.bse["t"] == pytest.approx(first.estimates.bse["t"], rel=1e-8)


def test_no_confidential_cell_is_read(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make(table())
    accountant = account(model)
    model.fit(epsilon=4, accountant=accountant, confirm=True)

    def never(*_args: object, **_options: object) -> None:
        pytest.fail("the confidential rows were asked again")

    monkeypatch.setattr(histogram, "cell_counts", never)
    monkeypatch.setattr(histogram, "one_way_counts", never)
    monkeypatch.setattr("dprct.estimate.ate.release.difference_aggregates", never)
    model.resume("1", accountant=accountant)


def test_a_state_from_before_the_formats_froze_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = MODELS["MVHistogram"](table())
    accountant = account(model)
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_study", lambda *_: {"n": 1000, "facts": "", "plan": ""})
        model.fit(epsilon=4, accountant=accountant, confirm=True)
    with pytest.raises(LedgerError, match=r"saved before dprct 0\.2\.0, which"):
        model.resume("1", accountant=accountant)


def test_a_crash_before_the_save_cannot_be_resumed(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make(table())
    accountant = account(model)

    def killed(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Accountant, "record", killed)
        with pytest.raises(KeyboardInterrupt):
            model.fit(epsilon=4, accountant=accountant, confirm=True)
    assert accountant.spent == Budget(4)
    with pytest.raises(LedgerError, match="budget is spent and it cannot be resumed"):
        model.resume("1", accountant=accountant)


def test_a_state_is_of_one_study() -> None:
    accountant = Accountant(4)
    MVHistogram(table(), SCHEMA).fit(epsilon=4, accountant=accountant)
    other = SCHEMA.declare(a={"missing": ["."]})
    for data, schema in ((table()[:-2], SCHEMA), (table(), other)):
        with pytest.raises(LedgerError, match="is not what it was when entry 1-"):
            MVHistogram(data, schema).resume("1", accountant=accountant)
    with pytest.raises(LedgerError, match="paid for 'MVHistogram"):
        Marginals(table(), SCHEMA).resume("1", accountant=accountant)
    with pytest.raises(LedgerError, match=r"no ledger .*nothing was saved"):
        MVHistogram(table(), SCHEMA).resume("1")


def test_the_saved_state_names_public_facts_only() -> None:
    models = [MVHistogram(data, SCHEMA) for data in (table(), table(seed=2))]
    one, other = (model._study(model._allocated(Budget(1))) for model in models)
    assert one == other
    assert set(one) == {"n", "facts", "asked"}


def test_a_plan_in_other_words_is_of_the_same_study(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that was paid for outlives every sentence of this version."""
    model = make(table())
    accountant = account(model)
    model.fit(epsilon=4, accountant=accountant, confirm=True)
    monkeypatch.setattr(Plan, "to_text", lambda *_: "said better")
    again = make(table()).resume("1", accountant=accountant)
    assert len(again.protected) == 1000


def test_noise_of_another_scale_is_of_another_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a version divides a budget otherwise, errors of what was drawn would be wrong."""
    accountant = Accountant(4, relation="replace-one-design-public")
    calibrated(table()).fit(epsilon=4, accountant=accountant, confirm=True)
    monkeypatch.setattr("dprct.release.calibrated.spec.COVARIATE_SHARE", Fraction(1, 4))
    with pytest.raises(LedgerError, match="is not what it was when entry 1-"):
        calibrated(table()).resume("1", accountant=accountant)


def test_another_regression_is_not_resumed() -> None:
    accountant = Accountant(4, relation="replace-one-design-public")
    calibrated(table()).fit(epsilon=4, accountant=accountant, confirm=True)
    schema = SCHEMA.declare(t={"fate": "public"})
    other = Calibrated.from_formula(
        "y ~ t", table(), schema, treatment="t", covariate_release="histogram"
    )
    with pytest.raises(LedgerError, match="is not what it was when entry 1-"):
        other.resume("1", accountant=accountant)


def test_what_has_no_guarantee_is_not_resumed() -> None:
    accountant = Accountant(4)
    accountant.note_unprotected(method="published.X", reason="bins come from the data")
    for model in (published.MVHistogram(table(), SCHEMA), MVHistogram(table(), SCHEMA)):
        with pytest.raises(LedgerError, match="cannot be resumed from it; fit it again"):
            model.resume("1", accountant=accountant)


def test_another_method_s_entry_is_named_whatever_it_was_charged() -> None:
    """A delta that the plan of this method would refuse is not what is wrong."""
    accountant = Accountant(4, 1e-6, relation="replace-one-design-public")
    Marginals(table(), SCHEMA).fit(1, 1e-6, accountant=accountant)
    with pytest.raises(LedgerError, match="paid for 'Marginals"):
        calibrated(table(), covariate_release="filler").resume("1", accountant=accountant)
    with pytest.raises(LedgerError, match="paid for 'Marginals"):
        published.MVHistogram(table(), SCHEMA).resume("1", accountant=accountant)


def test_a_method_without_a_guarantee_has_nothing_to_revive() -> None:
    with pytest.raises(LedgerError, match="saves nothing"):
        published.MVHistogram(table(), SCHEMA)._revived({})


def test_what_is_no_accountant_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"accountant is str; give a dprct\.Accountant"):
        MVHistogram(table(), SCHEMA).resume("1", accountant="study.ledger")  # type: ignore[arg-type]
