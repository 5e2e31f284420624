# Which Python, and how it starts.

environment_name <- "r-dprct"
first_reticulate_for_3.12 <- "1.34"

own_choice <- function() {
  path <- getOption("dprct.python", Sys.getenv("DPRCT_PYTHON"))
  if (is.character(path) && length(path) == 1L && !is.na(path)) path.expand(path) else ""
}

unavailable <- function(..., call = NULL, parent = NULL) {
  stop_dprct("dprct_python_unavailable_error", paste0(...), call, parent = parent)
}

# The Python to start, and who named it.
chosen_python <- function() {
  own <- own_choice()
  if (nzchar(own)) {
    return(list(path = own, by = "the option 'dprct.python' or the variable DPRCT_PYTHON"))
  }
  asked <- Sys.getenv("RETICULATE_PYTHON")
  if (nzchar(asked)) return(list(path = path.expand(asked), by = "RETICULATE_PYTHON"))
  made <- tryCatch(reticulate::virtualenv_exists(environment_name), error = function(e) FALSE)
  if (isTRUE(made)) {
    return(list(path = reticulate::virtualenv_python(environment_name), by = "install_dprct()"))
  }
  found <- tryCatch(reticulate::py_discover_config("dprct"), error = function(e) NULL)
  list(path = if (is.null(found$python)) "" else found$python, by = "")
}

# What a Python says of itself without loading anything: its version, and what it lacks.
probe <- function(path) {
  code <- paste0(
    "import sys, importlib.util as u; print('%d.%d' % sys.version_info[:2]); ",
    "print(' '.join(n for n in ('dprct', 'rpy2') if u.find_spec(n) is None))")
  said <- suppressWarnings(tryCatch(
    system2(path, c("-c", shQuote(code)), stdout = TRUE, stderr = FALSE),
    error = function(e) character()))
  if (length(said) < 1L || !is.null(attr(said, "status"))) return(NULL)
  list(version = said[1L], lacks = if (length(said) > 1L) said[2L] else "")
}

check_python <- function(choice, call) {
  run <- "run install_dprct(), or set the option 'dprct.python' to a Python that has it"
  named <- if (nzchar(choice$by)) paste0("Python '", choice$path, "', named by ", choice$by, ",")
           else paste0("Python '", choice$path, "'")
  if (!nzchar(choice$path)) {
    unavailable("no Python was found; install Python 3.11 or later, then run install_dprct()",
                call = call)
  }
  if (!file.exists(choice$path) && !nzchar(Sys.which(choice$path))) {
    unavailable(named, " does not exist; correct the path, or run install_dprct()", call = call)
  }
  found <- probe(choice$path)
  if (is.null(found)) unavailable(named, " does not run; ", run, call = call)
  if (numeric_version(found$version) < "3.11") {
    unavailable(named, " is version ", found$version, "; dprct needs 3.11 or later; ", run,
                call = call)
  }
  if (numeric_version(found$version) >= "3.12" &&
      utils::packageVersion("reticulate") < first_reticulate_for_3.12) {
    unavailable("reticulate ", as.character(utils::packageVersion("reticulate")),
                " cannot start Python ", found$version, "; update reticulate to ",
                first_reticulate_for_3.12, " or later, or use Python 3.11", call = call)
  }
  if (nzchar(found$lacks)) {
    unavailable(named, " has no package ", gsub(" ", " and ", found$lacks), "; ", run, call = call)
  }
}

start_python <- function(call) {
  if (getOption("dprct.verbose", interactive())) {
    message("dprct: starting Python; a session's first call takes some seconds")
  }
  choice <- chosen_python()
  check_python(choice, call)
  # use_python() is ignored, with a warning, where RETICULATE_PYTHON is set
  old <- Sys.getenv("RETICULATE_PYTHON", NA)
  Sys.setenv(RETICULATE_PYTHON = choice$path)
  on.exit(
    if (is.na(old)) Sys.unsetenv("RETICULATE_PYTHON") else Sys.setenv(RETICULATE_PYTHON = old)
  )
  tryCatch(reticulate::py_config(), error = function(e) {
    # what reticulate says after its first line, of Miniconda, is of no help here
    unavailable("Python '", choice$path, "' cannot be started (", first_line(e), "); it must have ",
                "a shared library: on Debian and Ubuntu install libpython3, elsewhere use a Python ",
                "built with --enable-shared", call = call, parent = e)
  })
  if (!reticulate::py_available(initialize = TRUE)) {
    unavailable("Python '", choice$path, "' cannot be started", call = call)
  }
}

