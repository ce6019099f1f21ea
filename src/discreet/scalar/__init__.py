"""Scalar answers: sums and means of records, made ready for noise."""
