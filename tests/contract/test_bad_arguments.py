"""Every public callable, given something senseless in the place of each argument in turn.

It is refused in a sentence of ours or it works: no bare exception, nothing that hangs, and nothing
of Python where the sentence is said in R or in the words of a study file.  Which callables there
are is asked of the package, and how a method is called well of the registry of the contract, so
that a new name or option is tried, too.
"""

from __future__ import annotations

import inspect
import random
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import dprct
import dprct.published
from dprct.errors import DprctError
from dprct.model import Model
from dprct.privacy.composition import Charge
from dprct.results.tables import Column, Estimate, Row
from dprct.study.methods import BY_NAME
from tests.contract.languages import python_in
from tests.contract.registry import SCHEMA, SUBJECTS, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.contract.registry import Subject

BAD: dict[str, Any] = {
    "None": None,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus one": -1,
    "a huge integer": 10**5000,
    "true": True,
    "empty text": "",
    "NUL": "\0",
    "a lone surrogate": "a\ud800",
    "long text": "x" * 5000,
    "bytes": b"x",
    "a dict": {},
    "a dict of a number": {1: 2},
    "a list of nothing": [None],
    "an empty list": [],
    "a class": int,
    "an object": object(),
    "another frame": pd.DataFrame({"other": [1.0]}),
    "an array": np.zeros((2, 2)),
    "an array of no dimension": np.array("y"),
    "almost nothing": 1e-300,
    "a fraction": Fraction(1, 20),
    "names twice": pd.DataFrame([[0.0, 1.0]] * 40, columns=["y", "y"]),
}
"""Values by what they are."""

LONGEST = 2_000
"""Most characters of a message: long values are cut in it."""

INSIDE = {
    "broken", "broken_by", "common", "declare", "describe", "draw", "propensities",
    "note_opening", "of", "openings", "results",
}  # fmt: skip
"""Methods by which the house asks a design; a user calls assign, check and probabilities."""


NAMES = sorted(n for n in dprct.__all__ if callable(getattr(dprct, n)))
UNTRIED = {"Moments", "Release", "Custom.probabilities", "Schema.describe"}
"""Built by the package; a procedure says no probabilities; facts are described of a file."""

SHARED = {"specification", "from_formula", "from_formulas", "resume", "from_arrays"}
"""The same code for every model, tried on one; what needs a ledger with a charge of theirs."""

INTERNAL: dict[str, tuple[str, ...]] = {
    "Schema": ("file", "unit", "seal_of", "source", "sample", "openings"),
    "Table": ("parts", "style"),
}
"""Arguments by which the package builds on what it has built."""


@dataclass(frozen=True)
class Call:
    """A call that works."""

    function: Callable[..., Any]
    arguments: dict[str, Any]

    def __call__(self, **changed: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.function(**self.arguments | changed)


class Called(Exception):
    """The end of a call that was watched."""


def asked_of(subject: Subject) -> dict[str, Any]:
    """Arguments with which the registry makes a model, by the names of the class."""
    method = BY_NAME[subject.name.split(",")[0]]
    signature = inspect.signature(method)
    seen: dict[str, Any] = {}

    def watch(self: Any, *given: Any, **named: Any) -> None:
        seen.update(signature.bind(*given, **named).arguments)
        raise Called

    data = subject.make_table()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "__init__", watch)
        with pytest.raises(Called):
            subject.make(data)
    return seen


