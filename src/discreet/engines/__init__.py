"""Engines: counting by group."""
