"""Digits, brackets and stars."""

from __future__ import annotations

import math

import pytest

from dprct.errors import ParameterError
from dprct.results.tables import STYLES, Estimate, Printed, Style, style_named

CELL = Estimate(-0.2471, 0.0882, p=0.0025, adjusted=0.0725)


@pytest.mark.parametrize(
    ("name", "estimate", "error"),
    [
        ("paper", "-0.247", "[0.088]***"),
        ("econ", "-0.247***", "(0.088)"),
        ("aer", "-0.247", "(0.088)"),
        ("esttab", "-0.247**", "(0.088)"),
    ],
)
def test_styles_by_name(name, estimate, error):
    style = STYLES[name]
    assert (str(style.estimate(CELL)), str(style.standard_error(CELL))) == (estimate, error)


def test_stars_may_speak_of_the_adjusted_p_value():
    style = STYLES["econ"].changed({"stars_from": "adjusted"})
    assert style.estimate(CELL) == Printed("-0.247", 1)
    assert style.legend() == "* p < 0.1, ** p < 0.05, *** p < 0.01 (adjusted)."


@pytest.mark.parametrize(("p", "stars"), [(0.1, 0), (0.0999, 1), (0.05, 1), (0.01, 2), (0.0, 3)])
def test_a_threshold_itself_earns_no_star(p, stars):
    assert Style().estimate(Estimate(1.0, p=p)).stars == stars


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (-0.0004, {}, "0.000"),
        (0.0, {}, "0.000"),
        (-0.0006, {}, "-0.001"),
        (-15577.6, {"digits": 0}, "-15578"),
        (-15577.6, {"digits": 1, "thousands": True}, "-15,577.6"),
        (-0.2, {"digits": 0}, "0"),
        (math.nan, {}, ""),
        (math.inf, {}, "inf"),
        (2812, {}, "2,812"),
    ],
)
def test_numbers(value, options, expected):
    assert Style(**options).number(value).text == expected


def test_what_is_not_there_has_no_brackets_and_no_stars():
    nothing = Estimate(math.nan)
    for style in STYLES.values():
        printed = (style.estimate(nothing), style.standard_error(nothing), style.p_value(math.nan))
        assert printed == (Printed(""),) * 3


def test_brackets_of_p_values_below_differ_from_those_of_errors():
    assert Style(brackets="()").p_value(0.5).text == "[0.500]"
    assert Style(brackets="[]").p_value(0.5).text == "(0.500)"
    assert Style(errors="beside").p_value(0.5).text == "0.500"


@pytest.mark.parametrize(
    ("options", "parts", "expected"),
    [
        ({}, ["estimate", "std.error"], "Standard errors in parentheses."),
        (
            {"brackets": "[]"},
            ["estimate", "std.error", "p.adjusted"],
            "Standard errors in brackets, adjusted p-values in parentheses.",
        ),
        ({"errors": "beside"}, ["estimate", "std.error"], ""),
        ({"brackets": ""}, ["estimate", "std.error"], ""),
        ({}, ["estimate"], ""),
    ],
)
def test_the_key_to_brackets(options, parts, expected):
    assert Style(**options).key_to_brackets(parts) == expected


def test_thresholds_are_sorted():
    assert Style(thresholds=(0.01, 0.1)).estimate(Estimate(1.0, p=0.05)).stars == 1
    assert Style(thresholds=(0.01, 0.1)).legend() == "* p < 0.1, ** p < 0.01."
    assert Style(stars=None).legend() == ""


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"digits": -1}, "digits=-1; .* 0 to 15"),
        ({"p_digits": 2.0}, "p_digits=2.0"),
        ({"digits": True}, "digits=True"),
        ({"brackets": "<>"}, r"allowed: '\(\)'"),
        ({"stars": "here"}, "'estimate', 'se' or None"),
        ({"stars_from": "q"}, "'p', 'adjusted'"),
        ({"errors": "above"}, "'beside', 'below'"),
        ({"thresholds": (0.1, 1.5)}, "between 0 and 1"),
        ({"thresholds": (0.1, 0.1)}, "distinct"),
        ({"colour": "red"}, "no option 'colour'"),
        ({"style": "apa"}, "'apa'; allowed: paper, econ, aer, esttab"),
    ],
)
def test_options_that_do_not_exist(options, says):
    with pytest.raises(ParameterError, match=says):
        STYLES["econ"].changed(options)


def test_options_start_from_a_named_style():
    style = Style(digits=1).changed({"style": "aer", "brackets": "[]"})
    assert (style.digits, style.stars, style.brackets) == (3, None, "[]")
    with pytest.raises(ParameterError, match="None"):
        style_named(None)
