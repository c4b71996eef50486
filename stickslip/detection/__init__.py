"""Where bodies touch: spheres by a grid, every other shape by MuJoCo, contacts with lasting ids."""
