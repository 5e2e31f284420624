"""A protected file as released, saved again by other programs, printed by archives, and altered."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from dprct import verify
from dprct.certificate.certificate import Certificate
from dprct.errors import FileError, ParameterError
from dprct.io.stata import read_dta, write_dta
from dprct.missing import MISSING_CODES, missing_numbers, tagged
from dprct.privacy.budget import Budget, Guarantee
from dprct.release.release import write_protected
from dprct.release.verify import INTEGRITY
from dprct.schema import Column, FileFacts, Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CERTIFICATE = Certificate(
    Guarantee.of(Budget(1), "replace-one", unit="person"), "a method", {}, "survey",
    "sealed", "0" * 64, "confirmed", "charged to no ledger", {}, (),
)  # fmt: skip


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A protected file with numbers of every storage type, missing codes, days and awkward text."""
    rng = np.random.default_rng(2)
    n = 60
    data = pd.DataFrame(
        {
            "got": np.where(rng.random(n) < 0.2, tagged(1), rng.integers(0, 2, n)),
            "pay": rng.normal(size=n).astype(np.float32).astype(float),
            "share": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "day": np.floor(rng.uniform(15000, 20000, n)),
            "who": np.array(['say "é"', "0071", "", "a\tb\\", "NA,"] * (n // 5), dtype=object),
        }
    )
    columns = (
        Column("got", "byte", "%8.0g", "got it", "yesno"),
        Column("pay", "float", "%9.0g"),
        Column("share", "double", "%10.0g", "share"),
        Column("day", "int", "%td"),
        Column("who", "str12", "%12s"),
    )
    file = FileFacts(value_labels={"yesno": {1: "yes", 0: "no", ".a": "refused"}}, rows=n)
    path = tmp_path / "trial.dta"
    write_protected(data, Schema(columns, file), CERTIFICATE, path)
    return path


@pytest.fixture
def printed(released: Path) -> Callable[..., Path]:
    """Print the released file as text, with given formats for numbers and texts."""

    def write(
        name: str, delimiter: str, number: Callable[[str, float], str], text: Callable[[str], str]
    ) -> Path:
        data, _ = read_dta(released)
        columns = {
            c: [text(x) for x in data[c]] if c == "who" else [number(c, x) for x in data[c]]
            for c in data
        }
        rows = [delimiter.join(columns), *map(delimiter.join, zip(*columns.values(), strict=True))]
        path = released.with_name(name)
        path.write_text("\n".join(rows) + "\n", "utf-8")
        return path

    return write


def shortest(name: str, value: float) -> str:
    """Print a number as archives do: the shortest text that its storage type reads back."""
    if np.isnan(value):
        return ""
    return str(np.float32(value)) if name == "pay" else repr(value)


def doubled(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def backslashed(text: str) -> str:
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{out}"'


def test_the_file_as_released(released: Path) -> None:
    found = verify(released)
    assert found
    assert found.identical
    assert str(found).startswith("trial.dta is byte for byte the file that trial.certificate.json")
    assert INTEGRITY in str(found)
    assert "not authorship" in INTEGRITY


def test_saved_again_with_other_types_release_and_order_of_labels(released: Path) -> None:
    data, schema = read_dta(released)
    wider = [replace(c, type="double") if c.name in ("got", "pay") else c for c in schema.columns]
    labels = dict(reversed(schema.file.value_labels["yesno"].items()))
    file = replace(schema.file, release=117, value_labels={"yesno": labels}, label="saved again")
    write_dta(data, replace(schema, columns=tuple(wider), file=file), released)
    found = verify(released)
    assert found
    assert not found.identical
    assert (found.values, found.missing_codes, found.labels) == ("match", "match", "match")
    assert "is not the same file, but its values match" in str(found)


def test_labels_that_differ_are_named(released: Path) -> None:
    data, schema = read_dta(released)
    file = replace(schema.file, value_labels={"yesno": {1: "no", 0: "yes", ".a": "refused"}})
    write_dta(data, replace(schema, file=file), released)
    found = verify(released)
    assert found
    assert (found.labels, found.relabelled) == ("differ", ("got",))
    assert "labels differ in got" in str(found)


def test_saved_again_by_pandas(released: Path) -> None:
    frame = pd.read_stata(released, convert_categoricals=False, convert_dates=False)
    frame.to_stata(released, write_index=False)
    found = verify(released)
    assert found
    assert (found.values, found.missing_codes, found.labels) == ("match", "differ", "differ")
    assert "missing codes differ" in str(found)


def test_the_index_of_pandas_is_a_column_too_many(released: Path) -> None:
    pd.read_stata(released, convert_categoricals=False, convert_dates=False).to_stata(released)
    found = verify(released)
    assert not found
    assert (found.values, found.added) == ("match", ("index",))
    assert "the certificate does not know: index" in str(found)


def test_saved_again_by_haven(released: Path, rscript: str) -> None:
    name = released.as_posix()
    code = f"x <- haven::read_dta('{name}'); haven::write_dta(x, '{name}', version = 15)"
    subprocess.run([rscript, "-e", code], check=True, capture_output=True)
    found = verify(released)
    assert found
    assert not found.identical
    assert (found.values, found.missing_codes, found.labels) == ("match", "match", "match")


def test_printed_by_r(released: Path, rscript: str) -> None:
    name, out = released.as_posix(), released.with_suffix(".csv").as_posix()
    code = f"x <- haven::zap_labels(haven::read_dta('{name}')); write.csv(x, '{out}')"
    subprocess.run([rscript, "-e", code], check=True, capture_output=True)
    found = verify(released.with_suffix(".csv"))
    assert found
    assert found.values == "match to 15 digits"
    assert (found.missing_codes, found.labels) == ("not checked", "not checked")
    assert "to 15 significant digits" in str(found)


def test_printed_by_pandas(released: Path) -> None:
    data, _ = read_dta(released)
    data.to_csv(released.with_suffix(".csv"))
    found = verify(released.with_suffix(".csv"))
    assert found
    assert found.values == "match"


@pytest.mark.parametrize("quoted", [doubled, backslashed])
def test_the_tab_file_of_an_archive(printed: Callable[..., Path], quoted: Any) -> None:
    def days(name: str, value: float) -> str:
        if name == "day":
            return str((pd.Timestamp("1960-01-01") + pd.Timedelta(days=value)).date())
        return shortest(name, value)

    path = printed("trial.tab", "\t", days, quoted)
    found = verify(path)
    assert found
    assert found.values == "match"
    assert "labels not checked" in str(found)
    assert "missing codes not checked" in str(found)


def test_backslashes_that_can_be_read_in_both_ways(
    released: Path, printed: Callable[..., Path]
) -> None:
    data, schema = read_dta(released)
    data["who"] = "a\tb\\c"
    write_protected(data, schema, CERTIFICATE, released)
    assert verify(printed("trial.tab", "\t", shortest, backslashed)).values == "match"


@pytest.mark.parametrize(
    ("digits", "values"),
    [("%.17g", "match"), ("%.15g", "match to 15 digits"), ("%.9g", "differ"), ("%.3f", "differ")],
)
def test_digits_that_are_printed(printed: Callable[..., Path], digits: str, values: str) -> None:
    def number(_name: str, value: float) -> str:
        return "NA" if np.isnan(value) else digits % value

    found = verify(printed("trial.csv", ",", number, doubled))
    assert found.values == values
    assert bool(found) is (values != "differ")
    if not found:
        assert "share" in found.differing
        assert ("pay" in found.differing) is (digits == "%.3f")  # nine digits give back four bytes
        assert "got" not in found.differing


def test_our_own_codes_in_a_csv_are_checked(printed: Callable[..., Path]) -> None:
    def number(_name: str, value: float) -> str:
        code = missing_numbers([value])[0]
        return repr(value) if code < 0 else MISSING_CODES[code]

    assert verify(printed("trial.csv", ",", number, doubled)).missing_codes == "match"


@pytest.mark.parametrize("column", ["got", "pay", "share", "day", "who"])
@pytest.mark.parametrize("kind", [".dta", ".csv"])
def test_one_altered_value_is_found(released: Path, column: str, kind: str) -> None:
    data, schema = read_dta(released)
    data.loc[7, column] = "else" if column == "who" else 99.0
    path = released.with_suffix(kind)
    if kind == ".dta":
        write_dta(data, schema, path)
    else:
        data.to_csv(path, index=False)
    found = verify(path)
    assert not found
    assert found.differing == (column,)
    assert f"DOES NOT MATCH trial.certificate.json\n- values differ in {column}\n" in str(found)


def test_rows_and_columns_that_are_lost_moved_or_new(released: Path) -> None:
    data, _ = read_dta(released)
    path = released.with_suffix(".csv")
    data.iloc[1:].to_csv(path, index=False)
    assert "59 rows where the certificate has 60" in str(verify(path))
    data.drop(columns="pay").assign(new=1).to_csv(path, index=False)
    found = verify(path)
    assert (bool(found), found.lacking, found.added) == (False, ("pay",), ("new",))
    data.drop(columns="pay").to_csv(path, index=False)
    found = verify(path)
    assert (bool(found), found.lacking, found.differing) == (False, ("pay",), ())
    assert "DOES NOT MATCH" in str(found)
    data[list(data)[::-1]].to_csv(path, index=False)
    found = verify(path)
    assert found
    assert found.reordered
    assert "columns stand in another order" in str(found)


def test_words_and_underscores_are_no_numbers(released: Path) -> None:
    data, _ = read_dta(released)
    path = released.with_suffix(".csv")
    first = str(data["day"].iloc[0])
    for word in (f"{first[0]}_{first[1:]}", "yes"):  # Python reads the first as the same number
        data.assign(day=[word, *data["day"].astype(str)[1:]]).to_csv(path, index=False)
        assert verify(path).differing == ("day",)


def test_a_certificate_without_digest_checks_the_file_alone(released: Path) -> None:
    place = released.with_suffix(".certificate.json")
    content = json.loads(place.read_text("utf-8"))
    del content["values"]
    place.write_text(json.dumps(content), "utf-8")
    assert verify(released)
    data, schema = read_dta(released)
    write_dta(data, replace(schema, file=replace(schema.file, label="new")), released)
    found = verify(released)
    assert not found
    assert "has no digest of the values" in str(found)


def test_the_certificate_is_beside_the_file_or_given(released: Path, tmp_path: Path) -> None:
    other = tmp_path / "renamed.dta"
    other.write_bytes(released.read_bytes())
    with pytest.raises(FileError, match=r"'renamed\.certificate\.json'; there is trial\.cert"):
        verify(other)
    assert verify(other, released.with_suffix(".certificate.json")).identical
    with pytest.raises(ParameterError, match="is not JSON"):
        verify(other, released)
    with pytest.raises(FileError):
        verify(tmp_path / "none.dta", released.with_suffix(".certificate.json"))


def test_it_is_said_in_json(released: Path) -> None:
    content = json.loads(json.dumps(verify(released).to_dict()))
    assert (content["verified"], content["identical"]) == (True, True)


def test_a_file_that_was_charged_to_no_ledger_says_so(released: Path) -> None:
    found = verify(released)
    assert bool(found)
    assert found.in_ledger is None
    assert found.ledger == "no ledger file shows who paid for it: charged to no ledger"
    assert found.ledger in str(found)
