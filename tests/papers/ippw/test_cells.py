"""Draws are a function of their settings, and on the same data in every set-up of cells."""

from __future__ import annotations

import pandas as pd
import pytest

from papers.ippw.cells import EPSILONS, Cell, setups_of, title_of
from papers.ippw.samples import studies

STUDY = studies(None)["synthetic n1=500"]


@pytest.mark.parametrize("setup", setups_of(STUDY))
def test_a_cell_is_a_function_of_its_settings(setup: str) -> None:
    cell = Cell(STUDY.label, setup, 2, 1, "")
    found = cell.compute(STUDY)
    assert len(found) == 2 * len(EPSILONS)
    pd.testing.assert_frame_equal(found, cell.compute(STUDY))
    other = Cell(STUDY.label, setup, 2, 2, "")
    assert other.key != cell.key
    assert not found["estimate"].equals(other.compute(STUDY)["estimate"])
    assert cell.name.startswith("synthetic-n1-500-")
    assert title_of(setup)


def test_no_set_up_makes_copies_where_the_paper_does_not() -> None:
    assert "printed" not in setups_of(STUDY)
