# The National Supported Work experiment (LaLonde 1986; Dehejia and Wahba 1999): protect it, and run
# the paper's regression on the original and on the protected file.
library(dprct)

file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")

cat("\n1. Public facts, declared before the data are read\n")
facts <- declare(schema(file),
  re78 = list(bounds = c(0, 40000), clip = TRUE, sd = 6500, missing = "never", fate = "modelled"),
  treat = list(levels = 0:1, missing = "never", fate = "public"),
  rest = "drop", confirm_header = TRUE
)
print(facts)

cat("\n2. The plan: what it costs, before anything is spent\n")
nsw <- read_dta(file, facts)
model <- calibrated(re78 ~ treat, nsw,
  treatment = "treat", assignment = design_complete("treat", shares = 185 / 445)
)
print(plan(model, epsilon = 1))

cat("\n3. The release: the only private step\n")
release <- fit(model, epsilon = 1, accountant = accountant(epsilon = 1))
print(release)
protected_file <- file.path(tempdir(), "nsw_protected.dta")
write_dta(release, protected_file)
print(verify(protected_file))

cat("\n4. The paper's regression with R's own tools, on the original and on the protected file\n")
effect <- function(path) {
  data <- if (requireNamespace("haven", quietly = TRUE)) haven::read_dta(path) else read_dta(path)
  paper <- stats::lm(re78 ~ treat, data)
  if (!requireNamespace("sandwich", quietly = TRUE)) {
    return(tidy(ols(re78 ~ treat, read_dta(path))))
  }
  robust <- sandwich::vcovHC(paper, type = "HC1")
  data.frame(estimate = coef(paper), std.error = sqrt(diag(robust)))
}
cat("original (custodian's view)\n")
print(effect(file))
cat("protected (one run): the standard error contains the privacy noise\n")
print(effect(protected_file))
