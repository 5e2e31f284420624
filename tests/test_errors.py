from __future__ import annotations

import pickle
import traceback
from types import TracebackType

import pytest

from dprct import errors
from dprct.errors import (
    ColumnError,
    DprctError,
    FileError,
    MissingDependencyError,
    SchemaError,
    StataFormatError,
    withheld,
)


def leaves() -> list[type[DprctError]]:
    return [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, DprctError)]


@pytest.mark.parametrize("kind", leaves())
def test_every_leaf_prints_its_sentence_and_pickles(kind: type[DprctError]) -> None:
    error = kind("got 1, allowed 2; give 2")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(error) == str(again) == "got 1, allowed 2; give 2"


@pytest.mark.parametrize("kind", [k for k in leaves() if k is not DprctError])
def test_every_leaf_is_also_the_builtin_a_caller_expects(kind: type[DprctError]) -> None:
    builtin = {ValueError, KeyError, RuntimeError, TypeError, OSError, ImportError}
    assert builtin & set(kind.__mro__)


def test_a_key_error_is_printed_without_quotation_marks() -> None:
    text = "".join(traceback.format_exception_only(ColumnError("no such column")))
    assert text == "dprct.errors.ColumnError: no such column\n"


def test_an_error_without_words_prints_nothing() -> None:
    assert str(DprctError()) == ""


def test_an_unknown_column_names_the_closest_one() -> None:
    error = ColumnError.unknown("agee", ["got", "age"])
    assert str(error) == "no column 'agee' in the schema; did you mean 'age'?"


def test_an_unknown_column_lists_what_there_is_but_not_hundreds() -> None:
    assert str(ColumnError.unknown("q", ["abc", "def"], "the data")) == (
        "no column 'q' in the data; it has abc, def"
    )
    many = str(ColumnError.unknown("q", [f"column{k}" for k in range(300)]))
    assert many.endswith("column7, ... (300 columns)")
    assert str(ColumnError.unknown("q", [])).endswith("it has no columns")


def test_a_number_in_the_place_of_a_name_is_not_shown() -> None:
    assert str(ColumnError.unknown(7.25, ["a"])) == (  # type: ignore[arg-type]
        "no column of a name that is float in the schema; it has a"
    )


def test_names_that_are_no_text_are_still_named() -> None:
    assert str(ColumnError.unknown(3, [1, 2])) == "no column 3 in the schema; it has 1, 2"


def test_a_format_error_says_where_and_keeps_it() -> None:
    error = StataFormatError("the count is wrong", offset=12, field="header")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "the count is wrong (in header, at byte 12)"
    assert (again.offset, again.field) == (12, "header")
    assert str(StataFormatError("cut short")) == "cut short"


def _fails() -> None:
    secret = "Zebediah"
    raise ValueError(secret)


def _reachable(error: BaseException) -> list[object]:
    """Return what a debugger or a log handler finds behind an error: other errors, and locals."""
    found: list[object] = [error.__context__, error.__cause__]
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_globals["__name__"] == errors.__name__:
            found += traceback.tb_frame.f_locals.values()
        traceback = traceback.tb_next
    return [one for one in found if one is not None and one is not error]


def test_nothing_of_a_foreign_error_stays() -> None:
    def inside() -> None:
        with withheld(lambda kind: SchemaError(f"it ended with {kind.__name__}")):
            _fails()

    with pytest.raises(SchemaError, match=r"^it ended with ValueError$") as caught:
        inside()
    assert not [one for one in _reachable(caught.value) if isinstance(one, BaseException)]
    assert not [one for one in _reachable(caught.value) if isinstance(one, TracebackType)]


def test_what_is_withheld() -> None:
    def refusal(_: type[BaseException]) -> SchemaError:
        return SchemaError("withheld")

    with withheld(refusal):
        pass
    with pytest.raises(ColumnError, match="ours"), withheld(refusal):
        raise ColumnError("ours")
    with pytest.raises(SchemaError, match="withheld"), withheld(refusal, own=False):
        raise ColumnError("what a function of the user's raised")
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
        with pytest.raises(kind), withheld(refusal, own=False):
            raise kind


def test_a_missing_package_names_what_to_install() -> None:
    error = MissingDependencyError.extra("matplotlib", "plot", "a plot")
    assert str(error) == "a plot needs matplotlib; install it with: pip install 'dprct[plot]'"


def test_a_file_error_is_an_os_error() -> None:
    with pytest.raises(OSError, match=r"^'a.dta' is gone$"):
        raise FileError("'a.dta' is gone")
