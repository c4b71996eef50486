"""Steps as differentiable functions of other people's frameworks, imported only when asked."""
