"""The road from a network to a certificate file that the independent checker accepts."""
