"""Parts of the rows, and every learner: each finds a known effect where there is hardly noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dprct.errors import ParameterError
from dprct.estimate.additive.release import AdditiveSums, Cells
from dprct.estimate.additive.terms import terms_of
from dprct.estimate.cate.release import (
    ConstantEffect,
    LearnerForm,
    asked_effect,
    partition,
    released,
    shares_of,
    sizes_of,
)
from dprct.privacy.budget import Budget
from dprct.privacy.noise import source
from dprct.queries.additive import HALF_STEPS, CodedRows

BUDGET = Budget.asked(20, 1e-2)
HALF = Fraction(1, 2)
PARTS = {
    "all": {"effect": 30_000},
    "outcome": {"outcome": 10_000, "effect": 20_000},
    "both": {"propensity": 10_000, "outcome": 5_000, "effect": 15_000},
}


def form_of(schema, learner, parts, e, clip=8.0):
    terms = terms_of(schema, ["x1", "town"], bins=5, subgroups=["x2"])
    return LearnerForm(learner, terms, PARTS[parts], (-4.0, 4.0), clip, e, 0.1)


def learned(form, rows, budget, noise):
    return form.fits(released(form, form.allocation(budget), rows, noise))


def rows_of(e):
    """The effect is 1 - x1 / 2 (in codes), of south 1 more; e may depend on x1."""
    rng, n = np.random.default_rng(2), 30_000
    x1, town, x2 = (rng.integers(0, k, n).astype(np.int32) for k in (5, 2, 5))
    chance = np.full(n, 0.5) if e is not None else 0.3 + 0.1 * x1
    t = (rng.random(n) < chance).astype(float)
    y = 0.5 * x1 - 1 + t * (1 - x1 / 2 + town) + rng.normal(0, 0.3, n)
    return CodedRows([x1, town, x2], np.clip(y, -4, 4), t)


@pytest.mark.parametrize(
    ("learner", "parts", "e"),
    [
        ("dr", "all", HALF),
        ("dr", "outcome", HALF),
        ("dr", "both", None),
        ("r", "outcome", HALF),
        ("r", "both", None),
    ],
)
def test_the_effect_is_found(schema, learner, parts, e):
    found = learned(form_of(schema, learner, parts, e), rows_of(e), BUDGET, source(3))
    x1, town = (g.ravel().astype(np.int32) for g in np.meshgrid(np.arange(5), np.arange(2)))
    truth = 1 - x1 / 2 + town
    assert found["effect"].at([x1, town]) == pytest.approx(truth, abs=0.25)
    assert ("propensity" in found) == (parts == "both")


def test_nuisances_are_found(schema):
    found = learned(form_of(schema, "dr", "both", None), rows_of(None), BUDGET, source(3))
    x1, zero = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    assert found["propensity"].at([x1, zero]) == pytest.approx(0.3 + 0.1 * x1, abs=0.06)
    treated = found["outcome of the treated"].at([x1, zero])
    assert treated == pytest.approx(np.zeros(5), abs=0.3)


@pytest.mark.parametrize(
    ("learner", "names"),
    [("dr", ("outcome of the untreated", "outcome of the treated")), ("r", ("outcome",))],
)
def test_nuisances_are_kept_within_public_bounds(schema, learner, names):
    """What noise drives beyond them counts as the bound: a propensity of 0 divides nothing by 0."""
    form, part = form_of(schema, learner, "both", None), rows_of(None).with_arm()
    allocation, n = form.allocation(BUDGET), len(part.outcome)

    def average(propensity, outcome):
        values = {"propensity": propensity, **dict.fromkeys(names, outcome)}
        at = {name: np.resize(np.array(value), n) for name, value in values.items()}
        sums = asked_effect(form, allocation, part, at)(source(3))
        return form.fits({"effect": sums})["effect"].average

    beyond, kept = average([0.0, 1.0, -7.0], [-1e6, 1e6]), average([0.1, 0.9, 0.1], [-4.0, 4.0])
    assert beyond == kept
    assert average([0.2, 0.9, 0.1], [-4.0, 4.0]) != kept
    assert average([0.1, 0.9, 0.1], [-3.0, 4.0]) != kept


def test_an_s_learner_has_one_effect(schema):
    found = learned(form_of(schema, "s", "all", HALF), rows_of(HALF), BUDGET, source(3))
    effects = found["effect"].at([np.arange(5, dtype=np.int32), np.zeros(5, np.int32)])
    assert np.ptp(effects) == 0
    assert effects[0] == pytest.approx(0.5, abs=0.06)


def test_an_s_learner_pays_for_no_more_than_the_bounds_and_the_clip(schema):
    """Outcomes are at most 4 from the middle of their bounds, whatever R is."""
    clips = [
        form_of(schema, "s", "all", HALF, clip).allocation(BUDGET).layouts["effect"].clip
        for clip in (1.0, 8.0)
    ]
    assert clips == [1, 4]


def test_what_a_fit_releases_is_described_before(schema):
    form = form_of(schema, "dr", "both", None)
    layouts = form.allocation(Budget.asked(1, 1e-6)).layouts
    assert list(layouts) == ["propensity", "outcome", "effect"]
    assert [layout.clip for layout in layouts.values()] == [0.5, 4, 8]
    # everybody, two features and a group, 4 M^2 each, and the second moment
    assert layouts["effect"].l2_squared == 17 * HALF_STEPS**2
    assert layouts["outcome"].l2_squared == 13 * HALF_STEPS**2


@pytest.fixture
def effect(schema):
    terms = terms_of(schema, ["x1", "town"], bins=4, pairs=[("x1", "town")])
    everybody, arms = ConstantEffect.blocks(terms)
    cells = (
        Cells(everybody, None, np.array([70.0])),
        Cells(arms, np.array([50.0, 50.0]), np.array([10.0, 60.0])),
    )
    return ConstantEffect(terms, AdditiveSums(cells, 200.0, 100, 4.0, 2.0, 0.5, False))


def test_it_is_the_difference_of_means_for_everybody(effect):
    assert effect.average == pytest.approx(1.0)
    codes = [np.arange(4, dtype=np.int32), np.array([0, 1, 0, 1], np.int32)]
    assert effect.at(codes).tolist() == [1.0] * 4


def test_its_error_has_noise_of_sums_and_counts_and_sampling(effect):
    noise = (2 * 2.0**2 + (0.2**2 + 1.2**2) * 0.5**2) / 50**2
    assert effect.average_noise("noise").variance == pytest.approx(noise)
    sampling = 2 * effect.sums.largest_variance / 50
    assert effect.average_noise().variance == pytest.approx(noise + sampling)


def test_there_is_no_shape_to_ask_for(effect):
    with pytest.raises(ParameterError, match="the same effect for everybody"):
        effect.levels("x1")


THREE = {"propensity": 40, "outcome": 40, "effect": 80}


def test_defaults_are_the_published_ones():
    assert shares_of(None, known=False) == {
        "propensity": Fraction(1, 4), "outcome": Fraction(1, 4), "effect": Fraction(1, 2),
    }  # fmt: skip
    assert shares_of(None, known=True) == {"effect": 1}


@pytest.mark.parametrize(
    ("asked", "known", "words"),
    [
        ({"propensity": 0.5, "effect": 0.5}, True, "allowed here: outcome, effect"),
        ({"outcome": 0.5, "effect": 0.5}, False, "needed: effect, propensity"),
        ({"outcome": 1}, True, "needed: effect"),
        ({"outcome": 0, "effect": 1}, True, "above 0"),
        ({"outcome": 0.3, "effect": 0.6}, True, "sum to one"),
        ({"other": 0.5, "effect": 0.5}, True, "names other"),
    ],
)
def test_shares_that_make_no_partition_are_refused(asked, known, words):
    with pytest.raises(ParameterError, match=words):
        shares_of(asked, known=known)


def test_a_part_that_would_be_empty_is_refused():
    with pytest.raises(ParameterError, match="leaves 'outcome' with fewer than 2"):
        sizes_of({"outcome": Fraction(1, 1000), "effect": Fraction(999, 1000)}, 500)


def test_parts_are_disjoint_complete_and_of_the_fixed_sizes():
    parts = partition(THREE, source())
    assert {name: len(rows) for name, rows in parts.items()} == THREE
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(160))


def test_every_row_is_as_likely_in_every_part():
    """Each of 160 rows is in the effect half of 400 times, give or take 6.5 standard errors."""
    noise, seen = source(1), np.zeros(160)
    for _ in range(400):
        seen[partition(THREE, noise)["effect"]] += 1
    assert np.abs(seen - 200).max() < 6.5 * 10


def test_one_part_is_all_rows():
    assert partition({"effect": 10}, source()) == {"effect": None}
