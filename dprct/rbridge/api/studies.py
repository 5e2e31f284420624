"""Study files from R: what ``dprct check``, ``plan`` and ``protect`` do, without the questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.errors import ConfirmationError, LedgerError
from dprct.estimate.moments.results import Moments
from dprct.io import read
from dprct.io.stata.names import under_stata_names
from dprct.privacy.accountant import find_ledger
from dprct.rbridge.api.checks import regressions_frame
from dprct.rbridge.api.moments import moments_record
from dprct.rbridge.api.results import plan_record, result_record
from dprct.rbridge.convert import Record, Table
from dprct.rbridge.registry import export
from dprct.study.approval import approval_of
from dprct.study.data_sets import judged
from dprct.study.offer import offered, written_again
from dprct.study.package import check_package, check_package_of, write_package
from dprct.study.protect import check_places, released_file
from dprct.study.ready import all_open_points, bound_model, study_of
from dprct.study.several_studies import rehearsed, resumed, saying_what_was_made, to_be_made
from dprct.study.verdicts import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.study.study import Study


@export("read")
def read_any(path: str, names: Any = "same") -> Table:
    """Return a data file of any format that the package knows, with its schema."""
    data, schema = read(path, names)
    return Table(data, schema, attach=True)


@export("named")
def named_frame(data: Table) -> Table:
    """Return a data frame under names that Stata allows, with its schema."""
    return Table(*under_stata_names(data.data, data.schema), attach=True)


def _found(path: str, output: str | None) -> Study:
    return study_of(Path(path), None if output is None else Path(output))


@export("study_read")
def study_read(path: str, output: str | None = None) -> Record:
    """Content of a study file; its data are not read."""
    study = _found(path, output)
    spec = study.release
    facts = {
        "path": str(study.path),
        "chosen": output,
        "data": str(study.data),
        "output": str(study.output),
        "dataset_id": study.dataset_id,
        "method": spec.method,
        "epsilon": float(spec.epsilon),
        "delta": float(spec.delta),
        "promises": study.promises,
    }
    text = "\n".join(
        [
            f"Study {study.path.name!r} of data set {study.dataset_id!r}",
            f"  data    {study.data.name}",
            f"  method  {spec.method}, epsilon={spec.epsilon:g}, delta={spec.delta:g}",
            f"  output  {study.output.name}",
        ]
    )
    return Record(("dprct_study",), {**facts, "text": text})


@export("study_check")
def study_check(
    path: str, output: str | None = None, do: Sequence[str] | str | None = None
) -> Record:
    """Open points of a study, and verdicts on its do-files, or on others; nothing is charged."""
    study = _found(path, output)
    problems = all_open_points(study)
    files = tuple(Path(one) for one in ([do] if isinstance(do, str) else do or study.do_files))
    found = judged(study, files, any_open=bool(problems)) if files else []
    said = "complete: nothing is open" if not problems else f"open points: {len(problems)}"
    lines = [*(f"- {problem}" for problem in problems), said]
    if found is None:
        lines.append("the regressions of the do-files are judged once that is closed")
    elif found:
        lines += ["regressions of the do-files on the planned file:"]
        lines += [f"- {line}" for line in (*summary(found), *map(str, found))]
    return Record(
        ("dprct_check",),
        {
            "complete": not problems,
            "problems": problems,
            "regressions": regressions_frame([one.worth() for one in found or ()]),
            "text": "\n".join(lines),
        },
    )


@export("study_plan")
def study_plan(path: str, output: str | None = None) -> Record:
    """Return the plan of a study, with the hash of what is to be approved."""
    study = _found(path, output)
    approval = approval_of(study, bound_model(study))
    made = plan_record(approval.plan)
    return replace(made, fields={**made.fields, "approval": approval.sha256})


@export("study_protect")
def study_protect(
    path: str,
    output: str | None = None,
    approved: str | None = None,
    resume: str | None = None,
    accept_no_guarantee: bool = False,
) -> Record:
    """Release what a study describes: charge its ledger, and write its files."""
    study = _found(path, output)
    if resume is None and not study.promises and not accept_no_guarantee:
        raise ConfirmationError(
            f"method {study.release.method!r} has no differential-privacy guarantee, whatever "
            "epsilon is; give ``accept_no_guarantee=True``, or use mv_histogram"
        )
    if resume is not None:
        made = written_again(study, resume, approved)
    else:
        check_places(study)
        offer = offered(study, approved)
        check_package_of(study)
        offer.check()
        made = offer.taken(
            again="protect(study, resume = ENTRY), by the entry that ledger(study) shows"
        )
    is_moments = isinstance(made.result, Moments)
    found = moments_record(made.result) if is_moments else result_record(made.result)
    return replace(found, fields={**found.fields, "files": [str(path) for path in made.paths]})


@export("study_package")
def study_package(
    path: str,
    output: str | None = None,
    folder: str | None = None,
    approved: Sequence[str] | str | None = None,
) -> Record:
    """Write the replication folder of a study, and protect first what is not protected yet."""
    study = _found(path, output)
    contents = check_package(study, None if folder is None else Path(folder))
    todo = [one for one in to_be_made(contents) if resumed(one) is None]
    hashes = [approved] if isinstance(approved, str) else [*(approved or ())]
    offers = rehearsed(todo, hashes)
    for number, offer in enumerate(offers):
        with saying_what_was_made(todo[:number]):
            offer.taken()
    for held in contents.held:
        check_places(held.study)
    found, target = write_package(study, contents)
    text = "\n".join(
        [
            f"Replication package {target.name!r} of data set {study.dataset_id!r}",
            *(f"  {line}" for line in summary(found)),
            f"  files copied: {len(contents.folder.copied)}; left out: "
            f"{len(contents.folder.left_out)}",
            *(f"    copied: {name}" for name in contents.folder.copied),
        ]
    )
    fields = {
        "folder": str(target),
        "protected": [str(released_file(held.study)) for held in contents.held],
        "charged": len(offers),
        "regressions": regressions_frame([one.worth() for one in found]),
        "copied": [*contents.folder.copied],
        "unread": dict(contents.folder.unread),
        "left_out": dict(contents.folder.left_out),
        "text": text,
    }
    return Record(("dprct_package",), fields)


@export("study_ledger")
def study_ledger(path: str, output: str | None = None) -> Record:
    """Return the ledger next to the study's data as an accountant."""
    study = _found(path, output)
    found = find_ledger(study.data, study.dataset_id)
    if found is None:
        raise LedgerError(
            f"data set {study.dataset_id!r} has no ledger yet, so that nothing was charged; the "
            "first release begins one"
        )
    return Record(("dprct_accountant",), {"unit": found.unit}, live=found)
