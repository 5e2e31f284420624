"""``dprct ledger``: what a study has spent, on what, and what can still be resumed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dprct.cli.options import Output, StudyFile
from dprct.cli.show import say

if TYPE_CHECKING:
    from dprct.privacy.accountant import Accountant
    from dprct.privacy.budget import Budget
    from dprct.privacy.charges import Entry

_WORDS = {
    "written": "written to {file}",
    "saved": "saved, free to resume: dprct protect --resume {entry}",
    "crashed": "SPENT, nothing saved: its process crashed, or is still running",
    "no-guarantee": "NO GUARANTEE, no price",
}


def ledger(
    study_file: StudyFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Output = None,
) -> None:
    """Show what STUDY has spent, on what, what is left, and what crashed.

    Certificates next to the output are checked against the ledger; exit 1 if one contradicts it.
    The hash of the data file, which the ledger holds, is not shown: it may not be published.
    """
    from dprct.privacy.accountant import find_ledger
    from dprct.privacy.certified import certified_words
    from dprct.privacy.ledger import ledger_path
    from dprct.study.places import places_of

    study = places_of(study_file, output)
    found = find_ledger(study.data, study.dataset_id)
    if found is None:
        place = ledger_path(study.data, study.dataset_id)
        none = (
            f"there is no ledger {place.name!r} yet: nothing was charged"
            if study.data.exists()
            else f"neither {study.data.name!r} nor its ledger {place.name!r} is here; ask "
            "those who keep the data what was charged"
        )
        say(json.dumps({"dataset_id": study.dataset_id, "ledger": None}) if as_json else none)
        return
    certified = certified_words(study.folder)
    wrong = _contradictions(found, certified)
    words = (
        json.dumps(_facts(found, certified, wrong), indent=2)
        if as_json
        else _text(found, certified, wrong)
    )
    say(words)
    if wrong:
        raise typer.Exit(1)


def _contradictions(found: Accountant, certified: dict[str, str]) -> list[str]:
    """Sentence on which certificates the ledger contradicts."""
    from dprct.privacy.certified import Needed, lacking

    wrong = []
    for name, words in certified.items():
        needed = Needed.of(words)
        if needed is not None and needed.dataset_id == found.dataset_id:
            lost = lacking(found, needed)
            if lost:
                wrong.append(
                    f"CONTRADICTED: the certificate of {name} needs {needed}, and this ledger "
                    f"lacks {', '.join(lost)}: it is an older copy, or was changed by hand"
                )
    return wrong


def _facts(found: Accountant, certified: dict[str, str], wrong: list[str]) -> dict[str, Any]:
    """Return the ledger as JSON-ready values, without the hashes of the data file."""
    from dprct.privacy.certified import state_of

    facts = found.to_dict()
    for entry, values in zip(found.ledger, facts["entries"], strict=True):
        values["state"], _ = state_of(entry, found, certified)
    contents = [{"when": c["when"], "note": c["note"]} for c in facts["contents"]]
    return {
        **{name: facts[name] for name in ("dataset_id", "relation", "unit", "composition")},
        "ledger": str(found.path),
        "total": _plain(found.total),
        "spent": _plain(found.spent),
        "remaining": _plain(found.remaining),
        "together": None if found.together is None else found.together.to_dict(),
        "head": found.head,
        "contradicted": wrong,
        "separate": found.separate,
        "contents": contents,
        "entries": facts["entries"],
    }


def _text(found: Accountant, certified: dict[str, str], wrong: list[str]) -> str:
    from dprct.privacy.certified import state_of

    heads = str(found).split("\n")
    about = heads[: len(heads) - len(found.ledger) - bool(found.ledger)]
    rows: list[tuple[str, ...]] = [
        ("entry", "when", "method", "epsilon", "delta", "relation", "unit", "state")
    ]
    for entry in found.ledger:
        state, name = state_of(entry, found, certified)
        rows.append(_row(entry, _WORDS[state].format(file=name, entry=entry.id)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    why = found.separate
    separate = [] if why is None else [f"a budget of its own, because: {why}"]
    changes = [f"data file: {c['note']} ({c['when']})" for c in found.to_dict()["contents"]]
    return "\n".join([*about, *(lines if found.ledger else ["no entries"]), *changes,
                      *separate, f"head: {found.head}", *wrong])  # fmt: skip


def _row(entry: Entry, state: str) -> tuple[str, ...]:
    from dprct.privacy.charges import unit_words

    return (
        entry.id,
        entry.when,
        entry.method.split(" (")[0],
        f"{float(entry.budget.epsilon):g}" if entry.priced else "-",
        f"{float(entry.budget.delta):g}" if entry.priced else "-",
        entry.relation or "-",
        unit_words(entry.unit, entry.unit_id, entry.max_rows),
        state,
    )


def _plain(budget: Budget) -> dict[str, str]:
    from dprct.privacy.budget import spelled

    return {"epsilon": spelled(budget.epsilon), "delta": spelled(budget.delta)}
