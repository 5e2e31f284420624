"""Names of coefficients and of columns of a formula, as R writes them: no words, code alone."""

from __future__ import annotations

import re

from dprct.rbridge.dialect import in_r


def r_words(text: object) -> str:
    """Return a sentence with its fragments of code, and names of columns, as R writes them.

    Examples
    --------
    >>> r_words("centres of ``radius=``: I(age ** 2), C(edu)[T.2]")
    'centres of radius: I(age^2), factor(edu)2'
    """
    return r_name_of(in_r(text))


def r_name_of(name: str) -> str:
    """Return the name that R gives a coefficient or a column of a formula.

    Examples
    --------
    >>> [r_name_of(name) for name in ("C(edu)[T.2]:t", "I(age ** 2)", "t")]
    ['factor(edu)2:t', 'I(age^2)', 't']
    """
    levels = re.sub(r"\bC\(([^()]*)\)\[(?:T\.)?([^\]]*)\]", r"factor(\1)\2", name)
    factors = re.sub(r"\bC\(([^()]*)\)", r"factor(\1)", levels)
    # in a text that is broken into lines the blanks may be their ends
    return re.sub(r"\bI\([^()]*\)", lambda at: re.sub(r"\s*\*\*\s*", "^", at[0]), factors)
