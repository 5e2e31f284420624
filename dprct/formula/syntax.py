"""The grammar of a formula: outcomes ~ names, ``C()``, ``I()``, ``:``, ``*``, ``+``, 0 and 1.

Where a fit knows them, also ``[d ~ z]``, a regressor and its instruments, and ``| village``,
columns whose levels are fixed effects.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple

from dprct.errors import FormulaError
from dprct.formula.expressions import FUNCTIONS, Expression
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable


# The smallest pieces of a formula; a character that is not part of one is refused.

ALLOWED = "column names, C(name), I(arithmetic), a:b, a*b, +, and 0, 1 or -1 for the intercept"


_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<operator>\*\*|==|!=|<=|>=|[-~+*/:()<>\[\]|])"
)


STRUCTURAL = frozenset("[]|")
"""Signs of instruments and fixed effects, which most fits do not know."""


class Token(NamedTuple):
    """A piece of a formula; ``kind`` is quoted, name, number, operator or end."""

    kind: str
    text: str
    at: int


def tokens_of(text: str, *, structural: bool = False) -> list[Token]:
    """Return the tokens of a formula, closed by one of kind ``end``, or refuse a character.

    Signs of instruments and fixed effects are refused unless ``structural``.

    Examples
    --------
    >>> [token.text for token in tokens_of("y ~ `a b`*x")]
    ['y', '~', 'a b', '*', 'x', '']
    """
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or (not structural and match["operator"] in STRUCTURAL):
            raise FormulaError(
                f"{text[at]!r} at character {at + 1} is not allowed; allowed: {ALLOWED}; a column "
                f"of another name stands in backquotes (formula {shortened(text)!r})"
            )
        kind = str(match.lastgroup)
        if kind != "space":
            tokens.append(Token(kind, match[kind], at))
        at = match.end()
    return [*tokens, Token("end", "", len(text))]


def shortened(text: str, most: int = 80) -> str:
    """Text for a message, cut where it is long."""
    text = text.strip()
    return text if len(text) <= most else text[: most - 3] + "..."


# What people bring along from Stata and R, and how it is written here.

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
    """One sentence on how to write what was meant, or None where nothing is recognised.

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
        return (
            "options after a comma are Stata's; give ``cov_type=`` or ``cluster=`` to the function"
        )
    return None


def function_hint(name: str, inside: str) -> str:
    """Advice on a function of another language, or an empty text.

    Examples
    --------
    >>> function_hint("factor", "village")
    'write C(village)'
    """
    return FUNCTION_HINTS.get(name, "").format(inside=inside)


MOST_TERMS = 5000
DEEPEST = 50


@dataclass(frozen=True)
class Factor:
    """One variable of a term: a column, a column read as categories, or arithmetic of columns."""

    kind: Literal["name", "C", "expression"]
    label: str  # how it is named in results, for example ``"C(village)"``
    names: tuple[str, ...]  # the columns it uses
    expression: Expression | None = None  # for kind ``"expression"``


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """A parsed formula."""

    text: str  # as it was given, without surrounding space
    outcomes: tuple[Factor, ...]  # left of ``~``; empty for a one-sided formula
    # Right of ``~``, lower orders first, without repetition and without the intercept.
    terms: tuple[Term, ...]
    intercept: bool
    endogenous: tuple[Factor, ...] = ()  # left of ``~`` in ``[d ~ z]``; empty where there is none
    instruments: tuple[Term, ...] = ()  # right of it, as ``terms``
    effects: tuple[str, ...] = ()  # columns after ``|``

    def __str__(self) -> str:
        return self.text

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """Columns used left of ``~``."""
        return _once(name for factor in self.outcomes for name in factor.names)

    @property
    def regressor_names(self) -> tuple[str, ...]:
        """Columns used right of ``~``, those of instruments and fixed effects last."""
        inside = (*self.terms, self.endogenous, *self.instruments)
        used = (name for term in inside for factor in term for name in factor.names)
        return _once((*used, *self.effects))

    @property
    def names(self) -> tuple[str, ...]:
        """All columns used, outcomes first."""
        return _once((*self.outcome_names, *self.regressor_names))


