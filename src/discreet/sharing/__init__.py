"""What several reports of one count tell together, and releases in which sharing does not help."""