def calls(folder: Path) -> dict[str, Call]:
    """A good call of every public callable, and of every method of what it makes.

    An argument has its default; what has none has the value of its name in ``known``, or what is
    said of the callable in ``own``.  Methods are called as the registry of the contract calls them.
    """
    data = table(40)
    guarantee = dprct.Guarantee.of(dprct.Budget(1), "replace-one", unit="row")
    file, saved = folder / "good.dta", folder / "good.ledger.json"
    dprct.write_dta(data, SCHEMA, file)
    dprct.write_dta(data, SCHEMA, folder / "other.dta")
    SCHEMA.save(folder / "good.toml")
    budget, design = dprct.Budget(1), dprct.Simple("t")
    account = dprct.Accountant(10**9, unit="row")
    entry = account.charge(budget, method="m", relation="replace-one", unit="row")
    account.save(saved, dataset_id="trial")
    ended = dprct.Accountant(1, unit="row")
    kept = ended.charge(budget, method="m", relation="replace-one", unit="row").id
    ended.record(kept, {})
    known: dict[str, Any] = {
        "data": data, "frame": data, "schema": SCHEMA, "name": "y", "names": ["y"], "rng": 1,
        "columns": ["y"], "outcomes": ["y"], "formula": "y ~ t", "arms": "t", "treatment": "t",
        "block": "block", "cluster": "block", "epsilon": 10**9, "budget": budget, "total": budget,
        "cost": budget, "method": "m", "relation": "replace-one", "unit": "row", "path": file,
        "entry_id": entry.id, "state": {}, "dataset_id": "trial", "reason": "because",
        "why": "another question", "sha256": "a" * 64, "shares": [1, 1], "fate": "withheld",
        "measure": "none", "facts": guarantee.to_dict(), "a": file, "b": folder / "other.dta",
        "models": [dprct.ols("y ~ t", data, SCHEMA)], "rows": (Row("r", ()),),
    }  # fmt: skip
    written = {"path": folder / "b.toml"}
    drawn = dprct.Table(columns=(Column("a", "A"),), rows=(Row("t", "T", (Estimate(0.5, 0.1),)),))
    own: dict[str, dict[str, Any]] = {
        "Accountant": {"unit": "row"},
        "Accountant.load": {"path": saved, "dataset_id": "trial"},
        "Accountant.open": {"path": saved},
        "Accountant.rehearse": {"cost": Charge.of(budget)},
        "Accountant.save": {"path": saved, "dataset_id": "trial"},
        "BlockCluster": {"cluster": "w"},
        "Budget.split": {"shares": [0.5, 0.5]},
        "Custom": {"procedure": lambda frame, rng: np.arange(len(frame)) % 2, "columns": "t"},
        "Factorial": {"factors": [design, dprct.Simple("w")], "arms": None},
        "PrivateMoments.power_of_trial": {
            "people": 200, "cluster_size": 10, "formulas": ["y ~ t"], "delta": 1e-6,
            "schema": dprct.Schema((
                dprct.Column("y", bounds=(0, 1), missing=()),
                dprct.Column("t", "byte", levels=(0.0, 1.0), missing=()),
                dprct.Column("v", "int", missing=()),
            )),
            "assignment": dprct.Cluster("t", cluster="v", shares=0.5),
        },
        "Schema": {"columns": SCHEMA.columns},
        "Schema.declare": {
            "dataset_id": None, "unit": None, "confirm_header": False, "y": (0, 1),
        },
        "Schema.load": {"path": folder / "good.toml"},
        "Schema.save": written,
        "Schema.with_columns": {"columns": [dprct.Column("y")]},
        "Table": {"columns": (), "rows": (Row("r", ()),)},
        "Table.plot": {"ax": Figure().subplots()},
        "Unit": {"name": "person"},
        "Guarantee": {"reason": "because"},
        "iv": {"formula": "y ~ [w ~ t]"},
        "itt_table": {"arms": ["t"], "draws": 10},
        "logit": {"formula": "t ~ y"},
        "probit": {"formula": "t ~ y"},
        "poisson": {"formula": "t ~ y"},
        "write_dta": {"path": folder / "c.dta"},
    }  # fmt: skip
    made: dict[str, Any] = {"Accountant": account, "Guarantee": guarantee, "Schema": SCHEMA}
    found: dict[str, Call] = {}

    def add(name: str, function: Callable[..., Any], **given: Any) -> Call:
        left = INTERNAL.get(name, ())
        asked = {
            n: known.get(n) if p.default is inspect.Parameter.empty else p.default
            for n, p in parameters(function).items()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and n not in left
        }
        if name in own or "rng" in asked:
            given = {**({"rng": 1} if "rng" in asked else {}), **own.get(name, {}), **given}
        if name.endswith(".to_docx"):
            asked["path"] = folder / "good.docx"
        found[name] = Call(function, asked | given)
        return found[name]

    subjects: dict[str, Subject] = {}
    for subject in SUBJECTS.values():
        subjects.setdefault(subject.name.split(",")[0], subject)
    for name in NAMES:
        if name in UNTRIED:
            continue
        one = getattr(dprct, name)
        good = add(name, one, **(asked_of(subjects[name]) if name in subjects else {}))
        if inspect.isclass(one):
            thing = made[name] if name in made else good()
            budgets = {"epsilon": 4.0, "delta": subjects[name].delta} if name in subjects else {}
            for method in public_methods(one):
                if f"{name}.{method}" in UNTRIED or method in INSIDE | SHARED:
                    continue
                bound = getattr(thing, method)
                cost = {n: v for n, v in budgets.items() if n in parameters(bound)}
                if method == "guarantee":
                    cost["budget"] = dprct.Budget(1, budgets["delta"])
                if "confirm" in parameters(bound):
                    cost["confirm"] = True
                add(f"{name}.{method}", bound, **cost)
    add("Schema.declare", SCHEMA.declare)
    add("Accountant.recover", ended.recover, entry_id=kept)
    add("Table.plot", drawn.plot)
    for name in ("MVHistogram", "Marginals", "Calibrated"):
        found[f"{name}.rehearse"].arguments["path"] = folder / "rehearsed.dta"
    add("PrivateATE.from_formula", dprct.PrivateATE.from_formula, formula="y ~ t")
    release = found["MVHistogram.fit"](rng=None)
    release.write_dta(folder / "protected.dta")
    for method in ("certificate", "summary"):
        add(f"Release.{method}", getattr(release, method))
    add("Release.write_dta", release.write_dta, path=folder / "d.dta")
    add("verify", dprct.verify, path=folder / "protected.dta")
    return found


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def public_methods(one: type) -> Iterator[str]:
    for name in dir(one):
        if not name.startswith("_") and callable(getattr(one, name)):
            yield name


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    return calls(tmp_path_factory.mktemp("good"))


