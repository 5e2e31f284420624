#' Protected data files
#'
#' Each describes a release of a whole data file under differential privacy: `mv_histogram()` of
#' the joint distribution of a few columns, `marginals()` of each column on its own, and
#' `calibrated()` of a file on which the treatment effects of an experiment stay valid, with
#' standard errors that contain the privacy noise. Nothing is spent before [fit()]; [plan()] says
#' what it will cost and how noisy it will be.
#'
#' @param formula An R formula, as for [lm()]: `y ~ treat + age`. A private fit knows column names,
#'   `factor()`, `I()` arithmetic, `:`, `*` and `+`.
#' @param data A data frame, tibble or data.table. Columns are used as their codes and numbers.
#' @param schema The [schema()] in which the columns that are used were declared; by default the
#'   data frame's own.
#' @param treatment Names of the treatment columns.
#' @param assignment One of the [designs].
#' @param formulas Instead of a formula, the paper's own regressions: an R formula, text, what
#'   [regression()] returns, or a list of these. With a `delta` each is released as it is, adjusted
#'   and clustered, and is valid on the file.
#' @param columns,outcome,covariates Names of columns, instead of a formula.
#' @param zeta,default_bins Bins of a column that declares none: n^zeta of them; how many.
#' @param outcome_share Share of epsilon, from 0 to below 1, for where outcomes lie within their bins.
#' @param keep Names of characteristics of the file to keep.
#' @param covariate_release `"auto"`, or how modelled covariates are drawn: `"histogram"`, from their
#'   joint histogram; `"marginals"`, each alone; `"filler"`, uniformly, which costs nothing.
#' @param specifications Further sets of covariates, as a vector of names or a list of such vectors, with
#'   which the regression returns the same effects; `""` is without covariates.
#' @param legal `"calibrated"`, or `"strict"`: outcomes are rounded and clipped to values that the
#'   column may have, and effects are no longer returned exactly.
#' @param gamma `"zero"`, or `"moments"`: outcomes vary with covariates, for a fifth of epsilon and with a
#'   delta; effects gain nothing.
#' @param budget_shares,alphas,control,blocks,privacy_unit,index,index_columns,index_bounds,attrition,neighbors
#'   As for [private_ate()].
#' @param subgroups As for [private_ate()], with a `delta`; without, columns of the design's blocks.
#' @param ... Not used: a misspelt argument is refused by name. What is true of a column, such as
#'   `sd`, `clip` and `missing_policy`, is declared with it ([declare()]), and what is true of clusters
#'   with the design.
#' @return An object of class `dprct_model`. It holds confidential rows, does not leave the session,
#'   and cannot be saved.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   facts <- declare(schema(file),
#'     re78 = list(
#'       bounds = c(0, 40000), clip = TRUE, sd = 6500, missing = "never", fate = "modelled"
#'     ),
#'     treat = list(levels = 0:1, missing = "never", fate = "public"),
#'     rest = "drop", confirm_header = TRUE
#'   )
#'   nsw <- read_dta(file, facts)
#'   model <- calibrated(re78 ~ treat, nsw,
#'     treatment = "treat", assignment = design_complete("treat", shares = 185 / 445)
#'   )
#'   plan(model, epsilon = 1)
#'   release <- fit(model, epsilon = 1)
#'   release
#'   guarantee(release)$sentence
#'   head(protected(release))
#'   few <- nsw[c("treat", "black")]
#'   few <- declare(few, black = list(levels = 0:1, missing = "never", fate = "modelled"),
#'     treat = list(levels = 0:1, missing = "never", fate = "modelled")
#'   )
#'   fit(mv_histogram(~ treat + black, few), epsilon = 1)
#'   fit(marginals(~ treat + black, few), epsilon = 1)
#' }
#' @name releases
NULL

# methods, written by scripts/registry.py
#' @rdname releases
#' @export
mv_histogram <- function(formula = NULL, data, schema = NULL, columns = NULL, ..., zeta = NULL,
                         outcome_share = NULL, keep = NULL) {
  model("MVHistogram", formula, data, schema,
    columns = columns, zeta = zeta, outcome_share = outcome_share, keep = keep, ...
  )
}

#' @rdname releases
#' @export
marginals <- function(formula = NULL, data, schema = NULL, columns = NULL, ...,
                      default_bins = NULL, outcome_share = NULL, keep = NULL) {
  model("Marginals", formula, data, schema,
    columns = columns, default_bins = default_bins, outcome_share = outcome_share, keep = keep,
    ...
  )
}

#' @rdname releases
#' @export
calibrated <- function(formula = NULL, data, schema = NULL, treatment = NULL, assignment = NULL,
                       ..., outcome = NULL, formulas = NULL, covariates = NULL,
                       covariate_release = NULL, specifications = NULL, budget_shares = NULL,
                       alphas = NULL, legal = NULL, gamma = NULL, control = NULL, blocks = NULL,
                       privacy_unit = NULL, index = NULL, index_columns = NULL,
                       index_bounds = NULL, subgroups = NULL, attrition = NULL, keep = NULL,
                       neighbors = NULL) {
  model("Calibrated", formula, data, schema,
    treatment = treatment, assignment = assignment, outcome = outcome,
    formulas = formula_texts(formulas, data, schema), covariates = covariates,
    covariate_release = covariate_release, specifications = specifications,
    budget_shares = budget_shares, alphas = alphas, legal = legal, gamma = gamma,
    control = control, blocks = blocks, privacy_unit = privacy_unit, index = index,
    index_columns = index_columns, index_bounds = index_bounds, subgroups = subgroups,
    attrition = attrition, keep = keep, neighbors = neighbors, ...
  )
}
# end of methods

