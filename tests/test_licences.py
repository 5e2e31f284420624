"""What a plain install brings along is under licences that go with BSD."""

from __future__ import annotations

import importlib.metadata as installed
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0",
    "NCSA", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
# what packages write that have no expression of SPDX: words or classifiers
WORDS = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "2-clause bsd": "BSD-2-Clause",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", requirement).lower()


def plain_install(extra: str = "") -> dict[str, installed.Distribution]:
    """Return what the default install brings, by what stands in pyproject.toml and from there on.

    With the name of an extra, it is what that adds.

    The checkout is read, not the metadata of an editable install, which may be of yesterday.
    """
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
    waiting, found = list(listed), {}
    while waiting:
        requirement = Requirement(waiting.pop())
        name = name_of(requirement.name)
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and name not in found:
            found[name] = installed.distribution(name)
            waiting += found[name].requires or []
    return found


def licences(facts) -> set[str]:
    """Return the licences of a package as SPDX writes them; of alternatives, an allowed one."""
    expression = facts.get("License-Expression")
    if expression is not None:
        return {allowed_of(part) for part in re.split(r"\s+AND\s+", expression.strip("()"))}
    written = (facts.get("License") or "").strip()
    if written and "\n" not in written:
        return {known(written)}
    classifiers = facts.get_all("Classifier") or []
    said = {c.split(" :: ")[-1] for c in classifiers if c.startswith("License :: ")}
    return {known(one) for one in said - {"OSI Approved"}} or {"none is said"}


def allowed_of(alternatives: str) -> str:
    choice = [part.strip("() ") for part in re.split(r"\s+OR\s+", alternatives)]
    return next((one for one in choice if one in ALLOWED), choice[0])


def known(written: str) -> str:
    """Return the name in SPDX of what a package wrote; what is not known stays and is refused."""
    return WORDS.get(written.lower(), written)


def test_every_package_of_a_plain_install_has_an_allowed_licence() -> None:
    packages = plain_install()
    assert {"numpy", "pandas", "opendp", "python-dateutil"} <= set(packages)
    refused = {
        name: found
        for name, package in packages.items()
        if not (found := licences(package.metadata)) <= ALLOWED
    }
    assert not refused, f"no licence of a plain install: {refused}"


def test_every_package_of_the_app_has_an_allowed_licence() -> None:
    pytest.importorskip("starlette", reason="needs the extra dprct[app]")
    packages = plain_install("app")
    assert {"starlette", "uvicorn", "anyio", "h11"} <= set(packages)
    assert len(packages) < 12, "the page is to stay small"
    refused = {
        name: found
        for name, package in packages.items()
        if not (found := licences(package.metadata)) <= ALLOWED
    }
    assert not refused, f"no licence of the app: {refused}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("License", "AGPL-3.0-or-later"),
        ("License-Expression", "MIT AND GPL-3.0-only"),
        ("License-Expression", "LGPL-3.0-only OR GPL-2.0-only"),
        ("Classifier", "License :: OSI Approved :: GNU Affero General Public License v3"),
        ("Classifier", "Topic :: Security"),
    ],
)
def test_other_licences_are_refused(field: str, value: str) -> None:
    from email.message import Message

    facts = Message()
    facts[field] = value
    assert not licences(facts) <= ALLOWED


def test_of_alternatives_an_allowed_one_is_enough() -> None:
    assert allowed_of("GPL-2.0-only OR MIT") == "MIT"
