"""The accountant: it adds up what was promised and refuses before anything is drawn."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.arguments import checked
from dprct.errors import LedgerError, ParameterError
from dprct.privacy.balance import UNIT, Balance, refuse_unknown
from dprct.privacy.budget import Budget, Real, exact
from dprct.privacy.composition import Charge, ChargeMeasure, Composition
from dprct.privacy.entries import Ledger, new_entry
from dprct.privacy.ledger import SUFFIX, LedgerFile, checked_id, ledger_path
from dprct.privacy.states import Memory

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from dprct.privacy.charges import Entry
    from dprct.privacy.guarantee import Relation


@checked
class Accountant(Balance):
    """A privacy budget that several releases from one data set share.

    Parameters
    ----------
    epsilon, delta : number
        The whole budget; exact (a float is read as the decimal that it prints).
    relation : {"replace-one", "add-remove", "replace-one-design-public"}, optional
        A demand: charges that do not hold under it are refused.  A replace-one charge also holds
        under replace-one-design-public, never the reverse.  Without it every relation is taken,
        and :attr:`together` says under which the sum holds: the weakest of the charges.  Add-remove
        is never mixed with the others.
    unit : str, optional
        A demand: charges for another unit are refused.  Without it :attr:`together` says for whom
        the sum holds: what every charge protects, down to a single row.
    composition : {"sequential", "zcdp", "gdp"}, default "sequential"
        How charges add up, fixed for good.  ``"sequential"`` takes every charge and adds epsilons
        and deltas.  The other two add the rho or mu that is proved of the mechanisms of a fit, and
        convert the sum at ``delta``; a fit of which none is proved, such as a histogram with a
        delta, is refused there before anything is drawn.

    Raises
    ------
    ParameterError
        If an argument is outside what is allowed.

    Notes
    -----
    Safe to share between threads.  Kept in memory it belongs to one process; kept on file
    (:meth:`open`, :meth:`save`) it is shared by all that open the file.  Charges may be chosen
    and sized after seeing earlier results: every rule is a privacy filter.

    The order of a release is: charge, force it to the disk, draw, save the released state
    (:meth:`record`), write.  A process that dies after the charge has spent it.  If it died before
    the save, nobody saw what was drawn, and it is lost; if after, :meth:`recover` gives the state
    back, free, and :meth:`dprct.MVHistogram.resume` makes a file of it.

    Entries form a hash chain; :attr:`head` is its last link.  A certificate that carries the head
    of its time contradicts any ledger from which an entry was removed later.  The chain shows
    edits; it does not bind an owner who keeps every certificate to himself.

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
        """Return the accountant kept in ``path``; begin it if there is none.

        Without ``relation`` or ``unit`` those of a ledger that is there are taken as they are.

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
            raise LedgerError(
                f"ledger {file.path} has {found.total}, relation={found.relation!r}, "
                f"unit={found.unit!r}, {found.composition}, which is not what was asked for; "
                "give these terms (in a study file: the same [budget], or none), "
                "or continue it with Accountant.load"
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
            Must not hold a ledger: two copies of one budget could both be spent.
        dataset_id : str or None
            The declared data set; the name of the file by default.

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
                raise LedgerError(f"{file.path} exists; continue it with Accountant.load")
            file.write(ledger)
            for entry_id, state in self._store.states().items():
                file.save_state(entry_id, state)
        self._store, self._known = file, ledger

    @property
    def in_memory(self) -> bool:
        """Whether the ledger ends with the session: it is kept in no file."""
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
            What the release claims; a mechanism's ``cost()``.
        method : str
            What is released, for example ``"MVHistogram"``.
        relation : str
            Neighbours under which the claim is made.
        unit : str or None
            What one record is; None is the unit that the accountant demands, else ``"person"``.
        unit_id : str or None
            The column that says which rows are of one unit.
        max_rows : int
            Most rows that one unit may have; the cost is of all of them.
        description : str
            Public words for the reader of the ledger.
        measure : {"pure", "approximate", "zcdp", "gdp"} or None
            For a ``Budget``: what is proved; pure or approximate by default, as it has a delta.
        parameter : number or None
            rho of zCDP or mu of GDP.
        slack : number
            Total-variation distance of a discrete Gaussian from exact GDP; only with ``"gdp"``.
        parallel_group, block : str or None
            Charges of one group on different blocks cost the largest of them.  The caller
            asserts that the blocks are disjoint and that membership is public under ``relation``.
        public_facts, not_covered : iterable of str, or None
            What the claim takes as public and what it does not protect, as its guarantee lists
            them; None is printed as "not recorded".

        Returns
        -------
        Entry

        Raises
        ------
        BudgetError
            If it does not fit; the ledger is unchanged.
        ParameterError
            If the accountant demands another relation or unit, or nothing is known that this and
            earlier charges protect, or its rule does not add this measure.
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
            raise ParameterError("a Charge knows its measure; give measure= with a Budget only")
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
        """Write down that something without a guarantee was made from the data; it has no price.

        Parameters
        ----------
        method : str
        reason : str
            Why nothing is promised.

        Notes
        -----
        What is spent holds for the other entries alone: together with this one, nothing is
        promised to anybody.  The ledger says so wherever it is printed.
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
        """Note the data file's SHA-256; True if it differs from the last one noted.

        A corrected file continues the ledger: whoever changes a cell does not get a new budget.
        """
        with self._writing() as ledger:
            noted = ledger.with_content(sha256)
            if noted is not ledger:
                self._write(noted)
            return noted is not ledger and bool(ledger.contents)

    def declare_separate(self, why: str) -> None:
        """Write down why the same data may have this budget besides that of another ledger.

        Parameters
        ----------
        why : str
            For the certificates, which state it.

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
            raise ParameterError("why= is empty; say why these data may have a second budget")
        with self._writing() as ledger:
            if ledger.separate != why:
                self._write(replace(ledger, separate=why))

    def check_writable(self) -> None:
        """Refuse, before a charge, what would keep a released state from being saved.

        Raises
        ------
        LedgerError
            If the folder of released states cannot be written.
        """
        if isinstance(self._store, LedgerFile):
            self._store.check_writable()

    def record(self, entry_id: str, state: bytes | Mapping[str, Any]) -> None:
        """Save what was released for an entry, so that a crash does not cost it.

        Parameters
        ----------
        entry_id : str
            Of an entry of this ledger.
        state : bytes or dict
            Released values only; a dict holds JSON values.

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
    """Return the ledgers beside a data file, of other ids, that were charged for the same content.

    Parameters
    ----------
    data_path : path
    sha256 : str
        Of the data file.
    besides : str or None
        The data set whose own ledger does not count.

    Raises
    ------
    LedgerError
        If there is a ledger that cannot be read, so that it is not known for which data it is.

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
    """Return the accountant kept beside a data file, or None if there is none.

    Raises
    ------
    LedgerError
        If there is a file that is not a sound ledger of ``dataset_id``.

    Examples
    --------
    >>> find_ledger("no-such-folder/liberia.dta", "liberia") is None
    True
    """
    path = ledger_path(data_path, dataset_id)
    if not LedgerFile(path).exists():
        return None
    return Accountant.load(path, dataset_id=dataset_id)
