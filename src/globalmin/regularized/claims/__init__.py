"""What is proved about networks with weight decay."""
