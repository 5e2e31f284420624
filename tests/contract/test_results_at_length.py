"""Whatever a result offers can be asked for: every public method, with arguments where needed.

Methods are found by looking, so that a new one is called here from its first day; one that needs an
argument fails the test until ``ARGUMENTS`` has it, and one whose answer holds where an object is in
memory, or calls itself without end, fails it too.
"""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import DprctError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

ALPHAS = (0.01, 0.05, 0.1, 0.5)
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
FACTS = ("dprct.schema", "dprct.privacy", "dprct.formula", "dprct.encoding", "dprct.queries")
"""Rooms of declared facts and mechanisms, which have tests of their own."""

OFFERS = ("summary", "tidy", "to_text")
"""What a result has that a reader is given; its parts have fewer."""

SUBJECTS = (
    "MVHistogram",
    "Marginals",
    "Calibrated, jointly",
    "PrivateATE",
    "PrivateATE, jointly",
    "SyntheticControl",
    "PrivateAdditive",
    "CATE, known propensity",
    "PrivateMoments",
    "PrivateMoments, robust errors",
    "IPW",
    "published.MVHistogram",
    "published.Hybrid",
    "published.GenModel",
    "published.IPW",
    "published.SyntheticControl, output",
    "published.CATE",
)
"""One of every class of results; with PrivateATE and PrivateMoments two forms of it."""


NEW = pd.DataFrame(
    {"y": [1.0, 2.0], "w": [0.5, -3.0], "t": [0.0, 1.0], "block": [1.0, 2.0],
     "x": [0.1, 0.2], "z": [1.0, 0.0]}
)  # fmt: skip
FORMULAS = [{"formula": text} for text in ("y ~ t + w", "y ~ w", "w ~ t", "y ~ 1")]
ARGUMENTS: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("check", "confirm"): [{"confirm": True}],
    ("contrast", "contrast"): [{"contrast": {"t": 1.0}}, {"contrast": "t"}],
    ("effect", "new_data"): [{"new_data": NEW}],
    ("glm", "formula"): [{"formula": "y ~ t + w"}],
    ("iv", "formula"): [{"formula": "y ~ [w ~ t]"}],
    ("lincom", "combination"): [{"combination": "t"}],
    ("lincom", "wanted"): [{"wanted": one} for one in ("t + x", "2*t", "t - w")],
    ("margins", "formula"): [{"formula": "y ~ t + w"}],
    ("margins", "variable", "data"): [{"variable": "t", "data": NEW}],
    ("ols", "formula"): FORMULAS,
    ("outcome_index", "outcomes"): [{"outcomes": ["y", "w"]}],
    ("plot_subgroups", "column"): [{"column": "t"}],
    ("predict", "new_data"): [{"new_data": NEW}],
    ("projection", "features"): [{"features": ["w"]}],
    ("propensity", "data"): [{"data": NEW}],
    ("regressors", "new_data"): [{"new_data": NEW}],
    ("save", "path"): [{"path": "saved.moments.json"}],
    ("shape", "feature"): [{"feature": "w"}],
    ("subgroup_effects", "column"): [{"column": "t"}],
    ("subgroup_means", "column"): [{"column": "t"}],
    ("to_docx", "path"): [{"path": "table.docx"}] if find_spec("docx") else [],
    ("value", "quantity"): [{"quantity": "n"}],
    ("wald_test", "hypothesis"): [{"hypothesis": "t = 0"}],
    ("wald_test", "wanted"): [{"wanted": "t = 0"}, {"wanted": ["t = 0", "x = 0"]}],
    ("without", "names"): [{"names": ["t"]}],
    ("with_row", "name"): [{"name": "Sample"}],
    ("write_dta", "path"): [{"path": "released.dta"}],
    ("in_words", "words"): [{"words": str.upper}],
}
"""By method and the arguments that it needs: what it is called with."""


