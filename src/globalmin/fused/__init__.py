"""Thousands of tiny trainings at once, in a fused compiled kernel."""
