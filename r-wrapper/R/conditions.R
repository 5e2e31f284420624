# Conditions that Python left in a frame, signalled where R's handlers can see them.

condition <- function(classes, message, call = NULL, ...) {
  structure(class = classes, list(message = message, call = call, ...))
}

# A condition is printed and logged: where do.call() put the data into the call, no row may be in it.
stop_dprct <- function(class, message, call = NULL, ...) {
  stop(condition(c(class, "dprct_error", "error", "condition"), message, plain_call(call), ...))
}

# The call by which this package was entered, as its user wrote it: no function of ours is in it.
user_call <- function() {
  for (frame in seq_len(sys.nframe())) {
    if (identical(environment(sys.function(frame)), topenv())) return(sys.call(frame))
  }
  NULL
}

signal_records <- function(records) {
  for (record in records) {
    if (!is.null(record$condition)) {
      message(record$condition)
    } else {
      classes <- c(paste0("dprct_", record$level), "dprct_message", "message", "condition")
      message(condition(classes, paste0(record$message, "\n")))
    }
  }
}

signal_warnings <- function(warned, call) {
  for (one in warned) {
    if (!is.null(one$condition)) {
      warning(one$condition)
    } else {
      warning(condition(one$classes, one$message, call))
    }
  }
}

stop_python <- function(error, call) {
  parts <- c(list(message = error$message, call = call), error$fields,
             list(python_traceback = error$traceback))
  raised <- structure(class = error$classes, parts[!duplicated(names(parts))])
  the$last_error <- raised
  stop(raised)
}

# What Ctrl-C does: tryCatch(interrupt = ) sees it, else back to the prompt.
interrupt <- function() {
  signalCondition(condition(c("interrupt", "condition"), ""))
  if (!is.null(findRestart("abort"))) invokeRestart("abort")
  stop("interrupted", call. = FALSE)
}

#' The Python traceback of the last error
#'
#' Errors of this package are R conditions without a Python traceback. This
#' prints it, for those who report a defect.
#'
#' @return The condition, invisibly; `NULL` if there was no error yet.
#' @examples
#' last_python_error()
#' @export
last_python_error <- function() {
  error <- the$last_error
  if (is.null(error)) {
    message("No error came from Python in this session.")
  } else {
    cat(error$python_traceback)
  }
  invisible(error)
}
