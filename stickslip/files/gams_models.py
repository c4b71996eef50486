"""The models of "Complementarity frictional contact in GAMS" (2014) as GAMS text, with corrections.

    eom     equations of motion with friction as a minimum for each contact: EMP, an equilibrium (JAMS, PATH)
    dual    min ½ γ'N γ - γ'Bshur over the cones: the convex relaxation, QCP or NLP
    primal  min ½ v'M v - v'p_ext with u + mu s e_N in the dual cones, in a loop on s: Coulomb's law

Each model reads its data from a GDX file or from text (`files/gdx.py` writes both) and writes gamma and
delta_v to `soln.gdx` if it was solved. D is that of the publication, minus H. Corrections: the primal adds mu
s, which is printed with a minus; the dual loads no g_0; the equations of motion declare their aliases, and
the norm of friction is smoothed in the relaxed version; prescribed tangential velocities, b_v and b_w, are
included.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from stickslip.state import Array

COMMON = """$eolcom #
$offlisting
$offlog
$onempty
{sets}
option limrow = 0, limcol = 0, optcr = 0, optca = 0, solprint = silent, sysout = off, solvelink = 5;

parameter
  h                               "step size"
  M(dofs,dofs)                    "mass matrix"
  Minv(dofs,dofs)                 "its inverse"
  D(dofs,constraints)             "contact Jacobian: normal, v, w of each contact"
  D_n(dofs,contacts)              "its normal columns"
  D_v(dofs,contacts)              "its columns along v"
  D_w(dofs,contacts)              "its columns along w"
  f_ext(dofs)                     "external forces times h"
  p_ext(dofs)                     "f_ext + M v_l"
  phi_n(contacts)                 "gap over h"
  b_v(contacts)                   "prescribed velocity along v"
  b_w(contacts)                   "prescribed velocity along w"
  mu(contacts)                    "friction"
  v_l(dofs)                       "velocities without contacts"
  Nshur(constraints,constraints)  "D' Minv D"
  Bshur(constraints)              "minus the free velocities"
;
{numbers}
alias(dofs, i, j);
"""
"""Common beginning of all models."""

FROM_GDX = """$gdxin {data}
$load constraints contacts dofs
$load h M Minv D D_n D_v D_w f_ext p_ext phi_n b_v b_w mu v_l Nshur Bshur
$gdxin"""
"""Statements that load the numbers from a GDX file, for sets declared without members."""

EOM = """
variables v(dofs), energy(contacts), gamma_v(contacts), gamma_w(contacts);
positive variable gamma_n(contacts);
equations
  NewtonEuler_eq(dofs)         "equations of motion"
  DefineGap_eq(contacts)       "gap at the end of the step, over h"
  Conic_eq(contacts)           "friction cone"
  FrictionEnergy_eq(contacts)  "power of friction"
;
NewtonEuler_eq(i)..
  sum(j, M(i,j)*(v(j) - v_l(j))) =e= f_ext(i)
  - sum(contacts, D_n(i,contacts)*gamma_n(contacts) + D_v(i,contacts)*gamma_v(contacts)
                  + D_w(i,contacts)*gamma_w(contacts));
DefineGap_eq(contacts)..
  phi_n(contacts) - sum(i, D_n(i,contacts)*v(i)){relaxation} =g= 0;
Conic_eq(contacts)..
  sqr(gamma_v(contacts)) + sqr(gamma_w(contacts)) =l= sqr(mu(contacts)*gamma_n(contacts));
FrictionEnergy_eq(contacts)..
  energy(contacts) =e= (b_v(contacts) - sum(i, D_v(i,contacts)*v(i)))*gamma_v(contacts)
                     + (b_w(contacts) - sum(i, D_w(i,contacts)*v(i)))*gamma_w(contacts);

v.l(dofs) = v_l(dofs);
gamma_n.l(contacts) = 1;
model frictemp / all /;
file empinfo / '%emp.info%' /;
put empinfo 'equilibrium' /;
put 'vi NewtonEuler_eq v' /;
put 'vi DefineGap_eq gamma_n' /;
loop(contacts,
  put 'min ' energy(contacts) ' ' gamma_v(contacts) ' ' gamma_w(contacts) ' '
      FrictionEnergy_eq(contacts) ' ' Conic_eq(contacts) /;
);
putclose;
solve frictemp using emp;
{solved:frictemp}

