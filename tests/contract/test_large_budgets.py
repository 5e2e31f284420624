"""Budgets that promise little: said first, and a delta above 1/n refused unless it is meant."""

from __future__ import annotations

import re
from typing import Any

import pytest

import dprct
from dprct.errors import ConfirmationError, ParameterError

LARGE = re.compile(r"delta=[0-9.e-]+ is above 1/n = 1/[0-9]+: ")


def test_a_delta_above_one_in_n_is_refused_before_anything_is_charged(strict: Any) -> None:
    if not strict.delta:
        pytest.skip("the subject is pure")
    model, accountant = strict.make(strict.make_table()), dprct.Accountant(99, 0.9)
    for deed in (model.plan, lambda *a: model.fit(*a, accountant=accountant, confirm=True)):
        for delta in (1.5 / model.n, 0.45):  # no grid of moments serves the second
            with pytest.raises(ConfirmationError, match=r"is above 1/n.*accept_large_delta=True"):
                deed(strict.epsilon, delta)
    assert not accountant.ledger
    said = model.plan(strict.epsilon, 1.5 / model.n, accept_large_delta=True).caution
    assert LARGE.match(said)
    assert not model.plan(strict.epsilon, 0.9 / model.n).caution


def test_what_promises_little_says_so_first(strict: Any) -> None:
    model = strict.make(strict.make_table())
    asked = {"delta": 1.5 / model.n, "accept_large_delta": True} if strict.delta else {}
    first = LARGE if asked else re.compile("epsilon=12 is above 10")
    assert first.match(str(model.plan(12, **asked)).replace("\n", " "))
    guarantee = model.guarantee(dprct.Budget(12, asked.get("delta", 0)))
    assert first.match(str(guarantee))
    assert "epsilon=12 is above 10" in guarantee.sentence()
    assert type(guarantee).from_dict(guarantee.to_dict()) == guarantee
    assert not model.plan(10, strict.delta).caution


@pytest.mark.filterwarnings("ignore::dprct.errors.DprctWarning")
def test_a_release_carries_it_into_its_certificate_and_its_file(tmp_path: Any) -> None:
    from .registry import SUBJECTS

    subject = SUBJECTS["MVHistogram, delta"]
    model = subject.make(subject.make_table())
    release = model.fit(1, 0.2, accept_large_delta=True, confirm=True)
    assert release.certificate().to_text().splitlines()[0].startswith("delta=0.2 is above 1/n")
    release.write_dta(tmp_path / "made.dta")
    _, schema = dprct.read_dta(tmp_path / "made.dta")
    assert any(LARGE.search(text) for _, _, text in schema.file.characteristics)
    assert LARGE.match((tmp_path / "made.certificate.txt").read_text("utf-8").replace("\n", " "))


def test_where_nothing_is_promised_delta_is_a_parameter() -> None:
    from .registry import SUBJECTS

    subject = SUBJECTS["published.CATE"]
    plan = subject.make(subject.make_table()).plan(12, 0.2)
    assert not plan.caution


@pytest.mark.parametrize("flag", [1, "yes", None])
def test_the_tick_is_true_or_false(flag: Any) -> None:
    from .registry import SUBJECTS

    subject = SUBJECTS["MVHistogram, delta"]
    model = subject.make(subject.make_table())
    with pytest.raises(ParameterError, match=r"accept_large_delta is .*; give True or False"):
        model.plan(1, 0.2, accept_large_delta=flag)
