"""Sparse block Cholesky and quasi-definite L D L' factorisations over the graph of bodies.

from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.symbolic import analyse

pattern = body_pattern(H.bodies, count)  # or saddle_pattern, block_pattern, matrix_pattern
symbolic = analyse(pattern, positions=positions)
factor = symbolic.cholesky(pattern.values(M, H, rho))  # M + rho H H'
v = factor.solve(f)
factor.refactor(pattern.values(M, H, 10.0 * rho))  # same graph, other numbers
"""
