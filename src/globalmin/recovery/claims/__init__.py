"""The claim that a minimum is the only one near it."""
