# Numbers of R for tests/results/test_two_way.py:
#   Rscript tests/reference/two_way_r.R > tests/reference/two_way_r.json
# Needs sandwich, lmtest, jsonlite.  Data are R's own data sets, written into the output.
suppressPackageStartupMessages({
  library(sandwich)
  library(lmtest)
  library(jsonlite)
})

case <- function(name, data, formula, r_formula, ways, weights = NULL) {
  fit <- if (is.null(weights)) lm(r_formula, data) else
    eval(substitute(lm(r_formula, data, weights = w), list(w = as.name(weights))))
  rows <- setdiff(seq_len(nrow(data)), fit$na.action)
  clusters <- data[rows, ways]
  v <- vcovCL(fit, cluster = clusters, type = "HC1", cadjust = TRUE, multi0 = FALSE)
  df <- min(vapply(clusters, function(x) length(unique(x)), 1L)) - 1
  test <- coeftest(fit, vcov. = v, df = df)
  interval <- coefci(fit, vcov. = v, df = df)
  list(name = name, data = lapply(data, function(x) if (is.factor(x)) as.character(x) else x),
       formula = formula, ways = ways, weights = weights, df = df, estimate = unname(coef(fit)),
       bse = unname(test[, 2]), t = unname(test[, 3]), p = unname(test[, 4]),
       low = unname(interval[, 1]), high = unname(interval[, 2]), cov = unname(v[, , drop = FALSE]))
}

chick <- as.data.frame(ChickWeight)
chick <- data.frame(weight = chick$weight, Time = chick$Time, Diet = as.integer(chick$Diet),
                    Chick = as.character(chick$Chick))
index <- 1:240
waves <- data.frame(y = round(sin(index) + (index %% 17 %% 5) * sin(index %% 17) + (index %/% 20) %% 4 +
                              cos(index^2), 6),
                    x = round(cos(index * 3) + (index %% 17) / 9 + (index %/% 20) / 5, 6), g = index %% 17,
                    h = index %/% 20, w = 1 + index %% 5 + 0.25)
cases <- list(
  case("panel", chick, "weight ~ Time + C(Diet)", weight ~ Time + factor(Diet), c("Chick", "Time")),
  case("waves", waves, "y ~ x", y ~ x, c("g", "h")),
  case("weights", waves, "y ~ x", y ~ x, c("g", "h"), weights = "w"),
  case("missing rows", airquality, "Ozone ~ `Solar.R` + log(Temp)", Ozone ~ Solar.R + log(Temp),
       c("Day", "Month"))
)
versions <- list(R = R.version.string, sandwich = as.character(packageVersion("sandwich")),
                 lmtest = as.character(packageVersion("lmtest")))
cat(toJSON(list(versions = versions, cases = cases), digits = I(17), auto_unbox = TRUE,
           na = "null", null = "null"), "\n")
