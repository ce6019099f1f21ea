"""Families of mechanisms: functions that return a Mechanism, each citing its source, one family per file."""
