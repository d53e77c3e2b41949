"""What gradient flow conserves in homogeneous networks (DU section 4.1)."""
