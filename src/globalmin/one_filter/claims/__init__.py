"""The claims about one-filter networks."""
