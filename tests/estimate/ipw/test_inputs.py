from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dprct import IPW
from dprct.errors import ParameterError
from dprct.estimate.ipw.model import arrays_as_table, terms_of
from dprct.formula import parse

X, T, Y = np.array([[0.0, 5.0], [1.0, -5.0]] * 50), np.array([0, 1] * 50), np.linspace(0, 3, 100)


def test_arrays_become_a_table_within_its_bounds() -> None:
    data, schema, names = arrays_as_table(X, T, Y, (0, 2), [(0, 1), (-2, 2)], ["a", "b"])
    assert names == ("a", "b")
    assert data["y"].between(0, 2).all()
    assert sorted(set(data["b"])) == [-2, 2]
    schema.validate(data)


def test_arrays_are_the_table() -> None:
    data, schema, names = arrays_as_table(X, T, Y, (0, 2), (-5, 5), None)
    one = IPW.from_arrays(X, T, Y, bounds=(0, 2), x_bounds=(-5, 5)).fit(5, 1e-4, rng=1)
    other = IPW(data, schema, treatment="t", covariates=names, outcome="y").fit(5, 1e-4, rng=1)
    assert one.params.equals(other.params)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((X[:5], T, Y, (0, 1), (0, 1)), "shapes"),
        ((X, T, Y, (0, 1, 2), (0, 1)), "bounds="),
        ((X, T, Y, (0, 1), [(0, 1)] * 3), "x_bounds="),
        ((X * np.nan, T, Y, (0, 1), (0, 1)), "finite"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(given: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        arrays_as_table(*given, None)


def test_names_and_terms_are_the_same() -> None:
    assert terms_of(["a", "b"]) == parse("t ~ a + b").terms
    assert terms_of("a") == parse("t ~ a").terms
