"""The parts of one command: prefixes, name, variables, condition, weights, options."""

from __future__ import annotations

import re
from dataclasses import field
from itertools import pairwise

from dprct.records import dataclass

_ABBREVIATED = {
    "regress": 3, "areg": 4, "reghdfe": 7, "xtreg": 5, "ivregress": 9, "ivreg": 5, "ivreg2": 6,
    "ivreghdfe": 9, "logit": 4, "logistic": 8, "probit": 4, "dprobit": 5, "oprobit": 5, "ologit": 4,
    "tobit": 3, "intreg": 6, "cnreg": 5, "poisson": 4, "nbreg": 4, "qreg": 4, "ttest": 5,
    "ranksum": 7, "heckman": 4, "mlogit": 4, "brl": 3, "ate": 3, "suest": 5, "xtivreg": 7,
    "quietly": 3, "noisily": 1, "capture": 3, "bysort": 3, "by": 2, "xi": 2, "eststo": 6,
    "bootstrap": 2, "jackknife": 4, "svy": 3, "permute": 7, "simulate": 4, "statsby": 7,
    "rolling": 4, "stepwise": 8, "sw": 2, "version": 4, "nestreg": 7, "mi": 2, "ritest": 6,
    "local": 3, "global": 2, "macro": 3, "tokenize": 3, "gettoken": 8, "args": 4, "syntax": 3,
    "scalar": 3, "matrix": 3, "tempfile": 8, "tempvar": 7, "tempname": 8, "levelsof": 7, "ds": 2,
    "unab": 4, "numlist": 4, "foreach": 7, "forvalues": 4, "while": 5, "for": 3, "if": 2, "else": 4,
    "continue": 4, "exit": 2, "program": 2, "do": 2, "include": 3, "run": 2, "cd": 2, "clear": 5,
    "use": 1, "sysuse": 6, "webuse": 6, "insheet": 6, "import": 3, "infile": 4, "infix": 4,
    "usespss": 7, "xmluse": 6, "save": 2, "saveold": 5, "merge": 3, "append": 2, "joinby": 4,
    "cross": 5, "mmerge": 6, "keep": 2, "drop": 3, "generate": 1, "replace": 7, "egen": 3,
    "rename": 3, "renvars": 7, "recode": 3, "encode": 3, "decode": 3, "destring": 4, "tostring": 4,
    "clonevar": 5, "xtile": 5, "predict": 2, "separate": 4, "label": 2, "reshape": 4,
    "collapse": 4, "contract": 4, "expand": 4, "fillin": 6, "duplicates": 4, "sample": 3,
    "bsample": 7, "preserve": 4, "restore": 4, "svyset": 6, "xtset": 5, "tsset": 5, "iis": 3,
    "estimates": 3, "esttab": 6, "estout": 6, "outreg2": 7, "outreg": 6, "outtex": 6,
    "tabulate": 2, "summarize": 2, "order": 5, "pca": 3, "factor": 3, "winsor": 6, "winsor2": 7,
    "stack": 5, "xpose": 5, "statsmat": 8, "mkmat": 5, "svmat": 5, "input": 3, "delete": 6,
    "set": 3,
}  # fmt: skip
"""Commands that mean something here, with the least that Stata takes for them."""

_SILENT_NAMES = """\
log cmdlog display di disp tab1 tab2 table tabstat sort gsort gso describe desc de d list li
l count codebook browse br edit inspect assert compress format note notes char mata python
estadd estat lincom lincomest nlcom test testparm testnl margins mfx dydx graph gr twoway tw
scatter line histogram hist kdensity lowess lpoly bar pie correlate corr cor pwcorr spearman
ktau ci means mean proportion total ratio ameans centile mkdir rmdir erase rm copy type
shell dir ls pwd sleep pause more net ssc adopath findit which help search return ereturn
sreturn confirm marksample markout mark timer trace error _rc post postfile postclose
putexcel putdocx puttab texdoc coefplot mktab outsheet export outfile aorder move labmask
labvars lookfor isid sampsi power file window discard query about update view hausman lrtest
linktest vif ovtest hettest rvfplot predictnl bootstat tabout orth_out balancetable tabm
sktest swilk ksmirnov signrank median kwallis oneway anova loneway bitest prtest sdtest
estpost end stop break class serset translate unabcmd viewsource matlist pctile xtsum xtdes
xttab xtdescribe fre mdesc misstable tabmiss o memory mem varabbrev graphregion frmttable
sutex latabstat latab maketex filefilter
"""
_LONG_NAMES = {
    short: name
    for name, least in sorted(_ABBREVIATED.items(), reverse=True)
    for short in (name[:end] for end in range(least, len(name) + 1))
}
_LONG_NAMES |= {name: name for name in _ABBREVIATED} | {
    "reg": "regress", "tab": "tabulate", "ta": "tabulate", "sum": "summarize", "gen": "generate",
    "est": "estimates", "ren": "rename", "n": "noisily",
    "bs": "bootstrap", "bys": "bysort", "loc": "local", "cap": "capture", "qui": "quietly",
}  # fmt: skip

_SILENT = frozenset(_SILENT_NAMES.split())
"""Commands that neither estimate nor change what a later estimation means."""

_ALONE = frozenset({"quietly", "noisily", "capture"})
_WITH_COLON_NAMES = """\
by bysort xi eststo svy bootstrap jackknife permute simulate statsby rolling stepwise sw
version nestreg mi ritest
"""
_WITH_COLON = frozenset(_WITH_COLON_NAMES.split())
_HEAD = re.compile(r"\s*([A-Za-z_]\w*|\{|\?)")
_WEIGHT = re.compile(r"\[\s*(\w+)\s*=\s*([^\]]*)\]")
_LATE = re.compile(r"\s*(?:if|in)\b")
_KINDS = {"a": "aweight", "p": "pweight", "f": "fweight", "i": "iweight", "w": "weight"}


