# Step-down p-values of R for tests/results/test_multiplicity.py, by complete enumeration of the
# assignments of four persons out of nine: Rscript tests/reference/step_down_r.R > tests/reference/step_down_r.json
# Needs multtest (Bioconductor), jsonlite.
suppressPackageStartupMessages({
  library(multtest)
  library(jsonlite)
})
set.seed(20)
arm <- c(0, 0, 0, 0, 0, 1, 1, 1, 1)
outcomes <- matrix(round(rnorm(5 * 9), 3), 5)
outcomes[2, ] <- outcomes[2, ] + 2 * arm
outcomes[3, ] <- outcomes[3, ] + 1.2 * arm + outcomes[1, ]
adjusted <- function(method) {
  invisible(capture.output(
    found <- method(outcomes, arm, test = "t.equalvar", side = "abs", B = 0, na = 1e9)
  ))
  found <- found[order(found$index), ]
  list(statistic = found$teststat, raw = found$rawp, adjusted = found$adjp)
}
cat(toJSON(list(
  versions = list(R = R.version.string, multtest = as.character(packageVersion("multtest"))),
  arm = arm, outcomes = outcomes, max_t = adjusted(mt.maxT), min_p = adjusted(mt.minP),
  holm = p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.9), "holm"),
  bonferroni = p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.9), "bonferroni")
), digits = NA, auto_unbox = TRUE), "\n")
