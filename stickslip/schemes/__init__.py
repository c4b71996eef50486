"""When: how a nonsmooth system is carried over one step of time."""
