"""Measuring: what a mechanism promises, what it costs, and what a report says."""
