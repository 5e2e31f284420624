"""What a ledger says, to whoever asks: totals, entries, and what each of them paid for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from dprct.arguments import checked
from dprct.errors import LedgerError
from dprct.privacy.entries import new_entry
from dprct.privacy.ledger import LedgerFile

if TYPE_CHECKING:
    from pathlib import Path

    from dprct.privacy.budget import Budget
    from dprct.privacy.charges import Entry
    from dprct.privacy.composition import Charge, Composition
    from dprct.privacy.entries import Ledger
    from dprct.privacy.guarantee import Relation
    from dprct.privacy.states import Memory
    from dprct.privacy.together import Together

UNIT = "person"
"""What one record is where neither the charge nor the accountant says it."""


@checked
class Balance:
    """A ledger as it stands, in memory or on file; reading it spends nothing.

    Parameters
    ----------
    ledger : Ledger
        What is known of it so far: from then on nothing may be lost.
    store : Memory or LedgerFile
        Where it is kept.

    Examples
    --------
    >>> from dprct.privacy.budget import Budget
    >>> from dprct.privacy.entries import Ledger
    >>> from dprct.privacy.states import Memory
    >>> empty = Ledger(Budget(1), None, None, "sequential")
    >>> print(Balance(empty, Memory(empty)).remaining)
    epsilon=1
    """

    def __init__(self, ledger: Ledger, store: Memory | LedgerFile) -> None:
        self._known = ledger
        self._store = store
        self._lock = threading.RLock()

    @property
    def total(self) -> Budget:
        """The whole budget."""
        return self._known.total

    @property
    def relation(self) -> Relation | None:
        """The relation under which every charge must hold; None accepts every relation."""
        return self._known.relation

    @property
    def unit(self) -> str | None:
        """The unit that every charge must protect; None accepts every unit."""
        return self._known.unit

    @property
    def composition(self) -> Composition:
        """How charges add up."""
        return self._known.composition

    @property
    def dataset_id(self) -> str | None:
        """The declared data set, of an accountant on file."""
        return self._known.dataset_id

    @property
    def path(self) -> Path | None:
        """Where it is kept, if on file."""
        return self._store.path if isinstance(self._store, LedgerFile) else None

    @property
    def spent(self) -> Budget:
        """The (epsilon, delta) of everything charged so far, together.

        Entries without a guarantee (:meth:`note_unprotected`) are not included.
        """
        return self._current().spent

    @property
    def together(self) -> Together | None:
        """Whom the sum protects, under which relation, given what; None before a charge.

        Examples
        --------
        >>> from dprct import Accountant, Budget
        >>> accountant = Accountant(epsilon=1)
        >>> made = accountant.charge(Budget(1), method="Marginals", relation="replace-one")
        >>> accountant.together.relations
        ('replace-one', 'replace-one-design-public')
        """
        return self._current().together

    @property
    def remaining(self) -> Budget:
        """The largest budget that one further charge may have."""
        return self._current().remaining

    def rehearse(
        self,
        cost: Charge,
        *,
        relation: Relation,
        unit: str | None = None,
        unit_id: str | None = None,
        max_rows: int = 1,
    ) -> None:
        """Raise what a charge would raise now, without charging anything.

        Parameters
        ----------
        cost : Charge
            The cost of all mechanisms of a fit, with the rho or mu that is proved for them;
            accountants of zCDP or Gaussian differential privacy decide by these.
        relation, unit, unit_id, max_rows
            As for :meth:`dprct.Accountant.charge`.

        Raises
        ------
        BudgetError, ParameterError
            As :meth:`dprct.Accountant.charge` does.

        Examples
        --------
        >>> from dprct import Accountant, Budget
        >>> from dprct.privacy.composition import Charge
        >>> Accountant(epsilon=1).rehearse(Charge.of(Budget(1)), relation="replace-one")
        """
        ledger = self._current()
        entry = new_entry(
            ledger,
            cost,
            method="rehearsal",
            relation=relation,
            unit=unit or self.unit or UNIT,
            unit_id=unit_id,
            max_rows=max_rows,
        )
        ledger.refuse_unfit(entry)

    @property
    def ledger(self) -> tuple[Entry, ...]:
        """Every charge, in order."""
        return tuple(self._current().checked().entries)

    @property
    def charges(self) -> int:
        """Number of charges with a price."""
        return self._current().sums.priced

    @property
    def separate(self) -> str | None:
        """Why the same data may have this budget in addition to another, if that was declared."""
        return self._current().separate

    @property
    def head(self) -> str:
        """The last link of the hash chain, which depends on the terms and on every entry so far."""
        return self._current().head

    @property
    def heads(self) -> tuple[str, ...]:
        """Every link of the hash chain: one for the terms, and one for each entry."""
        return tuple(self._current().checked().links)

    @property
    def contents(self) -> tuple[str, ...]:
        """The SHA-256 of each state of the data file that was used, in order."""
        return tuple(content.sha256 for content in self._current().contents)

    def entry(self, entry_id: str) -> Entry:
        """Return an entry by its id, or by its number alone; LedgerError if there is none.

        Examples
        --------
        >>> from dprct import Accountant, Budget
        >>> accountant = Accountant(epsilon=1)
        >>> made = accountant.charge(Budget(1), method="Marginals", relation="replace-one")
        >>> accountant.entry("1") == made
        True
        """
        found = self._current().entry(entry_id)
        if found is None:
            raise LedgerError(f"the ledger has no entry {entry_id!r}")
        return found

    def recover(self, entry_id: str) -> bytes | dict[str, Any]:
        """Return what :meth:`record` saved; free, because it was paid for before.

        Raises
        ------
        LedgerError
            If nothing was saved, or what was saved has been changed since.
        """
        ledger = self._current()
        refuse_unknown(ledger, entry_id)
        return self._store.load_state(entry_id, ledger.hash_of(entry_id))

    def is_saved(self, entry_id: str) -> bool:
        """Whether the release of an entry was saved, so that it can be resumed.

        If it was not, and its process has ended, the process crashed between charge and save.  The
        budget is spent, although nobody has seen the result.
        """
        refuse_unknown(self._current(), entry_id)
        return self._store.has_state(entry_id)

    def to_dict(self) -> dict[str, Any]:
        """Return the ledger as JSON-ready values, as in the file."""
        return self._current().checked().to_dict()

    def _current(self) -> Ledger:
        """Return the ledger as it is now; LedgerError if anything known before is gone."""
        with self._lock:
            found = self._store.read(self._known.dataset_id)
            if found is not self._known and not found.continues(self._known):
                raise LedgerError(
                    f"ledger {self.path} lost entries that were there before; "
                    "restore the newest copy"
                )
            self._known = found
            return found

    def __repr__(self) -> str:
        kind, charges = type(self).__name__, self._current().sums.entries
        return f"<{kind} {self.total}, {self.spent} spent in {charges} charges>"

    def __str__(self) -> str:
        return str(self._current().checked())


def refuse_unknown(ledger: Ledger, entry_id: str) -> None:
    """Raise LedgerError unless the ledger has an entry of this id."""
    found = ledger.entry(entry_id)
    if found is None or found.id != entry_id:
        raise LedgerError(f"the ledger has no entry {entry_id!r}")
