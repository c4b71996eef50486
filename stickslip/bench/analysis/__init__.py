"""Analysis of runs: costs, profiles, accuracy over time, and exponents of scaling."""
