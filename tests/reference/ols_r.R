# Numbers of R for tests/results/test_ols.py: Rscript tests/reference/ols_r.R > tests/reference/ols_r.json
# Needs sandwich, lmtest, jsonlite.  Data are R's own data sets, written into the output.
suppressPackageStartupMessages({
  library(sandwich)
  library(lmtest)
  library(jsonlite)
})
options(contrasts = c("contr.treatment", "contr.treatment"))

tested <- function(fit, v, df) {
  test <- coeftest(fit, vcov. = v, df = df)
  interval <- coefci(fit, vcov. = v, df = df)
  list(df = df, bse = unname(test[, 2]), t = unname(test[, 3]), p = unname(test[, 4]),
       low = unname(interval[, 1]), high = unname(interval[, 2]), cov = unname(v[, , drop = FALSE]))
}

wald <- function(fit, v, intercept) {
  keep <- if (intercept) -1 else seq_along(coef(fit))
  b <- coef(fit)[keep]
  unname(drop(b %*% solve(v[keep, keep], b)) / length(b))
}

case <- function(name, data, formula, r_formula, weights = NULL, weights_type = NULL,
                 groups = NULL, expand = FALSE) {
  used <- data
  if (expand) used <- data[rep(seq_len(nrow(data)), data[[weights]]), ]
  full <- if (is.null(weights) || expand) lm(r_formula, used) else
    eval(substitute(lm(r_formula, used, weights = w), list(w = as.name(weights))))
  omitted <- unname(is.na(coef(full)))
  fit <- full
  if (any(omitted)) {
    X <- model.matrix(full)[, !omitted, drop = FALSE]
    frame <- list(y = model.response(model.frame(full)), X = X)
    fit <- lm(y ~ 0 + X, frame)
  }
  n <- nobs(fit)
  df <- n - fit$rank
  types <- c("HC0", "HC1", "HC2", "HC3")
  covs <- lapply(setNames(types, types), function(type) vcovHC(fit, type = type))
  covs$nonrobust <- vcov(fit)
  inference <- lapply(covs, function(v) tested(fit, v, df))
  if (!is.null(groups)) {
    rows <- setdiff(seq_len(nrow(used)), full$na.action)
    g <- used[[groups]][rows]
    v <- vcovCL(fit, cluster = g, type = "HC1", cadjust = TRUE)
    inference$cluster <- tested(fit, v, length(unique(g)) - 1)
  }
  intercept <- attr(terms(full), "intercept") == 1
  if (!any(omitted)) {
    for (type in names(covs)) inference[[type]]$f <- wald(fit, covs[[type]], intercept)
  }
  s <- summary(full)
  columns <- lapply(data, function(x) if (is.factor(x)) as.character(x) else x)
  list(name = name, data = columns, formula = formula, weights = weights,
       weights_type = weights_type, groups = groups, n = n, rank = fit$rank,
       terms = names(coef(full)), omitted = omitted, estimate = unname(coef(fit)),
       rsquared = s$r.squared, rsquared_adj = s$adj.r.squared, rmse = s$sigma,
       inference = inference)
}

chick <- as.data.frame(ChickWeight)
chick <- data.frame(weight = chick$weight, Time = chick$Time, Diet = as.integer(chick$Diet),
                    Chick = as.character(chick$Chick))
warp <- transform(warpbreaks, tension = factor(as.character(tension)), times = 1 + (seq_along(breaks) * 7) %% 4,
                  loom = (seq_along(breaks) - 1) %/% 6)
cars <- data.frame(mtcars[, c("mpg", "wt", "hp", "qsec", "cyl", "carb")], row.names = NULL)
index <- 1:200
waves <- data.frame(y = round(sin(index) + index / 50 + cos(index^2), 6),
                    x = round(cos(index * 3), 6),
                    age = 15 + index %% 25, g = index %% 17, w = 1 + index %% 5 + 0.25)

cases <- list(
  case("panel", chick, "weight ~ Time + C(Diet)", weight ~ Time + factor(Diet),
       groups = "Chick"),
  case("crossed factors", warp, "breaks ~ wool * tension", breaks ~ wool * tension,
       groups = "loom"),
  case("frequencies", warp, "breaks ~ wool + tension", breaks ~ wool + tension,
       weights = "times", weights_type = "fweight", groups = "loom", expand = TRUE),
  case("analytic weights", cars, "mpg ~ wt + hp", mpg ~ wt + hp, weights = "qsec",
       weights_type = "aweight", groups = "carb"),
  case("missing rows", airquality, "Ozone ~ `Solar.R` + log(Temp) + C(Month)",
       Ozone ~ Solar.R + log(Temp) + factor(Month), groups = "Day"),
  case("no intercept", cars, "mpg ~ 0 + C(cyl) + wt:hp", mpg ~ 0 + factor(cyl) + wt:hp),
  case("rank deficient", cars, "mpg ~ wt + I(2 * wt) + C(cyl) + cyl",
       mpg ~ wt + I(2 * wt) + factor(cyl) + cyl, groups = "carb"),
  case("arithmetic", waves, "y ~ x + age + I((age - 20) ** 2) + I(age > 30)",
       y ~ x + age + I((age - 20)^2) + I(age > 30), groups = "g"),
  case("sampling weights", waves, "y ~ x", y ~ x, weights = "w", weights_type = "pweight",
       groups = "g")
)
versions <- list(R = R.version.string, sandwich = as.character(packageVersion("sandwich")),
                 lmtest = as.character(packageVersion("lmtest")))
cat(toJSON(list(versions = versions, cases = cases), digits = I(17), auto_unbox = TRUE,
           na = "null", null = "null"), "\n")
