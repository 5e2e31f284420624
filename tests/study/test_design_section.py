"""Every kind of design can be written down, and nothing that does not belong to it."""

import pytest

from dprct.assignment import Block, BlockCluster, Cluster, Complete, Factorial, Simple
from dprct.errors import StudyError
from dprct.study.sections import design_from


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ({"kind": "simple", "arms": ["t"], "shares": 0.3}, Simple),
        ({"kind": "complete", "arms": ["t"]}, Complete),
        ({"kind": "block", "arms": ["t"], "block": "site"}, Block),
        ({"kind": "cluster", "arms": ["t"], "cluster": "village"}, Cluster),
        (
            {"kind": "block_cluster", "arms": ["t"], "block": "site", "cluster": "village"},
            BlockCluster,
        ),
        ({"kind": "factorial", "factors": {"a": {"kind": "simple"}, "b": {"kind": "simple"}}},
         Factorial),
    ],
)  # fmt: skip
def test_every_kind_is_read(section, kind):
    assert isinstance(design_from({"design": section}), kind)


def test_one_column_may_hold_the_group():
    design = design_from({"design": {"kind": "complete", "arms": [0, 1, 2], "arm": "offer"}})
    assert design.columns == ("offer",)
    assert design.groups.names == (0.0, 1.0, 2.0)
    section = {"kind": "block", "arms": ["no", "cash"], "arm": "offer", "block": "site"}
    assert design_from({"design": section}).groups.names == ("no", "cash")


def test_no_section_is_no_design():
    assert design_from({}) is None


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"kind": "latin", "arms": ["t"]}, "allowed: simple"),
        ({"kind": "complete"}, "lacks arms"),
        ({"kind": "block", "arms": ["t"]}, "lacks block"),
        ({"kind": "complete", "arms": [0, 1]}, "say arm = "),
        ({"kind": "complete", "arms": [0, True], "arm": "t"}, "give a list"),
        ({"kind": "complete", "arms": ["t"], "block": "site"}, "does not belong"),
        ({"kind": "complete", "arms": ["t"], "blocks": "site"}, "did you mean"),
    ],
)
def test_what_does_not_belong_is_refused(section, words):
    with pytest.raises(StudyError, match=words):
        design_from({"design": section})
