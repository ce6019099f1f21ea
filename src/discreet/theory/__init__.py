"""Theory: which queries one mechanism can serve, and what can be derived from the geometric one."""
