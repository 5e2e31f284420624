"""What a study with ``method = "moments"`` leaves: released moments, and what it declared of them.

The moments are a document of their own, which readers run their regressions on.  Effects and the
declared formulas are read off it for the document of results: post-processing.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dprct.errors import DprctError, FileError
from dprct.estimate.moments.declared import Regression
from dprct.estimate.moments.document import DIGEST, content_of, digest_of, document_of, text_of
from dprct.lazy import pandas as pd
from dprct.records import dataclass
from dprct.release.writing import certificate_paths, certificate_texts, check_certificates
from dprct.study.results_document import refuse_others

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dprct.certificate.certificate import Certificate
    from dprct.estimate.moments.results import Moments
    from dprct.privacy.budget import Guarantee
    from dprct.results.base import LinearResults

SUFFIX = ".moments.json"

_EFFECTS = "effects"


@dataclass(frozen=True, eq=False)
class DeclaredMoments:
    """Released moments, with effects and declared regressions as one table."""

    moments: Moments
    regressions: tuple[Regression, ...]  # those of the study file
    certificate: Certificate | None = None  # of the file of the moments, once there is one

    title = "Regressions on released moments"

    @property
    def guarantee(self) -> Guarantee:
        """That of the release; what is read off it spends nothing."""
        return self.moments.guarantee

    @property
    def ledger(self) -> str:
        """What was charged, and where."""
        return self.moments.ledger

    @cached_property
    def _made(self) -> tuple[dict[str, LinearResults], tuple[str, ...]]:
        """The results by name, and in words those that are not available."""
        found: dict[str, LinearResults] = {}
        failed: list[str] = []
        # of units with several rows, only regressions whose scores were released have errors
        single = self.moments.layout.grid.rows == 1 and not self.moments.withheld
        if len(self.moments.arms) > 1 and single:
            found[_EFFECTS] = self.moments.effects()
        asked = self._asked()
        if not found and not asked:
            asked = [Regression(f"{name} ~ 1") for name in self.moments.outcomes]
        served = {one.title for one in self.moments.declared}
        served |= {one.title for one in self.moments.instrumented}
        served |= {one.title for one in self.moments.models}
        for one in asked:
            fit: Any = self.moments.iv if one.parsed.endogenous else self.moments.ols
            fit = self.moments.glm if one.family is not None else fit
            try:
                found[one.title] = fit(one.title if one.title in served else one.formula)
            except DprctError as error:  # the budget is spent: say it, and keep the rest
                failed.append(f"{one.title} is not in the table: {error}")
        return found, tuple(failed)

    def _asked(self) -> list[Regression]:
        """Return the declared regressions, one for each outcome."""
        found: dict[Regression, None] = {}
        for one in self.regressions:
            outcomes = one.parsed.outcomes
            each = [one] if len(outcomes) == 1 else [one.of(y.label) for y in outcomes]
            found |= dict.fromkeys(each)
        return [*found]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences below the table."""
        made, failed = self._made
        return tuple(dict.fromkeys([*(n for one in made.values() for n in one.notes), *failed]))

    def tidy(self) -> pd.DataFrame:
        """Return one row for every effect and every coefficient."""
        return _stacked({of: one.tidy() for of, one in self._made[0].items()})

    def glance(self) -> pd.DataFrame:
        """Return one row about the release."""
        told = dict(self.moments.facts())
        return pd.DataFrame([{name: text for name, text in told.items() if name != "ledger"}])

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """One row about every regression, and the effects within the levels of every subgroup."""
        made = self._made[0]
        found = {"fits": _stacked({of: one.glance() for of, one in made.items()})}
        for name in self.moments.subgroups if _EFFECTS in made else ():
            with suppress(DprctError):  # an arm that no level has: the budget is spent
                found[f"effects by {name}"] = self.moments.effects(where=name).tidy()
        return found

    def summary(self) -> str:
        """Return the tables of all results, then the certificate of the release."""
        made, failed = self._made
        guarantee = str(self.guarantee)
        blocks = [str(one.summary().without(guarantee.splitlines())) for one in made.values()]
        signed = guarantee if self.certificate is None else str(self.certificate)
        return "\n\n".join([*blocks, *failed, signed])


def _stacked(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return tables below each other, with what each is of; no row where there is none."""
    whole = [table.assign(of=of) for of, table in tables.items()] or [pd.DataFrame({"of": []})]
    frame = pd.concat(whole, ignore_index=True)
    return frame[["of", *(name for name in frame.columns if name != "of")]]


def moments_path(output: Path) -> Path:
    """Place of the moments whose results go to ``output``.

    Examples
    --------
    >>> from pathlib import Path
    >>> [moments_path(Path(name)).name for name in ("trial_results.json", "table2.json")]
    ['trial.moments.json', 'table2.moments.json']
    """
    return output.with_name(output.stem.removesuffix("_results") + SUFFIX)


def moments_places(output: Path) -> tuple[Path, ...]:
    """Places of the moments whose results go to ``output``, and of their certificate."""
    place = moments_path(output)
    return (place, *certificate_paths(place))


def moments_files(
    moments: Moments, place: Path, study: str, facts: Mapping[str, str]
) -> tuple[Certificate, dict[Path, str]]:
    """Return released moments and their certificate as they are written, by path.

    ``study`` is the hash of what the study asks for, which adds facts to those of the release.
    """
    content = document_of(moments)
    text = text_of(content)
    plain = moments.certificate()
    signed = replace(
        plain,
        facts={**plain.facts, **facts, DIGEST: content["digest"]},
        study=study,
        file={"name": place.name, "sha256": hashlib.sha256(text.encode("utf-8")).hexdigest()},
    )
    return signed, {**certificate_texts(signed, place), place: text}


def check_moments_target(output: Path, dataset_id: str) -> None:
    """Refuse a place where the moments of a study may not be written."""
    if output.name.lower().endswith(SUFFIX):
        raise FileError(
            f"{output.name!r} is a name of released moments, and [release] output names the "
            "document of results; the moments get their name from it: leave out '.moments'"
        )
    place = moments_path(output)
    refuse_others(place, lambda place: _is_own(place, dataset_id))
    check_certificates(place, dataset_id)


def _is_own(place: Path, dataset_id: str) -> bool:
    content: Mapping[str, Any] | None = content_of(place)
    if content is None or content.get("digest") != digest_of(content):
        return False
    return bool(content.get("dataset_id") == dataset_id)
