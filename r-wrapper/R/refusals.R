# A refusal that needs no Python: of class dprct_<leaf>_error, as those that come from there.
refuse <- function(leaf, message, call = sys.call(-2L)) {
  stop(structure(
    class = c(paste0("dprct_", leaf, "_error"), "dprct_error", "error", "condition"),
    list(message = message, call = call)
  ))
}

print_text <- function(x) {
  cat(x$text, sep = "\n")
  invisible(x)
}
