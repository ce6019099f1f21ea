"""Studies: each recomputes a figure or a table of a paper, compares it with what the paper says, and draws it.

A study is a file in a folder of this package that has a `STUDY`; whoever adds one adds that file alone.
"""
