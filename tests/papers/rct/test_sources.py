from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dprct.errors import FileError
from papers.rct.simulated import generate
from papers.rct.sources import Source, find_sources

if TYPE_CHECKING:
    from pathlib import Path


def test_without_a_folder_the_simulations_are_generated() -> None:
    found = find_sources(None, seed=3)
    assert {study: one.generated for study, one in found.items()} == {"sim1": True, "sim2": True}
    assert found["sim1"].frame().shape == (1000, 10)


def test_data_are_known_by_their_values() -> None:
    one, again, other = (Source("sim1", None, seed) for seed in (1, 1, 2))
    assert one.digest() == again.digest() != other.digest()


def test_a_file_goes_before_the_generator(tmp_path: Path) -> None:
    import numpy as np

    generate(4, np.random.default_rng(5)).to_csv(tmp_path / "sim1_confidential.csv", index=False)
    found = find_sources(tmp_path, seed=1)
    assert not found["sim1"].generated
    assert found["sim2"].generated
    assert "liberia" not in found
    assert found["sim1"].models()["Table 1"].effects(found["sim1"].frame())["df"].item() == 990


def test_a_folder_with_nothing_of_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"holds none of .*liberia_round5\.dta"):
        find_sources(tmp_path, seed=1)
    with pytest.raises(FileError, match="is not a folder"):
        find_sources(tmp_path / "x", seed=1)
