from __future__ import annotations

import json
import pickle
from fractions import Fraction

import pandas as pd
import pytest

from dprct.errors import ParameterError
from dprct.privacy import Budget, Guarantee, Relation
from dprct.privacy.budget import RELATIONS


def one_of_each() -> list[Guarantee]:
    return [
        Guarantee.of(Budget(1), "replace-one", unit="person", public_facts=("n = 10",)),
        Guarantee.of(Budget(Fraction(1, 3), 1e-6), "add-remove"),
        Guarantee("zcdp", "replace-one", Budget(1, 1e-6), parameter=Fraction(1, 7)),
        Guarantee("gdp", "replace-one-design-public", Budget(1, 1e-6), parameter=Fraction(1, 5)),
        Guarantee.none("the outcome model is confidential", not_covered=("outcomes",)),
        Guarantee.of(Budget(1), "replace-one").as_simulation(),
    ]


@pytest.mark.parametrize("guarantee", one_of_each(), ids=lambda g: g.measure)
def test_json_and_pickle_bring_it_back(guarantee: Guarantee) -> None:
    assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee


def test_kind_follows_from_delta() -> None:
    assert Guarantee.of(Budget(1), "replace-one").measure == "pure"
    assert Guarantee.of(Budget(1, 1e-6), "replace-one").measure == "approximate"


@pytest.mark.parametrize(
    "arguments",
    [
        {"measure": "perfect"},
        {"measure": pd.Series([1.0, 2.0])},
        {"measure": "none"},
        {"measure": "pure", "relation": "replace-one"},
        {"measure": "pure", "budget": Budget(1)},
        {"measure": "pure", "relation": "swap", "budget": Budget(1)},
        {"measure": "pure", "relation": "replace-one", "budget": Budget(1, 1e-6)},
        {"measure": "zcdp", "relation": "replace-one", "budget": Budget(1, 1e-6)},
        {"measure": "gdp", "relation": "replace-one", "budget": Budget(1, 1e-6)},
    ],
)
def test_an_incomplete_claim_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Guarantee(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(RELATIONS))
def test_the_sentence_says_who_is_protected_and_how_strongly(relation: Relation) -> None:
    text = Guarantee.of(Budget(0.5, 1e-6), relation, unit="household").sentence()
    assert "epsilon=0.5, delta=1e-06" in text
    assert "one household" in text
    assert "{" not in text


def test_the_public_design_is_never_printed_as_replace_one() -> None:
    design = str(Guarantee.of(Budget(1), "replace-one-design-public"))
    assert "treatment, arm sizes, strata" in design
    assert design != str(Guarantee.of(Budget(1), "replace-one"))


def test_none_says_why_and_promises_nothing() -> None:
    guarantee = Guarantee.none("its levels come from the data")
    assert str(guarantee).startswith("No differential-privacy guarantee, because its levels")
    assert not guarantee.holds


def test_a_seed_voids_the_claim_in_words_too() -> None:
    real = Guarantee.of(Budget(1), "replace-one")
    void = real.as_simulation()
    assert real.holds
    assert not void.holds
    assert void.sentence().startswith("For simulation only, no guarantee")


def test_the_text_lists_public_facts_and_gaps() -> None:
    text = str(Guarantee.of(Budget(1), "replace-one", public_facts=("n",), not_covered=("dates",)))
    assert "takes as public: n." in text
    assert "does not protect: dates." in text


def test_gaussian_claims_print_their_parameter() -> None:
    claim = Guarantee("gdp", "replace-one", Budget(1, 1e-6), parameter=Fraction(1, 4))
    assert "mu=0.25" in claim.sentence()
