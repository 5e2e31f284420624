# An R formula as the text that Python reads: factor() is C(), and so is a column that is a factor
# in R; ^ inside I() is **, and a name that is no Python identifier stands in backquotes. What the
# grammar lacks is refused in Python, which names what is allowed; nothing of a formula is ever run
# there.
#
# `spelled` gives, besides the text, what lm() calls its factors and their levels; then a logical is
# a factor, as in lm(), and an ordered factor, whose contrasts lm() takes from polynomials, refused.
# `known` are factors of released moments instead, by name, with their labels where these are public.
formula_text <- function(formula, data = NULL, spelled = FALSE, known = NULL) {
  if (is.character(formula) && length(formula) == 1L && !is.na(formula)) {
    read <- tryCatch(stats::as.formula(formula), error = function(e) NULL)
    if (is.null(read)) return(if (spelled) list(text = formula) else formula) # [d ~ z] is Python's
    formula <- read
  }
  if (!inherits(formula, "formula")) {
    refuse("formula",
      paste0("formula is ", class(formula)[1L], "; give a formula such as y ~ treat + age")
    )
  }
  is_factor <- function(x) is.factor(x) || (spelled && is.logical(x))
  factors <- c(names(known), names(data)[vapply(data, is_factor, NA)])
  left <- if (length(formula) == 3L) formula[[2L]]
  right <- without_dot(formula[[length(formula)]], all.vars(left), data)
  if (spelled) check_as_lm(left, right, data)
  lapply(as.list(formula)[-1L], check_functions, call = user_call())
  # lm()'s order of products; released ones are found by what they are
  if (has_r_operators(right, if (spelled && is.null(known)) c(":", "*"))) right <- expanded(right)
  words <- paste("~", term_text(right, factors))
  text <- if (is.null(left)) words else paste(outcome_text(left), words)
  if (!spelled) return(text)
  list(text = text, spelling = list(
    formula = paste(deparse(formula, width.cutoff = 500L), collapse = " "),
    terms = spelling_of(right, factors),
    levels = if (is.null(known)) levels_in(right, data[factors]) else lapply(known, labels_by_code)
  ))
}

# What lm() reads otherwise, or not at all.
check_as_lm <- function(left, right, data) {
  if (is.name(left) && is.factor(data[[as.character(left)]])) {
    refuse("formula", sprintf(
      "the outcome '%s' is a factor, whose codes are no numbers; make a column of numbers of it",
      as.character(left)
    ))
  }
  if (is.call(left) && identical(left[[1L]], quote(cbind))) {
    refuse("formula", sprintf(
      "ols() fits one outcome, and %s are %d; fit each by itself, or use itt_table()",
      paste(deparse(left), collapse = ""), length(left) - 1L
    ))
  }
}

labels_by_code <- function(labels) stats::setNames(as.list(labels), seq_along(labels))

# y ~ x | village, as feols() has it: the effects of what stands after the bar are absorbed.
without_absorbed <- function(formula, absorb) {
  if (is.character(formula)) {
    formula <- tryCatch(stats::as.formula(formula), error = function(e) formula)
  }
  right <- if (inherits(formula, "formula")) formula[[length(formula)]]
  if (!is_bar(right)) return(list(formula = formula, absorb = absorb))
  if (is_bar(right[[2L]])) {
    refuse("formula", paste(
      "a second '|' in a formula is not offered, for ols() takes no instruments here; give",
      "y ~ x | village, or iv() released moments"
    ))
  }
  if (!is.null(absorb)) {
    refuse("formula", "fixed effects stand after '|' and in absorb; leave one of the two out")
  }
  effects <- right[[3L]]
  if (!is_sum_of_names(effects)) {
    refuse("formula", sprintf(
      "'%s' after '|' is not offered; name columns, such as y ~ x | village + year",
      paste(deparse(effects), collapse = "")
    ))
  }
  formula[[length(formula)]] <- right[[2L]]
  list(formula = formula, absorb = if (length(all.vars(effects))) all.vars(effects))
}

is_bar <- function(x) is.call(x) && identical(x[[1L]], quote(`|`))

is_sum_of_names <- function(x) {
  if (is.name(x) || identical(x, 0)) return(TRUE)
  is.call(x) && identical(x[[1L]], quote(`+`)) && all(vapply(as.list(x)[-1L], is_sum_of_names, NA))
}

