# Tests that need Python say so; where it was promised they fail instead of being skipped.
skip_without_python <- function() {
  if (dprct_available()) {
    return(invisible())
  }
  if (nzchar(Sys.getenv("DPRCT_REQUIRE_R"))) stop("DPRCT_REQUIRE_R is set and there is no Python")
  skip("Python with dprct is not available")
}

nsw_file <- function() system.file("extdata", "nsw_mixtape.dta", package = "dprct", mustWork = TRUE)

nsw_facts <- function() {
  declare(schema(nsw_file()),
    re78 = list(bounds = c(0, 40000), sd = 6500, missing = "never", role = "outcome", fate = "modelled"),
    treat = list(levels = 0:1, missing = "never", role = "treatment", fate = "public"),
    black = list(levels = 0:1, missing = "never", fate = "modelled"),
    rest = "drop", confirm_header = TRUE
  )
}

# As in the demo, more than 40,000 dollars count as 40,000.
nsw <- function() {
  data <- read_dta(nsw_file(), nsw_facts())
  data$re78 <- pmin(data$re78, 40000)
  data
}

design_of_nsw <- function() design_complete("treat", shares = 185 / 445)

nsw_ate <- function(data = nsw()) {
  private_ate(re78 ~ treat, data,
    assignment = design_of_nsw()
  )
}

nsw_calibrated <- function(...) {
  calibrated(re78 ~ treat, nsw(),
    treatment = "treat", assignment = design_of_nsw(), covariate_release = "filler", ...
  )
}

published_heterogeneous <- function() {
  facts <- declare(nsw_facts(), age = list(bounds = c(16, 60), missing = "never"))
  data <- read_dta(nsw_file(), facts)
  data$re78 <- pmin(data$re78, 40000)
  published_cate(re78 ~ age, data,
    treatment = "treat", assignment = design_of_nsw(), accept_uncertified = TRUE
  )
}

# Six donors and a treated region, long.
panel <- function() {
  units <- c("treated", paste0("donor", 1:6))
  rows <- expand.grid(year = 1:12, unit = units, stringsAsFactors = FALSE)
  level <- match(rows$unit, units)
  rows$y <- 0.05 * level + 0.02 * rows$year + 0.1 * sin(level * rows$year)
  rows
}
