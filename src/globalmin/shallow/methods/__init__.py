"""Training methods of shallow networks, one file each."""
