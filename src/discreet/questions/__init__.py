"""Questions: what may be asked of a table, declared before it is opened."""
