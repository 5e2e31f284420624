#' Study files
#'
#' A study file (TOML) says what is released, of which data, by which method and at which price. It
#' is what the command line `dprct` works on; from R, `study()` opens one, `check()` lists what it
#' lacks, [plan()] says what it costs and how good it can be, `protect()` charges its ledger and
#' writes its files, [verify()] checks the output against its certificate, and `ledger()` shows what
#' was spent. `package()` writes the replication folder that the study names under `[package]`, with
#' the release (protected files, or moments) in place of the confidential ones, and makes first what
#' is not made yet, which [verify()] checks as a reader does; `docs/do_files.md` of the Python package says what is in it.
#' `docs/study_file.md` there explains every key.
#'
#' Each function reads the study file again, so that it is always the present one that counts. To
#' release what somebody approved and nothing else, give `approved` the hash of the plan; for a
#' package of several data sets, the hash of each.
#'
#' @param path Name of the study file.
#' @param output Name of the file to write, if not the one that the study says.
#' @param study What `study()` returned.
#' @param do Names of do-files, if not those that the study names, on whose regressions `check()` gives
#'   verdicts for the planned release.
#' @param approved The `approval` of the plan that was approved: a study that says anything else is
#'   refused.
#' @param resume The entry of the ledger that paid for a release which was not written; its file is
#'   made without another charge.
#' @param folder Name of the folder to write, if not the one that the study says.
#' @param accept_no_guarantee `TRUE` to release by a published method that promises nothing.
#' @return `study()`: an object of class `dprct_study`. `check()`: one of class `dprct_check`, a list
#'   of `complete`, `problems` and `regressions`, a data frame as that of `package()`. `plan()` of a study: a `dprct_plan` with `approval`, the hash.
#'   `protect()`: what [fit()] returns, with the names of the `files` that it wrote. `package()`: an
#'   object of class `dprct_package`, a list of `folder`, the files `protected`, the number of releases
#'   `charged`, a data frame of the do-files' `regressions` with the `verdict` of each, its `reason`
#'   and what `also` stands in its way, and the files `copied`, those of them that could not be
#'   checked (`unread`), and `left_out`. `ledger()`: the [accountant()] next to the data.
#' @examples
#' folder <- tempfile()
#' dir.create(file.path(folder, "paper"), recursive = TRUE)
#' data <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' file.copy(data, file.path(folder, "paper", "nsw.dta"))
#' writeLines(c("use nsw, clear", "tabulate treat black"), file.path(folder, "paper", "main.do"))
#' file <- file.path(folder, "study.toml")
#' few <- c(
#'   "version = 1", "data = 'paper/nsw.dta'", "dataset_id = 'nsw'",
#'   "[release]", "method = 'mv_histogram'", "epsilon = 1.0",
#'   "[header]", "confirm = true", "[package]", "folder = 'paper'"
#' )
#' rest <- c(
#'   "[columns.treat]", "levels = [0, 1]", "missing = 'never'", "fate = 'modelled'",
#'   "[columns.black]", "levels = [0, 1]", "missing = 'never'", "fate = 'modelled'"
#' )
#' writeLines(c(few, rest), file)
#' if (dprct_available()) {
#'   trial <- study(file)
#'   check(trial) # what is still open, here the fate of the other columns
#'   writeLines(c(few, "[study]", "rest = 'withheld'", rest), file)
#'   plan(trial)
#'   protect(trial)
#'   ledger(trial)
#'   verify(package(trial))
#' }
#' @export
study <- function(path, output = NULL) {
  if (!is.null(output)) output <- file_name(output)
  dprct_call("study_read", path = file_name(path), output = output)
}

study_call <- function(export, study, ..., .call = sys.call(-1L)) {
  if (!inherits(study, "dprct_study")) {
    refuse("parameter", paste0(
      "study is ", class(study)[1L], "; give a study, such as study(\"study.toml\")"
    ), .call)
  }
  dprct_call(export, path = study$path, output = study$chosen, ..., .call = .call)
}

check_words <- function(value, name, give, most = 1L) {
  if (is.null(value) || (is.character(value) && !anyNA(value) && length(value) <= most)) return()
  refuse("parameter", sprintf("%s is %s; give %s, or leave it out", name, class(value)[1L], give))
}

#' @rdname study
#' @export
check <- function(study, do = NULL) {
  study_call("study_check", study, do = if (!is.null(do)) as.list(vapply(do, file_name, "")))
}

#' @rdname study
#' @export
protect <- function(study, approved = NULL, resume = NULL, accept_no_guarantee = FALSE) {
  check_flag(accept_no_guarantee, "accept_no_guarantee")
  check_words(approved, "approved", "the approval of plan(study)")
  check_words(resume, "resume", "the entry that ledger(study) shows")
  study_call("study_protect", study,
    approved = approved, resume = resume, accept_no_guarantee = accept_no_guarantee
  )
}

#' @rdname study
#' @export
package <- function(study, folder = NULL, approved = NULL) {
  check_words(approved, "approved", "the approval of plan(study), of several data sets each", Inf)
  if (!is.null(folder)) folder <- file_name(folder)
  study_call("study_package", study, folder = folder, approved = approved)
}

#' @export
print.dprct_package <- function(x, ...) print_text(x, ...)

#' @rdname study
#' @export
ledger <- function(study) study_call("study_ledger", study)

#' @export
plan.dprct_study <- function(model, epsilon, delta, accept_large_delta, ...) {
  only_known(...)
  if (!missing(epsilon) || !missing(delta) || !missing(accept_large_delta)) {
    refuse("parameter", "a study says its own epsilon and delta; change its file, or leave them out")
  }
  study_call("study_plan", model)
}

#' @export
print.dprct_study <- function(x, ...) print_text(x, ...)

#' @export
print.dprct_check <- function(x, ...) print_text(x, ...)
