"""Doors to other libraries: a mechanism as they know mechanisms."""
