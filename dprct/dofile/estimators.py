"""What each estimation command says: outcome, regressors, instruments, effects, errors."""

from __future__ import annotations

import ast
import re
from dataclasses import field
from typing import TYPE_CHECKING

from dprct.dofile.lines import OPEN
from dprct.dofile.macros import known
from dprct.dofile.made import Made
from dprct.dofile.memory import Memory, bindings, conjunction, depends_on, factors_in, factors_of
from dprct.dofile.regression import SMALL, Regression
from dprct.dofile.varlists import bare_names, is_plain, words
from dprct.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dprct.dofile.session import Session
    from dprct.dofile.syntax import Parsed, Prefix

LINEAR = frozenset({"regress", "areg", "reghdfe", "xtreg", "brl"})
INSTRUMENTAL = frozenset({"ivregress", "ivreg", "ivreg2", "ivreghdfe", "xtivreg"})
_OTHERS_WORDS = """\
logit logistic probit dprobit oprobit ologit tobit intreg cnreg poisson nbreg qreg heckman
cloglog mlogit ate
"""
OTHERS = frozenset(_OTHERS_WORDS.split())
TESTS = frozenset({"ttest", "ranksum"})
READ = LINEAR | INSTRUMENTAL | OTHERS | TESTS | {"suest"}
"""Estimators whose parts are read."""

_BY_NAME_WORDS = """\
xtlogit xtprobit xtpoisson xtnbreg xttobit xtgee xtabond xtmixed mixed melogit meprobit
clogit stcox streg sureg reg3 mvreg manova anova rreg newey newey2 prais biprobit mprobit
asclogit rologit glm gmm gsem sem truncreg ivprobit ivtobit zip zinb gnbreg ppmlhdfe ppml
rdrobust rd teffects psmatch2 pscore nnmatch attnd attk atts attr iqreg sqreg bsqreg ivqreg2
ivqte qreg2 cquad hetprob hetprobit scobit nl fracreg betareg treatreg etregress
eregress ivhdfe xtivreg2 reg2hdfe felsdvreg a2reg gllamm rifreg oaxaca leebounds randcmd
ritest_results csdid did_multiplegt didregress eventdd bayes lassologit dslogit dsregress
poregress xporegress pdslasso lasso2 rlasso rforest causal_forest synth synth_runner ologit2
gologit2 slogit xtreg2 cgmreg cgmwildboot cgmlogit ols_spatial_HAC x_ols reg_ss regxfe spreg
svyreg svyregress svylogit svyprobit svymean probit2 logit2 oglm cmp heckprob heckprobit
heckoprobit
"""
BY_NAME = frozenset(_BY_NAME_WORDS.split())
"""Estimators that are listed, not taken apart."""

_MOST_NOTED = 8


def is_estimator(name: str) -> bool:
    """Whether a command estimates something."""
    return name in READ or name in BY_NAME


def regression(parsed: Parsed, session: Session, prefixes: Sequence[Prefix]) -> Regression | None:
    """Return the row of an estimation; None where a command only shows the last one again."""
    if parsed.name in BY_NAME:
        parts = _Parts(note=["this command is read by name only"])
    elif parsed.name == "suest":
        parts = _suest(parsed, session)
    elif not parsed.before:
        return None
    else:
        parts = (_two_samples if parsed.name in TESTS else _parts)(parsed, session.memory)
    return _row(parsed, session, prefixes, parts)


@dataclass
class _Parts:
    outcomes: list[str] = field(default_factory=list)
    regressors: list[str] = field(default_factory=list)
    endogenous: list[str] = field(default_factory=list)
    instruments: list[str] = field(default_factory=list)
    absorb: list[str] = field(default_factory=list)
    note: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


