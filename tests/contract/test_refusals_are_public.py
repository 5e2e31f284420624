"""What is refused, warned of, planned and chosen is a function of what the guarantee lists.

For every strict method, option and documented choice of an option (``refusals.py``), tables that
are legal in the schema, differ in one row and agree in what the guarantee lists go through the
constructor, ``plan``, ``guarantee``, ``power``, ``repr`` and ``fit``: whoever sees a refusal, a
warning, a number of draws or an announced schema learns nothing of the row.
"""

from __future__ import annotations

import inspect
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct import Budget
from dprct.errors import DprctError, DprctWarning, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

METHODS = (
    "MVHistogram", "Marginals", "Calibrated", "PrivateATE", "IPW", "CATE", "PrivateAdditive",
    "PrivateMoments", "SyntheticControl",
)  # fmt: skip
EPSILON = 4


def seen(
    case: Any, table: Any, draws: list[str], *, fitted: bool = True, power: bool = False
) -> dict[str, Any]:
    """Return everything that a bystander sees of a table, but for what was released."""
    found: dict[str, Any] = {}
    draws.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = case.make(table)
            found["repr"] = repr(model)
            found["guarantee"] = model.guarantee(Budget(EPSILON, case.delta)).to_dict()
            found["warned at the door"] = [str(warning.message) for warning in caught]
            if fitted:
                found |= fitting(case, model, power=power)
                found["warned"] = [str(warning.message) for warning in caught]
                found["draws"] = () if case.random_draws else tuple(draws)
        except DprctError as error:
            found["refused"] = f"{type(error).__name__}: {error}"
    return found


def fitting(case: Any, model: Any, *, power: bool) -> dict[str, Any]:
    """Return what is seen of a model from its plan to its result."""
    asked = (EPSILON, case.delta) if case.delta else (EPSILON,)
    found = {"plan": str(model.plan(*asked))}
    asks = power and hasattr(model, "power")
    if asks and len(asked) <= len(inspect.signature(model.power).parameters):
        try:
            found["power"] = model.power(*asked).to_csv()
        except DprctError as error:  # of declared regressions, whose errors the plan has
            found["power"] = str(error)
    options = {}
    if hasattr(model, "rehearse"):
        options = {"confirm": True}
        guarantee = model.guarantee(Budget(EPSILON, case.delta))
        found["announced"] = model._announced(guarantee).unsealed().digest()
    found["promised"] = model.fit(*asked, **options).guarantee.to_dict()
    return found


def differences(
    case: Any, draws: list[str], ordinary: dict[str, Any] | None = None
) -> Iterator[str]:
    """Yield what differs between neighbours, in words; put what is seen of one table in a place."""
    for words, base, moved in case.neighbours():
        # those of which every one is fitted are Polars', which takes half as long
        in_polars = words == "an ordinary table" and not case.random_draws
        first = seen(case, case.in_polars(base) if in_polars else base, draws, power=True)
        if ordinary is not None:
            ordinary |= {} if ordinary else first
        for left, (table, fitted) in zip(reversed(range(len(moved))), moved, strict=True):
            given, power = case.in_polars(table) if in_polars else table, fitted and left < 2
            other = seen(case, given, draws, fitted=fitted, power=power)
            keys = {**first, **other} if power else other
            yield from (
                f"{words}: {key}: {first.get(key)} / {other.get(key)}"
                for key in keys
                if first.get(key) != other.get(key)
            )


REFUSED = {
    "PrivateATE: shares lack a block, treatment private",
    "PrivateATE: arms that the schema lets overlap, treatment private",
    "PrivateATE: missing private, treatment private", "CATE: shares lack a block",
    "SyntheticControl: may be missing", "IPW: weights", "IPW: doubly robust",
    "PrivateMoments: arms that the schema lets overlap",
}  # fmt: skip
"""Cases that are refused, whatever the rows are."""


def test_neighbours_look_alike(case: Any, draws: list[str]) -> None:
    """A case that is refused for another reason, or lists less than it uses, would show nothing."""
    found: dict[str, Any] = {}
    assert list(differences(case, draws, found)) == []
    assert ("refused" in found) == (case.words in REFUSED), found.get("refused")
    facts = " / ".join(found["guarantee"]["public_facts"]) if "guarantee" in found else None
    for words in case.lists:
        assert facts is None or words in facts


@pytest.mark.long
def test_tables_of_a_case_are_legal_and_differ_in_one_record(case: Any) -> None:
    legal = []
    for words, base, moved in case.neighbours():
        changed = [table[_differs(table, base)] for table, _ in moved]
        assert {len(rows) for rows in changed} == ({8} if case.panel else {1})
        assert sum(fitted for _, fitted in moved) >= 1
        if words == "an ordinary table":
            case.schema.validate(base)
        legal += [base, *changed]
    rows = pd.concat(legal)
    if "id" in rows:
        rows["id"] = np.arange(len(rows)) + 1.0
    case.schema.validate(rows)


def _differs(table: pd.DataFrame, base: pd.DataFrame) -> Any:
    """Whether a row has other values, or other missing codes."""
    same = [
        (table[name].to_numpy(np.float64).view(np.int64) == base[name].to_numpy().view(np.int64))
        if base[name].dtype == np.float64
        else (table[name] == base[name]).to_numpy()
        for name in base.columns
    ]
    return ~np.logical_and.reduce(same)


