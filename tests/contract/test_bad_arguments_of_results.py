"""Every method of every result, given something senseless in the place of each argument in turn.

Results, methods and good calls are those of ``test_results_at_length``.
"""

from __future__ import annotations

import inspect
import random
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from dprct.errors import DprctError

from .test_bad_arguments import BAD
from .test_results_at_length import OFFERS, SUBJECTS, Asked, own_fits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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


@pytest.mark.parametrize("name", [*SUBJECTS, *own_fits()])
@pytest.mark.parametrize(
    "most", [QUICK, pytest.param(len(BAD), marks=pytest.mark.torture)], ids=["some", "all"]
)
def test_a_method_refuses_in_a_sentence_or_works(
    name: str, most: int, subjects: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    own = own_fits()
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
