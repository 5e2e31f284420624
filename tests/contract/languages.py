"""What of Python must not stand in a message that is read in R, or by who wrote a study file."""

from __future__ import annotations

import re

from dprct.rbridge.names import r_words
from dprct.study.wording import in_toml

_QUOTED = re.compile(r"(?<![\w=])'[^'\n]*'(?!\w)|\"[^\"\n]*\"")
_EVERYWHERE = (
    r"\b(?:True|False|None|NoneType|dict|tuple|ndarray|DataFrame)\b"
    r"|\b(?!(?:epsilon|delta|rho|mu)=)[a-zA-Z_]\w*=(?!=)"
    r"|\bdprct\.[A-Z]\w+|(?<!c)\(low, high\)|\{'|\['"
)
LANGUAGES = {
    "R": (r_words, re.compile(rf"{_EVERYWHERE}|\[\d+(?:, [\d.]+)*\]\s*(?:[,;]|$)")),
    "a study file": (in_toml, re.compile(_EVERYWHERE)),
}


def python_in(message: object) -> list[str]:
    """Return what of Python is left when a message is said in another language, with the words."""
    found = []
    for language, (said_in, python) in LANGUAGES.items():
        said = said_in(message)
        left = python.search(_QUOTED.sub("", said))
        if left is not None:
            found.append(f"{left.group()!r} in the words of {language}: {said[:200]!r}")
    return found
