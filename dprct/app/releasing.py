"""What was charged and released, as the ledger and the files say it: the same after any crash."""

from __future__ import annotations

import json
import math
import re
import shlex
from typing import TYPE_CHECKING, Any

from dprct import disk
from dprct.app.packing import next_steps
from dprct.app.words import in_labels
from dprct.certificate.page import odds_words
from dprct.certificate.valid_regressions import Validity
from dprct.errors import DprctError
from dprct.io import read
from dprct.privacy.accountant import find_ledger
from dprct.privacy.budget import Budget
from dprct.privacy.certified import certified_words, state_of
from dprct.release.writing import certificate_paths
from dprct.results.typeset import as_in_a_file
from dprct.schema.schema import Schema
from dprct.study.moments_tables import moments_path
from dprct.study.protect import (
    companions,
    declared_tables,
    place_as_text,
    protected_certificate,
    results_of,
)
from dprct.study.results_document import text_path
from dprct.study.valid_files import shown_regressions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dprct.privacy.accountant import Accountant
    from dprct.study.study import Study

_MOST_ROWS = 200
_ABOUT = {
    ".certificate.html": "the certificate as a page, to print and sign",
    ".certificate.txt": "the certificate as text",
    ".certificate.json": "the certificate for programs: dprct verify reads it",
    ".README-data.md": "what a data editor asks, filled in",
    ".expected.csv": "the numbers of your tables on this file",
    ".valid.do": "the regressions that are valid on this file, for Stata",
    ".valid.R": "the same for R",
    ".moments.json": "the released moments, on which readers run their own regressions",
    ".txt": "the results, to read",
    ".json": "the results, for programs",
    ".dta": "the protected file, for readers",
    ".csv": "the protected file as text, as your data came",
}


def ledger_state(study: Study) -> dict[str, Any] | None:
    """Spending so far, without the hash of the data; None if there is no ledger."""
    try:
        found = find_ledger(study.data, study.dataset_id)
        if found is None:
            return None
        return {
            "dataset_id": found.dataset_id,
            "total": float(found.total.epsilon),
            "spent": float(found.spent.epsilon),
            "words": f"{found.spent} of {found.total} is spent, {found.remaining} is left",
            "too_little": _too_little(study, found),
            "entries": [*_entries(study, found)],
        }
    except DprctError as error:
        return {"error": str(error)}


def _too_little(study: Study, found: Accountant) -> str:
    """Say that the ledger has less left than the study asks for; empty if it has enough."""
    asked = Budget(study.release.epsilon, study.release.delta)
    if not study.promises or asked.fits(found.remaining):
        return ""
    return (
        f"The ledger of {found.dataset_id!r} has {found.remaining} left, and this release asks for "
        f"{asked}: it will be refused. Ask for less; what was spent on these people stays spent."
    )


def _entries(study: Study, found: Accountant) -> Iterator[dict[str, Any]]:
    certified = certified_words(study.output.parent)
    for entry in found.ledger:
        state, file = state_of(entry, found, certified)
        yield {
            "id": entry.id,
            "when": entry.when,
            "method": entry.method.split(" (")[0],
            "epsilon": float(entry.budget.epsilon) if entry.priced else 0.0,
            "state": state,
            "saved": state == "saved" or (entry.priced and found.is_saved(entry.id)),
            "file": file,
        }


def named_files(study: Study) -> list[Path]:
    """Files of the release that are there, the first one being the release itself."""
    first = study.output
    if study.makes_file:
        places = companions(study)
        as_text = place_as_text(study)
        others = [] if as_text is None else [as_text]
        others += [*certificate_paths(first), places.readme, places.expected]
        others += places.valid.values()
    else:
        moments = moments_path(first)
        others = [text_path(first), moments, *certificate_paths(moments)]
    return [path for path in (first, *others) if path.is_file()]


def shown_result(study: Study, made: Any = None) -> dict[str, Any]:
    """What was released, from its files; of what has just been made, its own summary is shown."""
    first = study.output
    found: dict[str, Any] = {
        "output": first.name,
        "folder": str(first.parent.resolve()),
        "listed": [*_listed(study)],
        "claim": [], "rows": [], "tables": [], "certificate": "", "summary": "", "notes": [],
        "promises": study.promises, "makes_file": study.makes_file,
        "next": [*next_steps(study)], "python": _python(study),
        "command": f"dprct protect {shlex.quote(study.path.name)}",
    }  # fmt: skip
    if made is not None:
        with as_in_a_file():
            found["summary"] = str(made.summary())
    try:
        found |= _of_file(study) if study.makes_file else _of_document(study)
    except DprctError as error:
        found["notes"] = [str(error)]
    return found


def _listed(study: Study) -> Iterator[dict[str, Any]]:
    for path in named_files(study):
        yield {"name": path.name, "bytes": path.stat().st_size, "about": _about(path.name)}


