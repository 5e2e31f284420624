from __future__ import annotations

import ctypes

import pytest

from dprct.rbridge import gil

CROSS = """
stopifnot(dprct_available())
for (i in 1:200) {
  for (k in 1:5) x <- reticulate::py_eval("object()", convert = FALSE)
  x <- NULL
  dprct:::dprct_call("identity", x = list(i, data.frame(a = 1:3, b = letters[1:3])))
}
cat("alive")
"""
RELEASE = """
stopifnot(reticulate::py_available(initialize = TRUE))
reticulate::py_run_string("import dprct.rbridge.gil as g; g.hold = lambda: None")
"""
START = "dprct:::start_python(NULL)\n"


def test_reticulates_objects_survive_hundreds_of_crossings(host):
    run = host.run(CROSS)
    assert run.stdout.endswith("alive"), run.stderr
    assert run.returncode == 0


@pytest.mark.audit
def test_without_the_lock_they_do_not(host):
    """The test above can fail, with a reticulate that does not take the lock itself."""
    old = "cat(utils::packageVersion('reticulate') < '1.31')"
    if host.run(old).stdout != "TRUE":
        pytest.skip("this reticulate takes the lock itself")
    run = host.run(START + RELEASE + CROSS)
    assert not run.stdout.endswith("alive")
    assert "GIL" in run.stderr


def test_functions_get_a_twin_and_other_names_stay(r):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("int abs(int); int printf(const char *, ...); extern int opterr;")
    library = ffi.dlopen(None)
    held = gil.HeldLibrary(library, ffi, ctypes.PyDLL(None))
    assert held.abs(-3) == held.abs(ffi.cast("int", -3)) == 3
    assert held.abs is not library.abs
    assert gil.held_function("printf", library.printf, ffi, ctypes.PyDLL(None)) is None
    held.opterr = 1
    assert held.opterr == library.opterr == 1
    held.opterr = 0
    assert library.opterr == 0