def _parts(parsed: Parsed, memory: Memory) -> _Parts:
    parts = _Parts()
    text = parsed.before
    if parsed.name == "ivregress":
        text = re.sub(r"^\s*(?:2sls|liml|gmm)\b", "", text)
    if parsed.name in INSTRUMENTAL and (found := re.search(r"\(([^()=]*)=([^()]*)\)", text)):
        parts.note += [SMALL] if parsed.option("small", 2) is not None else []
        parts.endogenous = memory.expand(found[1])
        parts.instruments = memory.expand(found[2])
        text = text[: found.start()] + " " + text[found.end() :]
    if parsed.name == "heckman" and "=" in text:
        text = text.replace("=", " ")
    listed = words(text)
    several = 2 if parsed.name == "intreg" else 1
    parts.outcomes = memory.expand_each(listed[:several])
    right = memory.expand_each(listed[several:])
    if len(parts.outcomes) > several:  # a range or a pattern before the regressors
        right = parts.outcomes[several:] + right
        parts.outcomes = parts.outcomes[:several]
    parts.regressors = parts.endogenous + [n for n in right if n not in parts.endogenous]
    included = set(right)
    parts.instruments = [name for name in parts.instruments if name not in included]
    _absorbed(parsed, memory, parts)
    if parsed.name == "heckman" and (selection := parsed.option("select", 3)):
        parts.note.append(f"selection: {selection}")
    if parsed.name == "qreg" and (quantile := parsed.option("quantile", 1)):
        parts.note.append(f"quantile {quantile}")
    return parts


def _absorbed(parsed: Parsed, memory: Memory, parts: _Parts) -> None:
    if parsed.name in ("xtreg", "xtivreg"):
        if parsed.option("fe", 2) is not None:
            panel = parsed.option("i", 1) or memory.panel
            parts.absorb = words(panel)
            if not panel:
                parts.note.append("fixed effects of a panel that no xtset names")
        elif parsed.option("be", 2) is None:
            parts.note.append("random effects")
        return
    held = parsed.option("absorb", 1)
    if held:
        text = re.sub(r"\b\w+\s*=\s*", "", held.split(",")[0])
        parts.absorb = memory.expand(text)


def _two_samples(parsed: Parsed, memory: Memory) -> _Parts:
    """Take ``ttest y, by(g)``, ``ttest a == b`` and ``ttest y == 0``."""
    parts = _Parts()
    left, _, right = parsed.before.replace("==", "=").partition("=")
    parts.outcomes = memory.expand(left)[:1]
    if right.strip():
        parts.note.append(f"compared with {right.strip()}")
    groups = parsed.option("by", 2)
    parts.regressors = memory.expand(groups) if groups else []
    if parsed.option("unequal", 3) is not None or parsed.option("welch", 1) is not None:
        parts.note.append("unequal variances")
    return parts


def _suest(parsed: Parsed, session: Session) -> _Parts:
    """Take ``suest a b, cluster(c)``: the regressions that were stored under these names."""
    names = words(parsed.before)
    fits = [session.stored[name] for name in names if name in session.stored]
    parts = _Parts()
    parts.note.append("stored estimates " + " ".join(names[:30]))
    for fit in fits:
        parts.outcomes += fit.outcomes
        parts.regressors += [name for name in fit.regressors if name not in parts.regressors]
    if len(fits) < len(names):
        parts.doubts.append("not all of these were stored in what was read")
    return parts