# Starts Python and joins rpy2 to this session, once. To look for a Python that is not there takes
# seconds, so that the refusal is remembered until something else is asked for.
ensure_bridge <- function(call = NULL) {
  if (!is.null(the$run)) return(invisible(TRUE))
  running <- reticulate::py_available(initialize = FALSE)
  asked <- list(own_choice(), Sys.getenv(c("RETICULATE_PYTHON", "PATH")), running)
  if (identical(the$refused$asked, asked)) {
    known <- the$refused$condition
    known$call <- call
    stop(known)
  }
  withCallingHandlers(join(running, call), dprct_python_unavailable_error = function(e) {
    the$refused <- list(asked = asked, condition = e)
  })
}

join <- function(running, call) {
  if (!running) start_python(call)
  hint <- if (running) {
    paste0("; this session had started ", reticulate::py_config()$python,
           " before: restart R to use another")
  } else {
    "; run install_dprct()"
  }
  module <- tryCatch(
    reticulate::import("dprct.rbridge.dispatch", convert = TRUE),
    error = function(e) {
      unavailable("the Python package dprct cannot be loaded (", first_line(e), ")", hint,
                  call = call, parent = e)
    })
  other <- tryCatch(
    module$connect("dprct::the"),
    error = function(e) {
      unavailable("Python cannot join this R session (", first_line(e), ")", hint, call = call,
                  parent = e)
    })
  shake_hands(other, call)
  the$run <- module$run
  invisible(TRUE)
}

first_line <- function(e) {
  lines <- strsplit(conditionMessage(e), "\n", fixed = TRUE)[[1L]]
  lines <- lines[nzchar(lines)]
  if (length(lines)) lines[1L] else "no reason given"
}

shake_hands <- function(other, call) {
  own <- as.character(utils::packageVersion("dprct"))
  if (identical(other$version, own) && identical(other$protocol, protocol)) return(invisible())
  stop_dprct("dprct_version_error", paste0(
    "the R package dprct is ", own, " and the Python package ", other$version,
    if (identical(other$version, own)) " of another build",
    "; install both of one version, for the Python package with install_dprct()"), call,
    r_version = own, python_version = other$version)
}

#' Is Python ready?
#'
#' `dprct_available()` starts Python, if need be, and says whether its package
#' `dprct` can be called. `dprct_config()` says which Python runs and with which
#' versions, or why none does.
#'
#' A Python that this session has already started is used, for it cannot be
#' replaced. Else the first of these is started: the option `dprct.python` or
#' the environment variable `DPRCT_PYTHON`; the variable `RETICULATE_PYTHON`;
#' the environment that [install_dprct()] made; the one that \pkg{reticulate}
#' finds. That takes some seconds once a session, and says so where R is interactive,
#' as a call that takes longer than two seconds does; `options(dprct.verbose = FALSE)`
#' keeps both silent.
#'
#' @return `dprct_available()`: `TRUE` or `FALSE`. `dprct_config()`: a list of
#'   class `dprct_config`.
#' @examples
#' if (dprct_available()) dprct_config()
#' @export
dprct_available <- function() {
  isTRUE(tryCatch(ensure_bridge(), error = function(e) FALSE))
}

#' @rdname dprct_available
#' @export
dprct_config <- function() {
  found <- tryCatch(
    dprct_call("config"), dprct_error = function(e) list(problem = conditionMessage(e))
  )
  found$R <- paste(R.version$major, R.version$minor, sep = ".")
  found$reticulate <- as.character(utils::packageVersion("reticulate"))
  structure(found, class = "dprct_config")
}

#' @export
print.dprct_config <- function(x, ...) {
  only_known(..., .also = for_print)
  cat(paste0(format(names(x)), "  ", vapply(x, format, "", digits = 15), "\n"), sep = "")
  invisible(x)
}

