# An R formula as the text that Python reads: factor() is C(), and so is a column that is a factor
# in R; ^ inside I() is **, and a name that is no Python identifier stands in backquotes. What the
# grammar lacks is refused in Python, which names what is allowed; nothing of a formula is ever run
# there.
formula_text <- function(formula, data = NULL) {
  if (is.character(formula) && length(formula) == 1L && !is.na(formula)) {
    return(formula)
  }
  if (!inherits(formula, "formula")) {
    refuse("formula",
      paste0("formula is ", class(formula)[1L], "; give a formula such as y ~ treat + age")
    )
  }
  factors <- names(data)[vapply(data, is.factor, NA)]
  left <- if (length(formula) == 3L) formula[[2L]]
  right <- without_dot(formula[[length(formula)]], all.vars(left), data)
  words <- paste("~", term_text(right, factors))
  if (is.null(left)) words else paste(outcome_text(left), words)
}

# cbind(y1, y2) ~ x is y1 + y2 ~ x in Python
outcome_text <- function(left) {
  several <- is.call(left) && identical(left[[1L]], as.name("cbind"))
  if (several) {
    paste(vapply(as.list(left)[-1L], term_text, ""), collapse = " + ")
  } else {
    term_text(left)
  }
}

without_dot <- function(right, used, data) {
  if (!"." %in% all.vars(right)) {
    return(right)
  }
  if (!is.data.frame(data)) {
    refuse("formula", "'.' needs a data frame; name each column in the formula")
  }
  others <- lapply(setdiff(names(data), used), as.name)
  if (!length(others)) {
    refuse("formula", "'.' stands for all other columns and there is none")
  }
  all_of_them <- Reduce(function(a, b) call("+", a, b), others)
  do.call(substitute, list(right, list(. = all_of_them)))
}

operators <- c("+", "-", "*", "/", ":", "==", "!=", "<", ">", "<=", ">=", "^", "%in%", "|", "&")

# `factors` are the columns to read as categories; none of them is left inside a call.
term_text <- function(term, factors = character(), inside = FALSE) {
  if (is.name(term)) {
    name <- as.character(term)
    return(if (name %in% factors) paste0("C(", quoted_name(name), ")") else quoted_name(name))
  }
  if (is.numeric(term)) {
    return(format(term, digits = 17, scientific = FALSE, trim = TRUE))
  }
  if (!is.call(term)) {
    return(paste(deparse(term, width.cutoff = 500L), collapse = " "))
  }
  head <- paste(deparse(term[[1L]]), collapse = "")
  inside <- inside || identical(head, "I")
  if (!head %in% c("(", operators)) factors <- character()
  parts <- vapply(as.list(term)[-1L], term_text, "", factors = factors, inside = inside)
  call_text(head, parts, inside)
}

call_text <- function(head, parts, inside) {
  if (head == "(") {
    return(paste0("(", parts, ")"))
  }
  if (head %in% operators) {
    operator <- if (head == "^" && inside) "**" else head
    if (length(parts) == 1L) {
      return(paste0(operator, parts))
    }
    return(paste(parts[1L], operator, parts[2L]))
  }
  head <- if (head %in% c("factor", "as.factor")) "C" else head
  paste0(head, "(", paste(parts, collapse = ", "), ")")
}

quoted_name <- function(name) {
  if (grepl("^[[:alpha:]_][[:alnum:]_]*$", name)) name else paste0("`", name, "`")
}