def _row(parsed: Parsed, session: Session, prefixes: Sequence[Prefix], parts: _Parts) -> Regression:
    memory = session.memory
    vce, cluster = _errors(parsed, memory, prefixes)
    weights = parsed.weights
    groups = [p for p in prefixes if p.name in ("by", "bysort")]
    if any(prefix.name == "svy" for prefix in prefixes):
        weights = weights or memory.survey
    sample = conjunction([*memory.sample, parsed.condition])
    if parsed.within:
        sample = f"{sample} in {parsed.within}".strip()
    note = [*([session.table] if session.table else []), *parts.note]
    note += [f"once for each value of {known(one.text)}" for one in groups]
    doubts = [*dict.fromkeys(session.doubts), *parts.doubts]
    everything = (*parts.outcomes, *parts.regressors, *parts.instruments, *parts.absorb)
    facts = " ".join((*everything, sample, weights, *cluster))
    if OPEN in facts:
        found = dict.fromkeys(re.findall(r"\ue000([^\ue000\ue001]*)", facts))
        doubts.append("known to the data only: " + ", ".join(known(one) for one in found))
    absent = _absent(memory, [*parts.outcomes, *parts.regressors])
    if absent:
        doubts.append("not in the header: " + " ".join(absent[:_MOST_NOTED]))
    outcomes = [known(name) for name in parts.outcomes]
    status = "unread" if not outcomes else "partly" if doubts else "read"
    rows = Rows.of(sample, [*outcomes, *parts.regressors])
    regressors, categories = indicators(tuple(map(known, parts.regressors)), memory, rows)
    regressors = tuple(
        _uncoded(word, memory, rows) if word.startswith("i.") else word
        for word in map(_of_xi, regressors)
    )
    absorb = tuple(_uncoded(known(word), memory, rows) for word in parts.absorb)
    cluster = tuple(_uncoded(known(word), memory, rows) for word in cluster)
    others = (*map(known, parts.instruments), *absorb, *cluster)
    everywhere = (*outcomes, *regressors, *others)
    used = [n for word in everywhere for n in ([word] if is_plain(word) else bare_names(word))]
    made = bindings(memory.derived, used)
    as_made = _made(memory, [*made])
    made = {name: _as_it_stands(name, made, as_made) for name in made}
    made |= {
        name: memory.derived[stub]
        for name in used
        for stub in memory.dummies
        if _numbers_of(name, stub)
    }
    note += [f"{name} = {made_of}" for name, made_of in [*made.items()][:_MOST_NOTED]]
    by = " ".join(one.text for one in groups)
    of_rows = re.findall(r"[A-Za-z_]\w*", f"{sample} {by}")
    return Regression(
        file=session.file,
        line=session.line,
        command=parsed.name,
        outcome=outcomes if len(outcomes) > 1 else "".join(outcomes),
        regressors=regressors,
        treatments=tuple(
            word
            for word in regressors
            if session.treatments
            and any(depends_on(n, session.treatments, memory.derived) for n in bare_names(word))
        ),
        endogenous=tuple(map(known, parts.endogenous)),
        instruments=tuple(map(known, parts.instruments)),
        absorb=absorb,
        sample=known(sample),
        weights=known(weights),
        vce=vce if status != "unread" else "",
        cluster=cluster,
        dataset=memory.dataset,
        status=status,
        note="; ".join([*note, *doubts]),
        table=session.table,
        derived=made,
        sources=memory.sources,
        steps=(*memory.steps, *(f"no {one.how}" for one in memory.pending[:1])),
        merges=tuple(" ".join(one.parts) for one in memory.changes if one.how == "merge"),
        changes=memory.changes,
        intercept=parsed.option("noconstant", 5) is None,
        unknown=memory.unknown,
        groups=known(by),
        remade=tuple(name for name in bindings(memory.derived, of_rows) if name != "_merge"),
        level=known(parsed.option("level", 1) or session.level).strip(),
        made=as_made | _made(memory, of_rows),
        categories=categories,
        numbered=tuple(rows.asked),
    )


def _as_it_stands(name: str, derived: dict[str, str], made: dict[str, Made]) -> str:
    """Return what a column is made of: of a product, as words if its factors were changed since."""
    parts, one = factors_of(derived[name]), made.get(name)
    if not parts or one is None or not one.expression:
        return derived[name]
    now = [made[part].expression if part in made else part for part in parts]
    alike = sorted(_factors("*".join(f"({text})" for text in now))) == sorted(
        _factors(one.expression)
    )
    return derived[name] if alike else f"{derived[name]}, before these were changed"


def _factors(text: str) -> list[str]:
    """Return the factors of an expression; itself where it is no product."""
    try:
        left = [ast.parse(text, mode="eval").body]
    except SyntaxError:
        return [text]
    found = []
    while left:
        one = left.pop()
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
            left += [one.left, one.right]
        else:
            found.append(ast.unparse(one))
    return found


@dataclass
class Rows:
    """The rows of a regression: the conditions that they meet, and what else is asked."""

    met: frozenset[str]
    # Columns that must have a value for what is taken to hold.
    asked: dict[str, None] = field(default_factory=dict)

    @classmethod
    def of(cls, sample: str, listed: Sequence[str]) -> Rows:
        """Return those of a sample in which variables have values."""
        names = {name for word in listed for name in bare_names(word)}
        return cls(_parts_of(sample) | {f"{name}!=." for name in names})

    def meet(self, condition: str) -> bool:
        """Whether all meet a condition, or do where the columns that it asks for have values."""
        left = [part for part in _parts_of(condition) if part not in self.met]
        if any(not part.endswith("!=.") for part in left):
            return False
        self.asked |= dict.fromkeys(part.removesuffix("!=.") for part in left)
        return True


