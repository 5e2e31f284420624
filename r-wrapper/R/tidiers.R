#' @importFrom stats coef confint deviance df.residual fitted formula nobs predict residuals sigma
#' @importFrom stats vcov weights
NULL

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' Tidy a result
#'
#' `tidy()` gives one row per coefficient (for a synthetic control, per period; for a table, per
#' outcome and arm), `glance()` one row about the fit. The column `std.error.noise` is the part of
#' the standard error that is privacy noise. A synthetic control has no confidence limits, but
#' `noise.low` and `noise.high`, which cover privacy noise alone ([noise_band()]). Of an additive
#' function a row is a level of a feature, alone: its error and its limits are of `estimate`, and
#' `smoothed` is the function that [predict()] evaluates.
#'
#' @param x What [fit()], [ols()] or [itt_table()] returned.
#' @param conf.int,conf.level Add confidence limits, and at which level.
#' @param ... Not used.
#' @return A data frame, with the column names of \pkg{broom}.
#' @inherit ols examples
#' @name tidiers
NULL

#' @rdname tidiers
#' @method tidy dprct_estimate
#' @export
tidy.dprct_estimate <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  tolerate(...)
  check_flag(conf.int, "conf.int")
  check_level(conf.level, "conf.level")
  out <- x$tidy[!names(x$tidy) %in% c("conf.low", "conf.high")]
  if (conf.int) {
    ends <- confint(x, level = conf.level)
    out$conf.low <- unname(ends[, 1L])
    out$conf.high <- unname(ends[, 2L])
  }
  out
}

#' @rdname tidiers
#' @method glance dprct_estimate
#' @export
glance.dprct_estimate <- function(x, ...) {
  tolerate(...)
  x$glance
}

# modelsummary prints all digits of what its own table of statistics does not name.
#' @exportS3Method modelsummary::glance_custom
glance_custom.dprct_estimate <- function(x, ...) {
  tolerate(...)
  rows <- glance(x)
  is_fraction <- vapply(rows, function(value) is.double(value) && value %% 1 != 0, NA)
  ours <- rows[setdiff(names(rows)[is_fraction %in% TRUE], c("r.squared", "adj.r.squared"))]
  if (length(ours)) as.data.frame(lapply(ours, function(value) format(signif(value, 3L))))
}

#' @exportS3Method modelsummary::glance_custom
glance_custom.dprct_result <- glance_custom.dprct_estimate

#' @rdname tidiers
#' @method tidy dprct_result
#' @export
tidy.dprct_result <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  tolerate(...)
  check_flag(conf.int, "conf.int")
  check_level(conf.level, "conf.level")
  out <- x$tidy
  if (conf.int && identical(conf.level, 0.95) && all(c("level", "low", "high") %in% names(out))) {
    # the interval that came with the numbers: it is there in other sessions, too
    names(out)[match(c("low", "high"), names(out))] <- c("conf.low", "conf.high")
  } else if (conf.int) {
    out <- dprct_call("result_tidy", result = x, alpha = 1 - conf.level)
  }
  # ends of privacy noise alone keep that name: they are no interval
  if (all(c("term", "level", "raw") %in% names(out))) return(tidy_levels(out))
  if (all(c("term", "low", "high") %in% names(out)) && is.null(out$std.error)) { # bins of a score
    out$term <- paste(out$term, signif(out$low, 4), "to", signif(out$high, 4))
  }
  out <- out[!names(out) %in% c("low", "high", if (!conf.int) c("noise.low", "noise.high"))]
  if ("term" %in% names(out)) out else cbind(term = as.character(out$time), out)
}

# Each level under the name that confint() gives it, with the estimate that its error is of.
tidy_levels <- function(rows) {
  rows <- rows[!names(rows) %in% c("low", "high")]
  names(rows)[match(c("estimate", "raw"), names(rows))] <- c("smoothed", "estimate")
  rows$term <- trimws(paste(rows$term, rows$level))
  ours <- c("term", "estimate", "std.error", "std.error.noise", "conf.low", "conf.high", "smoothed")
  rows[intersect(ours, names(rows))]
}

#' @rdname tidiers
#' @method glance dprct_result
#' @export
glance.dprct_result <- function(x, ...) {
  tolerate(...)
  x$glance
}

