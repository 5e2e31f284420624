#' A privacy budget shared by many fits
#'
#' Every [fit()] that is given the accountant is charged to it; one that does not fit into what is
#' left is refused before anything is drawn.
#'
#' @param epsilon,delta The total budget. With the `path` of an accountant that exists, the total
#'   is read from there.
#' @param path Name of the file that keeps the ledger; by default it is kept in memory, and an
#'   accountant that [saveRDS()] or a cache of \pkg{knitr} saved is refused in another one.
#' @param dataset_id Name of the data set, for an accountant in a file.
#' @param relation Required of every fit: `"replace-one"`, or `"replace-one-design-public"`, under
#'   which the assignment is public, as for [private_ate()] and [calibrated()]. A fit that does not
#'   hold under it is refused. By default every fit is accepted, and the total is stated under the
#'   weakest relation among them.
#' @param unit Required of every fit: who is protected, such as `"person"`. By default every unit is
#'   accepted, and the total is stated for what all of them protect.
#' @param x,object An accountant.
#' @param ... Not used.
#' @return `accountant()`: an object of class `dprct_accountant`. `summary()`: a list of `total`,
#'   `spent`, `remaining` (each `epsilon` and `delta`), `together` (what all fits promise together,
#'   in sentences), `in_memory`, and `ledger`, a data frame.
#' @examples
#' if (dprct_available()) {
#'   budget <- accountant(epsilon = 2)
#'   summary(budget)$remaining
#' }
#' @export
accountant <- function(epsilon = NULL, delta = 0, path = NULL, dataset_id = NULL,
                       relation = NULL, unit = NULL) {
  dprct_call("accountant",
    epsilon = epsilon, delta = delta, path = if (!is.null(path)) file_name(path),
    dataset_id = dataset_id, relation = relation, unit = unit
  )
}

#' @rdname accountant
#' @export
summary.dprct_accountant <- function(object, ...) {
  only_known(...)
  dprct_call("accountant_state", accountant = object)
}

#' @rdname accountant
#' @export
print.dprct_accountant <- function(x, ...) {
  only_known(..., .also = for_print)
  state <- summary(x)
  line <- function(name) {
    cat(sprintf(
      "%-10s epsilon %-10g delta %g\n", name, state[[name]][["epsilon"]], state[[name]][["delta"]]
    ))
  }
  lapply(c("total", "spent", "remaining"), line)
  if (state$in_memory) {
    say_lines("In memory only: it ends with this session, and saveRDS() does not keep it; give path")
  }
  if (length(state$together)) say_lines(unlist(state$together))
  if (nrow(state$ledger)) print(state$ledger, row.names = FALSE)
  invisible(x)
}