def options_of(method: str) -> dict[str, tuple[str, ...]]:
    """Return the options of a method, and of each the choices that its documentation lists."""
    kind = getattr(dprct, method)
    names = [
        n for n in inspect.signature(kind).parameters if n not in ("data", "schema", "options")
    ]
    text = inspect.getdoc(kind) or ""
    found = {}
    for name in names:
        line = re.search(rf"^(?:\w+, )*{name}(?:, \w+)* : (.*)$", text, re.MULTILINE)
        found[name] = tuple(re.findall(r'"([\w-]+)"', line[1])) if line else ()
    return found


def uncovered(method: str, options: dict[str, tuple[str, ...]], cases: list[Any]) -> list[str]:
    """Return the options and choices of a method without a case."""
    cases = [case for case in cases if case.method == method]
    found = []
    for name, choices in options.items():
        given = [case.options[name] for case in cases if name in case.options]
        default = inspect.signature(getattr(dprct, method)).parameters.get(name)
        if not given:
            found.append(name)
            continue
        values = [default.default] if default and len(given) < len(cases) else []
        for one in given:
            values += [*one, *one.values()] if isinstance(one, dict) else [one]
        found += [f"{name}={choice!r}" for choice in choices if choice not in values]
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_option_and_choice_has_a_case(method: str, cases: list[Any]) -> None:
    assert uncovered(method, options_of(method), cases) == []


@pytest.mark.parametrize("method", ["PrivateATE", "Calibrated", "PrivateMoments"])
def test_every_policy_of_missing_values_has_a_case(method: str, cases: list[Any]) -> None:
    policies = {
        facts.get("missing_policy")
        for case in cases
        if case.method == method
        for facts in case.facts.values()
        if isinstance(facts, dict)
    }
    assert {"public", "private"} <= policies
    assert any(isinstance(policy, float) for policy in policies)


def test_a_new_option_or_choice_is_missed(cases: list[Any]) -> None:
    known = options_of("PrivateATE")
    assert known["neighbors"] == ("replace-one-design-public", "replace-one")
    assert known["effects"] == ("arms", "main", "factorial")
    new = known | {"new": (), "privacy_unit": (*known["privacy_unit"], "village")}
    assert uncovered("PrivateATE", new, cases) == ["privacy_unit='village'", "new"]


def verdict(made: Any, options: dict[str, Any]) -> None:
    """Hold the realised assignment against the design, as the door once did."""
    if options.get("assignment") is not None:
        options["assignment"].check(made).require()


def sizes(made: Any, options: dict[str, Any]) -> None:
    """Ask for two people in every arm."""
    if (made["t"].sum() < 2) or (made["t"].sum() > len(made) - 2):
        raise ParameterError("an arm has fewer than two people")


def rare(made: Any, options: dict[str, Any]) -> None:
    """Refuse an outcome that one person alone has at its upper bound."""
    if (made["y"] == 4).sum() == 1:
        raise ParameterError("one person alone is at the upper bound")


def warns(made: Any, options: dict[str, Any]) -> None:
    """Warn where values are missing."""
    if np.isnan(np.asarray(made["g"], np.float64)).any():
        warnings.warn("g has missing values", DprctWarning, stacklevel=2)


PLANTED: dict[str, tuple[Callable[[Any, dict[str, Any]], None], str]] = {
    "verdict": (verdict, "PrivateATE: Complete, treatment private"),
    "verdict of a factorial": (verdict, "PrivateATE: factorial design, main, treatment private"),
    "verdict of blocks": (verdict, "PrivateATE: blocks, treatment private"),
    "arm sizes": (sizes, "PrivateATE: Complete, treatment private"),
    "arm sizes in shapes": (sizes, "CATE: dr, known"),
    "a value of one person": (rare, "IPW: ATE"),
    "missing values": (warns, "PrivateATE: missing private"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_refusal_is_found(
    fault: str, cases: list[Any], draws: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check, words = PLANTED[fault]
    (case,) = (case for case in cases if case.words == words)
    kind = getattr(dprct, case.method)
    original = kind.__init__

    def faulty(self: Any, data: Any, schema: Any, **options: Any) -> None:
        original(self, data, schema, **options)
        check(data, options)

    monkeypatch.setattr(kind, "__init__", faulty)
    assert next(differences(case, draws), None)


LOOSE: dict[str, Callable[[Any], Any]] = {
    "plan": lambda frame: None if frame["y"].max() < 4 else "a high outcome",
    "repr": lambda frame: None if frame["t"].sum() <= 24 else "many treated",
    "guarantee": lambda frame: None if frame["t"].sum() <= 24 else "many treated",
    "draws": lambda frame: None if frame["y"].max() < 4 else "a high outcome",
}


@pytest.mark.parametrize("place", LOOSE)
def test_a_planted_choice_is_found(
    place: str, cases: list[Any], draws: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = (case for case in cases if case.words == "PrivateATE: Complete, treatment private")
    kind = dprct.PrivateATE
    said, plan, promise, draw = kind.__repr__, kind.plan, kind.guarantee, kind._draw

    def fault(self: Any) -> Any:
        return LOOSE[place](self._table.frame.to_native())

    def faulty_draw(self: Any, allocation: Any, noise: Any) -> Any:
        if fault(self) is not None:
            draw(self, allocation, noise)
        return draw(self, allocation, noise)

    planted: dict[str, tuple[str, Any]] = {
        "repr": ("__repr__", lambda self: f"{said(self)} {fault(self)}"),
        "plan": ("plan", lambda self, *a: replace(plan(self, *a), method=str(fault(self)))),
        "guarantee": (
            "guarantee",
            lambda self, budget: replace(promise(self, budget), unit=str(fault(self))),
        ),
        "draws": ("_draw", faulty_draw),
    }
    monkeypatch.setattr(kind, *planted[place])
    assert any(f": {place}: " in line for line in differences(case, draws))
