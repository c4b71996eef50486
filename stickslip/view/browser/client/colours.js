// 3. Colours: viridis for numbers, the colours of Okabe and Ito for states and curves.

const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]];
const CURVES = 6; // number of colours of curves in the style sheet
const curveColour = (k) => ink(`--c${k}`);
const CHOSEN = [240, 228, 66], FREE = [225, 225, 225];
const WORST_FIRST = [2, 3, 1, 0]; // slipping, rolling, sticking, separating

function viridis(share) {
  const x = clamp(share || 0, 0, 1) * (VIRIDIS.length - 1), k = Math.min(Math.floor(x), VIRIDIS.length - 2);
  return VIRIDIS[k].map((c, i) => c + (x - k) * (VIRIDIS[k + 1][i] - c));
}

// Colour of every body in a frame; null if each body has its own colour.
function bodyColours(run, f, by, states) {
  if (by === "body") return null;
  const n = run.count, found = Array(n).fill(null);
  if (by === "state") {
    const rank = new Int8Array(n).fill(9);
    for (let c = 0; c < f.contacts; c++)
      for (const b of [f.pair[2 * c], f.pair[2 * c + 1]]) rank[b] = Math.min(rank[b], WORST_FIRST.indexOf(f.state[c]));
    for (const b of run.moving) found[b] = rank[b] === 9 ? FREE : states[WORST_FIRST[rank[b]]][1];
    return found;
  }
  const numbers = new Float64Array(n);
  if (by === "speed") for (const b of run.moving) numbers[b] = Math.hypot(f.v[3 * b], f.v[3 * b + 1], f.v[3 * b + 2]);
  else
    for (let c = 0; c < f.contacts; c++) {
      const force = load(f, c);
      numbers[f.pair[2 * c]] += force;
      numbers[f.pair[2 * c + 1]] += force;
    }
  for (const b of run.moving) if (run.kind[b] === DYNAMIC) found[b] = viridis(numbers[b] / run.top[by]);
  return found;
}

const css = (c) => `rgb(${c.map(Math.round).join(" ")})`;
