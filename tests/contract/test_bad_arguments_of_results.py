"""Every method of every result, given something senseless in the place of each argument in turn.

Results, methods and good calls are those of ``test_results_at_length``.
"""

from __future__ import annotations

import inspect
import random
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dprct
from dprct.errors import DprctError

from .test_bad_arguments import BAD
from .test_results_at_length import OFFERS, SUBJECTS, Asked, own_fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

QUICK = 2
"""Senseless values of each argument in the tests; ``make check-all`` gives all of them."""


class Senseless(Asked):
    """A walk that also gives each argument of each method what no one means."""

    most = QUICK
    tried = 0

    def _arguments(self, name: str, method: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
        calls = [*super()._arguments(name, method)]
        yield from calls
        if not calls or not any(hasattr(method.__self__, offer) for offer in OFFERS):
            return
        good = dict(calls[0][1])
        for argument in inspect.signature(method).parameters.values():
            if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
                continue
            some = random.Random(f"{name} {argument.name}").sample(sorted(BAD), self.most)
            for what in some:
                self.tried += 1
                self._give(method, name, good | {argument.name: BAD[what]}, argument.name, what)

    def _give(self, method: Any, name: str, given: Any, argument: str, what: str) -> None:
        import matplotlib.pyplot as plt

        try:
            method(**given)
        except DprctError:
            pass
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:80]!r}"
            self.faults.append(
                f"{type(method.__self__).__name__}.{name}({argument}={what}): {said}"
            )
        finally:
            plt.close("all")


FAR = (10, 1e-6)


def released_fits() -> dict[str, Callable[[], Any]]:
    """Return what no subject of the contract has: declared regressions, scores, a doubly robust
    effect, and a file that carries regressions.
    """
    rng, n = np.random.default_rng(3), 8_000
    data = pd.DataFrame({"t": rng.permutation(n) % 2.0, "x": rng.uniform(-1, 1, n)})
    data["y"] = (data["t"] + data["x"] + rng.normal(size=n)).clip(-3, 3)
    data["w"], data["b"] = -data["y"], (data["y"] > 0) * 1.0
    two: Any = {"type": "byte", "levels": (0.0, 1.0), "missing": ()}
    number: Any = {"bounds": (-3, 3), "sd": 1.0, "missing": ()}
    schema = dprct.Schema((
        dprct.Column("t", fate="public", **two), dprct.Column("b", fate="withheld", **two),
        *(dprct.Column(name, fate="modelled", **number) for name in ("x", "y", "w")),
    ))  # fmt: skip
    known: Any = {"assignment": dprct.Complete("t", counts=n // 2)}
    of, public = dprct.Regression, known | {"neighbors": "replace-one-design-public"}
    joint = [of("y ~ t + x", joint="both"), of("w ~ t", joint="both", name="alone"), "y ~ t*x"]
    logit = [of("b ~ t + x", family="logit")]
    weighted: Any = {"outcome": "y", "treatment": "t", "covariates": ["x"], "estimator": "aipw"}
    carried = ["y ~ t + x", "w ~ t"]
    return {
        "declared": lambda: dprct.PrivateMoments(data, schema, formulas=joint, **public).fit(*FAR),
        "scored": lambda: dprct.PrivateMoments(data, schema, formulas=logit, **public).fit(*FAR),
        "aipw": lambda: dprct.IPW(data, schema, **weighted).fit(*FAR),
        "carried": lambda: dprct.Calibrated(data, schema, formulas=carried, **known).fit(*FAR),
    }


@pytest.mark.parametrize("name", [*SUBJECTS, *own_fits(), *released_fits()])
@pytest.mark.parametrize(
    "most", [QUICK, pytest.param(len(BAD), marks=pytest.mark.torture)], ids=["some", "all"]
)
def test_a_method_refuses_in_a_sentence_or_works(
    name: str, most: int, subjects: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    own = own_fits() | released_fits()
    asked = Senseless(tmp_path)
    asked.most = most
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in own:
            result = own[name]()
        else:
            result = subjects[name].fit(subjects[name].make(subjects[name].make_table()))
        asked.walk(result, name)
    assert not asked.faults, f"{len(asked.faults)} faults:\n" + "\n".join(asked.faults)
    assert asked.tried or name.startswith("published.")


def of_published() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return a good call of each published building block, and of its methods."""
    budget, x = dprct.Budget(1, 1e-5), np.array([0.1, 0.2, 0.4])
    blocks: dict[str, dict[str, Any]] = {
        "ControlError": {
            "n": 10, "T0": 8, "K": 2, "lam": 5.0, "eps1": 1.0, "eps2": 1.0, "sigma": 0.1,
            "perturb": "output", "delta": 0.0, "c": None, "psi": None, "printed": False,
        },
        "DPRange": {"sd": 1.0, "epsilon": 1, "delta": 0, "v": 50.0, "alpha": 0.05},
        "DPVariance": {"epsilon": 1, "delta": 0, "sigma_min": 0.001, "sigma_max": 1000.0},
        "Gaussian": {"epsilon": 0.5, "delta": 1e-5, "sensitivity": 1},
        "Laplace": {"epsilon": 1, "sensitivity": 1},
        "RandomizedResponse": {"epsilon": 1, "levels": ["a", "b"]},
        "SignRisk": {
            "n1": 1000, "n2": 1000, "covariates": 3, "lam": 0.1, "epsilon": 1.0, "delta": 1e-5,
            "radius": 1.0, "trim": 0.1,
        },
        "parallel_delta": {"budgets": [budget], "epsilon": 0.5},
        "parallel_tradeoff": {"budgets": [budget], "alpha": x},
    }  # fmt: skip
    given = {
        "answers": ["a", "b"], "told": ["a", "b"], "values": 100, "x": x,
        "rng": np.random.default_rng(1),
    }  # fmt: skip
    found = {name: (getattr(dprct.published, name), of) for name, of in blocks.items()}
    for name, (function, of) in [*found.items()]:
        if inspect.isclass(function):
            made = function(**of)
            for method in (one for one in dir(made) if not one.startswith("_")):
                call = getattr(made, method)
                if inspect.ismethod(call):
                    parameters = inspect.signature(call).parameters
                    own = {
                        one: given.get(one, 0.5) if p.default is p.empty else p.default
                        for one, p in parameters.items()
                    }
                    found[f"{name}.{method}"] = call, own
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", of_published())
def test_a_published_building_block_refuses_in_a_sentence_or_works(name: str) -> None:
    function, good = of_published()[name]
    function(**good)
    faults = []
    for argument in good:
        for what, value in BAD.items():
            try:
                function(**good | {argument: value})
            except DprctError:
                pass
            except Exception as error:
                faults.append(f"{argument}={what}: {type(error).__name__}: {str(error)[:80]!r}")
    assert not faults, "\n".join(faults)
