"""What every public model class keeps, in the spirit of scikit-learn's check_estimator.

Classes are registered in registry.py, whose first lines say how.
"""

from __future__ import annotations

import copy
import logging
import os
import pickle
import tempfile
import traceback
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from dprct import Accountant, Budget, Column, Release, Schema, read_dta, write_dta
from dprct.errors import BudgetError, DprctError, ModelPicklingError, SimulationError
from dprct.model import BoundTable
from dprct.privacy.aggregates import CellCounts, IntegerVector, _Sealed
from dprct.privacy.ledger import ledger_path
from dprct.privacy.noise import Secure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


DRAWS = ("discrete_laplace", "discrete_gaussian", "geometric", "binomial")


def neighbours(subject: Any) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Pairs of legal tables that differ in one row, in the columns that the guarantee protects."""
    base = subject.make_table()
    low, high = subject.bounds
    free = [name for name in subject.modelled if name not in subject.design]
    corners = {
        name: (low, high) if base[name].abs().max() > 2 else tuple(np.unique(base[name]))
        for name in free
    }
    alike = [name for name in free if name not in subject.assigned]
    equal = base.assign(**{name: corners[name][0] for name in alike})
    for words, table, row in (
        ("an ordinary table", base, 0),
        ("the row with the markers", base, 7),
        ("all rows equal: it is alone in its cell", equal, 0),
        ("all rows equal, the last one", equal, len(base) - 1),
    ):
        for side in (0, 1):
            moved = table.copy()
            for name in free:
                moved.loc[row, name] = corners[name][side]
            if not moved.equals(table):  # a row that is there already has not moved
                yield f"{words}, moved to corner {side}", table, moved
    for name in subject.may_miss:
        gone, all_but_one = base.copy(), base.copy()
        gone.loc[7, name] = np.nan
        yield f"{name} goes missing", base, gone
        all_but_one.loc[1:, name] = np.nan
        nobody = base.assign(**{name: np.nan})
        yield f"the only {name} goes missing", all_but_one, nobody
    twin = base.copy()
    twin.loc[1, free] = twin.loc[3, free]
    yield "a row becomes a duplicate", base, twin


def quietly(deed: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return what a deed gives and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = deed()
    return given, [str(warning.message) for warning in caught]


def test_a_plan_is_free_and_a_function_of_public_facts(strict: Any, draws: list[str]) -> None:
    def told(table: pd.DataFrame) -> Any:
        model, noted = quietly(lambda: strict.make(table))
        guarantee = model.guarantee(Budget(strict.epsilon, strict.delta))
        return str(strict.plan(model)), guarantee.to_dict(), repr(model), noted

    said: dict[int, tuple[Any, Any]] = {}
    for words, one, other in neighbours(strict):
        if id(one) not in said:
            said[id(one)] = one, told(one)
        assert told(other) == said[id(one)][1], words
    assert draws == []


def test_a_schema_that_nobody_sealed_was_not_sealed_before_its_data(subject: Any) -> None:
    seal = subject.make(subject.make_table()).schema.seal_of
    assert seal is not None
    assert str(seal).endswith("sealed after opening")


def test_fit_charges_once_and_before_it_draws(strict: Any, monkeypatch: Any) -> None:
    accountant, charges_at_draw = strict.accountant, []
    model = strict.make(strict.make_table())
    for name in DRAWS:
        original = getattr(Secure, name)

        def watched(self: Any, *args: Any, _draw: Any = original) -> Any:
            charges_at_draw.append(len(accountant.ledger))
            return _draw(self, *args)

        monkeypatch.setattr(Secure, name, watched)
    result, _ = quietly(lambda: strict.fit(model, accountant=accountant))
    assert charges_at_draw
    assert set(charges_at_draw) == {1}
    (entry,) = accountant.ledger
    assert accountant.is_saved(entry.id)
    assert result.guarantee.holds
    asked = Budget(strict.epsilon, strict.delta)
    assert result.guarantee.budget == entry.budget == accountant.spent == asked
    assert (result.guarantee.relation, result.guarantee.unit) == (entry.relation, entry.unit)
    # the plan of a budget says which mechanism; the class, which method
    assert entry.method.partition(" (")[0] == model.method.partition(" (")[0]
    assert entry.id in str(result.ledger)


def test_a_refused_charge_draws_nothing(strict: Any, draws: list[str]) -> None:
    model = strict.make(strict.make_table())
    relation = model.guarantee(Budget(strict.epsilon, strict.delta)).relation
    poor = Accountant(strict.epsilon / 2, strict.delta / 2, relation=relation, unit=strict.unit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(BudgetError, match="nothing was drawn"):
            strict.fit(model, accountant=poor)
    assert draws == []
    assert poor.ledger == ()


def test_a_simulation_says_so_and_leaves_nothing(
    strict: Any, draws: list[str], tmp_path: Path
) -> None:
    accountant = strict.accountant
    model = strict.make(strict.make_table())
    result, _ = quietly(lambda: strict.fit(model, accountant=accountant, rng=1))
    assert draws == []
    assert accountant.ledger == ()
    assert result.guarantee.simulation
    assert not result.guarantee.holds
    if isinstance(result, Release):
        with pytest.raises(SimulationError):
            result.write_dta(tmp_path / "released.dta")
    assert list(tmp_path.iterdir()) == []


def test_results_pickle_and_models_do_not(subject: Any) -> None:
    model = subject.make(subject.make_table())
    result, _ = quietly(lambda: subject.fit(model))
    assert str(pickle.loads(pickle.dumps(result))) == str(result)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ModelPicklingError):
            leave(model)


def test_one_bound_table_alone_holds_the_rows(subject: Any, leaks: Any, reachable: Any) -> None:
    """A model keeps one, and besides it no frame, no column of it, and no value of a person.

    What is published without a guarantee reads bins and fits off the rows when it is bound, and has
    a model of its own for the covariates; it keeps no frame besides either.
    """
    data = subject.make_table()
    model = subject.make(data)
    tables = [item for _, item in reachable(model) if isinstance(item, BoundTable)]
    assert len(tables) == 1 or subject.published
    assert leaks(model)  # the search goes where the rows are
    for table in tables:
        table.held = None
    columns = [data[name].to_numpy() for name in subject.modelled]
    for path, item in reachable(model):
        assert not isinstance(item, (nw.DataFrame, nw.LazyFrame, pd.DataFrame)), path
        if isinstance(item, np.ndarray):
            assert not any(np.shares_memory(item, column) for column in columns), path
    assert leaks(model) == [] or subject.published


AWKWARD = [1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, -200_000.0]
EVERYWHERE = {"NaN": np.nan, "infinity": np.inf, "far below": -1e300}


def test_fit_is_total(strict: Any, draws: list[str], planted: Any) -> None:
    """No value that came past the door leads to another error, warning or number of draws."""
    seen: dict[str, tuple[list[str], list[str]]] = {}
    free = [name for name in strict.modelled if name not in strict.design]
    rows = len(strict.make_table())
    tables: dict[str, dict[str, Any]] = {"as it is": {}}
    for words, value in EVERYWHERE.items():
        tables[f"{words}, everywhere"] = {name: np.full(rows, value) for name in free}
    cycle = np.array(AWKWARD)[np.arange(rows) % len(AWKWARD)]
    tables["one of each, and an ordinary one"] = dict.fromkeys(free, cycle)
    for words, columns in tables.items():
        model = strict.make(strict.make_table())
        if columns:
            assert planted(model, columns) >= 1
        draws.clear()
        result, noted = quietly(lambda model=model: strict.fit(model))
        assert result.guarantee.holds
        seen[words] = noted, [] if strict.tail_draws else list(draws)
    assert all(found == seen["as it is"] for found in seen.values()), seen


def test_neighbours_lead_to_the_same_warnings(strict: Any) -> None:
    said: dict[int, tuple[Any, list[str]]] = {}  # of one table once, whatever it is a neighbour of
    for words, one, other in neighbours(strict):
        if id(one) not in said:
            said[id(one)] = one, quietly(lambda one=one: strict.fit(strict.make(one)))[1]
        _, there = quietly(lambda other=other: strict.fit(strict.make(other)))
        assert said[id(one)][1] == there, words


def test_who_is_alone_in_a_cell_is_no_matter(strict: Any) -> None:
    _, usual = quietly(lambda: strict.fit(strict.make(strict.make_table())))
    for alone, members in (("block", 1), ("t", 1)):
        data = strict.make_table()
        where = data[alone] == members
        for name in ("y", "w"):
            if name in strict.modelled and name not in strict.design:
                data[name] = np.where(where, *reversed(strict.bounds))
        result, noted = quietly(lambda table=data: strict.fit(strict.make(table)))
        assert result.guarantee.holds
        assert noted == usual, alone


def without_cells(result: Any) -> Any:
    """Return a result of a published method without the cells that it released, if any."""
    if not hasattr(result, "protected"):
        return result
    return replace(result, protected=pd.DataFrame(index=result.protected.index))


def test_no_planted_value_is_reachable(
    subject: Any, leaks: Any, reachable: Any, caplog: Any, capsys: Any
) -> None:
    data = subject.make_table()
    assert leaks(data)
    caplog.set_level(logging.DEBUG)
    model = subject.make(data)
    accountant = None if subject.published else subject.accountant
    result, noted = quietly(lambda: subject.fit(model, accountant=accountant))
    kept = without_cells(result) if subject.published else result
    said = [str(kept), repr(kept), repr(model), str(subject.plan(model)), *noted]
    said += [
        model.guarantee(Budget(subject.epsilon, subject.delta)).to_dict(),
        *capsys.readouterr(),
    ]
    said += [record.getMessage() for record in caplog.records]
    said += [show() for show in (getattr(kept, "summary", str),)]
    assert leaks([kept, said, pickle.dumps(kept)]) == []
    if accountant is not None:
        assert leaks([accountant.to_dict(), accountant.recover(accountant.ledger[0].id)]) == []
    confidential = [data[name].to_numpy() for name in subject.modelled]
    for path, item in reachable(kept):
        assert not isinstance(item, (nw.DataFrame, _Sealed, CellCounts, IntegerVector)), path
        assert item is not model, path
        if isinstance(item, np.ndarray):
            assert not any(np.shares_memory(item, column) for column in confidential), path


def test_refusals_show_no_planted_value(subject: Any, leaks: Any, tmp_path: Path) -> None:
    model = subject.make(subject.make_table())
    relation = "add-remove"
    deeds: list[Callable[[], Any]] = [
        lambda: pickle.dumps(model),
        lambda: model.fit(epsilon=-1),
        lambda: model.fit(epsilon="much"),
        lambda: subject.fit(model, accountant=Accountant(9, 0.1, relation=relation)),
        lambda: subject.fit(model, accountant=Accountant(0.001)),
    ]
    texts = []
    for deed in deeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(DprctError) as refused:
                deed()
        texts += traceback.format_exception(refused.value)
    outside = subject.make_table()
    for name in subject.modelled:
        broken = outside.copy()
        broken.loc[0, name] = 987654321.125
        try:
            subject.make(broken)
        except DprctError as error:
            texts += traceback.format_exception(error)
    assert leaks(texts) == []
    assert not any("987654321" in text for text in texts)


def test_files_hold_no_planted_value(
    subject: Any, leaks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protected file, its certificate, the ledger, saved states and temporary files."""
    data = subject.make_table()
    model = subject.make(data)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = ledger_path(tmp_path / "trial.dta", "trial")
    accountant = None
    if not subject.published:
        accountant = Accountant.open(
            path, dataset_id="trial", epsilon=9, delta=0.1, unit=subject.unit,
            relation=subject.accountant.relation,
        )  # fmt: skip
    written: list[bytes] = []
    watch_writes(monkeypatch, written)
    result, _ = quietly(lambda: subject.fit(model, accountant=accountant))
    if isinstance(result, Release):
        name = "released_no_dp_guarantee.dta" if subject.published else "released.dta"
        result.write_dta(tmp_path / name)
        made, _ = read_dta(tmp_path / name)
        assert len(made) == len(result.protected)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    for file in files:
        if not (subject.published and file.suffix == ".dta"):
            assert leaks(file.read_bytes()) == [], file.name
    if not subject.published:
        assert files
        assert written
        assert leaks(written) == []


