"""Reading the table: its admission, and the true numbers of a question from one pass."""
