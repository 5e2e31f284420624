"""What a custodian approves before anything is spent: one hash, and one page to sign."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from typing import TYPE_CHECKING, Any

from dprct import __version__
from dprct.certificate.page import (
    claim,
    document,
    facts,
    grid,
    items,
    odds_words,
    pair,
    paragraphs,
    section,
    signatures,
)
from dprct.errors import ConfirmationError
from dprct.privacy.accountant import find_ledger
from dprct.privacy.budget import Budget, spelled
from dprct.records import dataclass
from dprct.release.release import announced_schema
from dprct.schema.columns import shown
from dprct.schema.toml import column_facts
from dprct.study.ready import planned, price

if TYPE_CHECKING:
    from dprct.privacy.budget import Guarantee
    from dprct.release.release import ReleaseModel
    from dprct.results.plan import Plan
    from dprct.schema.schema import Schema
    from dprct.study.methods import AnyModel
    from dprct.study.study import Study

KIND = "Plan of a release, for approval"
"""What the page calls itself."""

_NOT_FACTS = ("fate", "confirmed", "value_label", "label")
_NOT_COVERED = (
    "the public facts on this page",
    "what the data show about people in general",
)
_CAVEATS = (
    "The facts above are published as they stand; they must not have been read off the data.",
    "What those who declared them had seen of the data before cannot be known.",
    "The ledger is kept by the author; ask to see it (dprct ledger).",
    "This is not a legal determination of anonymity.",
)


@dataclass(frozen=True)
class Approval:
    """A release as it would be made, before anything is spent."""

    study: Study
    schema: Schema  # of the confidential file, with everything that is declared
    plan: Plan
    guarantee: Guarantee  # what the release would promise
    price: Budget | None  # what it would charge; None where it promises nothing and charges nothing

    @property
    def sha256(self) -> str:
        """Hash of study file, public facts, method, budget and promise.

        Notes
        -----
        SHA-256 of the JSON, keys sorted and in ASCII, of: the hash of what the study file says
        (its parsed TOML as JSON, keys sorted), the digest of the schema, the method's name,
        the price as exact decimals, and the guarantee as in a certificate.  Comments, layout and
        the order of keys do not count; the rows of the confidential file do not either.
        """
        content: dict[str, Any] = {
            "approval": 1,
            "study": self.study.sha256,
            "schema": self.schema.digest(),
            "method": self.plan.method,
            "price": None
            if self.price is None
            else [spelled(self.price.epsilon), spelled(self.price.delta)],
            "guarantee": self.guarantee.to_dict(),
            **self._merged(),
        }
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def _merged(self) -> dict[str, Any]:
        """The hashes of the files of public facts that are merged into the data."""
        files = self.study.public_files
        return {"merged": [file.sha256 for file in files]} if files else {}

    def check(self, approved: str) -> None:
        """Refuse a study other than the approved one."""
        if "".join(approved.split()).lower() != self.sha256:
            raise ConfirmationError(
                f"the study is not the one that was approved: its hash is {self.sha256}, approved "
                f"was {shown(approved)}; have its plan approved again, or take the approved "
                "study file"
            )


def approval_of(study: Study, model: ReleaseModel[Any, Any, Any] | AnyModel) -> Approval:
    """Approval that would be given; nothing is spent."""
    plan = planned(study, model)
    return Approval(study, model.schema, plan, model.guarantee(plan.budget), price(study, model))


def approval_page(approval: Approval) -> str:
    """Return the page that a custodian reads and signs, as HTML.

    Everything on it follows from public facts and from the ledger.
    """
    study, plan, guarantee = approval.study, approval.plan, approval.guarantee
    command = f"dprct protect {study.path.name} --approved {approval.sha256}"
    body = [
        section(
            "What would be promised",
            claim(guarantee.sentence(), *odds_words(guarantee), promised=guarantee.holds),
        ),
        section("What would be spent", facts(_spending(approval))),
        pair(
            section("Public facts on which the promise rests", items(guarantee.public_facts)),
            section("Not protected", items([*guarantee.not_covered, *_NOT_COVERED])),
        ),
        *_published(approval),
        section("How", facts({"Method": plan.method, **plan.facts}), items(plan.consequences)),
        section("Warnings", items([*plan.warnings, *([plan.refusal] if plan.refusal else [])])),
        section("What this page cannot know", items(_CAVEATS)),
        section(
            "Approval",
            facts({"Hash": approval.sha256, "Command": command}, code=("Hash", "Command")),
            paragraphs(
                "I have read this page. The facts on it may be published, and the budget on it "
                "may be spent. Any change of the study changes the hash, and the command above "
                "then refuses."
            ),
            signatures(("Custodian", "Author")),
        ),
    ]
    day = dt.datetime.now(dt.UTC).date().isoformat()
    who = shown(study.declaration.by) or "somebody unnamed"
    whole = [path.name for path in study.confidential_files]
    subtitle = (
        f"Study file {study.path.name}, confidential {'files' if whole[1:] else 'file'} "
        f"{', '.join(whole)}, "
        f"output {study.output.name}. Public facts declared by {who}. Printed {day}."
    )
    return document(KIND, study.dataset_id, subtitle, body, f"Made by dprct {__version__}.")


def _published(approval: Approval) -> list[str]:
    study = approval.study
    if study.makes_file:
        return [
            section("What would be published of each column", _columns(approval.schema)),
            section("What the file would say of itself", facts(_file_facts(approval))),
        ]
    rows = [
        (name, shown(approval.schema.column(name).label), _facts_of(approval.schema, name))
        for name in study.asked.spec.columns
    ]
    options = [f"{key}: {value}" for key, value in study.asked.said_options()]
    return [
        section(
            "What would be published",
            paragraphs(
                f"Numbers with noise, in {study.output.name}, and no row: what the plan below "
                "names. Of these columns, which are all that is read:"
            ),
            grid(("Column", "Label", "Public facts"), rows),
        ),
        section("Options that were chosen", items(options or ["none: all have their defaults"])),
    ]


def _spending(approval: Approval) -> dict[str, str]:
    study, cost = approval.study, approval.price
    ledger = find_ledger(study.data, study.dataset_id)
    if cost is None:
        rows = {"This release": "nothing, because nothing is promised"}
    else:
        rows = {"This release": str(cost)}
    if ledger is None:
        spec = study.budget
        total = cost if spec is None else Budget(spec.epsilon, spec.delta)
        return rows if total is None else {**rows, "Spent before": "nothing",
                                           "Total for this data set, ever": str(total)}  # fmt: skip
    return {
        **rows,
        "Spent before": str(ledger.spent),
        "Left before this release": str(ledger.remaining),
        "Total for this data set, ever": str(ledger.total),
    }


def _columns(schema: Schema) -> str:
    rows = [
        (one.name, "derived" if one.derived is not None else str(one.fate), shown(one.label),
         "nothing is published" if one.fate == "drop" else _facts_of(schema, one.name))
        for one in schema.columns
    ]  # fmt: skip
    return grid(("Column", "Fate", "Label", "Public facts"), rows)


def _facts_of(schema: Schema, name: str) -> str:
    column = schema.column(name)
    told = {k: v for k, v in column_facts(column).items() if k not in _NOT_FACTS}
    parts = [f"{key}: {_listed(value)}" for key, value in told.items()]
    labels = [f"{code} {shown(label)!r}" for code, label in schema.labels_of(column.name).items()]
    return "; ".join([*parts, *([f"value labels: {', '.join(labels)}"] if labels else [])])


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _file_facts(approval: Approval) -> dict[str, str]:
    keep, note = approval.study.release.keep, approval.plan.file_note
    file = announced_schema(approval.schema, approval.guarantee, keep, note).file
    rows = {"Label": shown(file.label), "Sorted by": ", ".join(file.sorted_by)}
    rows |= {
        f"{owner}[{name}]": shown(text)
        for owner, name, text in file.characteristics
        if name != "note0"
    }
    if not note:
        rows["A note that may be added"] = approval.study.asked.spec.later_note
    return {name: text for name, text in rows.items() if text}
