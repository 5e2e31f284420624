"""One fit on D, its transcript forced on D', and everything that tells the two apart."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import pickle
import secrets
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dprct import Accountant, Budget, Release
from dprct.errors import DprctError

from .losses import Loss, beyond, claimed, loss_of, moved, part_of
from .recording import Finding, Recorder, Transcript, charged, install
from .visible import different, seen

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

PICKLE, REFUSED, TRANSCRIPT = "pickle", "refused", "transcript: "
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


@dataclass
class Audit:
    """What one pair of neighbours showed.

    Parameters
    ----------
    findings : list of str
        Empty where the guarantee was kept.
    share : float
        The largest part of the budget that a transcript used.
    refused : str
        The words in which both tables were refused.
    moved : list of float
        By which part of its claimed sensitivity each release moved.
    """

    findings: list[str] = field(default_factory=list)
    share: float = 0.0
    refused: str = ""
    moved: list[float] = field(default_factory=list)


class Auditor:
    """A recorder in the place of the noise, and a clock that stands still.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
    at_length : bool
        Look at everything that a plan or result can be asked for, and with either table as the true
        one.  Else two whose pickles agree are the same value, so that whatever is asked of them
        agrees too; where the pickles differ, everything is looked at in any case.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, at_length: bool = True) -> None:
        self.at_length = at_length
        self.recorder: Recorder = install(monkeypatch)
        self._patch = monkeypatch
        _stop_the_clock(monkeypatch)

    def audit(
        self, make: Callable[[Any], Any], one: Any, other: Any, budget: Budget, **options: Any
    ) -> Audit:
        """Return what tells ``one`` from ``other``, whichever of them is the true one."""
        found = Audit()
        models = [self._made(make, table) for table in (one, other)]
        words = [model if isinstance(model, str) else "" for model in models]
        if any(words):
            found.refused = words[0] if words[0] == words[1] else ""
            if not found.refused:
                found.findings.append(f"constructor: {words[0] or 'made'} | {words[1] or 'made'}")
            return found
        doors = [self._door(model, budget) for model in models]
        refused = [door["guarantee"] for door in doors if isinstance(door["guarantee"], str)]
        for name in doors[0]:
            here, there = (door[name] for door in doors)
            if self.at_length or not _same(here, there):
                unlike = different(seen(here, name), seen(there, name))
                found.findings += [f"before the fit: {path}" for path in unlike]
        if refused:  # a budget that nothing is promised for
            found.refused = str(refused[0])
            return found
        for here, there in ((0, 1), (1, 0))[: 1 + self.at_length]:
            self._replay(models[here], models[there], budget, options, found)
        found.findings = list(dict.fromkeys(found.findings))
        return found

    def _replay(
        self, model: Any, neighbour: Any, budget: Budget, options: dict[str, Any], found: Audit
    ) -> None:
        """Fit the model, force its transcript on the neighbour, and note what tells them apart."""
        first, transcript = self._fitted(model, budget, None, options)
        second, forced = self._fitted(neighbour, budget, transcript, options)
        unlike = [path for path in (*first, *second) if path.startswith(TRANSCRIPT)]
        if unlike:
            found.findings += unlike
            return
        if first.get(PICKLE) != second.get(PICKLE):
            pickles = (pickled.pop(PICKLE, b"") for pickled in (first, second))
            whole = [seen(pickle.loads(bytes_), "result") if bytes_ else {} for bytes_ in pickles]
            first, second = (part | all_ for part, all_ in zip((first, second), whole, strict=True))
        found.findings += [f"after the fit: {path}" for path in different(first, second)]
        found.refused = str(first.get(REFUSED, ""))
        try:
            lost = loss_of(transcript, forced)
        except Finding as other:
            found.findings.append(f"{TRANSCRIPT}{other}")
            return
        found.share = max(found.share, lost.share(budget))
        if lost.share(budget) > 1:
            found.findings.append(f"loss: {_said(lost)} at {budget}")
        if transcript.steps:
            self._each(model, budget, transcript, forced, found)

    def _each(
        self, model: Any, budget: Budget, one: Transcript, other: Transcript, found: Audit
    ) -> None:
        """Hold every release against what its aggregate claims, and against what was charged."""
        allocation, together, found.moved = model._allocated(budget), Loss(), []
        bought = list(charged(allocation))
        for place, (step, there) in enumerate(zip(one.steps, other.steps, strict=True), 1):
            words = f"release {place}, {step.name}"
            paid = next((pair for pair in bought if pair[0] == step.mechanism), None)
            if paid is None:
                found.findings.append(f"{words}: {step.mechanism} was not charged")
            else:
                bought.remove(paid)
            far, claim = moved(step, there), step.claim.of_rows(paid[1] if paid else 1)
            found.moved.append(part_of(far, claim, step.law))
            if beyond(far, claim):
                found.findings.append(f"{words}: {beyond(far, claim)}")
            if far.l1:
                together += claimed(step, claim)
        if together.share(budget) > 1:
            found.findings.append(f"claims: {_said(together)} at {budget}")

    def _made(self, make: Callable[[Any], Any], table: Any) -> Any:
        """Return the model, or the words of its refusal."""
        self.recorder.begin()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return make(table)
            except DprctError as error:
                return f"{type(error).__name__}: {error}"

    def _door(self, model: Any, budget: Budget) -> dict[str, Any]:
        """Return what is visible before anything is drawn."""
        asked = (budget.epsilon, budget.delta) if budget.delta else (budget.epsilon,)
        deeds: dict[str, Callable[[], Any]] = {
            "repr": lambda: repr(model),
            "plan": lambda: model.plan(*asked, accept_large_delta=True),
            "guarantee": lambda: model.guarantee(budget),
        }
        if hasattr(model, "power") and self.at_length:
            deeds["power"] = lambda: model.power(*asked)
        if hasattr(model, "_announced"):
            deeds["announced"] = lambda: model._announced(model.guarantee(budget)).digest()
        found: dict[str, Any] = {}
        for name, deed in deeds.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    found[name] = deed()
                except DprctError as error:
                    found[name] = f"{type(error).__name__}: {error}"
            found[f"{name} warns"] = [str(warning.message) for warning in caught]
        return found

    def _fitted(
        self, model: Any, budget: Budget, forced: Transcript | None, options: dict[str, Any]
    ) -> tuple[dict[str, Any], Transcript]:
        """Return everything visible of a fit, and its transcript."""
        counter = itertools.count()
        self._patch.setattr(secrets, "token_hex", lambda size=6: f"{next(counter):0{2 * size}x}")
        with tempfile.TemporaryDirectory() as place:
            found = self._visible(model, budget, forced, options, Path(place))
        transcript = self.recorder.now
        assert transcript is not None
        # not the single draws: how many a histogram takes tells how many empty cells passed
        found["draws"] = [step.name for step in transcript.steps]
        self.recorder.now = self.recorder.forced = None
        return found, transcript

    def _visible(
        self,
        model: Any,
        budget: Budget,
        forced: Transcript | None,
        options: dict[str, Any],
        place: Path,
    ) -> dict[str, Any]:
        asked = {"delta": budget.delta, "accept_large_delta": True} if budget.delta else {}
        promise = model.guarantee(budget)
        accountant = Accountant.open(
            place / "study.ledger.json", dataset_id="study", epsilon=2 * budget.epsilon,
            delta=2 * budget.delta, relation=promise.relation,
            unit=promise.unit,
        )  # fmt: skip
        self.recorder.begin(forced)
        found: dict[str, Any] = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = model.fit(budget.epsilon, **asked, accountant=accountant, **options)
                found[PICKLE] = pickle.dumps(result)
                if self.at_length:
                    found |= seen(result, "result")
                if isinstance(result, Release) and result.guarantee.holds:
                    result.write_dta(place / "released.dta")
                    for entry in accountant.ledger[: self.at_length]:
                        found |= seen(model.resume(entry.id, accountant=accountant), "resumed")
            except DprctError as error:
                found[REFUSED] = f"{type(error).__name__}: {error}"
                if accountant.ledger:  # alike or not, nobody gets what was paid for
                    found[f"{TRANSCRIPT}charged, then {found[REFUSED]}"] = True
            except Finding as unlike:
                found[f"{TRANSCRIPT}{unlike}"] = forced is None
        for entry in accountant.ledger:
            if accountant.is_saved(entry.id):
                found |= seen(accountant.recover(entry.id), "state")
        found["warnings"] = [str(warning.message) for warning in caught]
        found["generators"] = self.recorder.generators
        root = str(place).encode()
        for file in sorted(place.rglob("*")):
            if file.is_file():
                found[f"file {file.relative_to(place)}"] = file.read_bytes().replace(root, b"")
        return found


def _same(here: Any, there: Any) -> bool:
    """Whether two values have one pickle; False too where they have none."""
    try:
        return pickle.dumps(here) == pickle.dumps(there)
    except (AttributeError, DprctError, TypeError, pickle.PicklingError):
        return False


def _said(lost: Loss) -> str:
    words = f"log ratio {lost.loss:.6g} of {lost.reach:.6g} that it could be"
    if lost.squares:
        words += f", sum of (shift / sigma)^2 {float(lost.squares):.6g}"
    return words + (f", a cell of its own {-math.expm1(lost.hidden):.3g}" if lost.hidden else "")


def _stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every module of the package read the same time."""

    class Stopped(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
            return NOON.astimezone(tz)

    clock = SimpleNamespace(**{**vars(dt), "datetime": Stopped})
    for name, module in list(sys.modules.items()):
        if name.startswith("dprct."):
            if vars(module).get("dt") is dt:
                monkeypatch.setattr(module, "dt", clock)
            if vars(module).get("datetime") is dt.datetime:
                monkeypatch.setattr(module, "datetime", Stopped)
