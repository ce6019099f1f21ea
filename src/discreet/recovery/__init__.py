"""Recovery: the distribution of the true values from many reports, and how certain it is.

    tallies     what was collected, as one count for each report, also from text files
    ibu         the iterative Bayesian update, with an exact number of steps or until a certificate is met
    mle         the maximum likelihood estimate itself
    auto        a regularised distribution; how far to go is decided on the reports
    field         its model of values in their order: a smooth curve and a few atoms
    exchangeable  its model of names: the same in every numbering
    bands       bands that hold a whole distribution function at once
    agreement   could this mechanism have made these reports at all?
    estimate    the result: the distribution, its certificate, estimates with standard errors, intervals, bands and pictures
    recover     the one door to all of them, and the inverse: r = q C^-1, exact where it is a distribution (Fernandes, Lefki and
                Palamidessi, Proposition 3)

Reports are private already, so nothing here costs privacy: it is post-processing.
"""
