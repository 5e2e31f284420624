from __future__ import annotations

import pytest

from dprct.errors import ParameterError
from dprct.estimate.effects import NoisyEffect, NoisyVariance, effects_plot

EFFECTS = [
    NoisyEffect(0.5, (0.03,), (NoisyVariance(0.01, 1e-4, 0.11),)),
    NoisyEffect(-1.0, (0.1, 0.2), (NoisyVariance(0.04, 1e-4, 0.11),)),
]


pytestmark = pytest.mark.usefixtures("figures")


def test_the_intervals_are_drawn_one_in_the_other() -> None:
    (ax,) = effects_plot([("y", ["a", "b"], EFFECTS)], 0.05)
    ax.figure.canvas.draw()
    total, noise = (bars.lines[2][0].get_segments() for bars in ax.containers)
    for place, effect in enumerate(EFFECTS):
        for drawn, half in (
            (total[place], effect.half_width(0.05)),
            (noise[place], effect.noise_half_width(0.05)),
        ):
            ends = drawn[:, 0].tolist()
            assert ends == pytest.approx([effect.value - half, effect.value + half])
        assert effect.noise_half_width(0.05) < effect.half_width(0.05)
    # the first effect is on top
    labels = {text.get_position()[1]: text.get_text() for text in ax.get_yticklabels()}
    assert labels == {total[0][0, 1]: "a", total[1][0, 1]: "b"}
    assert total[0][0, 1] > total[1][0, 1]
    assert "95%" in ax.get_xlabel()


def test_outcomes_are_facets() -> None:
    axes = effects_plot([("y", ["a"], EFFECTS[:1]), ("z", ["a"], EFFECTS[1:])], 0.1, watermark="no")
    assert [ax.get_title() for ax in axes] == ["y", "z"]
    assert axes[0].figure is axes[1].figure
    assert any(text.get_text() == "no" for text in axes[0].texts)
    again = effects_plot([("y", ["a"], EFFECTS[:1])], 0.1, ax=axes[0])
    assert again == axes[:1]
    with pytest.raises(ParameterError, match="2 axes for 1 outcomes"):
        effects_plot([("y", ["a"], EFFECTS[:1])], 0.1, ax=axes)