def indicators(
    listed: Sequence[str], memory: Memory, rows: Rows
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return regressors with indicators of ``tabulate, generate()`` as ``i.column``.

    They are taken for it where all of them are there, or all but the first, on the rows that were
    tabulated; how many categories they are of is returned, too.
    """
    found, categories = dict.fromkeys(listed), {}
    for stub, (column, condition) in memory.dummies.items():
        mine = {word: _numbers_of(word, stub) for word in found}
        numbers = sorted(number for of in mine.values() for number in of)
        if not numbers or numbers != [*range(numbers[0], numbers[-1] + 1)]:
            continue
        if numbers[0] <= 2 <= numbers[-1] and rows.meet(condition):
            first = next(word for word in found if mine[word])
            found = dict.fromkeys(
                f"i.{column}" if word == first else word
                for word in found
                if word == first or not mine[word]
            )
            categories[_uncoded(column, memory, rows)] = numbers[-1]
    return tuple(found), categories


_XI = re.compile(r"(i\.[A-Za-z_]\w*)\*(i\.)?([A-Za-z_]\w*)")


def _of_xi(word: str) -> str:
    """Return ``i.a*i.b`` and ``i.a*x``, of ``xi``, as factor variables of today."""
    found = _XI.fullmatch(word)
    return f"{found[1]}##{found[2] or 'c.'}{found[3]}" if found else word


def _uncoded(word: str, memory: Memory, rows: Rows) -> str:
    """Return the columns whose values ``encode`` or ``egen group()`` numbers, in a word.

    As factors they are the same where all rows are those that were numbered; what is absorbed or
    makes clusters is one column.
    """
    factor = word.startswith("i.")
    made_of, condition = memory.codes.get(word.removeprefix("i."), ("", ""))
    if not made_of or ("#" in made_of and not factor) or not rows.meet(condition):
        return word
    return made_of if factor else factors_in(made_of)[0]


def _parts_of(condition: str) -> frozenset[str]:
    """Return the conditions of which all hold, spelled in one way."""
    parts = condition.replace(" ", "").replace("~=", "!=").split("&")
    return frozenset(part.replace("<.", "!=.") for part in parts if part)


def _numbers_of(word: str, stub: str) -> list[int]:
    """Return the numbers of the indicators that a word such as ``d2`` or ``d2-d9`` means."""
    plain = re.escape(stub)
    ends = re.fullmatch(rf"{plain}(\d{{1,4}})(?:-{plain}(\d{{1,4}}))?", word)
    return [*range(int(ends[1]), int(ends[2] or ends[1]) + 1)] if ends else []


def _made(memory: Memory, names: Sequence[str]) -> dict[str, Made]:
    """Return what variables of an estimation are made of, as they stand."""
    found = {}
    for name in dict.fromkeys(names):
        now = memory.made.get(name)
        before = memory.asked.get(name, now)
        if name in memory.torn or (before != now and name in memory.asked):
            found[name] = Made(refused="it is changed after rows were chosen by it")
        elif now is not None:
            found[name] = now
    return found


def _absent(memory: Memory, listed: list[str]) -> list[str]:
    """Return names that a header which is whole does not have."""
    if memory.columns is None or memory.open:
        return []
    columns = {*memory.columns, "_cons", "_n"}
    return [
        name
        for word in listed
        if OPEN not in word
        for name in bare_names(word)
        if name not in columns and not name.startswith("_I") and not {"*", "?", "-"} & set(name)
    ]


def _errors(
    parsed: Parsed, memory: Memory, prefixes: Sequence[Prefix]
) -> tuple[str, tuple[str, ...]]:
    """Return how errors are computed, and over which clusters."""
    cluster = parsed.option("cluster", 2)
    kind = "classical"
    if parsed.option("robust", 1) is not None:
        kind = "robust"
    if held := parsed.option("vce", 3):
        first, _, rest = held.replace(",", " ").partition(" ")
        if "cluster".startswith(first) and len(first) > 1:
            cluster = rest
        elif "robust".startswith(first):
            kind = "robust"
        elif first not in ("ols", "oim", "conventional", "unadjusted", "un"):
            kind = "bootstrap" if first[:4] == "boot" else first
    for prefix in prefixes:
        if prefix.name in ("bootstrap", "jackknife", "svy"):
            kind = prefix.name
        if prefix.name == "bootstrap" and (inner := re.search(r"\bcl\w*\(([^()]*)\)", prefix.text)):
            cluster = cluster or inner[1]
    names = tuple(memory.expand(cluster)) if cluster else ()
    return ("cluster" if names and kind in ("classical", "robust") else kind), names
