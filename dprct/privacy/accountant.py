"""The accountant: it adds up what was promised and refuses before anything is drawn."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.arguments import checked
from dprct.errors import LedgerError, ParameterError
from dprct.privacy.budget import Budget, Real, Relation, exact
from dprct.privacy.composition import Charge, ChargeMeasure, Composition
from dprct.privacy.entries import Ledger, new_entry
from dprct.privacy.ledger import (
    SUFFIX,
    LedgerFile,
    Memory,
    checked_id,
    kept_ledger,
    ledger_path,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from dprct.privacy.charges import Entry, Opening, Together


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
    >>> from dprct.privacy.ledger import Memory
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
        """The total (epsilon, delta) charged so far.

        Entries without a guarantee (:meth:`note_unprotected`) are not included.
        """
        return self._current().spent

    @property
    def together(self) -> Together | None:
        """The guarantee of the total: unit, relation and public facts; None before a charge.

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
        """Number of charges that cost something."""
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

    @property
    def openings(self) -> tuple[Opening, ...]:
        """Openings of the data under declared facts, since the ledger was begun, in order."""
        return tuple(self._current().openings)

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
        """Saved result of :meth:`record`; free, because it was paid for before.

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


@checked
class Accountant(Balance):
    """A privacy budget that several releases from one data set share.

    Parameters
    ----------
    epsilon, delta : number
        The whole budget, in exact arithmetic (a float is read as the decimal that it prints).
    relation : {"replace-one", "add-remove", "replace-one-design-public"}, optional
        The neighbouring relation under which every charge must hold; others are refused.  A
        replace-one charge also holds under replace-one-design-public, never the reverse.  By
        default, every relation is accepted, and :attr:`together` gives the weakest one, under which
        the sum holds.  Add-remove is never mixed with the others.
    unit : str, optional
        The unit that every charge must protect, for example ``"person"``; others are refused.  By
        default, every unit is accepted, and :attr:`together` gives the one that all charges
        protect, which may be a single row.
    composition : {"sequential", "zcdp", "gdp"}, default "sequential"
        How charges add up; it cannot be changed later.  ``"sequential"`` accepts every charge and
        adds epsilons and deltas.  The other two add the rho or mu that is proved for the mechanisms
        of a fit, and convert the sum at ``delta``. A fit without such a proof, such as a histogram
        with a delta, is refused before anything is drawn.

    Raises
    ------
    ParameterError
        If an argument is outside what is allowed.

    Notes
    -----
    An accountant is safe to share between threads.  In memory, it belongs to one process; on file
    (:meth:`open`, :meth:`save`), all processes that open the file share it.  Charges may be chosen
    and sized after seeing earlier results, because every rule is a privacy filter.

    A release charges, forces the charge to the disk, draws, saves the released state
    (:meth:`record`), and writes its file, in this order.  If the process dies after the charge, the
    budget is spent.  If it dies before the state is saved, nobody has seen the result, and it is
    lost.  If it dies later, :meth:`recover` returns the state at no cost, and ``resume`` of the
    model, such as :meth:`dprct.MVHistogram.resume`, makes the result from it.

    Entries form a hash chain; :attr:`head` is its last link.  A certificate states the head at the
    time of its release, and thus contradicts any ledger from which an entry was removed later.  The
    chain shows edits only to readers who have such a certificate.

    Examples
    --------
    >>> accountant = Accountant(epsilon=1)
    >>> entry = accountant.charge(Budget(0.25), method="MVHistogram", relation="replace-one")
    >>> print(accountant.spent, "spent,", accountant.remaining, "left")
    epsilon=0.25 spent, epsilon=0.75 left
    >>> entry = accountant.charge(
    ...     Budget(0.5), method="Calibrated", relation="replace-one-design-public"
    ... )
    >>> print(accountant.together.claim())
    for every person, under replace-one-design-public, the weakest relation of them
    """

    def __init__(
        self,
        epsilon: Real,
        delta: Real = 0,
        relation: Relation | None = None,
        unit: str | None = None,
        *,
        composition: Composition = "sequential",
    ) -> None:
        empty = Ledger(Budget.asked(epsilon, delta), relation, unit, composition)
        super().__init__(empty, Memory(empty))

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        dataset_id: str,
        epsilon: Real,
        delta: Real = 0,
        relation: Relation | None = None,
        unit: str | None = None,
        composition: Composition = "sequential",
        timeout: float = 30.0,
    ) -> Accountant:
        """Return the accountant kept in ``path``; start one if there is none.

        If ``relation`` or ``unit`` are not given, those of an existing ledger apply.

        Raises
        ------
        LedgerError
            If the file is damaged, of another data set, or on other terms than those given.
        """
        asked = replace(
            cls(epsilon, delta, relation, unit, composition=composition)._known,
            dataset_id=checked_id(dataset_id),
            running=None,  # the chain begins with the id
        )
        file = LedgerFile(path, timeout)
        with file.locked():
            if not file.exists():
                file.write(asked)
            found = file.read(dataset_id)
        asked = replace(
            asked,
            relation=found.relation if relation is None else relation,
            unit=found.unit if unit is None else unit,
            running=None,
        )
        if not found.continues(asked):
            there, wanted = _terms_that_differ(found, asked)
            raise LedgerError(
                f"ledger {file.path} has {there}, which is not what was asked for ({wanted}); a "
                "ledger keeps the terms with which it was begun: give these (in a study file: the "
                "same [budget], or none), or continue it with ``Accountant.load``"
            )
        return cls._kept_in(file, found)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        dataset_id: str | None = None,
        timeout: float = 30.0,
    ) -> Accountant:
        """Return the accountant kept in ``path``, which must exist.

        Raises
        ------
        LedgerError
            If the file is missing, damaged, or of another data set than ``dataset_id``.
        """
        file = LedgerFile(path, timeout)
        return cls._kept_in(file, file.read(dataset_id))

    @classmethod
    def _kept_in(cls, file: LedgerFile, ledger: Ledger) -> Accountant:
        accountant = cls(ledger.total.epsilon, ledger.total.delta)
        accountant._store, accountant._known = file, ledger
        return accountant

    def save(self, path: str | os.PathLike[str], *, dataset_id: str | None = None) -> None:
        """Keep this accountant in ``path`` from now on.

        Parameters
        ----------
        path : path
            Must not exist as a ledger, because two copies of one budget could both be spent.
        dataset_id : str or None
            Name of the data set.  By default, the name of the file.

        Raises
        ------
        LedgerError
            If something is there already, or this accountant is kept elsewhere.
        """
        file = LedgerFile(path)
        with self._lock:
            if isinstance(self._store, Memory):
                self._move_to(file, dataset_id or Path(path).name.split(".")[0])
            elif self._store.path != file.path:
                raise LedgerError(
                    f"this accountant is kept in {self._store.path}; a second copy could "
                    "be spent twice, so go on with that file"
                )

    def _move_to(self, file: LedgerFile, dataset_id: str) -> None:
        assert isinstance(self._store, Memory)
        ledger = replace(self._store.read(), dataset_id=checked_id(dataset_id), running=None)
        with file.locked():
            if file.exists():
                raise LedgerError(f"{file.path} exists; continue it with ``Accountant.load``")
            file.write(ledger)
            for entry_id, state in self._store.states().items():
                file.save_state(entry_id, state)
        self._store, self._known = file, ledger

    @property
    def in_memory(self) -> bool:
        """Whether the ledger is kept in memory only."""
        return isinstance(self._store, Memory)

    def charge(
        self,
        cost: Budget | Charge,
        *,
        method: str,
        relation: Relation,
        unit: str | None = None,
        unit_id: str | None = None,
        max_rows: int = 1,
        description: str = "",
        measure: ChargeMeasure | None = None,
        parameter: Real | None = None,
        slack: Real = 0,
        parallel_group: str | None = None,
        block: str | None = None,
        public_facts: Iterable[str] | None = None,
        not_covered: Iterable[str] | None = None,
    ) -> Entry:
        """Write a charge into the ledger, durably, before anything is drawn.

        Parameters
        ----------
        cost : Budget or Charge
            The privacy loss of the release; a mechanism's ``cost()``.
        method : str
            What is released, for example ``"MVHistogram"``.
        relation : str
            The neighbouring relation under which the cost is proved.
        unit : str or None
            Who is protected.  By default, the unit of the accountant, else ``"person"``.
        unit_id : str or None
            The column that identifies the rows of one unit.
        max_rows : int
            Largest number of rows of one unit; the cost is that of all of them together.
        description : str
            Public words for the reader of the ledger.
        measure : {"pure", "approximate", "zcdp", "gdp"} or None
            The measure in which the cost is proved, for a ``Budget``. By default pure, or
            approximate if it has a delta.
        parameter : number or None
            rho of zCDP or mu of GDP.
        slack : number
            Total-variation distance of a discrete Gaussian from exact GDP; only with ``"gdp"``.
        parallel_group, block : str or None
            Charges of one group on different blocks cost the largest of them.  The caller
            asserts that the blocks are disjoint and that membership is public under ``relation``.
        public_facts, not_covered : iterable of str, or None
            What the guarantee takes as public and what it does not protect.  None is printed as
            "not recorded".

        Returns
        -------
        Entry

        Raises
        ------
        BudgetError
            If less than this is left; the ledger is unchanged.
        ParameterError
            If the accountant requires another relation or unit, this and earlier charges have no
            unit in common, or the accountant's rule cannot add this measure.
        LedgerError
            If the file cannot be locked, read or written.
        """
        if isinstance(cost, Budget):
            cost = Charge(
                cost,
                measure or ("approximate" if cost.delta else "pure"),
                None if parameter is None else exact(parameter, "parameter"),
                exact(slack, "slack"),
            )
        elif measure is not None or parameter is not None or slack:
            raise ParameterError(
                "a Charge states its measure; give ``measure=`` with a Budget only"
            )
        return self._append(
            cost,
            method=method,
            relation=relation,
            unit=unit or self.unit or UNIT,
            description=description,
            parallel_group=parallel_group,
            block=block,
            unit_id=unit_id,
            max_rows=max_rows,
            public_facts=None if public_facts is None else tuple(public_facts),
            not_covered=None if not_covered is None else tuple(not_covered),
        )

    def note_unprotected(self, *, method: str, reason: str) -> Entry:
        """Record that something without a guarantee was made from the data; this has no price.

        Parameters
        ----------
        method : str
        reason : str
            Why there is no guarantee.

        Notes
        -----
        The sum of the ledger holds for the other entries only: together with this one, there is no
        guarantee.  The ledger says so wherever it is printed.
        """
        nothing = Charge(Budget(0), "none")
        return self._append(
            nothing, method=method, relation=None, unit=self.unit or UNIT, description=reason
        )

    def _append(self, cost: Charge, **facts: Any) -> Entry:
        with self._writing() as ledger:
            entry = new_entry(ledger, cost, **facts)
            ledger.refuse_unfit(entry)
            self._write(ledger.with_entry(entry))
        return entry

    def note_content(self, sha256: str) -> bool:
        """Record the data file's SHA-256; return whether it differs from the last one recorded.

        A corrected file continues the same ledger, so that a changed value does not bring a new
        budget.
        """
        with self._writing() as ledger:
            noted = ledger.with_content(sha256)
            if noted is not ledger:
                self._write(noted)
            return noted is not ledger and bool(ledger.contents)

    def note_opening(self, opening: Opening) -> None:
        """Record that the data were opened under declared facts; this has no price."""
        with self._writing() as ledger:
            self._write(ledger.with_opening(opening))

    def declare_separate(self, why: str) -> None:
        """Record why the same data may have this budget in addition to that of another ledger.

        Parameters
        ----------
        why : str
            The reason; certificates state it.

        Raises
        ------
        ParameterError
            If no reason is given.

        Examples
        --------
        >>> accountant = Accountant(epsilon=1)
        >>> accountant.declare_separate("another wave of the survey, of other people")
        >>> accountant.separate
        'another wave of the survey, of other people'
        """
        if not isinstance(why, str) or not why.strip():
            raise ParameterError(
                "``why=`` is empty; give the reason for a second budget of these data"
            )
        with self._writing() as ledger:
            if ledger.separate != why:
                self._write(replace(ledger, separate=why))

    def check_writable(self) -> None:
        """Check, before a charge, that a released state can be saved.

        Raises
        ------
        LedgerError
            If the folder of released states cannot be written.
        """
        if isinstance(self._store, LedgerFile):
            self._store.check_writable()

    def record(self, entry_id: str, state: bytes | Mapping[str, Any]) -> None:
        """Save what was released for an entry, so that a crash does not lose it.

        Parameters
        ----------
        entry_id : str
            Id of an entry of this ledger.
        state : bytes or dict
            Released values only; the values of a dict must be JSON values.

        Raises
        ------
        LedgerError
            If there is no such entry, or it already paid for a different state.
        """
        with self._writing() as ledger:
            refuse_unknown(ledger, entry_id)
            is_first = not self._store.has_state(entry_id)  # else it may have been noted
            sha256 = self._store.save_state(entry_id, state)
            add = ledger.with_first_saved if is_first else ledger.with_saved
            noted = add(entry_id, sha256)
            if noted is not ledger:
                self._write(noted)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Ledger]:
        with self._lock, self._store.locked():
            yield self._current()

    def _write(self, ledger: Ledger) -> None:
        self._store.write(ledger)
        self._known = ledger

    def __reduce__(self) -> tuple[object, ...]:
        if self.path is None:
            raise LedgerError(
                "a copy of an accountant in memory could be spent twice; save it to a file first"
            )
        return (Accountant.load, (self.path,))


def ledgers_of_same_data(
    data_path: str | os.PathLike[str], sha256: str, besides: str | None
) -> list[Accountant]:
    """Ledgers next to a data file, of other ids than ``besides``, charged for the same content.

    Notes
    -----
    A file of which a cell was changed has another hash, and one in another folder is not seen.
    """
    own = None if besides is None else ledger_path(data_path, besides).name
    folder = ledger_path(data_path, "any").parent
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name != own:
            other = Accountant.load(path)
            if sha256 in other.contents:
                found.append(other)
    return found


def find_ledger(data_path: str | os.PathLike[str], dataset_id: str) -> Accountant | None:
    """Return the accountant kept next to a data file, or None if there is none.

    Examples
    --------
    >>> find_ledger("no-such-folder/liberia.dta", "liberia") is None
    True
    """
    path = kept_ledger(data_path, dataset_id)
    return None if path is None else Accountant.load(path, dataset_id=dataset_id)


def _terms_that_differ(found: Ledger, asked: Ledger) -> tuple[str, str]:
    """Terms in which two ledgers differ, in words."""
    there, wanted = found.terms(), asked.terms()
    other = [name for name, value in there.items() if value != wanted[name]]
    said = [
        ", ".join(f"{name} {terms[name] or 'any'}" for name in other) for terms in (there, wanted)
    ]
    return said[0], said[1]
