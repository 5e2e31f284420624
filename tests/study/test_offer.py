"""One function offers and releases, whoever asks; the commands' tests try its refusals."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dprct.errors import ConfirmationError
from dprct.privacy.accountant import find_ledger
from dprct.study.offer import offered, refuse_unpromised
from dprct.study.ready import also_charged
from dprct.study.study import Study, load_study

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    for name in ("thornton_hiv.dta", "thornton.toml"):
        shutil.copy(DATA / name, tmp_path)
    return load_study(tmp_path / "thornton.toml")


def test_an_offer_costs_nothing_and_taking_it_charges(study: Study) -> None:
    offer = offered(study)
    offer.check()
    assert offer.words == "This charges epsilon=1 to the ledger of 'thornton-2008'."
    assert find_ledger(study.data, study.dataset_id) is None
    assert also_charged(study) == ""
    made = offer.taken()
    assert made.paths[0] == study.output
    assert all(path.exists() for path in made.paths)
    found = find_ledger(study.data, study.dataset_id)
    assert found is not None
    assert found.spent.epsilon == 1
    assert "another release takes its place; dprct protect --resume ENTRY" in offer.words


def test_only_the_approved_study_is_offered(study: Study) -> None:
    approved = offered(study).sha256
    assert offered(study, approved).sha256 == approved
    other = replace(study, release=replace(study.release, epsilon=0.5))
    with pytest.raises(ConfirmationError, match="not the one that was approved"):
        offered(other, approved)


def test_a_method_without_a_guarantee_is_accepted_or_refused(study: Study) -> None:
    other = replace(study, release=replace(study.release, method="published_mv_histogram"))
    with pytest.raises(ConfirmationError, match="no differential-privacy guarantee"):
        refuse_unpromised(other, accepted=False)
    refuse_unpromised(other, accepted=True)
    refuse_unpromised(study, accepted=False)
    assert "NO DP GUARANTEE" in offered(other).words