def full_name(word: str) -> str:
    """Return a command's full name; a word that is none is returned as it is."""
    return _LONG_NAMES.get(word, word)


def is_silent(word: str) -> bool:
    """Whether a command leaves data, macros and estimations as they are."""
    return word in _SILENT


@dataclass(frozen=True)
class Prefix:
    """A prefix command, and the text before its colon."""

    name: str
    text: str = ""


@dataclass
class Parsed:
    """One command; ``before`` is what stands before the condition."""

    name: str
    word: str
    rest: str
    before: str = ""
    condition: str = ""
    within: str = ""
    weights: str = ""
    using: str = ""
    options: dict[str, str] = field(default_factory=dict)

    def option(self, name: str, least: int = 1) -> str | None:
        """Argument of an option, "" where it holds nothing, None where it is not given."""
        if name in self.options:
            return self.options[name]
        for given, held in self.options.items():
            if len(given) >= least and name.startswith(given):
                return held
        return None


def split_prefixes(text: str) -> tuple[list[Prefix], str]:
    """Return a command's prefixes, and the command."""
    found: list[Prefix] = []
    while len(found) < 12:
        head = _HEAD.match(text)
        name = full_name(head[1]) if head else ""
        if head is None:
            break
        rest = text[head.end() :]
        if name in _ALONE:
            text = rest.lstrip(" \t:")
            found.append(Prefix(name))
        elif name in _WITH_COLON and (colon := _top(rest, ":")) >= 0:
            found.append(Prefix(name, rest[:colon].strip()))
            text = rest[colon + 1 :]
        else:
            break
    return found, text.strip()


def parse(text: str) -> Parsed:
    """Take apart a command without prefixes."""
    head = _HEAD.match(text)
    if head is None:
        return Parsed("", "", text)
    word, rest = head[1], text[head.end() :].strip()
    parsed = Parsed(full_name(word), word, rest)
    body, *more = top_level(rest, ",")
    # a second comma ends the options: ``reg y t, robust, if a == 1``
    late = [part for part in more[1:] if _LATE.match(part)]
    body = " ".join([body, *late])
    if options := [part for part in more if part not in late]:
        parsed.options = _options(",".join(options))
    if "[" in body and (weight := _WEIGHT.search(body)) and _is_weight(weight[1]):
        kind = _KINDS.get(weight[1][:1], weight[1])
        parsed.weights = f"{kind}={' '.join(weight[2].split())}"
        body = body[: weight.start()] + " " + body[weight.end() :]
    parts = _qualifiers(body)
    parsed.before = parts[""]
    parsed.condition, parsed.within = parts["if"], parts["in"]
    parsed.using = parts["using"]
    return parsed


def _is_weight(word: str) -> bool:
    return any(
        full.startswith(word) and len(word) >= least
        for full, least in (("aweights", 2), ("pweights", 2), ("fweights", 2), ("iweights", 2))
    ) or (word != "" and "weights".startswith(word))


_DEEPER = re.compile(r"""`"|"'|["()\[\]{},:\\]|\b(?:if|in|using)\b""")


def _marks(text: str) -> list[tuple[int, str]]:
    """Return the marks of a text that stand outside quotes and brackets."""
    found: list[tuple[int, str]] = []
    depth = 0
    quoted = 0
    plain = False
    for mark in _DEEPER.finditer(text):
        token = mark[0]
        if token == '`"' and not plain:
            quoted += 1
        elif token == "\"'" and quoted:
            quoted -= 1
        elif token[0] == '"' and not quoted:
            plain = not plain and text.find('"', mark.end()) >= 0
        elif quoted or plain:
            continue
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(depth - 1, 0)
        elif not depth:
            found.append((mark.start(), token))
    return found


def _top(text: str, wanted: str) -> int:
    if wanted not in text:
        return -1
    return next((place for place, token in _marks(text) if token == wanted), -1)


def top_level(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks that stand outside quotes and brackets."""
    if mark not in text:
        return [text]
    places = [place for place, token in _marks(text) if token == mark]
    edges = [-1, *places, len(text)]
    return [text[a + 1 : b] for a, b in pairwise(edges)]


def _qualifiers(body: str) -> dict[str, str]:
    """Return the text before, and after each of, ``using``, ``if`` and ``in``."""
    parts = {"": "", "if": "", "in": "", "using": ""}
    key, begin = "", 0
    for place, token in _marks(body):
        bare = (place == 0 or body[place - 1].isspace()) and token in parts
        after = body[place + len(token) : place + len(token) + 1]
        if bare and (after == "" or after in ' \t("`-!~' or after.isspace()):
            parts[key] = body[begin:place].strip()
            key, begin = token, place + len(token)
    parts[key] = body[begin:].strip()
    return {name: " ".join(text.split()) for name, text in parts.items()}


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    position, end = 0, len(text)
    name = re.compile(r"[\s,]*([A-Za-z_]\w*)\s*(\()?|[\s,]*(\S)")
    while position < end and len(found) < 200:
        head = name.match(text, position)
        if head is None:
            break
        position = head.end()
        if head[3]:
            continue
        held = ""
        if head[2]:
            close = _closing(text, position)
            held = text[position:close].strip()
            position = close + 1
        found.setdefault(head[1], held)
    return found


def _closing(text: str, position: int) -> int:
    depth, quoted = 1, False
    for mark in re.compile(r'["()]').finditer(text, position):
        if mark[0] == '"':
            quoted = not quoted and text.find('"', mark.end()) >= 0
        elif not quoted:
            depth += 1 if mark[0] == "(" else -1
            if not depth:
                return mark.start()
    return len(text)
