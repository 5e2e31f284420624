"""Print a bill of materials (CycloneDX 1.5, JSON): everything in the environment that runs this.

Usage: VENV/bin/python scripts/sbom.py > dprct.cdx.json, in an environment with a release alone.
"""

from __future__ import annotations

import importlib.metadata as installed
import json
import re
from typing import Any

TOOLS = {"pip", "setuptools", "uv", "wheel"}


def component(one: installed.Distribution) -> dict[str, Any]:
    """Name, version, licence and address of a distribution."""
    name = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
    found = {
        "type": "library",
        "name": name,
        "version": one.version,
        "purl": f"pkg:pypi/{name}@{one.version}",
        "bom-ref": f"pkg:pypi/{name}@{one.version}",
    }
    licence = one.metadata.get("License-Expression")
    if licence:
        return found | {"licenses": [{"expression": licence}]}
    words = [
        line.rpartition(" :: ")[2]
        for line in one.metadata.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    return found | ({"licenses": [{"license": {"name": word}} for word in words]} if words else {})


def bill(main: str = "dprct") -> dict[str, Any]:
    """All that is installed here, the main package first."""
    parts = {part["name"]: part for part in map(component, installed.distributions())}
    own = parts.pop(main)
    kept = [parts[name] for name in sorted(parts) if name not in TOOLS]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own | {"type": "application"}},
        "components": kept,
    }


if __name__ == "__main__":
    print(json.dumps(bill(), indent=1))
