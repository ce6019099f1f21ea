"""Collecting under local privacy: each value becomes a report before it is collected, and statistics come from the reports."""
