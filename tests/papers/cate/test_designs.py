from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dprct.errors import FileError
from papers.cate.designs import Design, designs, features_of, laws, voting_people

if TYPE_CHECKING:
    from pathlib import Path


SETUPS = ("A", "B", "B, constant effect", "C", "D", "E")


@pytest.mark.parametrize("name", SETUPS)
def test_samples_are_within_their_declared_bounds(name: str) -> None:
    design = designs(None)[name]
    sample = design.train(4000, np.random.default_rng(1))
    low, high = np.array([f[1:] for f in design.features]).T
    assert np.greater_equal(sample.X, low).all()
    assert np.less_equal(sample.X, high).all()
    # few outcomes are cut off: the bounds are those of the law
    assert np.isin(sample.y, design.bounds).mean() < 0.02
    assert set(np.unique(sample.t)) == {0.0, 1.0}


@pytest.mark.parametrize("name", SETUPS)
def test_outcomes_follow_baseline_propensity_and_effect(name: str) -> None:
    rng = np.random.default_rng(2)
    X = features_of(name, 200_000, rng)
    b, e, tau = laws(name, X)
    sample = designs(None)[name].train(200_000, rng)
    # means of two samples of 200,000, six standard errors apart at most
    for mine, theirs in ((tau, sample.tau), (e, sample.t), (b + e * tau, sample.y)):
        assert (
            abs(mine.mean() - theirs.mean()) < 6 * (np.hypot(mine.std(), theirs.std()) / 447) + 0.02
        )
    assert ((e > 0) & (e < 1)).all()


def test_effects_are_those_of_table_1() -> None:
    X = np.array([[0.5, -1.0, 2.0, 0.1, 0.2, 0.3]])
    wanted = {
        "A": -0.25,
        "B": 0.5 + np.log1p(np.exp(-1)),
        "B, constant effect": 1,
        "C": 1,
        "D": 1.5 - 0.3,
        "E": 1 / (1 + np.exp(0.5)) + 1 + 2 + 0.1 + 0.2 + 0.3,
    }
    assert {name: float(laws(name, X)[2][0]) for name in SETUPS} == pytest.approx(wanted)


@pytest.fixture
def voting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Design:
    monkeypatch.setattr("papers.cate.designs.MOST_TEST_ROWS", 4000)
    rng = np.random.default_rng(3)
    lines = ["sex,yearofbirth,primary2004,messages,primary2006,hhsize"]
    for k in range(9000):
        sex, arm = ("male", "female")[k % 2], ("Control", "Neighbors")[int(k % 9 == 0)]
        born, before, now = rng.integers(1920, 1988), rng.integers(2), rng.integers(2)
        lines.append(f"{sex},{born},{before},{arm},{now},{rng.integers(1, 4)}")
    with gzip.open(tmp_path / "social.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    return designs(tmp_path)["voting"]


def test_voting_is_spiked_with_a_known_effect(voting: Design) -> None:
    sample = voting.train(4000, np.random.default_rng(4))
    assert sample.t.mean() == 0.4
    assert set(np.unique(sample.tau == 0)) == {True, False}
    assert (sample.tau <= 0).all()
    treated, rest = sample.y[sample.t == 1].mean(), sample.y[sample.t == 0].mean()
    assert abs(treated - rest - sample.tau.mean()) < 6 * np.sqrt(0.25 / 1600 + 0.25 / 2400)
    assert treated - rest < -0.04


def test_who_is_tested_on_is_never_learnt_from(voting: Design) -> None:
    with pytest.raises(FileError, match="too few people"):
        voting.train(4001, np.random.default_rng(5))
    assert len(voting.test(1).y) == 4000


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="not a folder"):
        designs(tmp_path / "nowhere")
    with gzip.open(tmp_path / "social.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n")
    with pytest.raises(FileError, match="not the social pressure file"):
        designs(tmp_path)["voting"].test(1)


def test_only_people_without_a_letter_are_read(tmp_path: Path) -> None:
    file = tmp_path / "social.csv.gz"
    with gzip.open(file, "wt") as out:
        out.write(
            "sex,yearofbirth,primary2004,messages,primary2006,hhsize\n"
            "female,1966,1,Control,1,2\nmale,1950,0,Hawthorne,1,2\nmale,1980,0,Control,0,3\n"
        )
    people, voted = voting_people(file)
    np.testing.assert_array_equal(people, [[1, 40, 1, 2], [0, 26, 0, 3]])
    np.testing.assert_array_equal(voted, [1, 0])
