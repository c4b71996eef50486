"""Complete steps in one compiled call, from state to state."""
