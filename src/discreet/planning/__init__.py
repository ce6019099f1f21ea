"""Planning: the epsilon an error needs, the error an epsilon gives, and how many reports it takes."""
