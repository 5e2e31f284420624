# Weighting by glm and survey for tests/papers/baselines/test_baseline_ipw.py:
# Rscript tests/reference/ipw_r.R > tests/reference/ipw_r.json
# Needs survey (Debian: r-cran-survey), jsonlite. Stacked standard errors: the estimating equations
# are written out here a second time and differentiated numerically.
suppressPackageStartupMessages({
  library(survey)
  library(jsonlite)
})
set.seed(6)
n <- 300
x1 <- round(rnorm(n), 3)
x2 <- as.numeric(runif(n) < 0.4)
t <- as.numeric(runif(n) < plogis(-0.3 + 0.7 * x1 - 0.5 * x2))
y <- round(1 + x1 + 2 * x2 + t * (1.5 + 0.5 * x1) + rnorm(n), 3)
rows <- data.frame(y, t, x1, x2)
logit <- glm(t ~ x1 + x2, binomial, rows, control = list(epsilon = 1e-14, maxit = 100))
e <- fitted(logit)
given <- list(
  ate = t / e + (1 - t) / (1 - e), att = t + (1 - t) * e / (1 - e),
  atc = t * (1 - e) / e + (1 - t)
)
known <- lapply(given, function(w) {
  fit <- svyglm(y ~ t, svydesign(~1, weights = ~w, data = data.frame(rows, w)))
  list(effect = coef(fit)[["t"]], pomean = coef(fit)[["(Intercept)"]],
       se = sqrt(diag(vcov(fit)))[["t"]], se_pomean = sqrt(diag(vcov(fit)))[["(Intercept)"]])
})
X <- cbind(1, x1, x2)
stacked <- function(estimand, augmented, normalized) {
  r <- switch(estimand, ate = rep(1, n), att = t, atc = 1 - t)
  k <- ncol(X)
  equations <- function(p) {
    g <- p[1:k]; mu <- p[k + 1:2]; nu <- p[k + 3:4]
    e <- drop(plogis(X %*% g))
    out <- X * (t - e)
    for (arm in 1:0) {
      i <- 2 - arm
      D <- if (arm) t else 1 - t
      w <- r_weight(estimand, e) / (if (arm) e else 1 - e)
      b <- if (augmented) p[k + 4 + (i - 1) * k + 1:k] else rep(0, k)
      m <- drop(X %*% b)
      out <- cbind(out, r * (m + nu[i] - mu[i]),
                   if (normalized) D * w * (y - m - nu[i]) else D * w * (y - m) - r * nu[i],
                   if (augmented) X * (D * (y - m)))
    }
    out
  }
  r_weight <- function(estimand, e) switch(estimand, ate = 1, att = e, atc = 1 - e)
  start <- coef(logit)
  beta <- lapply(1:0, function(a) unname(coef(lm(y ~ x1 + x2, subset = t == a))))
  p <- c(start, rep(0, 4), if (augmented) unlist(beta))
  # the equations of the means are linear: nu, then mu
  for (arm in 1:0) {
    i <- 2 - arm
    D <- if (arm) t else 1 - t
    w <- r_weight(estimand, e) / (if (arm) e else 1 - e)
    m <- if (augmented) drop(X %*% beta[[i]]) else rep(0, n)
    nu <- sum(D * w * (y - m)) / (if (normalized) sum(D * w) else sum(r))
    p[k + 2 + i] <- nu
    p[k + i] <- sum(r * m) / sum(r) + nu
  }
  stopifnot(max(abs(colSums(equations(p)))) < 1e-6)
  A <- sapply(seq_along(p), function(j) {
    h <- 1e-5
    up <- p; up[j] <- up[j] + h
    down <- p; down[j] <- down[j] - h
    (colMeans(equations(up)) - colMeans(equations(down))) / (2 * h)
  })
  V <- solve(A) %*% (crossprod(equations(p)) / n) %*% t(solve(A)) / n
  means <- V[k + 1:2, k + 1:2]
  list(estimand = estimand, augmented = augmented, normalized = normalized,
       effect = unname(p[k + 1] - p[k + 2]), pomean = unname(p[k + 2]),
       se = sqrt(means[1, 1] + means[2, 2] - 2 * means[1, 2]), se_pomean = sqrt(means[2, 2]))
}
cases <- list()
for (estimand in c("ate", "att", "atc")) for (augmented in c(FALSE, TRUE)) {
  for (normalized in c(TRUE, FALSE)) {
    cases[[length(cases) + 1]] <- stacked(estimand, augmented, normalized)
  }
}
cat(toJSON(list(
  versions = list(R = R.version.string, survey = as.character(packageVersion("survey"))),
  y = y, t = t, x1 = x1, x2 = x2, logit = unname(coef(logit)), known = known, stacked = cases
), digits = NA, auto_unbox = TRUE), "\n")
