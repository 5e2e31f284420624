"""What estimates share: the one order in which privacy is spent, and no pickle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.results.charging import Receipt, charged
from dprct.results.confidential import HoldsRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Real
    from dprct.privacy.guarantee import Guarantee
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.columns import Unit
    from dprct.schema.schema import Schema

Found = TypeVar("Found")
Results = TypeVar("Results")


class EstimateModel(HoldsRows, ABC, Generic[Found, Results]):
    """An estimate bound to confidential data; the data leave it through ``fit`` only.

    A subclass says what is promised, what must be refused first, what is drawn and how that is
    read; in which order, and what is charged and kept, is the same for all and stands here.
    """

    method: str
    schema: Schema

    @abstractmethod
    def guarantee(self, budget: Budget) -> Guarantee:
        """Return what a fit at this budget promises; free."""

    @abstractmethod
    def _check(self, budget: Budget) -> None:
        """Refuse, before anything is charged, a budget that could not be drawn."""

    @property
    def _unit_of_charge(self) -> Unit | None:
        """Who is protected, where that is not the schema's unit."""
        return None

    def _charge(
        self, guarantee: Guarantee, accountant: Accountant | None, noise: NoiseSource
    ) -> Receipt:
        """Charge what is promised, before anything is drawn."""
        return charged(self.schema, guarantee, self.method, accountant, noise, self._unit_of_charge)

    @abstractmethod
    def _draw(self, budget: Budget, noise: NoiseSource) -> Found:
        """Draw the release; the caller has charged ``budget``."""

    @abstractmethod
    def _state(self, found: Found) -> Mapping[str, Any]:
        """Return what was drawn as JSON-ready values, for the ledger."""

    @abstractmethod
    def _results(self, found: Found, guarantee: Guarantee, ledger: str) -> Results:
        """Return the results of what was drawn: post-processing."""

    def fit(
        self,
        epsilon: Real,
        delta: Real = 0,
        *,
        accountant: Accountant | None = None,
        rng: object = None,
    ) -> Results:
        """Spend the budget, once, and return the results.

        Parameters
        ----------
        epsilon : number
            Above 0.
        delta : number, default 0
            0 is pure differential privacy; the class says what it needs.
        accountant : Accountant, optional
            Is charged before anything is drawn; by default the ledger beside the data file, if
            there is one.
        rng : int or numpy.random.Generator, optional
            For simulation only: the guarantee is void.

        Raises
        ------
        ParameterError
            If epsilon or delta is not allowed.
        BudgetError
            If the budget does not fit; then nothing is drawn.
        """
        budget = Budget.asked(epsilon, delta)
        self._check(budget)
        noise, guarantee = source(rng), self.guarantee(budget)
        receipt = self._charge(guarantee, accountant, noise)
        found = self._draw(budget, noise)
        receipt.save(self._state(found))
        if noise.simulation:
            guarantee = guarantee.as_simulation()
        return self._results(found, guarantee, receipt.words)