def own_fits() -> dict[str, Callable[[], Any]]:
    """Return ordinary fits, by function."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"z": np.tile([0.0, 1.0], 100), "x": rng.normal(size=200)})
    data["t"] = np.where(rng.random(200) < 0.8, data["z"], 1 - data["z"])
    data["y"] = data["t"] + data["x"] + rng.normal(size=200)
    data["b"] = (data["y"] + rng.normal(size=200) > 0).astype(float)
    return {
        "ols": lambda: dprct.ols("y ~ t + x", data),
        "iv": lambda: dprct.iv("y ~ x + [t ~ z]", data),
        "logit": lambda: dprct.logit("b ~ t + x", data),
        "probit": lambda: dprct.probit("b ~ t + x", data),
        "poisson": lambda: dprct.poisson("b ~ t + x", data),
        "etable": lambda: dprct.etable([dprct.ols("y ~ t", data), dprct.ols("y ~ t + x", data)]),
        "balance_table": lambda: dprct.balance_table(data, treatment="t", columns=["x"]),
        "itt_table": lambda: dprct.itt_table(data, outcomes=["y"], arms=["t"]),
    }


@dataclass
class Asked:
    """A walk through everything that results give."""

    place: Path
    known: set[type] = field(default_factory=set)
    called: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def walk(self, thing: Any, path: str) -> None:
        """Ask for everything of the package that follows from ``thing``, each kind once."""
        if isinstance(thing, (list, tuple)):
            for place, one in enumerate(thing[:3]):
                self.walk(one, f"{path}[{place}]")
            return
        kind = type(thing)
        if not kind.__module__.startswith("dprct.") or kind in self.known:
            return
        if kind.__module__.startswith(FACTS) or inspect.isroutine(thing):
            return
        self.known.add(kind)
        for text in (str(thing), repr(thing), *self._pickled(thing, path)):
            self._check(text, path)
        for name in (name for name in dir(thing) if not name.startswith("_")):
            where = f"{path}.{name}"
            if not hasattr(thing, name):
                continue  # that an attribute is not there is said so
            value = self._done(lambda name=name: getattr(thing, name), where)
            if inspect.ismethod(value) and not isinstance(value.__self__, type):
                for words, arguments in self._arguments(name, value):
                    self.called.append(f"{kind.__name__}.{name}")
                    answer = self._done(lambda v=value, a=arguments: v(**a), f"{where}({words})")
                    self.walk(answer, f"{where}()")
            elif not callable(value):
                self.walk(value, where)

    def _arguments(self, name: str, method: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
        found = inspect.signature(method).parameters
        needed = [
            p.name
            for p in found.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        if needed:
            if not any(hasattr(method.__self__, offer) for offer in OFFERS):
                return  # a part of a result, whose own users know what to give it
            given = ARGUMENTS.get((name, *needed))
            if given is None:
                self.faults.append(f"{name}({', '.join(needed)}): ARGUMENTS has none for it")
            for each in given or ():
                paths = {key: self.place / str(one) for key, one in each.items() if key == "path"}
                yield str(each), {**each, **paths}
            return
        yield "", {}
        if "alpha" in found:
            for alpha in ALPHAS:
                yield f"{alpha=}", {"alpha": alpha}
        if "path" in found:
            yield "path", {"path": self.place / f"{name}-{len(self.called)}.txt"}

    def _done(self, deed: Callable[[], Any], where: str) -> Any:
        """Return what a deed gives; a refusal is an answer, any other error is a fault."""
        try:
            answer = deed()
        except DprctError as refusal:
            self._check(str(refusal), where)
            return None
        except Exception as error:  # whatever else it ends in
            self.faults.append(f"{where}: {type(error).__name__}: {str(error)[:200]}")
            return None
        if isinstance(answer, str):
            self._check(answer, where)
        return answer

    def _pickled(self, thing: Any, path: str) -> tuple[str, ...]:
        if hasattr(thing, "HOLDS_ROWS") or not hasattr(thing, "summary"):
            return ()
        again = self._done(lambda: pickle.loads(pickle.dumps(thing)), f"{path}, pickled")
        if again is not None and str(again) != str(thing):
            self.faults.append(f"{path}: another one comes back from a pickle")
        return (str(again),)

    def _check(self, text: str, path: str) -> None:
        if ADDRESS.search(text):
            self.faults.append(f"{path}: an address in memory, in {ADDRESS.split(text)[0][-60:]!r}")


def walked(result: Any, place: Path) -> Asked:
    """Return the walk through a result, with figures drawn and thrown away."""
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    asked = Asked(place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked.walk(result, type(result).__name__)
    plt.close("all")
    return asked


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_method_of_a_result_answers(name: str, subjects: Any, tmp_path: Path) -> None:
    subject = subjects[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = subject.fit(subject.make(subject.make_table()))
    asked = walked(result, tmp_path)
    assert not asked.faults, "\n".join(asked.faults)
    assert len(asked.called) >= 2


@pytest.mark.parametrize("name", own_fits())
def test_every_method_of_an_ordinary_result_answers(name: str, tmp_path: Path) -> None:
    asked = walked(own_fits()[name](), tmp_path)
    assert not asked.faults, "\n".join(asked.faults)
    assert len(asked.called) >= 5


def test_released_moments_come_back_from_a_file(subjects: Any, tmp_path: Path) -> None:
    subject = subjects["PrivateMoments"]
    found = subject.fit(subject.make(subject.make_table()))
    again = dprct.Moments.load(found.save(tmp_path / "released.moments.json"))
    pd.testing.assert_frame_equal(again.tidy(), found.tidy())


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (lambda self: 1 + "", "TypeError"),
        (lambda self: repr(object()), "an address in memory"),
        (lambda self: self.again(), "RecursionError"),
        (lambda self, unheard_of: 1, "ARGUMENTS has none"),
    ],
)
def test_faults_are_found(thing: Any, said: str, tmp_path: Path) -> None:
    offers = {"again": thing, "summary": lambda self: "", "__repr__": lambda self: "Made()"}
    made = type("Made", (), {**offers, "__module__": "dprct.made"})()
    asked = Asked(tmp_path)
    asked.walk(made, "made")
    assert said in "\n".join(asked.faults)


def test_every_class_is_walked_through(subjects: Any) -> None:
    assert {name.split(",")[0] for name in subjects} == {name.split(",")[0] for name in SUBJECTS}