def test_every_public_callable_has_a_good_call(good: dict[str, Call]) -> None:
    assert {name for name in NAMES if name not in UNTRIED} <= {*good}
    for name, call in good.items():
        assert call() is not NotImplemented, name


def tried(
    name: str, call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> Iterator[str]:
    """Yield what went wrong, argument by argument, for some values, the same in each run."""
    monkeypatch.chdir(folder)
    for argument in call.arguments:
        some = random.Random(f"{name} {argument}").sample(sorted(BAD), most)
        for what, value in ((what, BAD[what]) for what in some):
            try:
                call(**{argument: value})
            except DprctError as error:
                if len(str(error)) > LONGEST:
                    yield f"{name}({argument}={what}): {len(str(error))} characters"
                try:
                    str(error).encode("utf-8")
                except UnicodeEncodeError:
                    yield f"{name}({argument}={what}): a message that cannot be written"
                for left in python_in(error):
                    yield f"{name}({argument}={what}): {left}"
            except Exception as error:
                yield f"{name}({argument}={what}): {type(error).__name__}: {str(error)[:60]!r}"


QUICK = 2
"""Senseless values of each argument in the tests; ``make check-all`` gives all of them."""


@pytest.mark.parametrize("owner", NAMES)
@pytest.mark.parametrize(
    "most", [QUICK, pytest.param(len(BAD), marks=pytest.mark.torture)], ids=["some", "all"]
)
def test_a_senseless_argument_is_refused_in_a_sentence_or_works(
    owner: str, most: int, good: dict[str, Call], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [
        fault
        for name, call in good.items()
        if name.split(".")[0] == owner
        for fault in tried(name, call, tmp_path, monkeypatch, most)
    ]
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults)


PUBLISHED = [getattr(dprct.published, name) for name in dprct.published.__all__]
MODELS = [
    one
    for one in [*(getattr(dprct, name) for name in NAMES), *PUBLISHED]
    if isinstance(one, type) and issubclass(one, Model)
]
GIVEN: dict[str, Any] = {
    "formula": "t ~ w", "outcome": "y", "treatment": "t", "features": ["w"], "treated": 1,
    "covariates": ["w"],    "treatment_time": 1,
}  # fmt: skip


OF_MODELS = [
    pytest.param(model, bad, id=f"{model.__module__}.{model.__name__}-{bad}")
    for model in MODELS
    for bad in ("schema", "assignment", "outcome", "treated")
    if bad in inspect.signature(model.__init__).parameters
]


@pytest.mark.parametrize(("model", "bad"), OF_MODELS)
def test_no_constructor_of_a_model_takes_another_kind_of_argument(model: Any, bad: str) -> None:
    parameters = inspect.signature(model.__init__).parameters
    options = {
        name: GIVEN[name]
        for name, one in parameters.items()
        if name in GIVEN and (one.default is one.empty or name == bad)
    }
    options |= {"accept_uncertified": True} if "accept_uncertified" in parameters else {}
    schema = "no schema" if bad == "schema" else SCHEMA
    options |= {} if bad == "schema" else {bad: [{"a"}]}
    with pytest.raises(DprctError, match=bad):
        model(table(40), schema, **options)
    if bad == "schema" and hasattr(model, "from_formula"):
        options.pop("formula", None)
        with pytest.raises(DprctError):
            model.from_formula("y ~ t", table(40), schema, **options)
