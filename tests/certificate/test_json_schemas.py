"""The JSON schemas are those of the classes by which documents are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from scripts import json_schemas

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", json_schemas.files(), ids=lambda path: path.name)
def test_a_schema_is_the_one_that_its_class_states(path: Path) -> None:
    written = path.read_text("utf-8")
    assert written == json_schemas.files()[path], "run python scripts/json_schemas.py"
    jsonschema.Draft202012Validator.check_schema(json.loads(written))
