"""From runs to costs, profiles, accuracy against time and exponents."""
