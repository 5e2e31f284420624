"""What a fit pays: the charge before anything is drawn, and the ledgers beside the data."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.errors import LedgerError, ParameterError, marked
from dprct.privacy.accountant import Accountant, ledgers_of_same_data
from dprct.privacy.ledger import SUFFIX, kept_ledger, ledger_path
from dprct.records import dataclass
from dprct.schema.columns import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dprct.privacy.budget import Guarantee
    from dprct.privacy.composition import Charge
    from dprct.privacy.noise import NoiseSource
    from dprct.schema.schema import Schema


@dataclass(frozen=True)
class Receipt:
    """A charge that was made, before anything is drawn."""

    words: str  # for the certificate: which ledger entry, or "charged to no ledger"
    accountant: Accountant | None = None
    entry_id: str | None = None

    def save(self, state: Mapping[str, Any]) -> None:
        """Save the released state with its ledger entry, so that a crash does not cost it."""
        if self.accountant is not None and self.entry_id is not None:
            with _staying_charged(self.entry_id):
                self.accountant.record(self.entry_id, state)


def charged(
    schema: Schema,
    guarantee: Guarantee,
    method: str,
    accountant: Accountant | None,
    noise: NoiseSource,
    unit: Unit | None = None,
    cost: Charge | None = None,
) -> Receipt:
    """Charge a release, to the accountant given or to the ledger next to the data file.

    The cost is what the mechanisms cost together, by default the budget of the guarantee.  A
    simulation charges nothing, because nothing of it may leave.  ``unit`` is who is protected where
    it is another unit than the schema's: a cluster, with its column.
    """
    if noise.simulation:
        return Receipt("charged to no ledger (simulation)")
    accountant = _given_or_beside(accountant, schema)
    if accountant is None:
        return Receipt(f"charged to no ledger{_charged_elsewhere(schema, None)}")
    assert guarantee.budget is not None
    assert guarantee.relation is not None
    kept_on_file = accountant.path is not None
    content = disk.sha256(schema.source) if kept_on_file and schema.source is not None else None
    elsewhere = "" if content is None else _charged_elsewhere(schema, accountant)
    accountant.check_writable()
    if unit is None:
        declared = schema.unit.name == guarantee.unit
        unit = schema.unit if declared else Unit(guarantee.unit)  # a donor, which has no rows
    entry = accountant.charge(
        guarantee.budget if cost is None else cost,
        method=method,
        relation=guarantee.relation,
        unit=guarantee.unit,
        unit_id=unit.id,
        max_rows=unit.max_rows,
        public_facts=guarantee.public_facts,
        not_covered=guarantee.not_covered,
    )
    if content is not None:
        with _staying_charged(entry.id):
            accountant.note_content(content)
    kept = f"data set {accountant.dataset_id!r}" if kept_on_file else "an accountant in memory"
    left = accountant.remaining
    return Receipt(
        f"entry {entry.id} of {kept}; {guarantee.budget} charged, {left} of {accountant.total} "
        f"left; ledger head {accountant.head[:16]}{elsewhere}{_passed_over(schema, accountant)}"
        f"{_in_all(guarantee, accountant)}",
        accountant,
        entry.id,
    )


def noted(schema: Schema, guarantee: Guarantee, method: str, noise: NoiseSource) -> str:
    """Leave an entry without price where a release without guarantee has a ledger next to it.

    Of a simulation nothing is noted, because nothing of it may leave.

    Notes
    -----
    Not a charge: there is nothing to pay for.  But who adds up the ledger must see that what is
    spent is not all that left.
    """
    accountant = None if noise.simulation else _beside(schema)
    if accountant is None:
        return ""
    entry = accountant.note_unprotected(method=method, reason=guarantee.reason)
    if schema.source is not None:
        accountant.note_content(disk.sha256(schema.source))
    return (
        f"; entry {entry.id} of data set {accountant.dataset_id!r} says that it was made without "
        f"a guarantee; ledger head {accountant.head[:16]}"
    )


def resumable(accountant: Accountant | None, schema: Schema) -> Accountant:
    """Return the ledger from which a release may be resumed."""
    found = _given_or_beside(accountant, schema)
    if found is None:
        raise LedgerError(
            "there is no ledger next to the data, so nothing was saved to resume from; give "
            "``accountant=``, or declare dataset_id"
        )
    return found


def _given_or_beside(accountant: Accountant | None, schema: Schema) -> Accountant | None:
    if accountant is not None and not isinstance(accountant, Accountant):
        raise ParameterError(
            f"accountant is ``{type(accountant).__name__}``; give a ``dprct.Accountant``, such as "
            "``dprct.Accountant(epsilon=1)``"
        )
    return _beside(schema) if accountant is None else accountant


def _beside(schema: Schema) -> Accountant | None:
    if schema.source is None or schema.dataset_id is None:
        return None
    path = kept_ledger(schema.source, schema.dataset_id)
    return None if path is None else Accountant.load(path, dataset_id=schema.dataset_id)


def _in_all(guarantee: Guarantee, accountant: Accountant) -> str:
    """Say what this and earlier charges promise together, besides what the guarantee lists."""
    sum_of, charges = accountant.together, accountant.charges
    if sum_of is None or charges < 2:
        return ""
    own = {*guarantee.public_facts, *guarantee.not_covered}
    more = [fact for fact in (*sum_of.public_facts, *sum_of.not_covered) if fact not in own]
    besides = f"; besides what is listed here it does not protect: {'; '.join(more)}"
    unknown = f"; not recorded of entry {', '.join(sum_of.unrecorded)}"
    return (
        f". All {charges} charges together hold with {accountant.spent} {sum_of.claim()}"
        f"{besides * bool(more)}{unknown * bool(sum_of.unrecorded)}"
    )


def _passed_over(schema: Schema, accountant: Accountant) -> str:
    """Say if the ledger of the data is another than the one that was charged."""
    if schema.source is None or schema.dataset_id is None:
        return ""
    own = ledger_path(schema.source, schema.dataset_id).resolve()
    if accountant.path == own or not own.exists():
        return ""
    return f"; the ledger of data set {schema.dataset_id!r} was not charged"


def charged_elsewhere(data: Path, dataset_id: str | None) -> str:
    """Other ledgers next to a data file that were charged for the same content, in words."""
    if not any(data.parent.glob(f"*{SUFFIX}")):
        return ""
    others = ledgers_of_same_data(data, disk.sha256(data), dataset_id)
    return " and ".join(f"{one.dataset_id!r} ({one.spent} spent)" for one in others)


def refuse_second_budget(others: str, dataset_id: str | None, separate: str | None) -> None:
    """Refuse data that another ledger was charged for, unless a reason was declared."""
    if others and not separate:
        raise LedgerError(
            f"the data of {dataset_id!r} are those of data set {others}, whose ledger is next to "
            "them: what is spent on people adds up whatever the data are called; give that id, or "
            'say why the budgets are separate ([budget] separate = "...", or '
            "``Accountant.declare_separate``); nothing was charged"
        )


def _charged_elsewhere(schema: Schema, accountant: Accountant | None) -> str:
    """Say, or refuse, that the same data were charged to another ledger next to them."""
    if schema.source is None:
        return ""
    dataset_id = schema.dataset_id if accountant is None else accountant.dataset_id
    others = charged_elsewhere(schema.source, dataset_id)
    if not others:
        return ""
    said = f"; the same data were charged to data set {others}, which is not in this sum"
    if accountant is None:
        return said
    refuse_second_budget(others, dataset_id, accountant.separate)
    return f"{said}, because: {accountant.separate}"


@contextlib.contextmanager
def _staying_charged(entry_id: str) -> Iterator[None]:
    """Say of a ledger that cannot be written that it was charged before."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(
            f"{marked(error)}; entry {entry_id} stays charged, because it was written before the "
            "draw"
        ) from None
