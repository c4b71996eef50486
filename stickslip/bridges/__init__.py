"""Steps as differentiable functions of JAX and PyTorch, and Gymnasium environments; imported on use."""
