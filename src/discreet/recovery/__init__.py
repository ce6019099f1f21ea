"""Recovery: the distribution of the true values from many reports, and how certain it is.

    reports     what was collected, as one count for each report
    inverse     r = q C^-1, exact where it is a distribution (Fernandes, Lefki and Palamidessi, Proposition 3)
    ibu         the iterative Bayesian update, with an exact number of steps or until a certificate is met
    mle         the maximum likelihood estimate itself
    auto        a regularised distribution; how far to go is decided on the reports
    bands       bands that hold a whole distribution function at once
    estimate    the result: the distribution, its certificate, estimates with standard errors, intervals and bands
    making recover: the single entry to all of them
    sizes       how many reports a standard error or a distance needs

Reports are private already, so nothing here costs privacy: it is post-processing.
"""
