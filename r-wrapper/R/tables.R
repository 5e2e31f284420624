#' Tables of treatment effects
#'
#' The layout of experimental papers: one row per outcome, with the control mean and, for each arm,
#' the effect, its standard error and p-value, adjusted for the number of tests if asked.
#'
#' @param data A data frame, tibble or data.table, or a release, as for [ols()]; or released
#'   moments, whose [effects()] are tabled: outcomes and arms may then be left out, and the only
#'   options are `adjust` (`TRUE` for family-wise p-values) and `where`.
#' @param outcomes,arms Names of columns; named vectors give their labels
#'   (`c("Earnings" = "re78")`).
#' @param covariates Names of covariates, or a named list of sets of them.
#' @param blocks Names of columns whose levels enter as fixed effects.
#' @param ... Further options by their names in Python: `control`, `cov_type`, `cluster`, `weights`,
#'   `weights_type`, `alternative`, `distribution`, `adjust`, `families`, `family_sizes`, `sample`,
#'   `draws`, `rng`, `style`, `title`.
#' @return An object of class `dprct_table`: `estimates` is a data frame; [toLatex()] and printing
#'   in \pkg{knitr} give the table.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   table <- itt_table(read_dta(file), outcomes = c("Earnings" = "re78"), arms = "treat")
#'   table
#'   toLatex(table)
#' }
#' @export
itt_table <- function(data, outcomes, arms, covariates = NULL, blocks = NULL, ...) {
  options <- list(...)
  check_named(options)
  if (inherits(data, "dprct_moments")) {
    given <- c(options, Filter(Negate(is.null), list(covariates = covariates, blocks = blocks)))
    return(table_of_moments(
      data, if (!missing(outcomes)) outcomes, if (!missing(arms)) arms, given, sys.call()
    ))
  }
  for (needed in c("outcomes", "arms")[c(missing(outcomes), missing(arms))]) {
    refuse("parameter", sprintf(
      "%s are missing; name columns: itt_table(data, outcomes = \"y\", arms = \"treat\")", needed
    ))
  }
  if ("cluster" %in% names(options)) options$cluster <- clusters_named(options$cluster)
  check_no_rows(list(outcomes = outcomes, arms = arms), nrow(frame_of(data)))
  if (is.character(outcomes) && is.character(arms)) check_columns(c(outcomes, arms), data)
  used <- named_in(NULL, outcomes, arms, covariates, blocks, options)
  dprct_call("itt_table",
    data = frame_of(data, used = used), outcomes = labelled(outcomes), arms = labelled(arms),
    covariates = covariates, blocks = blocks, options = options, standing = standing_of(data)
  )
}

# R names a vector by its labels, Python by its columns.
labelled <- function(columns) {
  if (is.null(names(columns))) {
    return(columns)
  }
  words <- ifelse(nzchar(names(columns)), names(columns), unlist(columns))
  stats::setNames(as.list(words), unlist(columns))
}

#' @export
print.dprct_table <- function(x, ...) print_text(x, ...)

#' @export
summary.dprct_table <- function(object, ...) {
  only_known(...)
  object
}

#' @export
as.data.frame.dprct_table <- function(x, row.names = NULL, optional = FALSE, ...) {
  only_known(..., .also = "stringsAsFactors")
  as_given(x$frame, row.names)
}

#' Results in documents
#'
#' `toLatex()` gives the LaTeX of a table (for `booktabs`, `siunitx`, `threeparttable`); in \pkg{knitr} documents
#' results print as such a table in PDF, and as HTML in HTML.
#'
#' @param object,x What [fit()], [ols()] or [itt_table()] returned.
#' @param ... Not used.
#' @return `toLatex()`: an object of class `Latex`. `knit_print()`: text for the document.
#' @inherit itt_table examples
#' @name documents
NULL

#' @importFrom utils toLatex
#' @export
utils::toLatex

#' @rdname documents
#' @export
toLatex.dprct_estimate <- function(object, ...) {
  only_known(...)
  latex_of(object)
}

#' @rdname documents
#' @export
toLatex.dprct_result <- function(object, ...) {
  only_known(...)
  latex_of(object)
}

#' @rdname documents
#' @export
toLatex.dprct_release <- function(object, ...) {
  only_known(...)
  latex_of(estimates_of(object))
}

#' @rdname documents
#' @export
toLatex.dprct_table <- function(object, ...) {
  only_known(...)
  latex_of(object)
}

latex_of <- function(object) {
  latex <- dprct_call("result_view", result = object, view = "latex")
  if (is.null(latex)) {
    refuse("parameter", "this result has no table in LaTeX; use tidy() and your own layout")
  }
  structure(strsplit(latex, "\n", fixed = TRUE)[[1L]], class = "Latex")
}

#' @rdname documents
#' @exportS3Method knitr::knit_print
knit_print.dprct_estimate <- function(x, ...) {
  only_known(..., .also = c("options", "inline"))
  knitted(x)
}

#' @rdname documents
#' @exportS3Method knitr::knit_print
knit_print.dprct_result <- function(x, ...) {
  only_known(..., .also = c("options", "inline"))
  knitted(x)
}

#' @rdname documents
#' @exportS3Method knitr::knit_print
knit_print.dprct_table <- function(x, ...) {
  only_known(..., .also = c("options", "inline"))
  knitted(x)
}

knitted <- function(x) {
  form <- if (knitr::is_latex_output()) "latex" else if (knitr::is_html_output()) "html"
  made <- if (!is.null(form)) dprct_call("result_view", result = x, view = form)
  if (is.null(made)) {
    knitr::normal_print(structure(list(text = x$text, result = x), class = "summary.dprct_estimate"))
  } else if (form == "latex") {
    knitr::asis_output(paste0("\n", made, "\n"))
  } else {
    knitr::asis_output(paste0("\n```{=html}\n", made, "\n```\n"))
  }
}
