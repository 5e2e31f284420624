"""A fit charges what its mechanisms cost, in every measure, and is resumed from what it saved."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent, pld, rdp

from dprct import Accountant, Budget
from dprct.errors import LedgerError, ParameterError
from dprct.estimate.synthetic_control.model import SyntheticControl
from dprct.privacy.composition import gdp_epsilon, root, zcdp_epsilon
from dprct.privacy.mechanisms import AnalyticGaussian, DiscreteGaussian, DiscreteLaplace
from dprct.schema import Column, Schema

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

DELTA = 1e-6
KINDS = {"laplace": 0.0, "gaussian": DELTA, "concentrated": DELTA}
TAKEN = {
    ("laplace", "sequential"), ("laplace", "zcdp"), ("laplace", "gdp"),
    ("gaussian", "sequential"), ("gaussian", "zcdp"), ("gaussian", "gdp"),
    ("concentrated", "sequential"), ("concentrated", "zcdp"),
}  # fmt: skip


def model(**options: Any) -> SyntheticControl:
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, (9, 12)), rng.uniform(-1, 1, 12)
    asked = {"pre_fit": True, "placebos": ["donor 2", "donor 7"]} | options
    return SyntheticControl.from_arrays(X, y, 8, 1.0, **asked)


@pytest.mark.parametrize("composition", ["sequential", "zcdp", "gdp"])
@pytest.mark.parametrize("noise", KINDS)
def test_accountants_take_the_fits_that_they_can_add(noise: Any, composition: Any) -> None:
    book, bound = Accountant(9, 1e-4, unit="donor", composition=composition), model(noise=noise)
    if (noise, composition) not in TAKEN:
        with pytest.raises(ParameterError, match="proved mu"):
            bound.fit(1, KINDS[noise], accountant=book)
        assert book.ledger == ()
        return
    bound.fit(1, KINDS[noise], accountant=book)
    (entry,) = book.ledger
    assert entry.budget == Budget(1, KINDS[noise])
    assert entry.charge == bound._allocated(Budget(1, KINDS[noise])).cost()


def events(allocation: Any) -> list[Any]:
    """The mechanisms of a fit as dp_accounting has them: continuous noise of the same scale."""
    found: list[Any] = []
    for mechanism in allocation.parts.values():
        if isinstance(mechanism, DiscreteLaplace):
            found.append(LaplaceDpEvent(mechanism.scale / mechanism.l1))
        elif isinstance(mechanism, AnalyticGaussian):
            found.append(GaussianDpEvent(mechanism.noise.sigma / math.sqrt(mechanism.l2_squared)))
        else:
            assert isinstance(mechanism, DiscreteGaussian)
            found.append(GaussianDpEvent(mechanism.scale / math.sqrt(mechanism.l2_squared)))
    return found


@pytest.mark.parametrize(
    ("noise", "composition", "fits"),
    [
        ("gaussian", "gdp", 6),
        ("laplace", "gdp", 12),
        ("concentrated", "zcdp", 6),
        ("gaussian", "zcdp", 6),
        ("laplace", "zcdp", 12),
    ],
)
def test_several_fits_cost_what_dp_accounting_says(noise: Any, composition: Any, fits: int) -> None:
    """Real fits of several parts: never below the accountant of the same noise, and close to it.

    Gaussian noise: within .1 %, under GDP because both are exact but for grids, under zCDP because
    both convert by Renyi divergences (theirs at a finite list of orders).  Laplace noise counts as
    the Gaussian (or the rho) that covers it: an upper bound.
    """
    bound, delta = model(noise=noise), KINDS[noise]
    total = 4 if noise == "laplace" else 3
    book = Accountant(total, 1e-4, unit="donor", composition=composition)
    for _ in range(fits):
        bound.fit(0.5, delta, accountant=book)
    if composition == "gdp":
        square = sum((e.charge.squared_mu()[0] for e in book.ledger), Fraction(0))
        ours = float(gdp_epsilon(root(square), Fraction(1, 10**5)))
    else:
        rho = sum((e.charge.concentrated() for e in book.ledger), Fraction(0))
        ours = float(zcdp_epsilon(rho, Fraction(1, 10**5)))
    theirs: Any = pld.PLDAccountant() if composition == "gdp" else rdp.RdpAccountant()
    for _ in range(fits):
        for event in events(bound._allocated(Budget(0.5, delta))):
            theirs.compose(event)
    epsilon = theirs.get_epsilon(1e-5)
    assert ours >= epsilon * 0.999
    if noise != "laplace":
        assert ours <= epsilon * 1.001
    assert ours < 0.5 * fits  # what it is for: adding epsilons would cost this


def test_a_fit_is_charged_in_full_and_the_books_agree() -> None:
    """Six Gaussian fits of epsilon one fit an accountant of 3 under GDP."""
    book, bound = Accountant(3, 1e-4, unit="donor", composition="gdp"), model(noise="gaussian")
    for _ in range(6):
        bound.fit(1, 1e-6, accountant=book)
    assert book.spent.epsilon < 3


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"noise": "gaussian", "protect_treated": True},
        {"noise": "concentrated", "donor_weights": "uniform", "placebos": ()},
        {"mean_effect": True, "donor_weights": "auto"},
    ],
)
def test_a_path_is_resumed_from_what_was_saved_and_costs_nothing(
    options: dict[str, Any], tmp_path: Path, panel: Any, asked: dict[str, Any]
) -> None:
    schema = Schema(
        (
            Column("region", "str40"),
            Column("year", "int"),
            Column("output", bounds=(0.0, 100.0), missing=()),
        ),
        dataset_id="regions",
    )

    def bound(data: pd.DataFrame, **more: Any) -> SyntheticControl:
        wanted = {"placebos": ["région 3"], "pre_fit": True} | options | more
        return SyntheticControl(data, schema, **asked, **wanted)

    book = Accountant.open(
        tmp_path / "regions.ledger.json", dataset_id="regions", epsilon=9, delta=1e-4, unit="donor"
    )
    delta = 1e-6 if "noise" in options else 0
    found = bound(panel()).fit(2, delta, accountant=book)
    (entry,), spent = book.ledger, book.spent
    other = panel()
    donors = other["region"] != asked["treated"]
    other.loc[donors, "output"] = 100 - other.loc[donors, "output"]
    again = bound(other).resume(entry.id, accountant=book)
    assert book.spent == spent
    assert again.tidy().equals(found.tidy())
    assert again.placebo_table().equals(found.placebo_table())
    assert again.donor_weights.equals(found.donor_weights)
    assert again.noise_band().equals(found.noise_band())
    assert again.guarantee == found.guarantee
    assert "resumed" in again.ledger
    with pytest.raises(LedgerError, match="what the study declares"):
        bound(other, bound=200).resume(entry.id, accountant=book)
    other.loc[~donors, "output"] += 1
    if "protect_treated" not in options:  # its series is public, and the effect is of it
        with pytest.raises(LedgerError, match="what the study declares"):
            bound(other).resume(entry.id, accountant=book)
    else:
        assert bound(other).resume(entry.id, accountant=book).att == found.att
