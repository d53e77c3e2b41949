"""Networks from elsewhere: read from PyTorch, ONNX, Keras, scikit-learn and Flax, believed by their
outputs, and written back.
"""