parameter delta_v(dofs), gamma(constraints), iters, time;
iters = frictemp.iterUsd;
time = frictemp.resUsd;
delta_v(dofs) = v.l(dofs);
loop((constraints,contacts)$(ord(contacts) = ceil(ord(constraints)/3)),
  gamma(constraints) = gamma_n.l(contacts)$(mod(ord(constraints),3) = 1)
    + gamma_v.l(contacts)$(mod(ord(constraints),3) = 2) + gamma_w.l(contacts)$(mod(ord(constraints),3) = 0);
);
execute_unload 'soln.gdx', gamma delta_v iters time;
"""

RELAXATION = """
  - mu(contacts)*(sqrt(sqr(b_v(contacts) - sum(i, D_v(i,contacts)*v(i)))
                       + sqr(b_w(contacts) - sum(i, D_w(i,contacts)*v(i))) + sqr(1e-9)) - 1e-9)"""
"""Term of the equations of motion of the convex relaxation."""

DUAL = """$if not set modtype $set modtype qcp
alias(constraints, k, l);
variables gamma(constraints), obj, gamma_v(contacts), gamma_w(contacts);
positive variable gamma_n(contacts);
equations Objective_eq, Conic_eq(contacts), gamma_n_eq(contacts), gamma_v_eq(contacts), gamma_w_eq(contacts);
Objective_eq..
  obj =e= .5*sum((k,l), gamma(k)*Nshur(k,l)*gamma(l)) - sum(k, gamma(k)*Bshur(k));
Conic_eq(contacts)..
  sqr(gamma_v(contacts)) + sqr(gamma_w(contacts)) =l= sqr(gamma_n(contacts));
gamma_n_eq(contacts)..
  gamma_n(contacts) =e= mu(contacts)*sum(k$(ord(k) = 3*ord(contacts)-2), gamma(k));
gamma_v_eq(contacts)..
  gamma_v(contacts) =e= sum(k$(ord(k) = 3*ord(contacts)-1), gamma(k));
gamma_w_eq(contacts)..
  gamma_w(contacts) =e= sum(k$(ord(k) = 3*ord(contacts)), gamma(k));

gamma.l(k)$(mod(ord(k),3) = 1) = 1;
gamma_n.l(contacts) = mu(contacts);
model fricdual / all /;
solve fricdual using %modtype% min obj;
{solved:fricdual}

parameter delta_v(dofs), iters, time;
iters = fricdual.iterUsd;
time = fricdual.resUsd;
delta_v(dofs) = sum(j, Minv(dofs,j)*(p_ext(j) - sum(k, D(j,k)*gamma.l(k))));
execute_unload 'soln.gdx', gamma delta_v obj iters time;
"""

PRIMAL = """$if not set modtype $set modtype qcp
variables obj, v(dofs), u_v(contacts), u_w(contacts), gamma(constraints);
positive variable s_un(contacts);
equations Objective_eq, DefineGap_eq(contacts), Def_u_v(contacts), Def_u_w(contacts), Conic_eq(contacts);
parameter s(contacts), change;
Objective_eq..
  obj =e= .5*sum((i,j), v(i)*M(i,j)*v(j)) - sum(i, v(i)*p_ext(i));
DefineGap_eq(contacts)..
  s_un(contacts) =e= phi_n(contacts) - sum(i, D_n(i,contacts)*v(i)) + mu(contacts)*s(contacts);
Def_u_v(contacts)..
  u_v(contacts) =e= mu(contacts)*(b_v(contacts) - sum(i, D_v(i,contacts)*v(i)));
Def_u_w(contacts)..
  u_w(contacts) =e= mu(contacts)*(b_w(contacts) - sum(i, D_w(i,contacts)*v(i)));
Conic_eq(contacts)..
  sqr(u_v(contacts)) + sqr(u_w(contacts)) =l= sqr(s_un(contacts));

