"""No option of a strict method is without a case, nor any word that an option allows."""

from __future__ import annotations

import inspect
import re
import sys
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import pytest

import dprct
from dprct import published
from dprct.privacy.budget import Budget
from dprct.study.prepare import STEPS
from dprct.study.restack import Reshape

from .cases import CASES, GIVEN, STEPS_GIVEN
from .neighbours import PRIVATE_ARMS
from .test_published import CASES as PUBLISHED_CASES
from .test_published import FLOATING, WITHOUT_GUARANTEE

if TYPE_CHECKING:
    from types import ModuleType

STRICT = [
    dprct.MVHistogram,
    dprct.Marginals,
    dprct.Calibrated,
    dprct.PrivateATE,
    dprct.IPW,
    dprct.CATE,
    dprct.PrivateAdditive,
    dprct.PrivateMoments,
    dprct.SyntheticControl,
]
BOUND = {"self", "data", "schema"}
NO_CHOICE: dict[tuple[type, str], set[Any]] = {
    (dprct.PrivateATE, "neighbors"): {"replace-one", "replace-one-design-public"},
    (dprct.Calibrated, "neighbors"): {"replace-one", "replace-one-design-public"},
    (dprct.IPW, "neighbors"): {"replace-one", "replace-one-design-public"},
    (dprct.PrivateMoments, "neighbors"): {"replace-one", "replace-one-design-public"},
    (dprct.PrivateMoments, "radius"): {"box"},
}
"""Words of options whose annotation does not list them."""


def options(method: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor that are options."""
    found = inspect.signature(method).parameters
    return {name: p for name, p in found.items() if name not in BOUND}


def words(method: type, option: inspect.Parameter) -> set[Any]:
    """Return the words that the annotation of an option allows."""
    home = vars(sys.modules[method.__module__])
    found = set(NO_CHOICE.get((method, option.name), ()))
    for name in re.findall(r"[A-Za-z_]+", str(option.annotation)):
        found |= _literals(home.get(name) or _alias(name, method))
    found |= set(re.findall(r"'([^']+)'", str(option.annotation))) - {"None"}
    return found


def _alias(name: str, method: type) -> Any:
    """Return an alias that the module imports for type checkers only."""
    source = inspect.getsource(sys.modules[method.__module__])
    line = re.search(rf"^\s+from (dprct[\w.]+) import .*\b{name}\b", source, re.MULTILINE)
    module: ModuleType | None = sys.modules.get(line[1]) if line else None
    return getattr(module, name, None)


def _literals(alias: Any) -> set[Any]:
    if get_origin(alias) is Literal:
        return set(get_args(alias))
    return set().union(*(_literals(part) for part in get_args(alias))) if alias else set()


@pytest.mark.parametrize("method", STRICT, ids=lambda method: method.__name__)
def test_every_option_has_a_case(method: type) -> None:
    given: dict[str, list[Any]] = {}
    for one in GIVEN[method]:
        for name, value in one.items():
            given.setdefault(name, []).append(value)
    asked = options(method)
    assert set(asked) <= set(given), f"no case gives {set(asked) - set(given)}"
    for name, option in asked.items():
        said = {value for value in given[name] if isinstance(value, (str, bool))}
        default = {option.default} if isinstance(option.default, str) else set()
        missing = words(method, option) - said - default
        assert not missing, f"no case gives {name}={missing}"
        if isinstance(option.default, bool):
            assert (not option.default) in said, f"no case gives {name}={not option.default}"


def test_every_step_that_changes_rows_has_a_case() -> None:
    assert {type(step) for step in STEPS_GIVEN} == {*STEPS.values()}
    ways = {step.reshape for step in STEPS_GIVEN if isinstance(step, Reshape)}
    assert ways == {*get_args(get_type_hints(Reshape)["reshape"])}


def test_words_are_found_in_annotations() -> None:
    found = {
        (method.__name__, name): words(method, option)
        for method in STRICT
        for name, option in options(method).items()
    }
    assert found["IPW", "estimand"] == {"ate", "att", "atc"}
    assert found["CATE", "learner"] == {"dr", "r", "s", "t"}
    assert found["SyntheticControl", "noise"] == {"laplace", "gaussian", "concentrated"}
    assert found["SyntheticControl", "donor_weights"] == {"ridge", "uniform", "auto"}
    assert found["PrivateATE", "effects"] == {"arms", "main", "factorial"}
    assert found["PrivateATE", "blocks"] == {"weight", "ignore"}
    assert found["Calibrated", "covariate_release"] == {"auto", "histogram", "marginals", "filler"}
    assert found["Calibrated", "gamma"] == {"zero", "moments"}


def test_every_public_method_is_here() -> None:
    """A public class with ``fit`` and ``guarantee`` is audited, or has no guarantee."""
    for home, known in ((dprct, set(STRICT)), (published, {*FLOATING, *WITHOUT_GUARANTEE})):
        for name in home.__all__:
            thing = getattr(home, name)
            if isinstance(thing, type) and {"fit", "guarantee"} <= set(dir(thing)):
                assert thing in known, f"{name} has no case"


@pytest.mark.parametrize("method", FLOATING, ids=lambda method: method.__name__)
def test_every_option_of_a_published_guarantee_has_a_case(method: type) -> None:
    given: dict[str, set[Any]] = {}
    for case in PUBLISHED_CASES.values():
        if case.method is method:
            for name, value in case.given.items():
                given.setdefault(name, set()).add(repr(value))
    asked = set(options(method))
    assert asked <= set(given), f"no case gives {asked - set(given)}"


def test_private_treatment_has_one_in_an_arm_and_none() -> None:
    """What is refused, warned or drawn by the size of an arm is seen where an arm is empty."""
    hidden = [case for case in CASES.values() if {"t", "t2"} & set(case.private)]
    assert len(hidden) > 40
    for case in hidden:
        assert {*PRIVATE_ARMS[1:]} < {*case.arms}, case.name


def test_scores_of_every_kind_of_error_are_replayed_at_size() -> None:
    """Of a few rows scores are zero, so that nothing is known of them."""
    option = options(dprct.PrivateMoments)["cov_type"]
    asked = {option.default, *words(dprct.PrivateMoments, option)}
    cases = [case for name, case in CASES.items() if "PrivateMoments: " in name]
    pairs_of = zip(cases, GIVEN[dprct.PrivateMoments], strict=True)
    given = {one.get("cov_type") for case, one in pairs_of if case.least >= 0.5}
    assert given == asked - {"nonrobust"}  # which has no scores
    for case in cases:
        assert not case.least or (min(case.sizes) >= 1000 and min(case.epsilons) >= 8), case.name


def test_cases_have_names_of_their_methods() -> None:
    assert len(CASES) == sum(map(len, GIVEN.values()))
    assert Budget(1)


def test_every_fact_of_a_column_that_a_fit_uses_has_a_case() -> None:
    told: dict[str, set[Any]] = {}
    for case in CASES.values():
        for facts in case.facts.values():
            for fact, value in facts.items():
                told.setdefault(fact, set()).add(str(value))
    assert {"sd", "sd_within", "centre", "clip", "missing_policy"} <= {*told}
    assert {"public", "private", "0.5"} <= told["missing_policy"]


@pytest.mark.parametrize(
    "method", [dprct.PrivateATE, dprct.Calibrated], ids=lambda one: one.__name__
)
def test_every_fact_of_a_design_has_a_case(method: type) -> None:
    designs = [given["assignment"] for given in GIVEN[method] if given.get("assignment")]
    for fact in ("largest", "icc", "cluster_mean_bounds"):
        assert any(getattr(design, fact, None) is not None for design in designs), fact
