"""Two spellings of one regression are one regression."""

import pytest

from dprct.certificate.valid_regressions import Specification, term_key, terms_of
from dprct.formula import parse


@pytest.mark.parametrize(
    ("one", "other"), [("a:b", "b:a"), ("I(age**2)", "I(age ** 2)"), ("`age`", "age")]
)
def test_one_term_has_one_key(one, other):
    assert term_key(one) == term_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("a", "C(a)"), ("a", "b"), ("a:b", "a"), ("a*b", "a:b")]
)
def test_other_terms_have_other_keys(one, other):
    assert term_key(one) != term_key(other)


def test_products_are_written_out_and_absorbed_effects_are_factors():
    assert terms_of(parse("y ~ t*x - 1"), ["town"]) == ("t", "x", "t:x", "C(town)")


def test_errors_in_words():
    assert Specification(outcome="y", terms=()).errors == "HC1"
    assert Specification(outcome="y", terms=(), cov_type="cluster", cluster="v").errors == (
        "clusters v"
    )
