"""``dprct verify``: whether a file is what its certificate describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dprct import disk
from dprct.cli.show import complain, say, show_verdicts, working
from dprct.errors import ParameterError

if TYPE_CHECKING:
    from dprct.study.verdicts import Verdict

_MOST_SHOWN = 20


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            help="The protected file, also saved again or as .tab or .csv; results (.json); or "
            "the folder of a package."
        ),
    ],
    certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate (JSON); by default the one next to FILE."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Ledger to find the file's entries in; by default the one next to FILE."),
    ] = None,
    do: Annotated[
        list[Path] | None,
        typer.Option("--do", help="A do-file: what are its regressions worth on FILE? Repeatable."),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(
            help="Compare the valid regressions of --do with this expected.csv of a package; exit "
            "1 if a number differs."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check FILE against its certificate; exit 1 if its values differ, or a ledger contradicts it.

    A document of results, which dprct protect writes for an estimate, is checked against the hash
    that it carries, and its text against the document; released moments are checked against
    theirs, and against their certificate where there is one.

    It works on the file as released, on a .dta that another program saved again, and on the .tab
    or .csv that an archive makes of it. It shows integrity, not authorship. Which ledger entries
    the file needs is said, and looked up where there is a ledger. With --do, every regression of
    the do-files is valid on FILE, returns the effects only, is an artefact, or cannot run.

    Of a package every file is compared with its manifest, every release is checked as above, and
    the numbers of its valid regressions are computed and compared with its expected.csv.
    """
    from dprct.release import verify as verification

    if expect is not None and not do:
        raise ParameterError("--expect needs --do: give the do-files whose numbers it holds")
    if file.is_dir():
        if certificate or do:
            raise ParameterError(
                "a package has its own certificates, do-files and numbers: give it without "
                "--certificate, --do and --expect"
            )
        _verify_package(file, ledger, as_json=as_json)
        return
    with working("verifying"):
        found = verification.verify(file, certificate, ledger=ledger)
    document = found.to_dict()
    if do:
        from dprct.study.data_sets import others_beside
        from dprct.study.verdicts import of_file

        worth = of_file(do, file, certificate, others_beside(file, certificate))
        document |= {"regressions": [one.to_dict() for one in worth]}
    say(json.dumps(document, indent=2) if as_json else str(found))
    if do and not as_json:
        show_verdicts(worth)
    differ = do is not None and expect is not None and _differ(worth, file, certificate, expect)
    if not found or differ:
        raise typer.Exit(1)


def _verify_package(folder: Path, ledger: Path | None, *, as_json: bool) -> None:
    """Check every file of a package, its releases, and the numbers that it promises."""
    from dprct.release.verify import verify as verified
    from dprct.study.data_sets import packed_others
    from dprct.study.obstacles import VALID
    from dprct.study.package import packed
    from dprct.study.verdicts import of_file

    with working("verifying"):
        found = packed(folder)
        if found.changed is not None:
            complain(f"{folder.name!r} is not the package as it was written{found.changed}", "red")
            raise typer.Exit(1)
        files = [file for file, _ in found.releases]
        checked = [verified(file, ledger=ledger) for file in files]
        worth = [of_file(found.do_files, file, None, packed_others(file)) for file in files]
    if as_json:
        documents = [
            {**one.to_dict(), "regressions": [row.to_dict() for row in rows]}
            for one, rows in zip(checked, worth, strict=True)
        ]
        say(json.dumps({"releases": documents}, indent=2))
    for one, rows in zip(checked, worth, strict=True) if not as_json else ():
        say(str(one))
        show_verdicts(rows)
    differ = [
        _differ(rows, file, None, numbers)
        for rows, (file, numbers) in zip(worth, found.releases, strict=True)
        if numbers is not None and any(row.kind in VALID for row in rows)
    ]
    if any(differ) or not all(checked):
        raise typer.Exit(1)


def _differ(worth: list[Verdict], file: Path, certificate: Path | None, expect: Path) -> bool:
    """Say which numbers of the valid regressions are not those that are expected."""
    from dprct.certificate.certificate import certificate_path
    from dprct.study.declared_tables import mismatches
    from dprct.study.expected_regressions import entries
    from dprct.study.package_page import released

    beside = certificate or certificate_path(file)
    told = json.loads(disk.content(beside, disk.MOST_JSON))
    listed = entries(worth, released(file))
    wrong = mismatches(expect, str(told.get("dataset_id")), listed, of_do=True)
    if len(wrong) == len(listed) and all(one.expected is None for one in wrong):
        raise ParameterError(
            f"--expect: {expect.name!r} has no number of a valid regression of --do; give the one "
            "that dprct package wrote (dprct table STUDY --expect compares tables)"
        )
    for one in wrong[:_MOST_SHOWN]:
        complain(str(one), "red")
    if wrong:
        complain(f"{len(wrong)} numbers differ from {expect.name}", "red")
    else:
        complain(f"every number of {len(listed)} is that of {expect.name}", "green")
    return bool(wrong)