def names(
    formula: str | Formula, *, functions: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of outcomes and of regressors, each once, in order.

    Examples
    --------
    >>> names("y ~ treat*C(village) + I(age ** 2)")
    (('y',), ('treat', 'village', 'age'))
    """
    parsed = formula if isinstance(formula, Formula) else parse(formula, functions=functions)
    return parsed.outcome_names, parsed.regressor_names


def parse(formula: str, *, functions: bool = False, structural: bool = False) -> Formula:
    """Parse a formula; nothing in it is ever run.

    A column whose name is not an identifier stands in backquotes.  ``functions`` allows ``log``,
    ``exp``, ``sqrt``, ``abs``, comparisons inside ``I()`` and transformed outcomes, for fits
    without a guarantee; ``structural`` allows ``[d ~ z]`` once and ``| effects`` at the end.

    Notes
    -----
    Terms are ordered by degree, then as written, as in R.  ``a - b`` is not part of the grammar,
    nor are ``**`` and ``/`` outside ``I()``.

    Examples
    --------
    >>> parsed = parse("y ~ a*C(b) - 1")
    >>> [":".join(factor.label for factor in term) for term in parsed.terms]
    ['a', 'C(b)', 'a:C(b)']
    >>> parsed.intercept
    False
    >>> parsed = parse("y ~ age + [d ~ z] | village", structural=True)
    >>> parsed.endogenous[0].label, parsed.instruments[0][0].label, parsed.effects
    ('d', 'z', ('village',))
    """
    if not isinstance(formula, str):
        raise FormulaError(
            f"formula is ``{type(formula).__name__}``; give text such as 'y ~ x + z'"
        )
    return _parsed(formula, functions, structural)


@lru_cache(maxsize=1024)
def _parsed(formula: str, functions: bool, structural: bool) -> Formula:
    """Formula of a text: a frozen value, read once however often a fit asks for it."""
    parsed = _Reader(formula, functions, structural).formula()
    _refuse_ambiguous(parsed)
    return parsed


class _Reader:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str, functions: bool, structural: bool) -> None:
        self.text = text
        self.functions = functions
        self.endogenous: tuple[Factor, ...] = ()
        self.instruments: tuple[Term, ...] = ()
        unquoted = re.sub(r"`[^`]*`", "x", text)
        if hint := stata_or_r(unquoted):
            raise FormulaError(f"{hint} (formula {shortened(text)!r})")
        self.tokens = tokens_of(text, structural=structural)
        self.next = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        token = self.token
        self.next += token.kind != "end"
        return token

    def at(self, *operators: str) -> bool:
        return self.token.kind == "operator" and self.token.text in operators

    def refuse(self, why: str) -> FormulaError:
        return FormulaError(f"{why}; allowed: {ALLOWED} (formula {shortened(self.text)!r})")

    def formula(self) -> Formula:
        tildes, inside = 0, 0
        for token in self.tokens:
            if token.kind == "operator":
                inside += {"[": 1, "]": -1}.get(token.text, 0)
                tildes += token.text == "~" and not inside
        if tildes != 1:
            raise FormulaError(
                f"a formula has one '~', {shortened(self.text)!r} has {tildes}; write y ~ x + z, "
                "or ~ x + z without an outcome"
            )
        outcomes = self.outcomes()
        self.take()
        terms, intercept = self.right_side()
        effects = self.effects()
        ordered = sorted(_distinct(terms), key=len)
        return Formula(
            self.text.strip(),
            outcomes,
            tuple(ordered),
            intercept,
            self.endogenous,
            self.instruments,
            effects,
        )

    def effects(self) -> tuple[str, ...]:
        found: list[str] = []
        while self.at("|", "+") if found else self.at("|"):
            if found and self.at("|"):
                raise self.refuse("'|' stands twice; write y ~ x | village + year")
            self.take()
            token = self.take()
            if token.kind not in ("name", "quoted") or self.at("(", ":", "*"):
                raise self.refuse("after '|' stand columns alone, as in y ~ x | village + year")
            found.append(token.text)
        if self.token.kind != "end":
            raise self.unexpected()
        return _once(found)

    def bracket(self) -> None:
        if self.endogenous:
            raise self.refuse(
                "'[' stands twice; one regressor has instruments, as in [d ~ z1 + z2]"
            )
        self.take()
        factor = self.factor()
        if factor.kind != "name" or not self.at("~"):
            raise self.refuse("in brackets stands one column and its instruments, as in [d ~ z]")
        self.take()
        terms = self.sum(0)
        if not self.at("]"):
            raise self.unexpected()
        self.take()
        self.endogenous, self.instruments = (factor,), tuple(sorted(_distinct(terms), key=len))

    def outcomes(self) -> tuple[Factor, ...]:
        found: list[Factor] = []
        while not self.at("~"):
            if found and not self.at("+"):
                raise self.refuse(f"{self.token.text!r} between outcomes; write y1 + y2 ~ x")
            if found:
                self.take()
            factor = self.factor()
            if factor.kind == "C":
                raise self.refuse(f"the outcome {factor.label} is categorical; name a number")
            if factor.kind == "expression" and not self.functions:
                raise self.refuse(
                    f"the outcome {factor.label} is transformed; add it to the data as a column "
                    "of its own with its own bounds"
                )
            found.append(factor)
        return tuple(_distinct_factors(found))

    def right_side(self) -> tuple[list[Term], bool]:
        terms: list[Term] = []
        intercept = True
        sign = self.take().text if self.at("+", "-") else "+"
        while True:
            if self.token.kind == "number":
                intercept = self.intercept(sign)
            elif sign == "-":
                raise self.refuse(f"'- {self.token.text}' removes a term; only -1 is read")
            elif self.at("["):
                self.bracket()
            else:
                terms += self.product(0)
            if self.token.kind == "end" or self.at("|"):
                return terms, intercept
            if not self.at("+", "-"):
                raise self.unexpected()
            sign = self.take().text

    def intercept(self, sign: str) -> bool:
        number = self.take().text
        if (sign, number) not in {("+", "0"), ("+", "1"), ("-", "1")} or not (
            self.at("+", "-", "|") or self.token.kind == "end"
        ):
            raise self.refuse(f"the number {number} stands outside I()")
        return (sign, number) == ("+", "1")

    def sum(self, depth: int) -> list[Term]:
        if depth > DEEPEST:
            raise self.refuse(f"parentheses more than {DEEPEST} deep")
        terms = self.product(depth)
        while self.at("+"):
            self.take()
            terms += self.product(depth)
        return terms

    def product(self, depth: int) -> list[Term]:
        terms = self.interaction(depth)
        while self.at("*"):
            self.take()
            right = self.interaction(depth)
            terms = [*terms, *right, *self.crossed(terms, right)]
        return terms

    def interaction(self, depth: int) -> list[Term]:
        terms = self.atom(depth)
        while self.at(":"):
            self.take()
            terms = self.crossed(terms, self.atom(depth))
        return terms

    def crossed(self, left: list[Term], right: list[Term]) -> list[Term]:
        if len(left) * len(right) > MOST_TERMS:
            raise self.refuse(f"interactions of more than {MOST_TERMS} terms")
        return _distinct(tuple(_distinct_factors([*a, *b])) for a in left for b in right)

    def atom(self, depth: int) -> list[Term]:
        if not self.at("("):
            return [(self.factor(),)]
        self.take()
        terms = self.sum(depth + 1)
        if not self.at(")"):
            raise self.unexpected()
        self.take()
        return terms

    def factor(self) -> Factor:
        token = self.take()
        if token.kind == "name" and self.at("("):
            return self.call(token)
        if token.kind not in ("name", "quoted"):
            self.next -= token.kind != "end"
            raise self.unexpected()
        return Factor("name", token.text, (token.text,))

    def call(self, function: Token) -> Factor:
        inside = self.parenthesised()
        part = self.text[function.at : inside[-1].at + 1]
        tokens = inside[1:-1]
        if function.text == "C":
            if len(tokens) != 1 or tokens[0].kind not in ("name", "quoted"):
                raise self.refuse(f"{shortened(part)!r} is not C(name) of one column")
            return Factor("C", f"C({tokens[0].text})", (tokens[0].text,))
        if function.text != "I" and function.text not in FUNCTIONS:
            hint = function_hint(function.text, part[len(function.text) + 1 : -1].strip())
            raise self.refuse(
                f"the function {function.text}() is not known" + (f", {hint}" if hint else "")
            )
        expression = self.expression(tokens if function.text == "I" else [function, *inside], part)
        label = f"I({expression})" if function.text == "I" else str(expression)
        return Factor("expression", label, expression.names, expression)

    def parenthesised(self) -> list[Token]:
        start, depth = self.next, 0
        while True:
            token = self.take()
            if token.kind == "end" or (token.kind, token.text) == ("operator", "~"):
                raise self.refuse("a parenthesis is not closed")
            depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "operator" else 0
            if depth == 0:
                return self.tokens[start : self.next]

    def expression(self, tokens: list[Token], part: str) -> Expression:
        columns: list[str] = []
        words: list[str] = []
        for token, after in zip_longest(tokens, tokens[1:]):
            is_call = after is not None and (after.kind, after.text) == ("operator", "(")
            if token.kind == "quoted" or (token.kind == "name" and not is_call):
                if token.text not in columns:
                    columns.append(token.text)
                words.append(f"v{columns.index(token.text)}")
            else:
                words.append(token.text)
        if not columns:
            raise self.refuse(f"{shortened(part)!r} names no column")
        return Expression.checked(
            " ".join(words), columns, functions=self.functions, part=shortened(part)
        )

    def unexpected(self) -> FormulaError:
        token = self.token
        if token.kind == "end":
            return self.refuse("the formula ends where a term is expected")
        if token.text in {"**", "/", "<", ">", "<=", ">=", "==", "!="}:
            return self.refuse(f"{token.text!r} stands outside I(); write for example I(x ** 2)")
        if token.kind == "number":
            return self.refuse(f"the number {token.text} stands outside I()")
        return self.refuse(f"{token.text!r} at character {token.at + 1} is not expected")


def _refuse_ambiguous(parsed: Formula) -> None:
    """Refuse column names that read like another part of the formula, such as ```a:b```."""
    terms = (*parsed.terms, parsed.endogenous, *parsed.instruments)
    factors = (*parsed.outcomes, *(factor for term in terms for factor in term))
    seen: dict[str, object] = {"1": "intercept", "Intercept": "intercept"}
    for label, part in (
        *((factor.label, frozenset([factor])) for factor in factors),
        *((":".join(factor.label for factor in term), frozenset(term)) for term in terms if term),
    ):
        if seen.setdefault(label, part) != part:
            raise FormulaError(
                f"{label!r} is both a column and another part of the formula; rename the column"
            )


def _distinct(terms: Iterable[Term]) -> list[Term]:
    first: dict[frozenset[Factor], Term] = {}
    for term in terms:
        first.setdefault(frozenset(term), term)
    return list(first.values())


def _distinct_factors(factors: Iterable[Factor]) -> list[Factor]:
    return list(dict.fromkeys(factors))


def _once(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
