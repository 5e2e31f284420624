# Numbers of R for tests/results/test_iv.py and test_binary.py:
#   Rscript tests/reference/ordinary_r.R > tests/reference/ordinary_r.json
# AER's ivreg and glm; covariances by sandwich.  HC1 is n / (n - k), CR1 G/(G-1) (n-1)/(n-k), as
# Stata's ivregress, small; logit's robust ones are n / (n - 1) and G / (G - 1), as Stata's.
suppressMessages({library(AER); library(sandwich); library(jsonlite)})
set.seed(20)
n <- 180
v <- rep(1:15, each = 12)
u <- rnorm(15)[v]
z <- rbinom(n, 1, .5); z2 <- round(rnorm(n), 3); x <- round(runif(n), 3); e <- rnorm(n)
d <- round(.3 + .8 * z + .4 * z2 + x + .5 * e + .3 * u + rnorm(n), 3)
y <- round(1 + .7 * d - x + e + u, 3)
w <- round(runif(n, .5, 2), 2)
b <- as.integer(.6 * d - x + u + rlogis(n) > .5)
rows <- data.frame(y, d, z, z2, x, v, w, b)
num <- function(m) unname(as.matrix(m))
one <- function(name, formula, fit, first) {
  k <- length(coef(fit)); m <- nobs(fit)
  list(
    name = name, formula = formula, term = names(coef(fit)), estimate = unname(coef(fit)),
    n = m, k = k, nonrobust = num(vcov(fit)),
    HC1 = num(vcovHC(fit, type = "HC1")),
    cluster = num(vcovCL(fit, cluster = rows$v, type = "HC1")),
    f_nonrobust = first$nonrobust, f_HC1 = first$HC1, f_cluster = first$cluster
  )
}
strength <- function(big, small) {
  f <- function(V) waldtest(small, big, vcov = V, test = "F")$F[2]
  list(nonrobust = f(vcov(big)), HC1 = f(vcovHC(big, type = "HC1")),
       cluster = f(vcovCL(big, cluster = rows$v, type = "HC1")))
}
iv <- list(
  one("just identified", "y ~ x + [d ~ z]", ivreg(y ~ d + x | x + z, data = rows),
      strength(lm(d ~ x + z, rows), lm(d ~ x, rows))),
  one("over identified", "y ~ x + [d ~ z + z2]", ivreg(y ~ d + x | x + z + z2, data = rows),
      strength(lm(d ~ x + z + z2, rows), lm(d ~ x, rows))),
  one("villages", "y ~ C(v) + [d ~ z]", ivreg(y ~ d + factor(v) | factor(v) + z, data = rows),
      strength(lm(d ~ factor(v) + z, rows), lm(d ~ factor(v), rows)))
)
logit <- glm(b ~ d + x, family = binomial, data = rows, control = list(epsilon = 1e-14))
probit <- glm(b ~ d + x, family = binomial("probit"), data = rows, control = list(epsilon = 1e-14))
binary <- list(
  estimate = unname(coef(logit)), probit = unname(coef(probit)), loglik = as.numeric(logLik(logit)),
  probit_loglik = as.numeric(logLik(probit)), nonrobust = num(vcov(logit)),
  HC1 = num(sandwich(logit)) * n / (n - 1),
  cluster = num(vcovCL(logit, cluster = rows$v, type = "HC0", cadjust = TRUE))
)
cat(toJSON(list(data = rows, iv = iv, binary = binary), digits = NA, auto_unbox = TRUE, dataframe = "columns"))
