"""What the theorems say of one instance: pure functions of arrays, in floats, hence estimates; proofs are the checker's."""
