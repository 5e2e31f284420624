from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import BudgetError, DprctWarning, FileError, LedgerError, ParameterError
from dprct.io.stata import read_dta, write_dta
from dprct.privacy.accountant import Accountant
from dprct.privacy.budget import Budget
from dprct.privacy.ledger import ledger_path
from dprct.release import histogram
from dprct.release.histogram import Marginals, MVHistogram

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from dprct.release.release import ReleaseModel
    from dprct.schema import Schema

METHODS = {MVHistogram: (histogram, "cell_counts"), Marginals: (histogram, "one_way_counts")}


@pytest.fixture(params=list(METHODS), ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[ReleaseModel[Any, Any, Any]]:
    found: type[ReleaseModel[Any, Any, Any]] = request.param
    return found


@pytest.fixture
def model(
    kind: type[ReleaseModel[Any, Any, Any]], data: pd.DataFrame, schema: Schema
) -> ReleaseModel[Any, Any, Any]:
    return kind(data, schema)


@pytest.fixture
def on_file(data: pd.DataFrame, schema: Schema, tmp_path: Path) -> tuple[Any, Schema]:
    """The same data, read from a file that can have a ledger beside it."""
    write_dta(data, schema, tmp_path / "survey.dta")
    found, header = read_dta(tmp_path / "survey.dta")
    facts = {c.name: c for c in schema.columns}
    columns = [facts[name] for name in header.names]
    return found, header.with_columns(columns).declare(dataset_id="survey", unit=schema.unit)


def begun(tmp_path: Path, epsilon: float = 2) -> Accountant:
    path = ledger_path(tmp_path / "survey.dta", "survey")
    return Accountant.open(path, dataset_id="survey", epsilon=epsilon, unit="household")


def test_a_charge_that_fails_draws_nothing(
    model: ReleaseModel[Any, Any, Any],
    kind: type[ReleaseModel[Any, Any, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_args: object, **_options: object) -> None:
        pytest.fail("the confidential rows were counted although the charge had failed")

    monkeypatch.setattr(*METHODS[kind], never)
    accountant = Accountant(1, unit="household")
    with pytest.raises(BudgetError, match="1 "):
        model.fit(1.25, accountant=accountant, confirm=True)
    assert accountant.ledger == ()
    for other in (Accountant(5, unit="village"), Accountant(5, relation="add-remove",
                                                            unit="household")):  # fmt: skip
        with pytest.raises(ParameterError):
            model.fit(1, accountant=other, confirm=True)
        assert other.ledger == ()


def test_the_charge_comes_before_the_draw(
    model: ReleaseModel[Any, Any, Any],
    kind: type[ReleaseModel[Any, Any, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accountant = Accountant(5, unit="household")
    charged_at_draw: list[int] = []
    module, name = METHODS[kind]
    counts = getattr(module, name)

    def watched(*args: Any, **options: Any) -> Any:
        charged_at_draw.append(len(accountant.ledger))
        return counts(*args, **options)

    monkeypatch.setattr(module, name, watched)
    model.fit(5, accountant=accountant, confirm=True)
    assert charged_at_draw == [1]
    assert accountant.spent == Budget(5)


def test_an_interruption_after_the_charge_keeps_the_charge(
    model: ReleaseModel[Any, Any, Any],
    kind: type[ReleaseModel[Any, Any, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*METHODS[kind], interrupted)
    accountant = Accountant(1, unit="household")
    with pytest.raises(KeyboardInterrupt):
        model.fit(1, accountant=accountant, confirm=True)
    assert accountant.spent == Budget(1)


def test_the_released_state_is_saved_with_its_entry(model: ReleaseModel[Any, Any, Any]) -> None:
    accountant = Accountant(1, unit="household")
    found = model.fit(1, accountant=accountant, confirm=True)
    (entry,) = accountant.ledger
    assert entry.method == model.method
    state = accountant.recover(entry.id)
    assert isinstance(state, dict)
    assert "counts" in state["drawn"]["fields"]
    assert model.resume(entry.id, accountant=accountant).guarantee == found.guarantee
    assert len(accountant.ledger) == 1


def test_ten_tenths_fit_and_an_eleventh_does_not(model: ReleaseModel[Any, Any, Any]) -> None:
    accountant = Accountant(1, unit="household")
    for _ in range(10):
        with pytest.warns(DprctWarning):
            model.fit(0.1, accountant=accountant, confirm=True)
    with pytest.warns(DprctWarning), pytest.raises(BudgetError):
        model.fit(0.1, accountant=accountant, confirm=True)
    assert len(accountant.ledger) == 10


def test_the_ledger_beside_the_data_is_found(
    kind: type[ReleaseModel[Any, Any, Any]], on_file: tuple[Any, Schema], tmp_path: Path
) -> None:
    accountant = begun(tmp_path)
    release = kind(*on_file).fit(1.5, confirm=True)
    (entry,) = accountant.ledger
    words = f"entry {entry.id} of data set 'survey'; epsilon=1.5 charged, epsilon=0.5 of epsilon=2"
    assert release.ledger.startswith(words)
    assert release.certificate().ledger == release.ledger
    digest = hashlib.sha256((tmp_path / "survey.dta").read_bytes()).hexdigest()
    assert accountant.contents == (digest,)
    with pytest.raises(BudgetError):
        kind(*on_file).fit(1.5, confirm=True)


def test_an_accountant_given_is_the_one_that_is_charged(
    kind: type[ReleaseModel[Any, Any, Any]], on_file: tuple[Any, Schema], tmp_path: Path
) -> None:
    beside, given = begun(tmp_path), Accountant(3, unit="household")
    release = kind(*on_file).fit(1, accountant=given, confirm=True)
    assert (len(beside.ledger), len(given.ledger)) == (0, 1)
    assert "of an accountant in memory" in release.ledger
    assert release.ledger.endswith("the ledger of data set 'survey' was not charged")


def test_without_a_ledger_the_certificate_says_so(
    kind: type[ReleaseModel[Any, Any, Any]], on_file: tuple[Any, Schema], model: ReleaseModel
) -> None:
    for release in (kind(*on_file).fit(1, confirm=True), model.fit(1, confirm=True)):
        assert release.certificate().ledger == "charged to no ledger"


def test_a_simulation_charges_nothing(
    kind: type[ReleaseModel[Any, Any, Any]], on_file: tuple[Any, Schema], tmp_path: Path
) -> None:
    accountant = begun(tmp_path)
    release = kind(*on_file).fit(1, rng=1, accountant=accountant, confirm=True)
    assert accountant.ledger == ()
    assert release.ledger == "charged to no ledger (simulation)"
    assert release.guarantee.simulation
    assert not release.guarantee.holds


def test_a_damaged_ledger_stops_the_release(
    kind: type[ReleaseModel[Any, Any, Any]], on_file: tuple[Any, Schema], tmp_path: Path
) -> None:
    ledger_path(tmp_path / "survey.dta", "survey").write_text("{")
    with pytest.raises(LedgerError, match="damaged"):
        kind(*on_file).fit(1, confirm=True)


def test_a_data_file_that_is_gone_is_not_charged(
    kind: type[ReleaseModel[Any, Any, Any]], on_file: tuple[Any, Schema], tmp_path: Path
) -> None:
    accountant = begun(tmp_path)
    (tmp_path / "survey.dta").unlink()
    with pytest.raises(FileError, match="does not exist"):
        kind(*on_file).fit(1, confirm=True)
    assert accountant.ledger == ()


def test_a_corrected_file_continues_its_ledger(
    kind: type[ReleaseModel[Any, Any, Any]],
    on_file: tuple[Any, Schema],
    tmp_path: Path,
    schema: Schema,
) -> None:
    accountant = begun(tmp_path)
    kind(*on_file).fit(1, confirm=True)
    data, _ = on_file
    data["income"] = 3.5
    write_dta(data, schema, tmp_path / "survey.dta")
    kind(*on_file).fit(1, confirm=True)
    assert len(set(accountant.contents)) == 2
    assert accountant.remaining.epsilon == 0


@pytest.mark.parametrize("step", ["record", "note_content"])
def test_a_ledger_that_fails_after_the_charge_says_that_it_stands(
    step: str,
    kind: type[ReleaseModel[Any, Any, Any]],
    on_file: tuple[Any, Schema],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_arguments: object) -> None:
        raise LedgerError("cannot write: the disk is full")

    accountant = begun(tmp_path)
    monkeypatch.setattr(Accountant, step, full)
    with pytest.raises(LedgerError, match=r"disk is full; entry 1-\w+ stays charged"):
        kind(*on_file).fit(1, confirm=True)
    assert accountant.spent == Budget(1)
