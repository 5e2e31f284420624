"""The odds that a page states, against mechanisms that reach them."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dprct.certificate.page import odds_words
from dprct.privacy.budget import Budget, Guarantee, Relation


def guarantee(epsilon: str, delta: str = "0", relation: Relation = "replace-one") -> Guarantee:
    return Guarantee.of(Budget(Fraction(epsilon), Fraction(delta)), relation, unit="child")


def stated(words: str, pattern: str) -> float:
    found = re.search(pattern, words)
    assert found is not None, words
    return float(found[1].replace(",", ""))


@pytest.mark.parametrize("epsilon", ["1/10", "1/4", "1", "2", "8", "16"])
def test_randomised_response_reaches_what_is_stated(epsilon: str) -> None:
    words = odds_words(guarantee(epsilon))[0]
    factor = stated(words, r"= ([\d,.]+), up or down")
    truth = math.exp(float(Fraction(epsilon)))  # of P(answer | yes) / P(answer | no)
    assert truth <= factor <= 1.011 * truth
    if truth < 100:
        risen = stated(words, r"become at most ([\d.]+) %") / 100
        assert truth / (1 + truth) <= risen <= truth / (1 + truth) + 0.01


def test_a_factor_never_ends_at_certainty() -> None:
    assert "first three digits" in odds_words(guarantee("20"))[0]
    assert "e^5000" in odds_words(guarantee("5000"))[0]


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1/1000"), ("1", "1/100"), ("2", "1/20")])
def test_with_delta_the_exception_is_as_rare_as_stated(epsilon: str, delta: str) -> None:
    """The law that is worst for (epsilon, delta): betrayal with delta, else randomised response."""
    first, test, _ = odds_words(guarantee(epsilon, delta))
    eps, d = float(Fraction(epsilon)), float(Fraction(delta))
    truthful = (1 - d) * math.exp(eps) / (1 + math.exp(eps))
    yes = np.array([d, truthful, 1 - d - truthful, 0.0])
    no = yes[::-1]
    factor = stated(first, r"= ([\d,.]+), up or down")
    with np.errstate(divide="ignore"):
        ratio = yes / no
    rare = float(yes[(ratio > factor) | (ratio < 1 / factor)].sum())
    exception = stated(first, r"= ([\d.e-]+): then the odds")
    proved = 2 * d / -math.expm1(-eps)  # for every law, of which this one is an example
    assert 0 < rare <= proved <= exception * (1 + 1e-12) <= 1.011 * proved
    assert factor == pytest.approx(math.exp(2 * eps), rel=0.011)
    power = stated(test, r"at most ([\d.]+) % of cases") / 100
    best = d + min(0.05, 1.0) * math.exp(eps)
    assert best <= power <= best + 0.01


def test_an_exception_that_says_nothing_is_left_out() -> None:
    words = odds_words(guarantee("1/100", "1/10"))
    assert len(words) == 2
    assert words[0].startswith("Put as a test")


@pytest.mark.parametrize(
    ("relation", "subject", "known"),
    [
        ("replace-one", "the data of one child", "is in the data counts as known"),
        ("replace-one-design-public", "the outcomes and covariates of one child", "in which arm"),
        ("add-remove", "whether one child is in the data at all", "at most its square"),
    ],
)
def test_the_subject_is_that_of_the_relation(relation: Relation, subject: str, known: str) -> None:
    words = " ".join(odds_words(guarantee("1", relation=relation)))
    assert f"any statement about {subject} change" in words
    assert known in words
    assert "already knows the data of everyone else" in words


def test_without_a_guarantee_nothing_is_promised() -> None:
    (words,) = odds_words(Guarantee.none("edges come from the data"))
    assert words.startswith("Nothing is promised")
    assert "factor" not in words
