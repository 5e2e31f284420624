"""Which differences a certificate permits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprct.errors import FileError, ParameterError
from dprct.io.facets import FACETS

if TYPE_CHECKING:
    from dprct.io.compare.comparison import Difference

Permits = Mapping[tuple[str, str | None], str]


def certificate_beside(path: Path) -> Path | None:
    """Return the certificate that lies beside a file, where there is one.

    Examples
    --------
    >>> certificate_beside(Path("nowhere.dta")) is None
    True
    """
    beside = path.with_name(f"{path.stem}.certificate.json")
    return beside if beside.is_file() else None


def permits_of(certificate: str | Path | Mapping[str, Any]) -> Permits:
    """Return the differences that a certificate lists, with their reasons.

    Parameters
    ----------
    certificate : path or mapping
        A certificate in JSON, or its content: ``{"differences": [{"facet": ..., "column": ...,
        "reason": ...}]}``; a column of None permits the facet everywhere.

    Returns
    -------
    mapping of (facet, column or None) to reason

    Raises
    ------
    FileError
        If the file cannot be read as JSON.
    ParameterError
        If it lists no differences, or names a facet that is none.

    Examples
    --------
    >>> permits_of({"differences": [{"facet": "notes", "column": None, "reason": "dropped"}]})
    {('notes', None): 'dropped'}
    """
    content = certificate if isinstance(certificate, Mapping) else _json(Path(certificate))
    listed = content.get("differences") if isinstance(content, Mapping) else None
    if not isinstance(listed, (list, tuple)):
        raise ParameterError(
            'the certificate has no list "differences"; give the .certificate.json of a release'
        )
    return dict(_permit(entry) for entry in listed)


def permitted(difference: Difference, permits: Permits) -> Difference:
    """Return the difference with the certificate's word on it: its column first, then the file.

    Where values may differ, how many of them do is not said: the count would come from the
    confidential file without noise, and a certified comparison is shown around.
    """
    for key in ((difference.facet, difference.column), (difference.facet, None)):
        if key in permits:
            detail = "differ" if difference.facet == "values" else difference.detail
            return replace(difference, detail=detail, permitted=True, reason=permits[key])
    return difference


def _permit(entry: Any) -> tuple[tuple[str, str | None], str]:
    facet = entry.get("facet") if isinstance(entry, Mapping) else entry
    if not isinstance(facet, str) or facet not in FACETS or facet is entry:
        raise ParameterError(
            f"the certificate permits the facet {facet!r}; allowed: {', '.join(FACETS)}"
        )
    column = entry.get("column")
    if not (column is None or isinstance(column, str)):
        raise ParameterError(
            f"the certificate permits {facet!r} of {column!r}; "
            "a column is a name, or null for the whole file"
        )
    return (facet, column), str(entry.get("reason", ""))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(
            f"the certificate {path.name!r} cannot be read ({error.strerror}); check the path"
        ) from None
    except ValueError:  # neither UTF-8 nor JSON
        raise FileError(
            f"the certificate {path.name!r} is not JSON; give the .certificate.json of a release"
        ) from None