#' Private estimates
#'
#' Estimates of treatment effects under differential privacy, with intervals that contain the
#' privacy noise: `private_ate()` differences in means of an experiment, `ipw()` and `cate()`
#' inverse-probability weighting and conditional effects, `synthetic_control()` a counterfactual
#' path from donors, `private_additive()` an additive model.
#'
#' In `private_ate()` the formula is `outcome ~ treatment`, 0/1 columns of arms or a factor, whose first
#' level is the control group unless `control` names another. In `ipw()` it is the propensity model,
#' `treatment ~ covariates`, and `outcome` is an argument; in `cate()` it is
#' `outcome ~ features`, and `treatment` is an argument.
#'
#' Every option of the Python class is an argument of the same name, with the same default, which
#' also applies to `NULL`. All options are also keys of a study file; `docs/study_file.md` of the
#' Python package explains each of them.
#'
#' @inheritParams releases
#' @param outcome Name of the outcome; `private_ate()` takes several. It may stand in the formula, but for that of
#'   `ipw()`, which has treatment on its left.
#' @param treated,treatment_time,unit,time,donors The treated unit, and the first period with
#'   treatment (for `ipw()`, the code or label of the treated); the columns of unit and time of a
#'   long panel; the units to compare with.
#' @param covariates,features The right side of the formula, if no formula is given.
#' @param control,blocks,effects The group to compare with; `"weight"`, `"ignore"` or a list of
#'   pools by block; `"arms"`, `"main"` or `"factorial"`.
#' @param budget_shares,parts,split How the budget, or the rows, are divided: lists by name.
#' @param alphas Test sizes at which standard errors give valid intervals.
#' @param privacy_unit `"person"` or `"cluster"`: who is protected if clusters were assigned. What is
#'   known of the clusters is declared with the design.
#' @param index,index_columns,index_bounds A public prediction that is subtracted from the outcome:
#'   a formula as text, a function or the file of a pilot; its covariates; bounds of the difference.
#' @param attrition Whether rows were lost after the assignment.
#' @param neighbors `"replace-one"` or `"replace-one-design-public"`.
#' @param donor_weights,bound,protect_treated,mean_effect,pre_fit,placebos How donors are weighted;
#'   public bounds of the outcome; what else is protected or released.
#' @param changes Bounds of a unit's outcome less its own mean before treatment: these changes are matched
#'   and compared instead of levels.
#' @param predictors What ridge weights match besides the outcome before treatment: names of columns,
#'   or weights named by these, as in `c(age = 1, "beer(1984(1)1988)" = 2)`.
#' @param estimator `"ipw"`, weights alone, or `"aipw"`, the doubly robust form of `ipw()`, which is the
#'   default where nothing else asks for weights.
#' @param estimand,hajek,balance,overlap,errors Whose effect is estimated; the form of the estimate;
#'   what else is released; whether standard errors contain the error of the propensity model.
#' @param treated_share Share of the rows that are treated, known from elsewhere: it decides the form
#'   of an effect on the treated or the untreated, and refuses before the charge what would not be
#'   estimated.
#' @param lam,trim,noise Penalty, trimming, and kind of noise.
#' @param propensity,propensity_model The known probability of treatment; else how it is estimated,
#'   `"additive"` or `"logit"`.
#' @param learner,clip,bins `"dr"`, `"r"`, `"s"` or `"t"` (the plug-in learner, which needs no
#'   propensity); where values are clipped; the number of bins of a feature that declares none.
#' @param categorical,pairs,projection Features without an order; a list of pairs; features of a
#'   linear projection.
#' @param subgroups Columns whose levels are subgroups; for `private_ate()`, with `delta`:
#'   [`effects(fit, where = "female")`][moments] shows the effects within them.
#' @param ... Not used: a misspelt argument is refused by name.
#' @return An object of class `dprct_model`; see [fit()]. For fits of `cate()` and
#'   `private_additive()`, [predict()] evaluates the function at new rows.
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   facts <- declare(schema(file),
#'     re78 = list(bounds = c(0, 40000), sd = 6500, clip = TRUE, missing = "never"),
#'     treat = list(levels = 0:1, missing = "never")
#'   )
#'   nsw <- read_dta(file, facts)
#'   model <- private_ate(re78 ~ treat, nsw,
#'     assignment = design_complete("treat", shares = 185 / 445)
#'   )
#'   result <- fit(model, epsilon = 1)
#'   summary(result)
#'   confint(result, level = 0.9)
#'
#'   # a survey without an experiment: weighting, and whom a programme helped
#'   set.seed(1)
#'   survey <- data.frame(age = runif(2000, 20, 60), took = rbinom(2000, 1, 0.5))
#'   survey$wage <- 10 + survey$took + rnorm(2000)
#'   survey <- declare(survey,
#'     age = list(bounds = c(20, 60), missing = "never"), took = list(levels = 0:1, missing = "never"),
#'     wage = list(bounds = c(0, 20), clip = TRUE, missing = "never")
#'   )
#'   fit(ipw(took ~ age, survey, outcome = "wage", estimator = "aipw"), epsilon = 2, delta = 1e-6)
#'   found <- fit(cate(wage ~ age, survey, treatment = "took", propensity = 0.5), epsilon = 4)
#'   predict(found, data.frame(age = c(25, 50)))
#'   fit(private_additive(wage ~ age, survey), epsilon = 2)
#'
#'   # a programme that came to shop 1 in 2008
#'   panel <- expand.grid(shop = 1:8, year = 2001:2010)
#'   panel$sales <- 50 + panel$year - 2000 + rnorm(80)
#'   panel <- declare(panel,
#'     sales = list(bounds = c(0, 100), missing = "never"), shop = list(missing = "never"),
#'     year = list(missing = "never")
#'   )
#'   fit(synthetic_control(panel,
#'     outcome = "sales", treated = 1, treatment_time = 2008, unit = "shop", time = "year"
#'   ), epsilon = 5)
#' }
#' @name estimates
NULL

# methods, written by scripts/registry.py
#' @rdname estimates
#' @export
private_ate <- function(formula = NULL, data, schema = NULL, treatment = NULL, assignment = NULL,
                        ..., outcome = NULL, control = NULL, budget_shares = NULL,
                        subgroups = NULL, effects = NULL, blocks = NULL, privacy_unit = NULL,
                        index = NULL, index_columns = NULL, index_bounds = NULL, alphas = NULL,
                        attrition = NULL, neighbors = NULL) {
  model("PrivateATE", formula, data, schema,
    treatment = treatment, assignment = assignment, outcome = outcome, control = control,
    budget_shares = budget_shares, subgroups = subgroups, effects = effects, blocks = blocks,
    privacy_unit = privacy_unit, index = index, index_columns = index_columns,
    index_bounds = index_bounds, alphas = alphas, attrition = attrition, neighbors = neighbors,
    ...
  )
}

#' @rdname estimates
#' @export
synthetic_control <- function(data, schema = NULL, outcome, treated, treatment_time, unit = NULL,
                              time = NULL, donors = NULL, ..., donor_weights = NULL, lam = NULL,
                              bound = NULL, changes = NULL, protect_treated = NULL,
                              mean_effect = NULL, pre_fit = NULL, placebos = NULL,
                              predictors = NULL, budget_shares = NULL, noise = NULL,
                              neighbors = NULL) {
  model("SyntheticControl", NULL, data, schema,
    outcome = outcome, treated = treated, treatment_time = treatment_time, unit = unit,
    time = time, donors = donors, donor_weights = donor_weights, lam = lam, bound = bound,
    changes = changes, protect_treated = protect_treated, mean_effect = mean_effect,
    pre_fit = pre_fit, placebos = placebos, predictors = predictors,
    budget_shares = budget_shares, noise = noise, neighbors = neighbors, ...
  )
}

#' @rdname estimates
#' @export
ipw <- function(formula = NULL, data, schema = NULL, outcome, ..., treatment = NULL,
                covariates = NULL, estimator = NULL, estimand = NULL, neighbors = NULL,
                noise = NULL, lam = NULL, trim = NULL, split = NULL, budget_shares = NULL,
                hajek = NULL, treated = NULL, balance = NULL, overlap = NULL, errors = NULL,
                treated_share = NULL, alphas = NULL) {
  model("IPW", formula, data, schema,
    outcome = outcome, treatment = treatment, covariates = covariates, estimator = estimator,
    estimand = estimand, neighbors = neighbors, noise = noise, lam = lam, trim = trim,
    split = split, budget_shares = budget_shares, hajek = hajek, treated = treated,
    balance = balance, overlap = overlap, errors = errors, treated_share = treated_share,
    alphas = alphas, ...
  )
}

#' @rdname estimates
#' @export
cate <- function(formula = NULL, data, schema = NULL, treatment, assignment = NULL, ...,
                 outcome = NULL, features = NULL, propensity = NULL, propensity_model = NULL,
                 learner = NULL, clip = NULL, parts = NULL, trim = NULL, bins = NULL,
                 categorical = NULL, pairs = NULL, subgroups = NULL, projection = NULL,
                 neighbors = NULL) {
  model("CATE", formula, data, schema,
    treatment = treatment, assignment = assignment, outcome = outcome, features = features,
    propensity = propensity, propensity_model = propensity_model, learner = learner, clip = clip,
    parts = parts, trim = trim, bins = bins, categorical = categorical, pairs = pairs,
    subgroups = subgroups, projection = projection, neighbors = neighbors, ...
  )
}

#' @rdname estimates
#' @export
private_additive <- function(formula = NULL, data, schema = NULL, ..., outcome = NULL,
                             features = NULL, clip = NULL, bins = NULL, categorical = NULL,
                             pairs = NULL, subgroups = NULL, projection = NULL, neighbors = NULL) {
  model("PrivateAdditive", formula, data, schema,
    outcome = outcome, features = features, clip = clip, bins = bins, categorical = categorical,
    pairs = pairs, subgroups = subgroups, projection = projection, neighbors = neighbors, ...
  )
}
# end of methods

#' The papers' algorithms as published
#'
#' For comparisons with the literature, each with the guarantee that really holds; for several of
#' them that is none, whatever `epsilon` is, and the result says why. The strict forms are
#' [mv_histogram()], [calibrated()], [private_ate()], [synthetic_control()], [ipw()], [cate()].
#'
#' Every option of the Python class is an argument of the same name, with the same default, which also
#' applies to `NULL`. `published_cate()` needs `accept_uncertified = TRUE`, a `delta` in [fit()], and
#' `install_dprct(extras = "ebm")`.
#'
#' @inheritParams estimates
#' @param columns Columns to model, instead of a formula.
#' @param estimand,lam,split,trim,features,propensity,learner,parts,clip As for the strict forms, [ipw()],
#'   [synthetic_control()] and [cate()].
#' @param zeta,keep,x_method,families,missing_outcomes Exponent of the number of bins; characteristics
#'   to keep in the file; where covariates come from (`"published"`, `"strict"`, `"marginals"`, or released
#'   rows); by outcome, `"gaussian"`, `"binomial"` or `"poisson"`; `"reproduce"` or `"drop"`.
#' @param B,v,alpha,sigma_min,sigma_max,sigma,confidential_from,noise_on Of the paper's
#'   Algorithm 3: proxies; bounds on coefficients, and tests' sizes, as one
#'   number or lists by coefficient; bounds of the residual standard deviation; `"private"` or
#'   `"confidential"`, and from which line on; `"occupied bins"` or `"every bin"`.
#' @param perturb,bound,c `"output"` or `"objective"`; public bounds of the outcome; the constant of
#'   Algorithm 3.
#' @param scale,norm_bound,outcome_bound,intercept,sampling,classical,override,weights_epsilon,effect_epsilon
#'   Of [published_ipw()]: `"max_norm"` or `"norm_bound"`, with that bound; a bound of the outcome;
#'   `"none"`, `"unpenalised"` or `"penalised"`; `"split"` or `"replacement"`; the classical Gaussian
#'   noise, also where it is not proved; budgets of the two parts.
#' @param accept_uncertified,as_printed,part_budgets Of [published_cate()]: to be `TRUE`; `TRUE` for the
#'   paper's own settings; budgets of the parts.
#' @param ... Not used: a misspelt argument is refused by name.
#' @return An object of class `dprct_model`; see [fit()].
#' @examples
#' file <- system.file("extdata", "nsw_mixtape.dta", package = "dprct")
#' if (dprct_available()) {
#'   facts <- declare(schema(file),
#'     treat = list(levels = 0:1, missing = "never", fate = "modelled"),
#'     black = list(levels = 0:1, missing = "never", fate = "modelled"), rest = "drop"
#'   )
#'   model <- published_mv_histogram(~ treat + black, read_dta(file, facts))
#'   plan(model, epsilon = 1)
#'
#'   set.seed(1)
#'   trial <- data.frame(treat = rep(0:1, 200), age = round(runif(400, 20, 60)))
#'   trial$wage <- 10 + trial$treat + rnorm(400)
#'   trial <- declare(trial,
#'     wage = list(bounds = c(0, 20), clip = TRUE, missing = "never", fate = "modelled"),
#'     age = list(bounds = c(20, 60), missing = "never", fate = "modelled"),
#'     treat = list(levels = 0:1, missing = "never", fate = "modelled")
#'   )
#'   coin <- design_simple("treat", shares = 0.5)
#'   published_hybrid(wage ~ treat + age, trial, treatment = "treat", assignment = coin)
#'   published_gen_model(wage ~ treat + age, trial, treatment = "treat", assignment = coin)
#'   published_ipw(treat ~ age, trial, outcome = "wage")
#'   published_cate(wage ~ age, trial, treatment = "treat", accept_uncertified = TRUE)
#'
#'   panel <- expand.grid(shop = 1:8, year = 2001:2010)
#'   panel$sales <- 50 + panel$year - 2000 + rnorm(80)
#'   panel <- declare(panel,
#'     sales = list(bounds = c(0, 100), missing = "never"), shop = list(missing = "never"),
#'     year = list(missing = "never")
#'   )
#'   published_synthetic_control(panel,
#'     outcome = "sales", treated = 1, treatment_time = 2008, unit = "shop", time = "year"
#'   )
#' }
#' @name published
NULL

# methods, written by scripts/registry.py
#' @rdname published
#' @export
published_mv_histogram <- function(formula = NULL, data, schema = NULL, columns = NULL, ...,
                                   zeta = NULL, neighbors = NULL, keep = NULL) {
  model("published.MVHistogram", formula, data, schema,
    columns = columns, zeta = zeta, neighbors = neighbors, keep = keep, ...
  )
}

#' @rdname published
#' @export
published_hybrid <- function(formula = NULL, data, schema = NULL, treatment, assignment = NULL,
                             ..., families = NULL, x_method = NULL, zeta = NULL,
                             missing_outcomes = NULL, attrition = NULL, keep = NULL) {
  model("published.Hybrid", formula, data, schema,
    treatment = treatment, assignment = assignment, families = families, x_method = x_method,
    zeta = zeta, missing_outcomes = missing_outcomes, attrition = attrition, keep = keep, ...
  )
}

#' @rdname published
#' @export
published_gen_model <- function(formula = NULL, data, schema = NULL, treatment, assignment = NULL,
                                ..., families = NULL, x_method = NULL, zeta = NULL,
                                missing_outcomes = NULL, attrition = NULL, keep = NULL, B = NULL,
                                v = NULL, alpha = NULL, sigma_min = NULL, sigma_max = NULL,
                                sigma = NULL, confidential_from = NULL, noise_on = NULL) {
  model("published.GenModel", formula, data, schema,
    treatment = treatment, assignment = assignment, families = families, x_method = x_method,
    zeta = zeta, missing_outcomes = missing_outcomes, attrition = attrition, keep = keep, B = B,
    v = v, alpha = alpha, sigma_min = sigma_min, sigma_max = sigma_max, sigma = sigma,
    confidential_from = confidential_from, noise_on = noise_on, ...
  )
}

#' @rdname published
#' @export
published_synthetic_control <- function(data, schema = NULL, outcome, treated, treatment_time,
                                        unit = NULL, time = NULL, donors = NULL, ...,
                                        perturb = NULL, lam = NULL, bound = NULL, split = NULL,
                                        c = NULL) {
  model("published.SyntheticControl", NULL, data, schema,
    outcome = outcome, treated = treated, treatment_time = treatment_time, unit = unit,
    time = time, donors = donors, perturb = perturb, lam = lam, bound = bound, split = split,
    c = c, ...
  )
}

#' @rdname published
#' @export
published_ipw <- function(formula = NULL, data, schema = NULL, outcome, ..., estimand = NULL,
                          scale = NULL, norm_bound = NULL, outcome_bound = NULL, trim = NULL,
                          intercept = NULL, lam = NULL, split = NULL, sampling = NULL,
                          classical = NULL, override = NULL, weights_epsilon = NULL,
                          effect_epsilon = NULL) {
  model("published.IPW", formula, data, schema,
    outcome = outcome, estimand = estimand, scale = scale, norm_bound = norm_bound,
    outcome_bound = outcome_bound, trim = trim, intercept = intercept, lam = lam, split = split,
    sampling = sampling, classical = classical, override = override,
    weights_epsilon = weights_epsilon, effect_epsilon = effect_epsilon, ...
  )
}

#' @rdname published
#' @export
published_cate <- function(formula = NULL, data, schema = NULL, treatment, assignment = NULL, ...,
                           outcome = NULL, features = NULL, propensity = NULL, learner = NULL,
                           parts = NULL, trim = NULL, clip = NULL, accept_uncertified = NULL,
                           as_printed = NULL, part_budgets = NULL) {
  model("published.CATE", formula, data, schema,
    treatment = treatment, assignment = assignment, outcome = outcome, features = features,
    propensity = propensity, learner = learner, parts = parts, trim = trim, clip = clip,
    accept_uncertified = accept_uncertified, as_printed = as_printed, part_budgets = part_budgets,
    ...
  )
}
# end of methods

model <- function(method, formula, data, schema, ..., .call = sys.call(-1L)) {
  if (is.data.frame(formula) && missing(data)) {
    refuse("parameter", "the formula comes first; name the data: data = ...")
  }
  frame <- frame_of(data, schema)
  options <- Filter(Negate(is.null), list(...))
  check_named(options)
  check_no_rows(Filter(function(x) is.character(x) || is.factor(x), options), nrow(frame), .call)
  formula_read <- if (!is.null(formula)) formula_text(formula, frame)
  by_level <- if (method == "PrivateATE") factor_arms(c(options$treatment, right_names(formula)), frame, options)
  if (length(by_level)) {
    options <- by_level$options
    formula_read <- sub(paste0("C(", quoted_name(by_level$name), ")"), quoted_name(by_level$name), formula_read, fixed = TRUE)
  } else {
    check_treatment(c(options$treatment, if (method == "PrivateATE") right_names(formula)), frame)
  }
  if (!is.null(options$assignment)) options$assignment <- spec_of_design(options$assignment)
  if (reads_by_name(method, options)) {
    spelled <- text_names(unlist(options[c("columns", "formulas")], use.names = FALSE))
    # with a name that is none of its columns the whole table crosses, among whose names is the one meant
    if (all(regressed(c(formula_read, options$formulas)) %in% names(frame))) {
      frame <- frame_of(data, schema, used = c(named_in(formula_read, options), spelled))
    }
  }
  found <- dprct_call("model",
    method = method, formula = formula_read, data = frame, options = options, .call = .call
  )
  found$call <- plain_call(.call)
  found$variables <- variables_of(frame, formula)
  found
}

# A column itself in the place of its name: it is refused here, for its values may stand in no message.
check_no_rows <- function(given, rows = 0L, call = user_call()) {
  for (name in names(given)) {
    x <- given[[name]]
    if (length(x) > 1L && is.atomic(x) && (anyDuplicated(x) || anyNA(x) || length(x) == rows)) {
      refuse("parameter", sprintf("%s is a vector of values; give names, each once", name), call)
    }
  }
}

# The columns in formulas and conditions, as text; none of those that R does not read.
regressed <- function(formulas) {
  read <- function(text) tryCatch(all.vars(str2lang(text)), error = function(e) NULL)
  of_one <- function(x) if (is.list(x)) c(read(x$formula), if (is.character(x$where)) read(x$where)) else read(x)
  unlist(lapply(formulas, of_one))
}

# Whether a method reads only the columns that its call names: an estimate does. A file is made of
# all columns, a wide panel has a column per donor, and a function may look at any.
reads_by_name <- function(method, options) {
  method %in% by_name && !any(vapply(options, is.function, NA))
}

# The call without data: do.call() puts whole data frames into it, and a formula its environment,
# and what is printed or saved with a result must hold no row.
plain_call <- function(call) {
  if (!is.call(call)) {
    return(call)
  }
  for (i in seq_along(call)[-1L]) {
    # a NULL, such as the arguments of function() 1, would be cut out
    if (!is.null(call[[i]])) call[[i]] <- plain_argument(call[[i]])
  }
  call
}

plain_argument <- function(given) {
  if (missing(given) || is.name(given)) {
    return(given)
  }
  if (inherits(given, "formula")) {
    attributes(given) <- NULL
  }
  if (is.call(given)) {
    return(plain_call(given))
  }
  if (is.pairlist(given) && !is.null(given)) { # the arguments of function(x) in a call
    return(as.pairlist(lapply(given, plain_argument)))
  }
  if (is.null(given) || (is.atomic(given) && length(given) <= 1L)) given else quote(...)
}

right_names <- function(formula) {
  if (inherits(formula, "formula")) all.vars(formula[[length(formula)]]) else character()
}

# A treatment that is a factor, with a design of its levels: the first is the control group unless
# `control` names another. A design of one 0/1 column of that name is that of both levels.
factor_arms <- function(names, data, options) {
  name <- Filter(function(name) is.factor(data[[name]]), intersect(names, names(data)))
  if (length(name) != 1L) return(NULL)
  if (is.null(options$assignment)) options$assignment <- design_complete(name)
  asked <- options$assignment$spec$options
  named <- asked[[if (is.null(asked[["arm"]])) "arms" else "arm"]]
  if (!identical(named, name)) return(NULL)
  levels <- levels(data[[name]])
  codes <- function(given) if (all(given %in% levels)) match(given, levels) else given
  if (is.null(asked[["arm"]])) {
    share <- asked$shares
    if (is.numeric(share) && length(levels) == 2L) asked$shares <- c(1 - share, share)
    asked$arms <- levels
    asked$arm <- name
  }
  asked$arms <- codes(asked$arms)
  options$assignment$spec$options <- asked
  if (is.character(options$control) && !all(options$control %in% levels)) {
    refuse("parameter", sprintf(
      "control = '%s' is no level of '%s'; give one of: %s", options$control[1L], name, paste(levels, collapse = ", ")
    ), sys.call(-2L))
  }
  options$control <- if (is.null(options$control)) 1 else codes(options$control)
  list(name = name, options = options)
}

# A factor has codes from 1, which are no arms.
check_treatment <- function(names, data) {
  factors <- Filter(function(name) is.factor(data[[name]]), intersect(names, names(data)))
  if (length(factors)) {
    refuse("column", sprintf(
      "treatment '%s' is a factor; give a column of 0 and 1 per arm, such as %s == \"level\"",
      factors[1L], factors[1L]
    ), sys.call(-2L))
  }
}

check_named <- function(options) {
  if (length(options) && (is.null(names(options)) || !all(nzchar(names(options))))) {
    refuse("parameter", "an option has no name; give each as name = value")
  }
}

#' @export
print.dprct_model <- function(x, ...) {
  only_known(..., .also = for_print)
  say_lines(
    paste0("A model of ", x$method, ", bound to its data; nothing is spent yet."),
    "Next: plan(model, epsilon = 1), then fit(model, epsilon = 1)."
  )
  invisible(x)
}

#' Plan and fit a private method
#'
#' `plan()` states what a fit will cost and how noisy it will be, from public facts alone; it is
#' free. `fit()` spends `epsilon` once, and returns what was released.
#'
#' @param object,model A model, such as [calibrated()] or [private_ate()] returns.
#' @param epsilon The privacy budget to spend.
#' @param delta 0 for pure differential privacy; some methods need a positive one.
#' @param accountant An [accountant()] to charge. Without, the ledger next to the data file is
#'   charged if there is one.
#' @param rng A seed, for simulation only: what it gives has no guarantee, is charged to no
#'   ledger, and is not written to a file.
#' @param confirm `TRUE` to release although the plan refuses.
#' @param accept_large_delta `TRUE` to allow a `delta` above 1/n, at which the whole rows of some
#'   people may be published; plan and certificate then begin with it.
#' @param resume An entry of the accountant, given alone with it, to read again what it paid for: nothing is
#'   charged or drawn, but the rows of a file. The `path` of the accountant keeps it, and the model is made again as it was.
#' @param ... Not used.
#' @return `plan()`: a `dprct_plan` with `epsilon`, `delta`, `facts`, `consequences`, `warnings`
#'   and `refusal`, and `numbers`, which `as.data.frame()` and `tibble::as_tibble()` return: one row
#'   per planned number, with `quantity`, `value`, `unit`, `why`, `regression`, `outcome` and
#'   `term`. `fit()`: for a release a `dprct_release`, whose data frame is
#'   [protected()]; for an estimate a `dprct_estimate` (see [tidiers] and [coef()]). A release and released
#'   moments are whole after [saveRDS()]; of another estimate the numbers and their 95% intervals are
#'   kept; other levels, [predict()] and [effects()] are there again by `resume`.
#' @inherit estimates examples
#' @export
plan <- function(model, epsilon, delta = 0, accept_large_delta = FALSE, ...) UseMethod("plan")

#' @export
plan.dprct_model <- function(model, epsilon, delta = 0, accept_large_delta = FALSE, ...) {
  only_known(...)
  check_budget(epsilon, delta)
  check_flag(accept_large_delta, "accept_large_delta")
  dprct_call("plan",
    model = model, epsilon = epsilon, delta = delta, accept_large_delta = accept_large_delta
  )
}

#' @importFrom generics fit
#' @export
generics::fit

#' @rdname plan
#' @method fit dprct_model
#' @export
fit.dprct_model <- function(object, epsilon, delta = 0, accountant = NULL, rng = NULL,
                            confirm = FALSE, accept_large_delta = FALSE, ..., resume = NULL) {
  only_known(...)
  if (!is.null(resume)) return(resumed(object, resume, accountant, names(match.call())))
  check_budget(epsilon, delta)
  check_seed(rng)
  check_flag(confirm, "confirm")
  check_flag(accept_large_delta, "accept_large_delta")
  if (!is.null(accountant) && !inherits(accountant, "dprct_accountant")) {
    refuse("parameter", sprintf(
      "accountant is %s; give an accountant, such as accountant(epsilon = 1)",
      if (is.atomic(accountant) && length(accountant) == 1L && is.na(accountant)) "NA"
      else class(accountant)[1L]
    ))
  }
  finished(dprct_call("fit",
    model = object, epsilon = epsilon, delta = delta, accountant = accountant,
    rng = rng, confirm = confirm, accept_large_delta = accept_large_delta, .call = sys.call()
  ), object)
}

# Result of a ledger entry, read again from the state that was saved with the ledger.
resumed <- function(model, entry, accountant, given, call = sys.call(-1L)) {
  asked <- intersect(c("epsilon", "delta", "rng", "confirm", "accept_large_delta"), given)
  if (length(asked)) {
    refuse("parameter", paste(asked[1L], "is that of the entry; leave it out with resume"), call)
  }
  check_words(entry, "resume", "the entry that the accountant shows")
  finished(dprct_call("fit_again",
    model = model, entry = entry, accountant = accountant, .call = call
  ), model)
}

check_budget <- function(epsilon, delta) {
  check_number(epsilon, "epsilon", "1", sys.call(-1L))
  check_number(delta, "delta", "1e-6", sys.call(-1L))
}

check_number <- function(value, name, example, call) {
  if (is.numeric(value) && length(value) == 1L && !is.na(value)) {
    return(invisible())
  }
  what <- if (length(value) != 1L) {
    paste("of length", length(value))
  } else if (is.na(value)) {
    "NA"
  } else {
    class(value)[1L]
  }
  refuse("parameter",
    sprintf("%s is %s; give one number such as %s = %s", name, what, name, example), call
  )
}

# A fit as an R object, with the call of its model, and what predict() must know of the columns.
finished <- function(found, model) {
  if (inherits(found$estimates, "dprct_estimate")) found$estimates$call <- model$call
  found$call <- model$call
  if (inherits(found, "dprct_result")) found$variables <- model$variables
  found
}

#' @export
print.dprct_plan <- function(x, ...) print_text(x, ...)

#' @export
as.data.frame.dprct_plan <- function(x, row.names = NULL, optional = FALSE, ...) {
  only_known(..., .also = "stringsAsFactors")
  as_given(x$numbers, row.names)
}

#' The private variance and range of a normal sample, as published
#'
#' Algorithms 4 and 5 of "Assessing Utility of Differential Privacy for RCTs" (Karwa and Vadhan
#' 2017): both look for the fullest bin of a histogram with noisy shares. As printed an empty bin
#' gets no noise and cannot win, so that nothing is guaranteed; `noise_on = "every bin"` is the form
#' whose privacy is proved, for one value of the sample and for exact draws, which these are not.
#' Nothing is promised and nothing charged.
#'
#' @param x A numeric vector without `NA`.
#' @param epsilon,delta Parameters of the noise.
#' @param sd Of a value, known or private already.
#' @param ... Further options by their names in Python: `sigma_min`, `sigma_max`, `v`, `alpha`,
#'   `noise_on`.
#' @param rng A seed, for simulation.
#' @return `published_variance()`: a power of 4. `published_range()`: its two ends.
#' @examples
#' if (dprct_available()) {
#'   x <- rnorm(1000, 20, 2)
#'   published_variance(x, epsilon = 1)
#'   published_range(x, sd = 2, epsilon = 1)
#' }
#' @name published_parameters
NULL

#' @rdname published_parameters
#' @export
published_variance <- function(x, epsilon, delta = 0, ..., rng = NULL) {
  only_known(..., .also = c("sigma_min", "sigma_max", "noise_on"))
  parameter_of("variance", x, list(epsilon = epsilon, delta = delta), list(...), rng)
}

#' @rdname published_parameters
#' @export
published_range <- function(x, sd, epsilon, delta = 0, ..., rng = NULL) {
  only_known(..., .also = c("v", "alpha", "noise_on"))
  parameter_of("range", x, list(sd = sd, epsilon = epsilon, delta = delta), list(...), rng)
}

parameter_of <- function(kind, x, ours, more, rng, call = sys.call(-1L)) {
  check_seed(rng)
  if (!is.numeric(x) || !length(x) || !is.null(dim(x))) {
    refuse("parameter", "x is not a numeric vector; give the values of a sample", call)
  }
  as.vector(dprct_call("published_parameter",
    kind = kind, x = as.double(x), options = c(ours, more), rng = rng, .call = call
  ))
}

#' Textbook noise on numbers of your own
#'
#' The Laplace and the Gaussian mechanism, and randomised response. Their guarantee rests on the
#' sensitivity that you state: no schema, data set or ledger is read, and nothing is charged. The
#' draws are exact, on a grid 2^20 times finer than the sensitivity; the Gaussian is calibrated at
#' every epsilon (Balle and Wang 2018). To release estimates of an experiment use [private_ate()]
#' and its relatives, which prove their sensitivities and keep the ledger.
#'
#' @param x A numeric vector without `NA`; for `published_randomized_response()` the answers, a
#'   factor, or a vector of values among `levels`.
#' @param epsilon,delta The budget of the draw. For randomised response epsilon is of each answer.
#' @param sensitivity The most that one person can change `x`: the sum of the absolute differences
#'   for Laplace noise, the root of the sum of their squares for Gaussian noise. Your claim.
#' @param levels All answers that can be given, from public knowledge; of a factor its levels.
#' @param rng A seed, for simulation.
#' @return The numbers with noise; the randomised answers, in the form of `x`.
#' @examples
#' if (dprct_available()) {
#'   published_laplace(41.5, epsilon = 1, sensitivity = 100 / 5000)
#'   published_gaussian(c(3, 4), epsilon = 1, delta = 1e-5, sensitivity = 0.02)
#'   published_randomized_response(factor(c("no", "yes", "no")), epsilon = 1)
#' }
#' @name published_noise
NULL

#' @rdname published_noise
#' @export
published_laplace <- function(x, epsilon, sensitivity, rng = NULL) {
  with_noise("laplace", x, list(epsilon = epsilon, sensitivity = sensitivity), rng)
}

#' @rdname published_noise
#' @export
published_gaussian <- function(x, epsilon, delta, sensitivity, rng = NULL) {
  with_noise("gaussian", x,
    list(epsilon = epsilon, delta = delta, sensitivity = sensitivity), rng
  )
}

#' @rdname published_noise
#' @export
published_randomized_response <- function(x, epsilon, levels = NULL, rng = NULL) {
  check_seed(rng)
  call <- sys.call()
  all <- if (is.null(levels) && is.factor(x)) base::levels(x) else levels
  if (is.null(all)) {
    refuse("parameter", "levels are missing; give all answers that can be given", call)
  }
  places <- match(as.character(x), as.character(all))
  if (anyNA(places) || anyDuplicated(as.character(all))) {
    refuse("parameter", paste(
      "an answer is none of the levels, or NA, or a level is given twice; list each answer that",
      "can be given once"
    ), call)
  }
  told <- dprct_call("published_randomized_response",
    places = as.double(places), levels = length(all), options = list(epsilon = epsilon),
    rng = rng, .call = call
  )
  told <- as.integer(as.vector(told))
  if (is.factor(x)) {
    found <- x
    found[] <- as.character(all)[told]
    return(found)
  }
  all[told]
}

with_noise <- function(kind, x, options, rng, call = sys.call(-1L)) {
  check_seed(rng)
  if (!is.numeric(x) || !length(x) || !is.null(dim(x))) {
    refuse("parameter", "x is not a numeric vector; give the numbers that are to get noise", call)
  }
  found <- dprct_call("published_noise",
    kind = kind, x = as.double(x), options = options, rng = rng, .call = call
  )
  stats::setNames(as.vector(found), names(x))
}
