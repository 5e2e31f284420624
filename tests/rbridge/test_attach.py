from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from dprct.errors import BridgeError, MissingDependencyError
from dprct.rbridge import attach as module
from dprct.rbridge.attach import attach


def test_one_session_per_process(r):
    assert attach() is r.session
    assert not r.session.hosted
    assert attach().function("say") is attach().function("say")


def test_another_thread_may_not_join(monkeypatch):
    caught = []

    def ask():
        try:
            attach.__wrapped__()
        except BridgeError as error:
            caught.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert "main thread" in caught[0]


def test_without_rpy2_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"dprct\[r\]"):
        module._rinterface(hosted=False)


def test_without_r_one_sentence_says_so(r, monkeypatch):
    situation = SimpleNamespace(get_r_home=lambda: None)
    monkeypatch.setattr(module, "import_module", lambda name: situation)
    with pytest.raises(BridgeError, match="no R was found"):
        module._rinterface(hosted=False)


@pytest.mark.parametrize(
    ("words", "advice"),
    [("undefined symbol: R_getVar", "before 4.5"), ("no such thing", "versions that")],
)
def test_a_misfit_says_what_to_install(words, advice):
    assert advice in module._misfit(ImportError(words))


def test_what_other_threads_drop_is_released_by_the_main_thread(r):
    held = [r("c(1, 2)")]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert len(r.session.forgotten) >= 1
    r.session.drain()
    assert len(r.session.forgotten) == 0


def test_the_host_keeps_its_environment_its_handler_and_itself(host):
    run = host.run(
        """
        options(dprct.verbose = TRUE)
        dprct:::start_python(NULL) # reticulate has its own ideas of the environment
        before <- Sys.getenv()
        stopifnot(dprct_available())
        after <- Sys.getenv()
        stopifnot(identical(c(before), c(after)))
        stopifnot(identical(dprct_config()$pid, Sys.getpid()))
        cat("done")
        """
    )
    assert run.stdout.endswith("done"), run.stderr
    assert run.returncode == 0
    assert run.stderr.count("dprct: starting Python") == 1
