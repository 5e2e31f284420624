"""What people bring along from Stata and R, and how it is written here."""

from __future__ import annotations

import re

STATA_COMMANDS = re.compile(
    r"\s*(qui\w*|xi|by|bysort|regr?e?s?s?|regress|areg|xtreg|reghdfe|iv\w*|logit|probit|poisson|"
    r"tobit|anova|su\w*)[\s:]+[^\W\d]"
)

FUNCTION_HINTS = {
    "factor": "write C({inside})",
    "as": "write C({inside})",
    "i": "write C({inside})",
    "Q": "put the name in backquotes",
    "ln": "write log({inside})",
    "poly": "write the powers: x + I(x ** 2)",
    "bs": "compute the columns beforehand",
    "np": "write log(x), not np.log(x)",
}

_STATA_FACTOR = re.compile(r"\b(?:i|ib\d+|ibn)\.\(?([^\W\d]\w*)?")
_STATA_CONTINUOUS = re.compile(r"\bc\.\(?([^\W\d]\w*)?")
_R_FACTOR = re.compile(r"\bas\.factor\b")
_MODULE = re.compile(r"\b(np|numpy|math|pd)\.(\w+)")


def stata_or_r(text: str) -> str | None:
    """Return one sentence on how to write what was meant, or None where nothing is recognised.

    Parameters
    ----------
    text : str
        The formula as given, outside backquotes.

    Examples
    --------
    >>> stata_or_r("y ~ i.village")
    "'i.village' is Stata's; write C(village) here"
    >>> stata_or_r("reg y x")
    "'reg ...' is a Stata command; write y ~ x + z, the outcome first"
    """
    if "~" not in text and (command := STATA_COMMANDS.match(text)):
        return f"'{command[1]} ...' is a Stata command; write y ~ x + z, the outcome first"
    if "#" in text:
        return "'#' and '##' are Stata's; write a:b for an interaction and a*b for a + b + a:b here"
    if found := _R_FACTOR.search(text):
        return f"{found[0]!r} is R's; write C(x) for a factor here"
    if found := _MODULE.search(text):
        return f"{found[0]!r} is Python; write {found[2]}(x) if it is log, exp, sqrt or abs"
    if found := _STATA_FACTOR.search(text):
        return f"{found[0]!r} is Stata's; write C({found[1] or 'x'}) here"
    if found := _STATA_CONTINUOUS.search(text):
        return f"{found[0]!r} is Stata's; write {found[1] or 'x'} alone, numbers are numbers here"
    if re.search(r"~\s*\.\s*(?:[-+]|$)", text):
        return "'.' for all other columns is R's; name each column here"
    if re.search(r"\w\s+if\s+\w", text):
        return "a Stata 'if' is not part of a formula; select the rows of the data beforehand"
    if re.search(r"\w\s*,\s*(?:r|robust|vce|cl|cluster)\b", text):
        return "options after a comma are Stata's; give cov_type= or groups= beside the formula"
    return None


def function_hint(name: str, inside: str) -> str:
    """Return how to write a function of another language, or an empty text.

    Examples
    --------
    >>> function_hint("factor", "village")
    'write C(village)'
    """
    return FUNCTION_HINTS.get(name, "").format(inside=inside)
