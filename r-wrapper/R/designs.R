#' Randomisation designs
#'
#' A design states which columns hold the treatment and how rows, or clusters of rows, were assigned
#' to it. Private estimates and releases use it to draw new assignments for synthetic rows, and
#' [assign_arms()] to randomise an experiment.
#'
#' Designs are plain R objects; they can be saved.
#'
#' @param arms Names of the 0/1 columns of the arms (rows with 0 in all of them are controls), or,
#'   with `arm`, the codes in that one column, the control group's among them.
#' @param shares Probability of each arm, in the order of `arms`; with blocks, a list of these by
#'   the names of the blocks may be given.
#' @param control_share Probability of the control group, where it is an arm of its own.
#' @param arm Name of one column of codes; those of a factor are 1, 2, ... in the order of its levels, by
#'   which `private_ate()` takes `arms` as well.
#' @param counts How many rows, or clusters, each arm gets exactly.
#' @param block,cluster Columns that identify blocks or clusters.
#' @param largest Public upper limit on the rows of a cluster; a method that protects whole clusters
#'   needs it.
#' @param icc Public upper bound on the correlation of two people of one cluster, or a list by
#'   outcome; errors of effects then need far less noise.
#' @param cluster_mean_bounds Public bounds on the mean of every cluster, narrower than those of the
#'   outcome, or a list by outcome.
#' @param factors A list of designs whose assignments are combined.
#' @param procedure A function of a data frame that returns the assignment of its rows: one value
#'   per row, or a data frame of the treatment columns. It is given synthetic or public rows only,
#'   and draws with R's random numbers.
#' @param columns The treatment columns that `procedure` returns.
#' @param levels The codes of the one treatment column, the control group's among them.
#' @param control Whether rows may be in none of the 0/1 columns.
#' @param uses The columns that `procedure` looks at; it gets no others.
#' @return An object of class `dprct_design`.
#' @examples
#' if (dprct_available()) {
#'   design_complete("treat", shares = 0.5)
#'   design_complete(1:3, shares = c(0.5, 0.25, 0.25), arm = "arm") # a factor of three levels
#'   design_block("treat", shares = 0.5, block = "village")
#'   design_cluster("treat", shares = 0.5, cluster = "village", largest = 40, icc = 0.05)
#'   design_block_cluster("treat", shares = 0.5, block = "district", cluster = "village")
#'   cash <- design_simple("cash", shares = 0.5)
#'   therapy <- design_simple("therapy", shares = 0.5)
#'   design_factorial(list(cash, therapy))
#'   coin <- design_custom(function(rows) rbinom(nrow(rows), 1, 0.5), "treat", shares = 0.5)
#'   assign_arms(coin, data.frame(id = 1:4))
#' }
#' @name designs
NULL

#' @rdname designs
#' @export
design_simple <- function(arms, shares = NULL, control_share = NULL, arm = NULL) {
  new_design("Simple", arms = arms, shares = shares, control_share = control_share, arm = arm)
}

#' @rdname designs
#' @export
design_complete <- function(arms, shares = NULL, control_share = NULL, arm = NULL,
                            counts = NULL) {
  new_design("Complete",
    arms = arms, shares = shares, control_share = control_share, arm = arm, counts = counts
  )
}

#' @rdname designs
#' @export
design_block <- function(arms, shares = NULL, control_share = NULL, arm = NULL, block) {
  new_design("Block",
    arms = arms, shares = shares, control_share = control_share, arm = arm, block = block
  )
}

#' @rdname designs
#' @export
design_cluster <- function(arms, shares = NULL, control_share = NULL, arm = NULL,
                           counts = NULL, cluster, largest = NULL, icc = NULL,
                           cluster_mean_bounds = NULL) {
  new_design("Cluster",
    arms = arms, shares = shares, control_share = control_share, arm = arm, counts = counts,
    cluster = cluster, largest = largest, icc = icc, cluster_mean_bounds = cluster_mean_bounds
  )
}

#' @rdname designs
#' @export
design_block_cluster <- function(arms, shares = NULL, control_share = NULL, arm = NULL, block,
                                 cluster, largest = NULL, icc = NULL,
                                 cluster_mean_bounds = NULL) {
  new_design("BlockCluster",
    arms = arms, shares = shares, control_share = control_share, arm = arm, block = block,
    cluster = cluster, largest = largest, icc = icc, cluster_mean_bounds = cluster_mean_bounds
  )
}

#' @rdname designs
#' @export
design_factorial <- function(factors, arms = NULL, arm = NULL) {
  if (inherits(factors, "dprct_design")) factors <- list(factors)
  if (!all(vapply(factors, inherits, NA, "dprct_design"))) {
    refuse("parameter", "factors are not all designs; give a list of designs")
  }
  new_design("Factorial", factors = lapply(factors, spec_of_design), arms = arms, arm = arm)
}

#' @rdname designs
#' @export
design_custom <- function(procedure, columns, levels = NULL, control = TRUE,
                          uses = character(), shares = NULL) {
  if (!is.function(procedure)) {
    refuse("parameter", paste0(
      "procedure is ", class(procedure)[1L], "; give a function of a data frame"
    ))
  }
  new_design("Custom",
    procedure = procedure, columns = columns, levels = levels, control = control, uses = uses,
    shares = shares
  )
}

# Python checks the design now, and is handed the same specification again where it is used.
new_design <- function(kind, ..., .call = sys.call(-1L)) {
  spec <- list(kind = kind, options = Filter(Negate(is.null), list(...)))
  check_no_rows(spec$options[names(spec$options) %in% design_names], call = .call)
  found <- dprct_call("design_describe", spec = spec, .call = .call)
  structure(
    list(spec = spec, columns = found$columns, text = found$text),
    class = c(paste0("dprct_", tolower(kind)), "dprct_design")
  )
}

design_names <- c("arms", "arm", "block", "cluster", "columns", "levels", "uses")

spec_of_design <- function(x) {
  if (is.null(x)) {
    return(NULL)
  }
  if (!inherits(x, "dprct_design")) {
    refuse("parameter", paste0(
      "assignment is ", class(x)[1L],
      "; give a design such as design_complete(\"treat\", shares = 0.5)"
    ))
  }
  x$spec
}

#' @export
print.dprct_design <- function(x, ...) print_text(x, ...)

#' Draw an assignment from a design
#'
#' @param design One of the [designs].
#' @param data A data frame of the rows to assign; it may lack the treatment columns.
#' @param rng A seed, for an assignment that can be drawn again; by default one drawn by R's
#'   generator, so that [set.seed()] governs it.
#' @return A data frame of the treatment columns, one row per row of `data`.
#' @inherit designs examples
#' @export
assign_arms <- function(design, data, rng = NULL) {
  check_seed(rng)
  if (is.null(rng)) rng <- sample.int(.Machine$integer.max, 1L)
  dprct_call("design_assign", spec = spec_of_design(design), data = frame_of(data), rng = rng)
}
