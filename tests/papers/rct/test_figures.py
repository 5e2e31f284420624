from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from dprct.errors import MissingDependencyError
from papers.rct import draw_figures
from papers.rct.figures import NEEDS, Drawings, drawn_with
from papers.rct.printed import IMPLEMENTED, releases
from papers.rct.sources import find_sources

if TYPE_CHECKING:
    from pathlib import Path

    from papers.rct.printed import Asked

PNG = b"\x89PNG\r\n"


def effects_of(tables: tuple[int, ...], data: Path | None) -> Drawings:
    """Return releases whose effects are the confidential ones, the second moved by one."""
    sources = find_sources(data, 1)
    found: dict[Asked, pd.DataFrame] = {}
    for one in (one for table in tables for one in releases(table)):
        source = sources[one.study]
        own = source.models()[one.model].effects(source.frame())
        moved = own.assign(draw=1, estimate=own["estimate"] + 1)
        found[one] = pd.concat([own.assign(draw=0), moved], ignore_index=True)
    return Drawings(sources, found)


def test_a_figure_is_drawn_with_all_of_its_tables() -> None:
    assert drawn_with(IMPLEMENTED) == sorted(NEEDS)
    assert drawn_with([3, 7]) == []
    assert drawn_with([12]) == [10, 11, 12]


@pytest.mark.usefixtures("figures")
def test_figures_are_written_from_the_draws_of_their_table(tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    done: list[tuple[str, int, int]] = []
    written = draw_figures(tmp_path, [1], draws=2, progress=lambda *now: done.append(now))
    assert [path.name for path in written] == ["figure_03.png", "figure_18.png"]
    assert all(path.read_bytes().startswith(PNG) for path in written)
    assert plt.get_fignums() == []
    done.clear()
    draw_figures(tmp_path, [1], draws=2, progress=lambda *now: done.append(now))
    assert done[0] == ("kept from before", 15, 15)
    assert draw_figures(tmp_path / "none", [3], draws=2) == []


@pytest.mark.usefixtures("figures")
def test_models_are_beside_each_other_in_a_panel_per_method() -> None:
    drawings = effects_of((3, 4), None)
    panels = {number: drawings.draw(number) for number in (4, 5, 6)}
    titles = {n: [ax.get_title() for ax in axes] for n, axes in panels.items()}
    assert titles[6] == ["GenM-1"]
    assert (
        set(titles[4]) == {*titles[5], "GenM-1"} == {"MV Histogram", "Hybrid", "GenM-1", "GenM-2"}
    )
    one = panels[5][0]
    assert len(one.get_xticks()) == 11
    marks = np.asarray(one.collections[0].get_offsets())[:, 1]
    sim2 = drawings.sources["sim2"]
    spec = sim2.models()[one.get_xticklabels()[0].get_text()]
    assert marks[0] == pytest.approx(spec.effects(sim2.frame())["estimate"].iloc[0])
    assert len(drawings.draw(19)) == 22


@pytest.mark.usefixtures("figures")
def test_liberia_has_a_cell_per_effect_and_method(shared: Path) -> None:
    drawings = effects_of((17,), shared / "data")
    [overlap], [difference] = drawings.draw(7), drawings.draw(8)
    assert overlap.images[0].get_array().shape == (24, 15)
    assert np.asarray(difference.images[0].get_array()) == pytest.approx(0.5)
    assert overlap.get_title() == "Overlap of confidence intervals"


@pytest.mark.usefixtures("figures")
def test_residuals_of_the_original_and_of_releases(shared: Path) -> None:
    drawings = Drawings(find_sources(shared / "data", 1), {})
    original, carrying = drawings.draw(11), drawings.draw(9)
    assert [ax.get_title() for ax in carrying[::2]] == [
        "original",
        "MV Histogram",
        "Hybrid",
        "GenM-1",
    ]
    place = [ax.get_title() for ax in original].index("carryweapon_ltav")
    points = [
        np.asarray(axes.collections[0].get_offsets()) for axes in (original[place], carrying[0])
    ]
    np.testing.assert_array_equal(*points)
    hybrid = np.asarray(carrying[4].collections[0].get_offsets())
    assert not np.array_equal(points[0], hybrid)


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"dprct\[plot\]"):
        draw_figures(tmp_path, [1], draws=1)