def watch_writes(monkeypatch: pytest.MonkeyPatch, written: list[bytes]) -> None:
    """Keep what is forced to the disk, temporary files included, as it is forced."""
    fsync = os.fsync

    def watched(handle: int) -> None:
        proc = Path(f"/proc/self/fd/{handle}")
        if proc.is_file():
            written.append(proc.read_bytes())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)


def test_the_search_finds_what_is_hidden(leaks: Any, markers: Any, tmp_path: Path) -> None:
    number, text = markers
    column = np.array([1.0, number, 3.0])

    class Slotted:
        __slots__ = ("held",)

    slotted = Slotted()
    slotted.held = column[:1]  # a view, whose base has the rest

    def closure() -> object:
        return column

    for hidden in (
        pd.DataFrame({"y": column}),
        pd.Series([text], dtype=object),
        pd.DataFrame(index=[text]),
        slotted,
        closure,
        {"a": [{text: 1}]},
        (number,),
        f"the value {number} is",
        column.astype(">f8"),
        nw.from_native(pd.DataFrame({"y": column})),
        pickle.dumps(column),
        closure.__get__(slotted),
    ):
        assert leaks(hidden), type(hidden)
    assert leaks([pd.DataFrame({"y": column[:1] + 1}), "other", 123456.0]) == []
    schema_less = tmp_path / "raw.dta"
    write_dta(pd.DataFrame({"y": column}), Schema((Column("y", "double"),)), schema_less)
    assert leaks(schema_less.read_bytes())
