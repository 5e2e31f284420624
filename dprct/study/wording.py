"""Messages in the words of a study file, or of a command's options, instead of Python's.

Refusals, warnings and plans are written once, for whoever calls the package from Python:
``missing={'y': ...}``.  Whoever wrote TOML, or typed a command, is told of it in these words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from dprct.results.plan import Plan


def spelled(value: Any) -> str:
    """Return a value as TOML writes it.

    Examples
    --------
    >>> spelled({"y": (0, 1.5)}), spelled("arms"), spelled(True)
    ('{y = [0, 1.5]}', '"arms"', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {spelled(one)}' for key, one in value.items())}}}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(spelled, value))}]"
    return str(value)


_METHODS = {
    "MVHistogram": "mv_histogram",
    "Marginals": "marginals",
    "Calibrated": "calibrated",
    "PrivateATE": "private_ate",
    "PrivateMoments": "moments",
    "PrivateAdditive": "private_additive",
    "SyntheticControl": "synthetic_control",
    "IPW": "ipw",
    "CATE": "cate",
}
"""How a study file calls what Python calls by its class."""

_KINDS = {"BlockCluster": "block_cluster"}
_NAMES = "|".join(_METHODS)


def _design(found: re.Match[str]) -> str:
    kind = _KINDS.get(found[1], found[1].lower())
    return f'[design] kind = "{kind}"'


def _method(found: re.Match[str]) -> str:
    return f'{found[1] or ""}method = "{_METHODS[found[2]]}"'


def _table(found: re.Match[str]) -> str:
    """Return a mapping of Python as a table of TOML."""
    inside = re.sub(r"'([A-Za-z_][\w-]*)':", r"\1 =", found[0])
    inside = re.sub(r"'([^'{}\n]*)':", r'"\1" =', inside)
    return re.sub(r"(?<=[{ ])(-?\d[\d.]*):", r'"\1" =', inside)


_Form = tuple[str, "str | Callable[[re.Match[str]], str]"]

_PHRASES: tuple[_Form, ...] = (
    (
        r"(?:assignment=)?(?:an? )?dprct\.(Simple|Complete|Block|Cluster|BlockCluster|Factorial)"
        r"(?:\([^()]*\))?(?: design)?",
        _design,
    ),
    (rf"\b((?:use|take|with) )(?:dprct\.)?({_NAMES})\b(?:\(\.\.\.\))?", _method),
    (rf"()\bdprct\.({_NAMES})\b", _method),
    (r"confirm=True \(in a study file: (confirm = true)\)", r"\1 in [release]"),
    (r"these terms \(in a study file: ([^()]*)\), or continue it with Accountant\.load", r"\1"),
    (r"\bdeclare Unit\(name, id=\.\.\.\)", "declare [unit] name = ... and id = ..."),
    (r"\bassignment=(?=[ ,;:.)]|$)", "[design]"),
    (r"(?<!the )\bassignment(?= is )", "[design]"),
    (r", such as Block\(\.\.\.\)", ", each a table [design.factors.NAME]"),
    (r" or give columns=\[\.\.\.\]", " for those that matter"),
    (r"(?<=such as )2/3\b", "0.667"),
    (r"(?:,| or|, or) None(?=$|[;.])", ", or leave it out"),
    (r"\{'[^{}]*\}|\{-?\d[\d.]*: [^{}]*\}", _table),
    (r"\b([a-zA-Z_]\w*)=\{([^{}]*)\}", r"\1 = {\2}"),
    (r"\(low, high\)", "[low, high]"),
)
"""What is said in other words; looked for in the whole message."""

_VALUES: tuple[_Form, ...] = (
    (r"(?<=such as )\(([^()]*)\)", r"[\1]"),
    (r"\bbounds \((-?[\d.e+-]+, -?[\d.e+-]+)\)", r"bounds [\1]"),
    (r"\b([a-zA-Z_]\w*)=\(([^()]*)\)", r"\1 = [\2]"),
    (r"\b([a-zA-Z_]\w*)='([^'\n]*)'", r'\1 = "\2"'),
    (r"\b([a-zA-Z_]\w*)=(?=[\w.\[\"+-])", r"\1 = "),
    (r"\b([a-zA-Z_]\w*)=(?=[ ,;:.)]|$)", r"\1"),
    (r"(?<= = )True\b", "true"),
    (r"(?<= = )False\b", "false"),
)
"""How Python writes a named value, and how TOML does; not looked for in quoted text."""

_QUOTED = re.compile(r"((?<![\w=])'[^'\n]*'(?!\w))")


def in_toml(text: str) -> str:
    """Return a message with its named values as TOML writes them.

    What stands in quotes, such as the name of a file, is left as it is.

    Examples
    --------
    >>> in_toml("give missing={'y': ...}, or declare missing='never'")
    'give missing = {y = ...}, or declare missing = "never"'
    >>> in_toml("alphas= is text; trim=0.7, bounds=(low, high), hajek=True")
    'alphas is text; trim = 0.7, bounds = [low, high], hajek = true'
    >>> in_toml("needs assignment=, such as dprct.Complete('treat', shares=0.5)")
    'needs [design], such as [design] kind = "complete"'
    >>> in_toml("no file 'round=2.dta' here; give confirm=True")
    "no file 'round=2.dta' here; give confirm = true"
    """
    for form, words in _PHRASES:
        text = re.sub(form, words, text)
    parts = _QUOTED.split(text)
    for place in range(0, len(parts), 2):
        for form, words in _VALUES:
            parts[place] = re.sub(form, words, parts[place])
    return "".join(parts)


def plan_in_toml(plan: Plan) -> Plan:
    """Return a plan that says what to change in the words of a study file."""
    return replace(
        plan,
        facts={name: in_toml(value) for name, value in plan.facts.items()},
        consequences=tuple(map(in_toml, plan.consequences)),
        warnings=tuple(map(in_toml, plan.warnings)),
        refusal=in_toml(plan.refusal),
    )


def in_options(text: str) -> str:
    """Return a message with its named values as options of a command.

    Examples
    --------
    >>> in_options("give cov_type='nonrobust', or leave where= out")
    "give --cov-type 'nonrobust', or leave --where out"
    """

    def option(found: re.Match[str]) -> str:
        return f"--{found[1].replace('_', '-')}{' ' if found[2] else ''}{found[2]}"

    parts = _QUOTED.split(text)
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"\b(cov_type|where|effects)=('[^'\n]*'|(?!=))", option, parts[place])
    return "".join(parts)
