"""Deep networks of DU chapter 3: fully connected, residual, convolutional residual."""
