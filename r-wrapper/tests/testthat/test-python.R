# Each question needs a session of its own, for a Python that runs cannot be replaced.
in_new_session <- function(code, ...) {
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  library <- paste(deparse(.libPaths()), collapse = "")
  writeLines(c(sprintf(".libPaths(%s)", library), "library(dprct)", code), file)
  old <- Sys.getenv(c("R_SESSION_INITIALIZED", "R_TESTS", ...), NA, names = TRUE)
  Sys.unsetenv(c("R_SESSION_INITIALIZED", "R_TESTS"))
  on.exit(do.call(Sys.setenv, as.list(old[!is.na(old)])), add = TRUE)
  said <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), shQuote(file),
    stdout = TRUE, stderr = FALSE
  ))
  paste(said, collapse = "\n")
}

refusal_of <- 'e <- tryCatch(dprct:::ensure_bridge(), error = identity)
  cat(class(e)[1L], class(e)[2L], "\\n", conditionMessage(e), sep = "|")'

test_that("the package's own choice of Python wins, and RETICULATE_PYTHON stays", {
  skip_without_python()
  skip_on_cran()
  used <- dprct_config()$executable
  said <- in_new_session(c(
    sprintf('Sys.setenv(DPRCT_PYTHON = "%s", RETICULATE_PYTHON = "/nonexistent/python")', used),
    sprintf(
      'cat(identical(dprct_config()$executable, "%s"), Sys.getenv("RETICULATE_PYTHON"))', used
    )
  ))
  expect_identical(said, "TRUE /nonexistent/python")
})

test_that("a path that leads nowhere is named, with who named it", {
  skip_on_cran()
  said <- in_new_session(c('options(dprct.python = "/nonexistent/python")', refusal_of))
  expect_match(said, "dprct_python_unavailable_error|dprct_error", fixed = TRUE)
  expect_match(said, "'/nonexistent/python', named by the option 'dprct.python'", fixed = TRUE)
  said <- in_new_session(c(
    'Sys.setenv(DPRCT_PYTHON = "", RETICULATE_PYTHON = "/nonexistent/python")', refusal_of
  ))
  expect_match(said, "RETICULATE_PYTHON, does not exist", fixed = TRUE)
})

fake_python <- function(...) {
  file <- tempfile("python")
  writeLines(c("#!/bin/sh", ...), file)
  Sys.chmod(file, "755")
  file
}

refused <- function(path) {
  tryCatch(check_python(list(path = path, by = "a test"), NULL), error = conditionMessage)
}
environment(refused) <- asNamespace("dprct")

test_that("a Python that lacks the package, is too old, or does not run is never started", {
  skip_on_os("windows")
  expect_match(refused(fake_python("echo 3.11", "echo dprct rpy2")), "no package dprct and rpy2")
  expect_match(refused(fake_python("echo 3.9", "echo")), "3.9; dprct needs 3.11 or later")
  expect_match(refused(fake_python("exit 1")), "does not run")
  expect_match(refused(""), "no Python was found")
  expect_null(refused(fake_python("echo 3.11", "echo")))
})

test_that("a Python that is missing is looked for once, and again where another is named", {
  skip_on_cran()
  said <- in_new_session(c(
    "asked <- 0",
    "count <- function() assign('asked', asked + 1, envir = globalenv())",
    "suppressMessages(trace('chosen_python', bquote((.(count))()), where = asNamespace('dprct'),",
    "  print = FALSE))",
    "Sys.setenv(DPRCT_PYTHON = '', RETICULATE_PYTHON = '/nonexistent/python')",
    "for (i in 1:5) stopifnot(!dprct_available())",
    "first <- asked",
    "said <- tryCatch(ols(y ~ x, data.frame(y = 1:3, x = 1:3)), error = identity)",
    "options(dprct.python = '/nonexistent/other')",
    "other <- tryCatch(dprct:::ensure_bridge(), error = conditionMessage)",
    "cat(first, asked, class(said)[1L], deparse(conditionCall(said))[1L], other, sep = '|')"
  ))
  expect_match(said, "\\b1\\|2\\|dprct_python_unavailable_error\\|ols\\(.*/nonexistent/other")
})

test_that("an old reticulate and a new Python are told apart", {
  skip_on_os("windows")
  said <- refused(fake_python("echo 3.12", "echo"))
  if (utils::packageVersion("reticulate") < "1.34") {
    expect_match(said, "cannot start Python 3.12; update reticulate to 1.34 or later")
  } else {
    expect_null(said)
  }
})

test_that("the two packages must be of one version and protocol", {
  own <- as.character(utils::packageVersion("dprct"))
  shake <- dprct:::shake_hands
  expect_silent(shake(list(version = own, protocol = "1"), NULL))
  expect_error(shake(list(version = "9.9", protocol = "1"), NULL), "Python package 9.9",
    class = "dprct_version_error"
  )
  expect_error(shake(list(version = own, protocol = "2"), NULL), "another build",
    class = "dprct_version_error"
  )
})

test_that("the configuration is printed", {
  skip_without_python()
  expect_output(print(dprct_config()), "reticulate")
  expect_identical(dprct_config()$pid, Sys.getpid())
})

test_that("what is installed is the wheel, the checkout or the index, with extras", {
  of <- function(...) dprct:::requirement(..., folder = "", here = tempdir())
  expect_match(of(NULL), "^dprct\\[r\\]==")
  expect_match(of(NULL, "ebm"), "^dprct\\[r,ebm\\]==")
  expect_identical(of("dprct==0.1.0", c("ebm", "plot")), "dprct[r,ebm,plot]==0.1.0")
  expect_identical(of("dprct[r]==0.1.0"), "dprct[r]==0.1.0")
  folder <- tempfile()
  dir.create(folder)
  writeLines('name = "dprct"', file.path(folder, "pyproject.toml"))
  for (here in c(folder, file.path(folder, "below"))) {
    found <- dprct:::requirement(NULL, "ebm", folder = "", here = here)
    expect_identical(found, paste0(normalizePath(folder), "[r,ebm]"))
  }
  expect_error(of(NULL, "emb"), "allowed: ebm", class = "dprct_error")
  expect_error(of("dprct[r]", "ebm"), "leave extras out", class = "dprct_error")
})

test_that("a package that is attached later says which functions it masks", {
  skip_if_not_installed("haven")
  skip_if_not("package:dprct" %in% search())
  expect_message(dprct:::say_masked("haven"), "write dprct::read_dta(), or attach dprct last", fixed = TRUE)
  expect_no_message(dprct:::say_masked("generics"))
})
