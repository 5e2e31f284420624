from __future__ import annotations

import pytest

from dprct.errors import SessionError
from dprct.rbridge.convert import Record, from_r, to_r
from dprct.rbridge.convert.records import LiveObjects, live
from dprct.rbridge.registry import revives


class Thing:
    pass


def test_a_record_is_a_list_with_classes(r):
    out = to_r(Record(("dprct_a", "dprct_b"), {"n": 1, "x": [1.0, 2.0]}))
    expected = "structure(list(n = 1L, x = c(1, 2)), class = c('dprct_a', 'dprct_b'))"
    assert r.identical(out, r(expected))
    assert from_r(out)["n"] == 1


def test_a_live_object_comes_back_as_itself(r):
    thing = Thing()
    assert from_r(to_r(Record(("dprct_a",), {"n": 1}, live=thing))) is thing


def test_of_another_session_only_the_numbers_are_left(r, tmp_path, monkeypatch):
    r.room["x"] = to_r(Record(("dprct_a",), {"n": 1}, live=Thing()))
    r(f"saveRDS(x, '{tmp_path}/x.rds')")
    again = r(f"readRDS('{tmp_path}/x.rds')")
    monkeypatch.setattr(live, "session", "another")
    with pytest.raises(SessionError, match="dprct_a was made in another session"):
        from_r(again)
    assert r.identical(r(f"readRDS('{tmp_path}/x.rds')$n"), r("1L"))


def test_what_can_be_made_again_is(r, monkeypatch):
    @revives("dprct_again")
    def again(saved):
        return ("again", saved["n"])

    saved = to_r(Record(("dprct_again",), {"n": 1}, live=Thing()))
    monkeypatch.setattr(live, "session", "another")
    assert from_r(saved) == ("again", 1)


def test_what_r_lets_go_of_is_swept(r):
    objects = LiveObjects()
    objects.sweep()
    r.room["kept"], r.room["lost"] = objects.keep(Thing()), objects.keep(Thing())
    r("{rm(lost); gc(FALSE); NULL}")
    objects.sweep()
    assert list(objects.held) == ["1"]
    assert isinstance(objects.find(r("kept")), Thing)
    r("rm(kept)")
