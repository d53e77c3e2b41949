"""One convolutional filter with average pooling on general patches (DU chapter 6)."""
