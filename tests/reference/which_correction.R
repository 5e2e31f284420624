# Numbers of R for docs/which_correction.md and tests/docs/test_which_correction.py:
#   Rscript tests/reference/which_correction.R > tests/reference/which_correction_r.json
# Run from the checkout.  Needs haven, sandwich, lmtest, jsonlite.
suppressPackageStartupMessages({
  library(sandwich)
  library(lmtest)
  library(jsonlite)
})
rows <- as.data.frame(haven::zap_labels(haven::read_dta("data/thornton_hiv.dta")))
rows <- rows[rows$hiv2004 %in% c(0, 1), c("got", "any", "hiv2004", "age", "villnum")]
rows <- rows[complete.cases(rows), ]

told <- function(test) {
  list(estimate = test["hiv2004", 1], bse = test["hiv2004", 2], p = test["hiv2004", 4])
}
plain <- lm(got ~ any + hiv2004 + age, rows)
village <- lm(got ~ any + hiv2004 + age + factor(villnum), rows)
clusters <- rows$villnum
found <- list(
  "summary(lm)" = told(summary(plain)$coefficients),
  "coeftest(fit, vcovHC)" = told(coeftest(plain, vcov. = vcovHC)),
  "coeftest(fit, vcovCL, cluster = ~villnum)" =
    told(coeftest(plain, vcov. = vcovCL(plain, cluster = clusters))),
  "lm with factor(villnum), vcovCL" =
    told(coeftest(village, vcov. = vcovCL(village, cluster = clusters)))
)
cat(toJSON(list(versions = list(R = R.version.string,
                                sandwich = as.character(packageVersion("sandwich")),
                                lmtest = as.character(packageVersion("lmtest"))),
                n = nrow(rows), found = found),
           digits = I(17), auto_unbox = TRUE), "\n")
