"""Plots of runs and solutions: functions that return a figure as data, and write it if a file is given.

plot_energy(trajectory, "energy.svg")
plot_cones(solution, "cones.png")
"""
