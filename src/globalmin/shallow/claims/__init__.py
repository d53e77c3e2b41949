"""Claims about shallow networks, with the witnesses that let an independent program verify them."""