#' @rdname tidiers
#' @method tidy dprct_table
#' @export
tidy.dprct_table <- function(x, ...) {
  tolerate(...)
  x$estimates
}

#' Draw effects with their intervals, paths and shapes
#'
#' @param x What [fit()] or [ols()] returned.
#' @param level Of the intervals.
#' @param ... Of the graphical parameters of [graphics::plot()]: `main`, `sub`, `xlab`, `ylab`,
#'   `xlim`, `ylim`, `col`, `pch`, `cex`, `cex.axis`, `cex.lab`, `cex.main`, `lty`, `lwd`, `bty`,
#'   `ann`.
#' @return `x`, invisibly. The thick part of a line is what privacy noise alone would give. Of a
#'   synthetic control both paths are drawn; of an additive function every level with its interval.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   plot(ols(re78 ~ treat + black, read_dta(file)))
#' }
#' @name plots
NULL

#' @rdname plots
#' @export
plot.dprct_estimate <- function(x, level = 0.95, ...) {
  only_known(..., .also = for_plot)
  effects <- setdiff(names(x$coefficients), c("Intercept", "(Intercept)"))
  if (!length(effects)) effects <- names(x$coefficients)
  ends <- confint(x, effects, level)
  at <- rev(seq_along(effects))
  draw(graphics::plot, unname(x$coefficients[effects]), at, ..., .ours = list(
    xlim = range(0, ends), yaxt = "n", ylab = "", xlab = "Effect", pch = 19
  ))
  graphics::axis(2, at = at, labels = effects, las = 1)
  graphics::abline(v = 0, lty = 3)
  graphics::segments(ends[, 1L], at, ends[, 2L], at)
  if (!is.null(x$std.error.noise)) {
    half <- stats::qnorm(1 - (1 - level) / 2) * x$std.error.noise[effects]
    graphics::segments(
      x$coefficients[effects] - half, at, x$coefficients[effects] + half, at,
      lwd = 4
    )
  }
  invisible(x)
}

#' @rdname plots
#' @export
plot.dprct_result <- function(x, ...) {
  only_known(..., .also = for_plot)
  known <- names(x$tidy)
  if ("counterfactual" %in% known) {
    plot_path(x$tidy, ...)
  } else if (all(c("term", "level", "raw") %in% known)) {
    plot_levels(x$tidy, ...)
  } else if (all(c("term", "low", "high", "estimate") %in% known)) {
    plot_scores(x$tidy, ...)
  } else {
    refuse("parameter", "this result is no path and no shapes; use tidy() and plot its columns")
  }
  invisible(x)
}

for_plot <- c(
  "main", "sub", "xlab", "ylab", "xlim", "ylim", "col", "pch", "cex", "cex.axis", "cex.lab",
  "cex.main", "lty", "lwd", "bty", "ann"
)

# A plot by our parameters, where none was given for them.
draw <- function(.plot, ..., .ours) {
  given <- list(...)
  do.call(.plot, c(given, .ours[setdiff(names(.ours), names(given))]))
}

plot_path <- function(path, ...) {
  lines <- cbind(path$observed, path$counterfactual)
  draw(graphics::matplot, path$time, lines, ..., .ours = list(
    type = "l", lty = 1:2, col = 1, xlab = "Time", ylab = "Observed and counterfactual"
  ))
}

# Each level alone with its interval, and the smoothed function as a cross.
plot_levels <- function(levels, ...) {
  at <- rev(seq_len(nrow(levels)))
  proved <- c("low", "high") %in% names(levels)
  ends <- if (all(proved)) levels[c("low", "high")] else levels[c("raw", "raw")]
  reach <- range(0, ends, levels$raw, levels$estimate, finite = TRUE)
  draw(graphics::plot, levels$raw, at, ..., .ours = list(
    xlim = reach, yaxt = "n", ylab = "", xlab = "Level alone, and smoothed (x)", pch = 19
  ))
  graphics::axis(2, at = at, labels = trimws(paste(levels$term, levels$level)), las = 1)
  graphics::abline(v = 0, lty = 3)
  graphics::segments(ends[[1L]], at, ends[[2L]], at)
  graphics::points(levels$estimate, at, pch = 4)
}

