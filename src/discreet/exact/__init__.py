"""Numbers: exact values, levels, grids, and which true values are neighbours."""
