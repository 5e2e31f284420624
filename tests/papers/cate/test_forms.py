from __future__ import annotations

import numpy as np
import pytest

from papers.cate.designs import Design, designs
from papers.cate.forms import FORMS, Fits, constant_of, forms_of, schema_of, worst_case


def test_forms_that_need_a_known_propensity_are_for_randomised_designs_alone() -> None:
    there = designs(None)
    assert not any(FORMS[name].known for name in forms_of(there["A"]))
    assert set(forms_of(there["B"])) == set(FORMS)
    assert constant_of(there["A"]) in forms_of(there["A"])
    assert constant_of(there["B"]) == "constant"


def test_public_facts_are_the_designs() -> None:
    design = designs(None)["B"]
    schema = schema_of(design)
    assert schema.column("y").bounds == design.bounds
    assert schema.column("x1").bounds == (-3.0, 3.0)
    assert worst_case(design) == pytest.approx(30)


def mean_error(design: Design, form: str, n: int) -> float:
    test = design.test(1)
    fits, rng = Fits(design, [form], test.X), np.random.default_rng(1)
    errors = []
    for draw in range(3):
        for name, epsilon, effect in fits.on(design.train(n, rng), [1.0], draw):
            assert (name, epsilon) == (form, 1.0)
            errors.append(float(np.mean((effect - test.tau) ** 2)))
    return float(np.mean(errors))


def test_one_step_beats_the_constant_effect_where_the_effect_varies() -> None:
    design = designs(None)["B"]
    assert mean_error(design, "one-step", 16_000) < 0.25
    assert 1.1 < mean_error(design, "constant", 16_000) < 1.5


def test_one_step_does_not_lose_much_where_the_effect_is_constant() -> None:
    assert mean_error(designs(None)["B, constant effect"], "one-step", 16_000) < 0.15


@pytest.mark.parametrize("form", ["one-step r", "one-step, split", "constant, split"])
def test_a_seed_gives_the_same_effects(form: str) -> None:
    design = designs(None)["B"]
    test, sample = design.test(1), design.train(500, np.random.default_rng(2))
    first, again, other = (
        next(iter(Fits(design, [form], test.X[:50]).on(sample, [4.0], seed)))[2]
        for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_dp_ebm_and_learners_without_privacy_run() -> None:
    pytest.importorskip("interpret.privacy")
    design = designs(None)["B"]
    at, sample = design.test(1).X[:20], design.train(500, np.random.default_rng(2))
    for form in ("ebm s", "t, not private"):
        found = [effect for _, _, effect in Fits(design, [form], at).on(sample, [8.0], 3)]
        assert [effect.shape for effect in found] == [(20,)]
        assert np.isfinite(found[0]).all()
