# State of the session. Python reads `frames`, the calls in progress, through rpy2.
the <- new.env(parent = emptyenv())
the$frames <- new.env(parent = emptyenv())
the$calls <- 0
the$run <- NULL
the$last_error <- NULL
the$refused <- NULL

protocol <- "1"
