"""Claims about quadratic networks."""
