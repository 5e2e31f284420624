test_that("the private variance and range are those of Python", {
  skip_without_python()
  x <- qnorm(ppoints(1000), 20, 2)
  expect_identical(published_variance(rep(c(0, 2.5), 500), epsilon = 4, rng = 1), 4^(1 + 2))
  ends <- published_range(x, sd = 2, epsilon = 1, rng = 1)
  expect_equal(mean(ends), 20)
  expect_equal(diff(ends), 2 * 4 * 2 * sqrt(log(1000 / 0.05)))
  wide <- published_range(x, 2, 1, alpha = 0.01, noise_on = "every bin", rng = 2)
  expect_equal(diff(wide), 2 * 4 * 2 * sqrt(log(1000 / 0.01)))
})

test_that("samples and options that are not allowed are refused", {
  skip_without_python()
  expect_error(published_variance("a", 1), "not a numeric vector", class = "dprct_parameter_error")
  expect_error(published_variance(c(1, NA), 1), "not a finite number", class = "dprct_parameter_error")
  expect_error(published_range(1:9, 1, 1, alfa = 0.1), "alfa", class = "dprct_parameter_error")
  expect_error(published_range(1:9, sd = 0, epsilon = 1), "above 0", class = "dprct_error")
})

test_that("numbers of one's own get the noise that is named", {
  skip_without_python()
  noise <- replicate(200, published_laplace(41.5, epsilon = 1, sensitivity = 2)) - 41.5
  expect_lt(abs(mean(noise)), 6 * sqrt(8 / 200))
  expect_gt(mean(abs(noise)), 1) # its mean is 2, with a standard error of .14
  two <- published_gaussian(c(a = 3, b = 4), epsilon = 1, delta = 1e-5, sensitivity = 1e-6, rng = 1)
  expect_named(two, c("a", "b"))
  expect_equal(unname(two), c(3, 4), tolerance = 1e-4)
  expect_identical(two, published_gaussian(c(a = 3, b = 4), 1, 1e-5, 1e-6, rng = 1))
})

test_that("answers are told in the form in which they came", {
  skip_without_python()
  answers <- factor(rep(c("no", "yes"), 500), levels = c("yes", "no", "refused"))
  told <- published_randomized_response(answers, epsilon = 20, rng = 1)
  expect_identical(told, answers)
  loud <- published_randomized_response(answers, epsilon = 0.1, rng = 1)
  expect_identical(levels(loud), levels(answers))
  expect_lt(mean(loud == answers), 0.5) # 0.36, with a standard error of .015
  expect_identical(published_randomized_response(c(1, 0), 30, levels = 0:1, rng = 1), c(1L, 0L))
})

test_that("what is no number, answer or sensitivity is refused", {
  skip_without_python()
  expect_error(published_laplace("a", 1, 1), "not a numeric vector", class = "dprct_parameter_error")
  expect_error(published_laplace(c(1, NA), 1, 1), "missing values", class = "dprct_parameter_error")
  expect_error(published_laplace(1, 1, 0), "above 0", class = "dprct_parameter_error")
  expect_error(published_gaussian(1, 1, 0, 1), "delta", class = "dprct_parameter_error")
  expect_error(
    published_randomized_response(c("a", NA), 1, levels = "a"), "none of the levels",
    class = "dprct_parameter_error"
  )
  expect_error(
    published_randomized_response(c("a", "b"), 1), "levels are missing",
    class = "dprct_parameter_error"
  )
})
