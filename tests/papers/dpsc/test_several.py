from __future__ import annotations

from papers.dpsc.several import LAWS, TREATED, Several, several_table


def test_one_treated_unit_is_algorithm_2_and_more_cost_more() -> None:
    """The density, 200 panels; alone a path of five has noise on weights and donors times five."""
    found = Several().compute(200, 1)
    assert len(found) == len(TREATED) * len(LAWS)
    density = found[found["noise"].eq("density")].set_index("treated")
    # the same law for a single unit, drawn twice
    assert 0.8 < density.loc[1, "once"] / density.loc[1, "apart"] < 1.25
    assert density.loc[5, "once"] > 3 * density.loc[1, "once"]
    assert density.loc[5, "apart"] > 3 * density.loc[5, "once"]
    assert several_table(found).count("\n") == 1 + len(found)