# What pip is to install: the wheel that came along, a path with the extra that R needs, or as given.
requirement <- function(source, extras = NULL, folder = system.file("python", package = "dprct"),
                        here = getwd()) {
  if (!is.null(extras) && (!is.character(extras) || !all(extras %in% optional))) {
    unavailable("extras are not all known; allowed: ", paste(optional, collapse = ", "))
  }
  with <- paste0("[", paste(c("r", extras), collapse = ","), "]")
  wheels <- if (nzchar(folder)) list.files(folder, "[.]whl$", full.names = TRUE) else character()
  if (is.null(source) && length(wheels) == 1L) source <- wheels
  if (is.null(source)) source <- Find(is_checkout, c(here, dirname(here)))
  if (is.null(source)) return(paste0("dprct", with, "==", utils::packageVersion("dprct")))
  if (!is.character(source) || length(source) != 1L || is.na(source)) {
    unavailable("source must be one text: the path of a wheel or checkout, or a requirement")
  }
  if (!is.null(extras) && grepl("\\[", source)) {
    unavailable("source names extras itself; leave extras out, or give source without brackets")
  }
  is_path <- grepl("[/\\\\]", source) || grepl("[.]whl(\\[.*\\])?$", source) || dir.exists(source)
  if (!is_path) {
    return(if (is.null(extras)) source else sub("^([[:alnum:]_.-]+)", paste0("\\1", with), source))
  }
  path <- path.expand(sub("\\[[^]]*\\]$", "", source))
  if (!file.exists(path)) {
    unavailable("'", path, "' does not exist; give the path of a wheel or of a checkout")
  }
  paste0(normalizePath(path), with)
}

# What the Python package needs for single methods and files only.
optional <- c("ebm", "plot", "engines", "spark", "rds", "app")

is_checkout <- function(folder) {
  file <- file.path(folder, "pyproject.toml")
  file.exists(file) && any(grepl('^name = "dprct"', readLines(file, warn = FALSE)))
}

#' Install the Python side
#'
#' Makes a virtual environment for R and installs the Python package `dprct`
#' into it, with the version of \pkg{rpy2} that fits. A built R package brings
#' the wheel of its Python package along, so that nothing of dprct's own has to be
#' on an index of packages; what it depends on is fetched from there.
#'
#' @param source What to install: by default the wheel inside this R package; where there
#'   is none, the checkout of dprct in which R runs; else `"dprct[r]"` of its version from
#'   an index. Or the path of a wheel or of a checkout, or a requirement such as
#'   `"dprct[r]==0.1.0"`.
#' @param extras What single methods need besides, such as `"ebm"` for [published_cate()]:
#'   of `"ebm"`, `"plot"`, `"engines"`, `"spark"`, `"rds"`, `"app"`.
#' @param python Path of the Python (3.11 or later) to make the environment
#'   from; `NULL` lets \pkg{reticulate} choose.
#' @param envname Name of the environment.
#' @return The path of the environment's Python, invisibly.
#' @examples
#' \dontrun{
#' install_dprct()
#' install_dprct("dist/dprct-0.1.0-py3-none-any.whl")
#' install_dprct(extras = "ebm")
#' }
#' @export
install_dprct <- function(source = NULL, python = NULL, envname = environment_name,
                          extras = NULL) {
  source <- requirement(source, extras)
  # R's library path can hide the libraries that another Python was built with, its ssl among them
  old <- Sys.getenv("LD_LIBRARY_PATH", NA)
  if (!is.na(old)) {
    Sys.unsetenv("LD_LIBRARY_PATH")
    on.exit(Sys.setenv(LD_LIBRARY_PATH = old), add = TRUE)
  }
  is_new <- !reticulate::virtualenv_exists(envname)
  complete <- FALSE
  # the next session would start a half-made environment
  on.exit(if (is_new && !complete) reticulate::virtualenv_remove(envname, confirm = FALSE),
          add = TRUE)
  if (is_new) reticulate::virtualenv_create(envname, python = python, packages = FALSE)
  reticulate::virtualenv_install(envname, source)
  complete <- TRUE
  the$refused <- NULL
  message("Restart R, then library(dprct).")
  invisible(reticulate::virtualenv_python(envname))
}
