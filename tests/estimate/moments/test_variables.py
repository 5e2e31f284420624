"""Which columns a formula needs of a release, and their bounds: by the schema alone."""

from __future__ import annotations

from typing import Any

import pytest

from dprct import Column, Schema
from dprct.errors import FormulaError, ParameterError
from dprct.estimate.moments.variables import (
    check_count,
    instrumented,
    key_of,
    listed_terms,
    main_part,
    regressors_of,
    variable_of,
)
from dprct.formula import parse

NEVER: Any = {"missing": ()}
SCHEMA = Schema(
    (
        Column("pay", bounds=(-2.0, 6.0), **NEVER),
        Column("years", bounds=(0.0, 5.0), **NEVER),
        Column("zone", "byte", levels=(3.0, 1.0, 2.0), **NEVER),
        Column("town", "str4", levels=("east", "west"), **NEVER),
        Column("boss", "byte", levels=(0.0, 1.0), **NEVER),
    )
)


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("pay ~ years", ["Intercept", "years"]),
        ("pay ~ town - 1", ["town[east]", "town[west]"]),
        ("pay ~ C(zone)", ["Intercept", "C(zone)[T.1]", "C(zone)[T.2]"]),
        ("pay ~ boss:years", ["Intercept", "boss:years"]),
        (
            "pay ~ C(zone):C(town)",  # all cells, as a factor of them has
            [
                "Intercept",
                "C(town)[T.west]",
                "C(zone)[T.1]:C(town)[east]",
                "C(zone)[T.2]:C(town)[east]",
                "C(zone)[T.1]:C(town)[west]",
                "C(zone)[T.2]:C(town)[west]",
            ],
        ),
        ("pay ~ years*town", ["Intercept", "years", "town[T.west]", "years:town[T.west]"]),
    ],
)
def test_regressors_have_the_names_of_ordinary_fits(formula: str, names: list[str]) -> None:
    assert [one.name for one in regressors_of(formula, SCHEMA)] == names


def test_a_level_is_found_by_its_value_however_levels_are_listed() -> None:
    found = {one.name: one.atoms for one in regressors_of("pay ~ C(zone)", SCHEMA)}
    assert found["C(zone)[T.1]"][0].value == 1.0
    assert found["C(zone)[T.1]"][0].level == 0


@pytest.mark.parametrize(
    ("term", "bounds"),
    [
        ("pay", (-2, 6)),
        ("I(pay ** 2)", (0, 36)),
        ("I(pay ** 3)", (-8, 216)),
        ("pay:years", (-10, 30)),
        ("pay:boss", (-2, 6)),
        ("I(pay * years ** 2)", (-50, 150)),
    ],
)
def test_bounds_of_products(term: str, bounds: tuple[float, float]) -> None:
    (found,) = listed_terms([term], SCHEMA)
    assert variable_of(found.name, found.atoms, SCHEMA, {}).bounds == bounds


def test_the_order_of_factors_and_a_level_twice_make_no_difference() -> None:
    one, other = (listed_terms([text], SCHEMA)[0] for text in ("pay:boss", "boss:pay"))
    assert key_of(one.atoms) == key_of(other.atoms)
    level = regressors_of("pay ~ C(zone)", SCHEMA)[1].atoms
    assert key_of((*level, *level)) == key_of(level)
    years = listed_terms(["years"], SCHEMA)[0].atoms
    assert key_of((*years, *years)) != key_of(years)


@pytest.mark.parametrize("term", ["I(pay / years)", "I(pay + years)", "I(pay ** 5)", "I(2 * pay)"])
def test_what_is_no_product_is_refused(term: str) -> None:
    with pytest.raises(FormulaError, match="not a product of columns"):
        listed_terms([term], SCHEMA)


def test_parts_of_a_formula() -> None:
    parsed = parse("pay ~ years + [boss ~ town] | zone", structural=True)
    assert [term[0].label for term in main_part(parsed).terms] == ["years", "C(zone)"]
    endogenous, instruments = instrumented(parsed)  # type: ignore[misc]
    assert [one.name for one in regressors_of(endogenous, SCHEMA)] == ["Intercept", "boss"]
    assert [one.name for one in regressors_of(instruments, SCHEMA)] == ["Intercept", "town[T.west]"]
    assert instrumented(parse("pay ~ years")) is None


def test_too_many_numbers_are_refused_with_what_would_fit() -> None:
    found = [variable_of("pay", listed_terms(["pay"], SCHEMA)[0].atoms, SCHEMA, {})] * 9
    assert check_count(found, 2, 200) == 200
    with pytest.raises(ParameterError, match=r"200 numbers.*about 8 columns"):
        check_count(found, 2, 199)
