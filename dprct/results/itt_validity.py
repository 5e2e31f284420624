"""What a calibrated file says of the regressions of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dprct.formula import parse
from dprct.results.ols import RELEASED_NOTE
from dprct.results.options import covariance_named
from dprct.results.specification import Specification, terms_of
from dprct.results.validity import Validity

if TYPE_CHECKING:
    import pandas as pd

    from dprct.privacy.guarantee import Guarantee
    from dprct.results.itt_estimates import Estimated, Inference, Regressions


def validity_notes(
    regressions: Regressions,
    inference: Inference,
    found: Estimated,
    guarantee: Guarantee | None,
) -> list[str]:
    """Return what is said of the errors: a calibrated file knows, others hold no noise.

    Parameters
    ----------
    regressions : Regressions
    inference : Inference
    found : Estimated
    guarantee : Guarantee or None
        That of the release which the data come from, if given.

    Returns
    -------
    list of str
        One note where all regressions of the table are alike, else one per reason.
    """
    valid = Validity.of(regressions.schema)
    if valid is None:
        return [] if guarantee is None else [RELEASED_NOTE]
    said: dict[str, list[str]] = {}
    for place, spec in _specifications(regressions, inference, found.estimates).items():
        said.setdefault(valid.note(spec), []).append(place)
    notes = [
        note if len(said) == 1 else f"{', '.join(places)}: {note}" for note, places in said.items()
    ]
    if inference.adjust:
        notes.append(
            "Adjusted p-values test at levels below their own, which were not declared: take them "
            "for a description."
        )
    return notes


def _specifications(
    regressions: Regressions, inference: Inference, estimates: pd.DataFrame
) -> dict[str, Specification]:
    """Return the regressions of a table by what to call them."""
    cov_type = covariance_named(inference.cov_type, regressions.groups)
    groups = None if regressions.groups is None else regressions.groups_name or "given by row"
    terms = {
        panel: terms_of(parse(f"~ {side}", functions=True))
        for panel, side in regressions.panels.items()
    }
    return {
        f"{outcome} ({panel})" if panel else outcome: Specification(
            outcome=outcome,
            terms=terms[panel],
            cov_type=cov_type,
            groups=groups,
            rows=int(nobs),
            weighted=regressions.weights is not None,
        )
        for panel, outcome, nobs in zip(
            estimates["covariates"], estimates["outcome"], estimates["nobs"], strict=True
        )
    }
