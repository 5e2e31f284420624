"""Which sections belong to which method."""

import pytest

from dprct.errors import StudyError
from dprct.study.calibrated_section import CalibratedExperiment
from dprct.study.experiment_section import experiment_from
from dprct.study.informed_section import InformedExperiment
from dprct.study.release_section import ReleaseSpec

DESIGN = {"kind": "complete", "arms": ["t"]}


def experiment(method, formula="y ~ t", **sections):
    return experiment_from(sections, ReleaseSpec(1.0, method, formula=formula))


def test_each_method_has_its_experiment():
    assert isinstance(experiment("calibrated", design=DESIGN), CalibratedExperiment)
    assert isinstance(experiment("published_hybrid", design=DESIGN), InformedExperiment)
    assert experiment("mv_histogram", formula=None) is None


@pytest.mark.parametrize(
    ("method", "formula", "sections", "words"),
    [
        ("mv_histogram", "y ~ t", {}, "formula is for method = 'calibrated' or 'published_hybrid'"),
        ("marginals", None, {"design": DESIGN}, r"\[design\] is for method = 'calibrated' or"),
        ("mv_histogram", None, {"calibrated": {}}, r"\[calibrated\] is for method = 'calibrated';"),
        ("published_hybrid", "y ~ t", {"calibrated": {}}, r"as method = 'published_hybrid'"),
        ("calibrated", "y ~ t", {"informed": {}}, r"\[informed\] is for method = 'published_hyb"),
    ],
)
def test_a_section_of_another_method_is_refused(method, formula, sections, words):
    with pytest.raises(StudyError, match=words):
        experiment(method, formula=formula, **sections)
