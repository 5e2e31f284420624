from __future__ import annotations

import pytest

from papers.cate.designs import designs
from papers.cate.forms import (
    FORMS,
    constant_of,
    forms_of,
    schema_of,
    worst_case,
)


def test_forms_that_need_a_known_propensity_are_for_randomised_designs_alone() -> None:
    there = designs(None)
    assert not any(FORMS[name].known for name in forms_of(there["A"]))
    assert set(forms_of(there["B"])) == set(FORMS)
    assert constant_of(there["A"]) in forms_of(there["A"])
    assert constant_of(there["B"]) == "constant"


def test_public_facts_are_the_designs() -> None:
    design = designs(None)["B"]
    schema = schema_of(design)
    assert schema.column("y").bounds == design.bounds
    assert schema.column("x1").bounds == (-3.0, 3.0)
    assert worst_case(design) == pytest.approx(30)
