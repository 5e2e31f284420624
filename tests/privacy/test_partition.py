from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from dprct.privacy.noise import NoiseSource, Simulated, random_part, source

FALSE_ALARM = 1e-9


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("n", "size"), [(1, 0), (1, 1), (7, 7), (1000, 1), (70_000, 35_001)])
def test_a_part_has_the_size_asked_for(seed: int | None, n: int, size: int) -> None:
    inside = random_part(n, size, source(seed))
    assert (len(inside), inside.sum(), inside.dtype) == (n, size, np.dtype(bool))


def rejected(noise: NoiseSource, draws: int, *, tilt: float = 0.0) -> bool:
    """Whether the 15 sets of two of six places are not equally likely, a fault once in 1e9."""
    rng = np.random.default_rng(3)
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(draws):
        places = tuple(np.flatnonzero(random_part(6, 2, noise)))
        found[(0, 1) if rng.random() < tilt else places] += 1
    counts = np.array([*found.values()] + [0] * (15 - len(found)))
    return bool(stats.chisquare(counts).pvalue < FALSE_ALARM)


@pytest.mark.parametrize("seed", [None, 2])
def test_every_set_is_as_likely(seed: int | None) -> None:
    assert not rejected(source(seed), 8000)


def test_the_test_of_sets_sees_one_that_is_twice_as_likely() -> None:
    assert rejected(source(2), 8000, tilt=1 / 15)


def test_ties_are_broken_by_further_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits of two values only: nearly all places are tied, again and again."""
    rng = np.random.default_rng(5)
    monkeypatch.setattr(
        Simulated, "uniform_bytes", lambda _, size: rng.integers(0, 2, size).astype(np.uint8)
    )
    assert not rejected(source(1), 8000)
    assert random_part(1000, 333, source(1)).sum() == 333


def test_bytes_are_uniform_and_the_test_sees_those_that_are_not() -> None:
    for noise in (source(), source(4)):
        found = np.bincount(noise.uniform_bytes(100_000), minlength=256)
        assert len(found) == 256
        assert stats.chisquare(found).pvalue > FALSE_ALARM
    lacking = np.bincount(source(4).uniform_bytes(100_000) % 255, minlength=256)
    assert stats.chisquare(lacking).pvalue < FALSE_ALARM


def test_a_seed_decides_and_the_system_does_not_repeat() -> None:
    one, other = (random_part(500, 250, source(9)) for _ in range(2))
    assert np.array_equal(one, other)
    assert not np.array_equal(random_part(500, 250, source()), random_part(500, 250, source()))
