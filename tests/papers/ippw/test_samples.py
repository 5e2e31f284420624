"""The data of the experiments, and what is public about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.errors import FileError
from dprct.io.stata import write_dta
from dprct.schema import Schema
from papers.ippw.samples import EFFECTS, MAIN_SIZE, TRUE_EFFECT, studies, synthetic
from papers.ippw.setups import setups_of

if TYPE_CHECKING:
    from pathlib import Path


def test_synthetic_rows_are_confounded_and_have_the_effect() -> None:
    sample = synthetic(40_000, np.random.default_rng(1))
    u = sample.X @ np.linalg.lstsq(sample.X, sample.y - sample.t, rcond=None)[0]
    assert sample.y[sample.t].mean() - sample.y[~sample.t].mean() > TRUE_EFFECT + 0.5
    resid = sample.y - TRUE_EFFECT * sample.t - u
    # independent of treatment: 6 standard errors
    assert abs(resid[sample.t].mean()) < 6 * 0.5 / 20_000**0.5


def test_streams_are_those_of_study_and_seed() -> None:
    one, other = list(studies(None).values())[:2]
    same = [study.stream(seed).random() for study, seed in ((one, 1), (one, 1))]
    assert same[0] == same[1]
    assert len({one.stream(1).random(), one.stream(2).random(), other.stream(1).random()}) == 3


def test_designs_of_other_effects_have_the_main_size_and_the_papers_set_up_alone() -> None:
    others = [one for one in studies(None).values() if one.effect != TRUE_EFFECT]
    assert [one.label for one in others] == [f"synthetic effect={e:g}" for e in EFFECTS]
    for one in others:
        assert (one.n1, setups_of(one)) == (MAIN_SIZE, ("once",))
        assert one.sample(0, np.random.default_rng(1)).truth == one.effect


def test_what_is_not_there_is_left_out_or_refused(tmp_path: Path) -> None:
    assert all(label.startswith("synthetic") for label in studies(tmp_path))
    with pytest.raises(FileError, match="is not a folder"):
        studies(tmp_path / "none")
    other = pd.DataFrame({"re78": [1.0, 2.0]})
    write_dta(other, Schema.from_frame(other), tmp_path / "nsw.dta")
    with pytest.raises(FileError, match=r"give nsw\.dta"):
        studies(tmp_path)["lalonde"].sample(0, np.random.default_rng(1))
    (tmp_path / "ihdp_npci_1-100.npz").write_bytes(b"nor of numpy")
    with pytest.raises(FileError, match="give the IHDP file"):
        studies(tmp_path)["ihdp"].sample(0, np.random.default_rng(1))


def test_ihdp_and_lalonde_have_their_known_effects(shared: Path) -> None:
    there = studies(shared / "data")
    rng = np.random.default_rng(1)
    first, ninth = (there["ihdp"].sample(draw, rng) for draw in (0, 8))
    assert (round(first.truth, 3), round(ninth.truth, 3)) == (4.016, 10.466)
    assert int(first.t.sum()) == 139
    assert there["ihdp"].sample(100, rng).truth == first.truth
    lalonde = there["lalonde"].sample(0, rng)
    assert round(lalonde.truth) == 886
    for study in (there["ihdp"], there["lalonde"]):
        sample = study.sample(0, rng)
        low, high = np.array(study.x_bounds).T
        assert np.mean(sample.X.clip(low, high) == sample.X) > 0.999
        assert np.mean(np.linalg.norm(sample.X, axis=1) <= study.norm) > 0.99
        assert len(study.digest()) == 64