# A function that the grammar lacks, before Python refuses a character of it.
check_functions <- function(term, call) {
  if (!is.call(term)) {
    return(invisible())
  }
  head <- paste(deparse(term[[1L]]), collapse = "")
  if (head %in% c("$", "[[", "[", "@", "::")) {
    refuse("formula", sprintf(
      "'%s' in a formula is not offered; name columns of the data, as in y ~ treat", head
    ), call)
  }
  if (grepl("[[:alpha:]]", head) && !head %in% c(operators, offered)) {
    refuse("formula", sprintf(
      "%s() in a formula is not offered; make its column in the data first; allowed: %s",
      head, "factor(), I(), log(), exp(), sqrt(), abs(), :, *, ^"
    ), call)
  }
  lapply(as.list(term)[-1L], check_functions, call = call)
  invisible()
}

offered <- c("cbind", "factor", "as.factor", "C", "I", "log", "exp", "sqrt", "abs")

# R's operators that Python has not, written out by R itself: (a + b)^2, a / b, a %in% b, a * b - b.
expanded <- function(right) {
  written <- stats::terms(stats::as.formula(call("~", right)))
  labels <- lapply(attr(written, "term.labels"), str2lang)
  constant <- if (attr(written, "intercept") == 1L) 1 else 0
  Reduce(function(a, b) call("+", a, b), labels, constant)
}

has_r_operators <- function(term, also = NULL) {
  if (!is.call(term)) {
    return(FALSE)
  }
  head <- as.character(term[[1L]])[1L]
  removes <- head == "-" && !is.numeric(term[[length(term)]])
  if (head %in% c("^", "/", "%in%", also) || removes) {
    return(TRUE)
  }
  head %in% c("(", operators) && any(vapply(as.list(term)[-1L], has_r_operators, NA, also = also))
}

# By the text that Python reads, what lm() calls each factor of the terms.
spelling_of <- function(term, factors) {
  if (is.numeric(term)) {
    return(list())
  }
  head <- if (is.call(term)) paste(deparse(term[[1L]]), collapse = "") else ""
  if (head %in% c("(", operators)) {
    found <- do.call(c, lapply(as.list(term)[-1L], spelling_of, factors = factors))
    return(found[!duplicated(names(found))])
  }
  said <- paste(deparse(term, width.cutoff = 500L, backtick = TRUE), collapse = " ")
  stats::setNames(list(said), term_text(term, factors))
}

levels_in <- function(right, columns) {
  used <- columns[names(columns) %in% all.vars(right)]
  ordered <- names(used)[vapply(used, is.ordered, NA)]
  if (length(ordered)) {
    refuse("formula", sprintf(
      "'%s' is an ordered factor, whose polynomial contrasts are not offered; give %s",
      ordered[1L], sprintf("factor(%s, ordered = FALSE) as a column of its own", ordered[1L])
    ), sys.call(-2L))
  }
  own <- names(used)[!vapply(used, function(x) is.null(attr(x, "contrasts", TRUE)), NA)]
  if (length(own)) {
    refuse("formula", sprintf(
      "'%s' has contrasts of its own, which are not offered; remove them: contrasts(%s) <- NULL",
      own[1L], own[1L]
    ))
  }
  unknown <- names(used)[vapply(used, function(x) anyNA(levels(x)), NA)]
  if (length(unknown)) {
    refuse("formula", sprintf(
      "'%s' has NA among its levels, which is not offered; give it a name: levels(%s)[is.na(levels(%s))] <- \"none\"",
      unknown[1L], unknown[1L], unknown[1L]
    ))
  }
  lapply(used, function(x) {
    words <- if (is.factor(x)) levels(x) else c("FALSE", "TRUE")
    stats::setNames(as.list(words), seq_along(words) - is.logical(x))
  })
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
    return(format(term, digits = 17, scientific = FALSE, trim = TRUE, decimal.mark = "."))
  }
  if (!is.call(term)) {
    return(paste(deparse(term, width.cutoff = 500L), collapse = " "))
  }
  head <- paste(deparse(term[[1L]]), collapse = "")
  inside <- inside || identical(head, "I")
  if (!head %in% c("(", operators)) factors <- character()
  parts <- vapply(as.list(term)[-1L], term_text, "", factors = factors, inside = inside)
  if (is_bar(term)) parts[2L] <- term_text(term[[3L]]) # of what is absorbed every column is levels
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
