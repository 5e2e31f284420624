"""Whether the releases of a package are what their certificates say, with the numbers promised."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dprct import disk
from dprct.certificate.certificate import certificate_path
from dprct.errors import ParameterError
from dprct.records import dataclass
from dprct.release.verify import verify
from dprct.study.data_sets import others_beside
from dprct.study.declared_tables import mismatches
from dprct.study.expected_regressions import entries
from dprct.study.obstacles import VALID
from dprct.study.package import packed
from dprct.study.package_page import released
from dprct.study.verdicts import of_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dprct.release.verify import Verification
    from dprct.study.declared_tables import Mismatch
    from dprct.study.package import Packed
    from dprct.study.verdicts import Verdict


@dataclass(frozen=True)
class Compared:
    """Numbers of valid regressions beside those of an ``expected.csv``; true where none differs."""

    file: str  # name of the file of expected numbers
    numbers: int  # how many there are
    wrong: tuple[Mismatch, ...]

    def __bool__(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        if self.wrong:
            return f"{len(self.wrong)} numbers differ from {self.file}"
        return f"all {self.numbers} numbers equal those of {self.file}"


@dataclass(frozen=True)
class CheckedRelease:
    """A release of a package; true where it is as written, and its numbers as promised."""

    found: Verification
    verdicts: list[Verdict]
    compared: Compared | None  # None where none of its regressions is valid

    def __bool__(self) -> bool:
        return bool(self.found) and (self.compared is None or bool(self.compared))


def compared(
    verdicts: Sequence[Verdict], file: Path, certificate: Path | None, expected: Path
) -> Compared:
    """Compare the numbers of the valid regressions with those that are expected."""
    told = json.loads(disk.content(certificate or certificate_path(file), disk.MOST_JSON))
    listed = entries(verdicts, released(file))
    wrong = mismatches(expected, str(told.get("dataset_id")), listed, of_do=True)
    if len(wrong) == len(listed) and all(one.expected is None for one in wrong):
        raise ParameterError(
            f"--expect: {expected.name!r} has no number of a valid regression of --do; give the "
            "one that dprct package wrote (dprct table STUDY --expect compares tables)"
        )
    return Compared(expected.name, len(listed), wrong)


@dataclass(frozen=True)
class CheckedPackage:
    """A package that somebody was given; true where its files and releases are as written."""

    name: str
    changed: str | None  # what is not as its manifest says
    releases: tuple[CheckedRelease, ...]  # none where a file was changed

    def __bool__(self) -> bool:
        return self.changed is None and all(self.releases)

    def __str__(self) -> str:
        if self.changed is not None:
            return f"{self.name!r} is not the package as it was written{self.changed}"
        lines = [f"every file of {self.name} is as it was written"]
        for one in self.releases:
            lines.append(str(one.found))
            if one.compared is not None:
                lines += map(str, (one.compared, *one.compared.wrong[:_MOST_NUMBERS]))
        return "\n".join(lines)


_MOST_NUMBERS = 20


def checked_package(folder: Path, ledger: Path | None = None) -> CheckedPackage:
    """Compare a package with its manifest, and check each of its releases."""
    folder = folder if folder.name else folder.absolute()  # of "." there is no name to print
    package = packed(folder)
    checked = () if package.changed is not None else tuple(_checked_releases(package, ledger))
    return CheckedPackage(folder.name, package.changed, checked)


def _checked_releases(package: Packed, ledger: Path | None) -> list[CheckedRelease]:
    checked = []
    for file, numbers in package.releases:
        verdicts = of_file(package.do_files, file, None, others_beside(file))
        has_numbers = numbers is not None and any(one.kind in VALID for one in verdicts)
        beside = compared(verdicts, file, None, numbers) if numbers and has_numbers else None
        checked.append(CheckedRelease(verify(file, ledger=ledger), verdicts, beside))
    return checked