def _about(name: str) -> str:
    return next((words for end, words in _ABOUT.items() if name.endswith(end)), "")


def _of_file(study: Study) -> dict[str, Any]:
    """Guarantee, effects and tables of a protected file."""
    certificate = protected_certificate(study)
    text = certificate_paths(study.output)[0]
    return {
        "claim": [certificate.guarantee.sentence(), *odds_words(certificate.guarantee)],
        "rows": [*_effects(study)][:_MOST_ROWS],
        "tables": _tables(study),
        "certificate": disk.content(text, disk.MOST_JSON).decode("utf-8"),
        "notes": list(certificate.limits),
        "issued": str(certificate.issued),
    }


def _effects(study: Study) -> Iterator[dict[str, Any]]:
    """Effects that a calibrated file carries, read off it as a reader does; none of another."""
    if study.release.method != "calibrated":
        return
    data, schema = read(study.output)
    valid = Validity.of(schema)
    if valid is None:
        return
    for one in shown_regressions(valid, data, schema):
        covariates = [term for term in one.terms if term not in valid.arms]
        how = f"with {', '.join(covariates)}" if covariates else ""
        rows = f"if {one.condition}" if one.condition else ""
        said = ", ".join(part for part in (how, rows) if part)
        for term, (estimate, error) in one.numbers.items():
            level = re.sub(r"^C\(\w+\)\[(?:T\.)?(.*)\]$", r"\1", term)
            yield _row(one.outcome, f"{level}, {said}" if said else level, estimate, error)


def _of_document(study: Study) -> dict[str, Any]:
    """Guarantee and numbers of a document of results."""
    document = results_of(study)
    content = document.content
    rows = []
    asked, labels = study.asked.spec, labels_of(study)
    for one in document.frame.to_dict("records"):
        words = [*dict.fromkeys(str(value) for value in one.values() if isinstance(value, str))]
        words = words[0].split(": ", 1) if len(words) == 1 else words
        if words[:1] == ["effects"]:  # which the outcome says, too
            words = [f"effect on {words[1].split(': ')[0]}", *words[1].split(": ")[1:]]
        if words in (["ATE"], ["ATT"]) and study.release.method == "ipw":  # as step 5 names it
            words = [asked.outcome, asked.treatment]
        estimate, error = one.get("estimate"), one.get("std.error")
        if isinstance(estimate, float):
            name = in_labels(": ".join(words[1:]), labels)
            row = _row(words[0] if words else "", name, estimate, error)
            rows.append(row | {k[5:]: one[k] for k in ("conf.low", "conf.high") if k in one})
    rows += _within(content["released"])
    return {
        "claim": str(content["guarantee"]["text"]).splitlines(),
        "rows": json.loads(json.dumps(rows[:_MOST_ROWS]).replace("NaN", "null")),
        "tables": [document.to_text()],
        "notes": list(content["notes"]),
        "issued": content["issued"],
    }


def _within(released: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Effects within the levels of subgroups, as a document of results has them beside."""
    for title, table in released.items():
        by = title.removeprefix("effects by ")
        for one in table if title != by else ():
            outcome, _, rest = str(one["term"]).partition(f" if {by}=")
            level, _, arm = rest.rpartition(": ")
            row = _row(f"{outcome} by {by}", f"{level}: {arm}", one["estimate"], one["std.error"])
            yield row | {"low": one["conf.low"], "high": one["conf.high"]}


def labels_of(study: Study) -> Schema | None:
    """Header of a .dta file, whose labels name the levels of factors; None of another."""
    return Schema.from_dta(study.data) if study.data.suffix.lower() == ".dta" else None


def _row(of: str, name: str, estimate: float, error: Any) -> dict[str, Any]:
    """One estimate: what it is of, which has a unit and a picture of its own, and its name."""
    known = isinstance(error, float) and math.isfinite(error)
    return {
        "of": of,
        "name": f"{of}: {name}" if name else of,
        "estimate": estimate,
        "error": error if known else None,
        "low": estimate - 1.96 * error if known else None,
        "high": estimate + 1.96 * error if known else None,
    }


def _tables(study: Study) -> list[str]:
    """Declared tables as the protected file gives them, and why one cannot be made."""
    if not study.tables:
        return []
    found = declared_tables(study, "protected")
    others = {**found.withheld, **found.failed}
    return [table.to_text() for table in found.made.values()] + [
        f"{name}: {reason}" for name, reason in others.items()
    ]


def _python(study: Study) -> str:
    """The same release from Python."""
    return (
        "from pathlib import Path\n"
        "from dprct.study.offer import offered\n"
        "from dprct.study.ready import study_of\n\n"
        f"offered(study_of(Path({study.path.name!r}))).taken()"
    )
