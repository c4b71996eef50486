"""Many simulations of one structure at once: `Batch`."""
