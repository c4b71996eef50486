"""Bodies you place: shapes, materials, joints, forces, and the world made of them."""
