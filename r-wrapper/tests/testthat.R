library(testthat)
library(dprct)

test_check("dprct")
