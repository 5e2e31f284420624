# Numbers of R for tests/results/test_fixed_effects.py:
#   Rscript tests/reference/fixed_effects.R > tests/reference/fixed_effects_r.json
# Needs estimatr, sandwich, jsonlite (Debian: r-cran-estimatr, r-cran-sandwich, r-cran-jsonlite).
# Data are arithmetic, written into the output.
suppressPackageStartupMessages({
  library(estimatr)
  library(sandwich)
  library(jsonlite)
})
i <- 1:240
panel <- data.frame(
  y = round(sin(i) + i / 50 + cos(i^2), 6), x = round(cos(i * 3) + i / 100, 6),
  z = round(sin(i^2 / 7), 6), w = 1 + i %% 5 + 0.25,
  firm = (i * 7) %% 23, year = (i - 1) %/% 30
)
panel$region <- panel$firm %/% 4        # firms are nested in regions
panel$half <- as.integer(panel$firm >= 12)
panel$part <- panel$half * 10 + panel$year %% 3  # with firm: two components

absorbed <- function(name, effects, vcov, clusters = NULL, weights = NULL) {
  arguments <- list(y ~ x + z, data = panel, fixed_effects = as.formula(paste("~", effects)),
                    se_type = vcov)
  if (!is.null(clusters)) arguments$clusters <- as.name(clusters)
  if (!is.null(weights)) arguments$weights <- as.name(weights)
  fit <- do.call(lm_robust, arguments)
  list(name = name, effects = strsplit(effects, " + ", fixed = TRUE)[[1]], vcov = vcov,
       clusters = clusters, weights = weights, estimate = unname(fit$coefficients),
       bse = unname(fit$std.error), df = unname(fit$df[1]), rsquared = fit$r.squared)
}

dummies <- function(name, effects, clusters) {
  terms <- strsplit(effects, " + ", fixed = TRUE)[[1]]
  formula <- as.formula(paste("y ~ x + z +", paste0("factor(", terms, ")", collapse = " + ")))
  fit <- lm(formula, panel)
  v <- if (is.null(clusters)) vcovHC(fit, type = "HC1") else
    vcovCL(fit, cluster = panel[[clusters]], type = "HC1", cadjust = TRUE)
  list(name = name, effects = terms, vcov = "dummies", clusters = clusters, weights = NULL,
       estimate = unname(coef(fit)[2:3]), bse = unname(sqrt(diag(v)[2:3])),
       df = if (is.null(clusters)) fit$df.residual else length(unique(panel[[clusters]])) - 1,
       rsquared = summary(fit)$r.squared)
}

cases <- list(
  absorbed("one, classical", "firm", "classical"),
  absorbed("one, robust", "firm", "HC1"),
  absorbed("one, nested in clusters", "firm", "stata", "region"),
  absorbed("one, across clusters", "firm", "stata", "year"),
  absorbed("one, weighted", "firm", "HC1", weights = "w"),
  absorbed("two, classical", "firm + year", "classical"),
  absorbed("two, robust", "firm + year", "HC1"),
  absorbed("two, clustered", "firm + year", "stata", "region"),
  dummies("two, dummies", "firm + year", "region"),
  dummies("two in two components", "firm + part", "region"),
  dummies("three", "firm + year + part", NULL)
)
cat(toJSON(list(versions = list(R = R.version.string,
                                estimatr = as.character(packageVersion("estimatr")),
                                sandwich = as.character(packageVersion("sandwich"))),
                data = as.list(panel), cases = cases),
           digits = I(17), auto_unbox = TRUE, na = "null", null = "null"), "\n")
