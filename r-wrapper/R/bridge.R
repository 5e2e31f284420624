# The one crossing to Python.

# Runs the Python export `.fn` with named arguments. The dots in the names keep R from matching an
# argument `f` or `c` to them.
dprct_call <- function(.fn, ..., .call = sys.call(-1L)) {
  .call <- plain_call(.call) # a condition is printed and logged: no row may be in its call
  ensure_bridge(.call)
  frame <- new.env(parent = emptyenv())
  frame$fn <- .fn
  frame$args <- as_words(list(...))
  frame$status <- "pending"
  the$calls <- the$calls + 1
  key <- format(the$calls, scientific = FALSE)
  assign(key, frame, envir = the$frames)
  on.exit(rm(list = key, envir = the$frames), add = TRUE)
  lost <- tryCatch({
    the$run(key)
    ""
  }, error = function(e) conditionMessage(e))
  finish(frame, lost, .call)
}

# A formula crosses as its text, wherever it stands among the arguments.
as_words <- function(x) {
  if (inherits(x, "formula")) {
    return(formula_text(x))
  }
  if (is.list(x) && is.null(attr(x, "class"))) x[] <- lapply(x, as_words)
  x
}

finish <- function(frame, lost, call) {
  signal_records(frame$records)
  signal_warnings(frame$warnings, call)
  switch(frame$status,
    ok = frame$value,
    error = stop_python(frame$value, call),
    condition = stop(frame$value),
    interrupt = interrupt(),
    {
      if (grepl("KeyboardInterrupt", lost, fixed = TRUE)) interrupt()
      stop_dprct("dprct_bridge_error",
                 paste0("Python did not finish the call", if (nzchar(lost)) ": ", lost), call)
    })
}

#' @export
print.dprct_schema <- function(x, ...) print_text(x, ...)
