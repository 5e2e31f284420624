"""What a published algorithm pays: the price of its promise, or a note that there is none."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from dprct.errors import LedgerError, ParameterError
from dprct.model import AnyFacts, AnyResult, AnySpec, Drawn, Model
from dprct.privacy.mechanisms import Allocation
from dprct.records import dataclass
from dprct.results.receipt import Receipt, charged, noted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Guarantee
    from dprct.privacy.composition import Charge
    from dprct.privacy.mechanisms import Mechanism
    from dprct.privacy.noise import NoiseSource

UNCHARGED = "charged to no ledger, because nothing is promised: it is in no total"


@dataclass(frozen=True, kw_only=True)
class Unpriced(Allocation):
    """A budget that is the parameter of an algorithm without a promise: no mechanism, no price."""

    parts: Mapping[str, Mechanism] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the charges as they are: nothing is composed."""

    def cost(self) -> Charge:
        """Refuse to name a price."""
        raise ParameterError("a release without a guarantee is not charged; note it in the ledger")


class PublishedModel(Model[AnySpec, AnyFacts, Drawn, AnyResult]):
    """A published algorithm bound to a table; a fit is charged if it promises anything."""

    def _charge(
        self,
        guarantee: Guarantee,
        allocation: Allocation,
        accountant: Accountant | None,
        noise: NoiseSource,
    ) -> Receipt:
        """Charge the promised part; record the rest, without a price, in a ledger by the data."""
        if guarantee.measure != "none":
            return charged(self.schema, guarantee, self.method, accountant, noise)
        if accountant is not None:
            raise ParameterError(
                "an accountant was given, but a fit without a guarantee has no price and is in no "
                "total; leave accountant out"
            )
        return Receipt(UNCHARGED + noted(self.schema, guarantee, self.method, noise))

    def _state(self, drawn: Drawn) -> Mapping[str, Any]:
        return {}

    def _revived(self, state: Mapping[str, Any]) -> Drawn:
        raise LedgerError(
            f"published.``{type(self).__name__}`` saves nothing that it could be resumed from; "
            "fit it again"
        )
