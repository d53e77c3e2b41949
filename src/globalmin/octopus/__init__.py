"""Functions whose saddles hold gradient descent for exponential time (DU chapter 7)."""