v.l(dofs) = v_l(dofs);
s(contacts) = 0;
model fricprimal / Objective_eq, DefineGap_eq, Def_u_v, Def_u_w, Conic_eq /;
set iter / iter1*iter40 /;
loop(iter,
  u_v.l(contacts) = mu(contacts)*(b_v(contacts) - sum(i, D_v(i,contacts)*v.l(i)));
  u_w.l(contacts) = mu(contacts)*(b_w(contacts) - sum(i, D_w(i,contacts)*v.l(i)));
  s_un.l(contacts) = sqrt(sqr(u_v.l(contacts)) + sqr(u_w.l(contacts))) + 1e-6;
  solve fricprimal using %modtype% min obj;
  {solved:fricprimal}
  s(contacts) = sqrt(sqr(b_v(contacts) - sum(i, D_v(i,contacts)*v.l(i)))
                     + sqr(b_w(contacts) - sum(i, D_w(i,contacts)*v.l(i))));
);

parameter delta_v(dofs), iters, time;
iters = fricprimal.iterUsd;
time = fricprimal.resUsd;
delta_v(dofs) = v.l(dofs);
loop((constraints,contacts)$(ord(contacts) = ceil(ord(constraints)/3)),
  gamma.l(constraints) = - DefineGap_eq.m(contacts)$(mod(ord(constraints),3) = 1)
    - (mu(contacts)*Def_u_v.m(contacts))$(mod(ord(constraints),3) = 2)
    - (mu(contacts)*Def_u_w.m(contacts))$(mod(ord(constraints),3) = 0);
);
execute_unload 'soln.gdx', gamma delta_v obj iters time;
"""

SOLVED = "abort$(%s.modelstat > 2 and %s.modelstat <> 7 and %s.modelstat < 15) 'the model was not solved';"
"""Statement that aborts a model without a solution, so that no invalid answer is written."""
MODELS = {"eom": EOM, "dual": DUAL, "primal": PRIMAL}
"""The models by name."""
LAWS = ("exact", "relaxed")
"""Laws of the equations of motion."""


def model_text(model: str, data: str = "data.gdx", law: str = "exact") -> str:
    """Return the text of one of `MODELS`.

    data: file that the model reads, a GDX file or, by its suffix, text of `data_text`. law: one of `LAWS`,
    for the equations of motion only.
    """
    for name, value, known in (("model", model, tuple(MODELS)), ("law", law, LAWS)):
        if value not in known:
            raise ValueError(f"{name} is {value!r}; expected one of {', '.join(known)}")
    body = MODELS[model].replace("{relaxation}", RELAXATION if law == "relaxed" else "")
    for name in ("frictemp", "fricdual", "fricprimal"):
        body = body.replace(f"{{solved:{name}}}", SOLVED % (name, name, name))
    if data.endswith(".gdx"):
        sets, numbers = "set constraints(*), contacts(*), dofs(*);", FROM_GDX.replace("{data}", data)
    else:
        sets, numbers = f"$include sets-{data}", f"$include {data}"
    return COMMON.replace("{sets}", sets).replace("{numbers}", numbers) + body


def sets_text(sizes: Mapping[str, int]) -> str:
    """GAMS text of sets with members from 1 to their sizes."""
    return "".join(f"set {name} / 1*{count} /;\n" for name, count in sizes.items())


def data_text(symbols: Iterable[tuple[str, tuple[str, ...], Array]]) -> str:
    """GAMS text of parameters as assignments of nonzero numbers, which are preserved bit for bit.

    symbols: name, names of the sets, and values [unit of the parameter], shape (sizes of the sets,).
    """
    lines = []
    for name, domain, values in symbols:
        if domain:
            lines.append(f"{name}({','.join(domain)}) = 0;")
        for place in zip(*np.nonzero(values), strict=True) if domain else ((),):
            where = ",".join(f"'{k + 1}'" for k in place)
            lines.append(f"{name}{f'({where})' if where else ''} = {float(values[place])!r};")
    return "\n".join(lines) + "\n"
