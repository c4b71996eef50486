"""Steps of robots in reduced coordinates: free motion by MuJoCo, constraint impulses by stickslip."""
