# What lm and sandwich say about outcomes that tests/release/construction/test_construct.py made:
# Rscript tests/reference/construction_r.R a.csv b.csv; columns x0, x1, ... (an intercept among
# them), y and the cluster g.  Needs sandwich, jsonlite.
suppressPackageStartupMessages({
  library(sandwich)
  library(jsonlite)
})
errors <- function(v) unname(sqrt(diag(v)))
said <- function(file) {
  data <- read.csv(file)
  columns <- setdiff(names(data), c("y", "g"))
  fit <- lm(reformulate(columns, "y", intercept = FALSE), data)
  list(coef = unname(coef(fit)), classical = errors(vcov(fit)),
       HC1 = errors(vcovHC(fit, type = "HC1")),
       cluster = errors(vcovCL(fit, cluster = data$g, type = "HC1")))
}
files <- commandArgs(trailingOnly = TRUE)
names(files) <- sub("[.]csv$", "", basename(files))
cat(toJSON(lapply(files, said), digits = I(17)))
