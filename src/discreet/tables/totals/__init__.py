"""Totals that match their parts: fitted, bounded, in rows."""