# Steps without intervals, one panel per feature.
plot_scores <- function(scores, ...) {
  features <- unique(scores$term)
  old <- graphics::par(mfrow = c(1L, length(features)))
  on.exit(graphics::par(old))
  for (feature in features) {
    rows <- scores[scores$term == feature, ]
    draw(graphics::plot,
      c(rows$low, rows$high[nrow(rows)]), c(rows$estimate, rows$estimate[nrow(rows)]), ...,
      .ours = list(type = "s", xlab = feature, ylab = "Score")
    )
  }
}

#' @rdname plots
#' @param object As `x`.
#' @return `autoplot()`: a plot of \pkg{ggplot2} with the same intervals, to add to.
#' @exportS3Method ggplot2::autoplot
autoplot.dprct_estimate <- function(object, level = 0.95, ...) {
  only_known(...)
  effects <- setdiff(names(object$coefficients), c("Intercept", "(Intercept)"))
  if (!length(effects)) effects <- names(object$coefficients)
  ends <- confint(object, effects, level)
  half <- stats::qnorm(1 - (1 - level) / 2) * noise_of(object)[effects]
  rows <- data.frame(
    term = factor(effects, rev(effects)), estimate = unname(object$coefficients[effects]),
    low = ends[, 1L], high = ends[, 2L], row.names = NULL
  )
  rows$noise.low <- rows$estimate - unname(half)
  rows$noise.high <- rows$estimate + unname(half)
  aes <- function(...) do.call(ggplot2::aes, lapply(list(...), as.name))
  made <- ggplot2::ggplot(rows, aes(x = "estimate", y = "term")) +
    ggplot2::geom_vline(xintercept = 0, linetype = 3) +
    ggplot2::geom_segment(aes(x = "low", xend = "high", y = "term", yend = "term"))
  if (!all(is.na(half))) {
    made <- made + ggplot2::geom_segment(
      aes(x = "noise.low", xend = "noise.high", y = "term", yend = "term"),
      linewidth = 1.5
    )
  }
  made + ggplot2::geom_point(size = 2) + ggplot2::labs(x = "Effect", y = NULL)
}

noise_of <- function(object) {
  noise <- object$std.error.noise
  if (is.null(noise)) stats::setNames(object$coefficients * NA, names(object$coefficients)) else noise
}

#' @rdname plots
#' @exportS3Method ggplot2::autoplot
autoplot.dprct_release <- function(object, level = 0.95, ...) {
  only_known(...)
  autoplot.dprct_estimate(estimates_of(object), level)
}

#' @rdname plots
#' @exportS3Method ggplot2::autoplot
autoplot.dprct_result <- function(object, ...) {
  only_known(...)
  path <- object$tidy
  if (all(c("term", "level", "raw") %in% names(path))) return(levels_drawn(object))
  if (!"counterfactual" %in% names(path)) {
    refuse("parameter", "this result is no path; use plot(), or tidy() and a layout of your own")
  }
  series <- c("observed", "counterfactual")
  rows <- data.frame(
    time = rep(path$time, 2L), value = c(path$observed, path$counterfactual),
    series = factor(rep(series, each = nrow(path)), series)
  )
  aes <- function(...) do.call(ggplot2::aes, lapply(list(...), as.name))
  ggplot2::ggplot(rows, aes(x = "time", y = "value", linetype = "series")) +
    ggplot2::geom_line() +
    ggplot2::labs(x = "Time", y = NULL, linetype = NULL)
}

# Each level alone with its interval, and the smoothed function as a cross.
levels_drawn <- function(object) {
  rows <- tidy(object, conf.int = "low" %in% names(object$tidy))
  rows$term <- factor(rows$term, rev(rows$term))
  aes <- function(...) do.call(ggplot2::aes, lapply(list(...), as.name))
  made <- ggplot2::ggplot(rows, aes(x = "estimate", y = "term")) +
    ggplot2::geom_vline(xintercept = 0, linetype = 3)
  if (all(c("conf.low", "conf.high") %in% names(rows))) {
    made <- made + ggplot2::geom_segment(
      aes(x = "conf.low", xend = "conf.high", y = "term", yend = "term")
    )
  }
  made + ggplot2::geom_point(size = 2) +
    ggplot2::geom_point(aes(x = "smoothed"), shape = 4, size = 2) +
    ggplot2::labs(x = "Level alone, and smoothed (x)", y = NULL)
}
