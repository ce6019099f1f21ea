"""Presenting: plain values in (title, columns, rows, notes); text, a table or a page out. It knows no mechanism and no data."""
