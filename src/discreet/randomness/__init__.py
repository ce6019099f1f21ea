"""Randomness: where words come from, and how they become exact draws."""
