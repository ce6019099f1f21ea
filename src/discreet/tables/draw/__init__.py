"""What is drawn: measures of each group, their mechanisms, measured totals, answers, several audiences."""
