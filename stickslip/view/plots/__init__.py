"""Plots of runs and answers: each a figure as data, drawn where a file is named.

plot_energy(trajectory, "energy.svg")
plot_cones(solution, "cones.png")
"""
