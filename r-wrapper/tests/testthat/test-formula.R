text <- function(formula, data = NULL) dprct:::formula_text(formula, data)

test_that("R's formulas are spelled as Python reads them", {
  expect_identical(text(y ~ a + b), "y ~ a + b")
  expect_identical(text(y ~ factor(g) * x), "y ~ C(g) * x")
  expect_identical(text(y ~ as.factor(g):x - 1), "y ~ C(g) : x - 1")
  expect_identical(text(y ~ I(x^2)), "y ~ I(x ** 2)")
  expect_identical(text(cbind(y1, y2) ~ x), "y1 + y2 ~ x")
  expect_identical(text(~ a + b), "~ a + b")
  expect_identical(text("y ~ x"), "y ~ x")
})

test_that("names that are no identifiers stand in backquotes", {
  expect_identical(text(re.78 ~ `my x`), "`re.78` ~ `my x`")
})

test_that("a column that is a factor in R is one in Python", {
  data <- data.frame(y = 1, g = factor("a"), x = 1)
  expect_identical(text(y ~ g * x + I(x^2), data), "y ~ C(g) * x + I(x ** 2)")
  expect_identical(text(y ~ factor(g), data), "y ~ C(g)")
})

test_that("a dot is all other columns", {
  expect_identical(text(y ~ ., data.frame(y = 1, a = 1, b = 1)), "y ~ a + b")
  expect_error(text(y ~ ., data.frame(y = 1)), "there is none", class = "dprct_formula_error")
  expect_error(text(y ~ .), "name each column", class = "dprct_formula_error")
})

test_that("numbers keep their digits", {
  expect_identical(text(y ~ I(x * 0.1)), "y ~ I(x * 0.10000000000000001)")
  expect_identical(text(y ~ I(x / 1e6)), "y ~ I(x / 1000000)")
})

test_that("numbers are spelled alike under every decimal mark", {
  old <- options(OutDec = ",")
  on.exit(options(old))
  expect_identical(text(y ~ I(x * 0.5)), "y ~ I(x * 0.5)")
  skip_without_python()
  data <- data.frame(y = c(1, 3, 2, 5), x = 1:4)
  expect_equal(unname(coef(ols(y ~ I(x * 0.5), data))), unname(coef(lm(y ~ I(x * 0.5), data))))
})

test_that("a function that is not offered is refused in R's words", {
  data <- data.frame(y = 1:9, x = 1:9)
  for (asked in list(y ~ poly(x, 2), y ~ splines::ns(x, 3), y ~ log2(x), scale(y) ~ x)) {
    expect_error(text(asked, data), "() in a formula is not offered; make its column",
      fixed = TRUE, class = "dprct_formula_error"
    )
  }
  expect_identical(text(log(y) ~ exp(x) + sqrt(x) + abs(x), data), "log(y) ~ exp(x) + sqrt(x) + abs(x)")
})

test_that("columns after a bar are absorbed, as feols() has it", {
  skip_without_python()
  d <- data.frame(y = sin(1:60), x = cos(1:60), g = rep(1:5, 12), h = rep(1:3, each = 20))
  found <- ols(y ~ x | g + h, d)
  expect_equal(coef(found), coef(lm(y ~ x + factor(g) + factor(h), d))["x"])
  expect_identical(tidy(found), tidy(ols(y ~ x, d, absorb = c("g", "h"))))
  expect_equal(coef(ols("y ~ x | g", d)), coef(ols(y ~ x, d, absorb = ~g)))
  for (asked in list(y ~ x | g^h, y ~ x | 0 | g)) {
    expect_error(ols(asked, d), "'|'.*is not offered", class = "dprct_formula_error")
  }
  expect_error(ols(y ~ x | g, d, absorb = "h"), "one of the two", class = "dprct_formula_error")
  expect_error(ols(cbind(y, x) ~ g, d), "fits one outcome, and cbind(y, x) are 2",
    fixed = TRUE, class = "dprct_formula_error"
  )
})

test_that("something else is refused", {
  expect_error(text(3), "give a formula", class = "dprct_formula_error")
})
