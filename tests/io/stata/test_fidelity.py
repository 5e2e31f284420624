"""Real files of other people's software: nothing may change between reading and writing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dprct.io.stata import read_dta, read_header, write_dta

FIDELITY = [
    "datetime-d", "iris", "missing_test", "notes", "sample", "stata10_115", "stata10_117",
    "stata11_115", "stata11_117", "stata12_117", "stata14_118", "stata1_117", "stata2_115",
    "stata2_117", "stata3_115", "stata3_117", "stata4_115", "stata4_117", "stata5_115",
    "stata5_117", "stata6_115", "stata6_117", "stata7_115", "stata7_117", "stata8_115",
    "stata8_117", "stata9_115", "stata9_117", "tagged-na-double", "tagged-na-int", "test1_115",
    "test1_115b", "test1_117", "test1_118", "test2_115", "test2_115b", "test2_117", "test2_118",
    "types",
]  # fmt: skip
STUDIES = [
    "liberia/liberia_round5", "thornton/thornton_hiv", "lalonde/nsw", "lalonde/nsw_dw",
    "lalonde/cps_controls", "lalonde/psid_controls", "synthetic_control/synth_smoking",
]  # fmt: skip
FILES = [f"dta_fidelity/{name}" for name in FIDELITY] + STUDIES


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_identical_after_reading_and_writing(shared, tmp_path, same, name):
    source = shared / "data" / f"{name}.dta"
    table = read_dta(source)
    write_dta(*table, tmp_path / "copy.dta")
    same(table, read_dta(tmp_path / "copy.dta"))


@pytest.mark.parametrize("name", FILES)
def test_the_header_alone_says_the_same(shared, name):
    source = shared / "data" / f"{name}.dta"
    assert replace(read_header(source), opened=True) == read_dta(source)[1]


def test_the_list_is_complete(shared):
    there = {path.stem for path in (shared / "data" / "dta_fidelity").glob("*.dta")}
    assert there == set(FIDELITY)
    assert len(FIDELITY) == 39


def test_bytes_differ_only_in_what_stands_behind_a_nul(shared, tmp_path):
    """Stata leaves rubbish behind the NUL that ends a text; we write zeros, and only there."""
    for name in ("stata14_118", "stata5_115", "test2_115", "notes", "tagged-na-int"):
        source = shared / "data" / "dta_fidelity" / f"{name}.dta"
        write_dta(*read_dta(source), tmp_path / "copy.dta")
        theirs, ours = source.read_bytes(), (tmp_path / "copy.dta").read_bytes()
        assert len(theirs) == len(ours)
        assert all(b in (a, 0) for a, b in zip(theirs, ours, strict=True))
