"""Steps of robots in reduced coordinates: MuJoCo's functions for the free motion, our law for the rest."""
