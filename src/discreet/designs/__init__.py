"""The best mechanism for a loss, a prior and a set of properties, with a certificate."""
