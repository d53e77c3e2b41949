"""The claim about factored matrices."""
