"""Interior point for a step of bodies as one nonlinear cone complementarity problem (`StepProblem`).

    InteriorPointStep(tolerance=1e-8, max_iterations=100, kappa=0.0).solve(problem, guess=None) -> Solution
    InteriorPointStep(...).solve_point(problem, guess=None) -> (Solution, StepPoint)

The Solution speaks of the tangent problem at the answer (`problem.step_tangent`): `.problem` is that
GlobalProblem, `.v` (6 nd,), `.r` (n,) in its order; residuals are the judge's. Status: SOLVED where the judge
accepts; APPROXIMATE where a relaxed law was asked for (model `pyramid`, model `impact` where some mu > 0, or
kappa > 0) and is solved to tolerance in its own terms, the reason saying which; otherwise the best iterate
with what was seen.
"""
