"""The claim about deep networks."""
