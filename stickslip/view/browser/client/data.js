// 2. The run: arrays are decoded from one byte string, written by `packing.py`.

async function inflated(text) {
  const bytes = text instanceof Uint8Array ? text : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const WIDTHS = {f: 4, d: 8, i: 4, w: 4, b: 1};

// Decode the array of a reference: byte planes, then sums of the differences from row to row.
function decoded(ref, bytes) {
  const count = ref.n.reduce((a, b) => a * b, 1), width = WIDTHS[ref.k];
  const raw = new Uint8Array(count * width);
  for (let k = 0; k < width; k++)
    for (let i = 0, from = ref.o + k * count; i < count; i++) raw[i * width + k] = bytes[from + i];
  if (ref.k === "b") return raw;
  if (ref.k === "f") return new Float32Array(raw.buffer);
  if (ref.k === "d") return new Float64Array(raw.buffer);
  const whole = new Int32Array(raw.buffer), row = ref.n.length ? count / (ref.n[0] || 1) : count;
  for (let i = row; i < count; i++) whole[i] += whole[i - row];
  if (ref.k === "w") return whole;
  const real = new Float32Array(count);
  for (let i = 0; i < count; i++) real[i] = whole[i] * ref.s;
  return real;
}

function unpacked(value, bytes) {
  if (Array.isArray(value)) return value.map((each) => unpacked(each, bytes));
  if (value === null || typeof value !== "object") return value;
  if ("o" in value && "k" in value && "n" in value) return decoded(value, bytes);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unpacked(each, bytes)]));
}

const DYNAMIC = 0, KINEMATIC = 1, FIXED = 2;
const KEPT = 1500; // largest number of frames kept of a live run

class Run {
  constructor(data) {
    Object.assign(this, data);
    this.count = this.names.length;
    this.solid = "groups" in data;
    this.frames = null; // frames of a live run, one object each; null otherwise
    if (!this.solid) return;
    this.moving = [...this.names.keys()].filter((b) => this.kind[b] !== FIXED);
    this.start = this.frame(0);
  }

  get length() { return this.t.length; }

  // Frame k: bodies (x, p, v, w) and contacts (pair, point, load, ...), as views of the arrays.
  frame(k) {
    if (this.frames) return this.frames[k];
    const n = this.count, a = this.offset[k], b = this.offset[k + 1], part = (x, m) => x.subarray(m * a, m * b);
    return {
      x: this.x.subarray(3 * n * k, 3 * n * (k + 1)), p: this.p.subarray(4 * n * k, 4 * n * (k + 1)),
      v: this.v.subarray(3 * n * k, 3 * n * (k + 1)), w: this.w.subarray(3 * n * k, 3 * n * (k + 1)),
      contacts: b - a, pair: part(this.pair, 2), point: part(this.point, 3), load: part(this.load, 3),
      normal: part(this.normal, 1), gap: part(this.gap, 1), state: part(this.state, 1),
      choice: part(this.choice, 1), id: part(this.id, 1),
    };
  }

  // Number of the last frame that is not later than t.
  at(t) {
    let low = 0, high = this.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.t[middle] <= t) low = middle; else high = middle;
    }
    return low;
  }

  // Append a frame of a live run; remove the oldest one if there are more than KEPT.
  append(data, info) {
    if (!this.frames) {
      this.frames = [];
      this.t = [];
      for (const name of ["penetration", "residual", "verdict", "lost"]) this[name] = [];
      this.series = [];
    }
    const one = new Run({...data, names: this.names, groups: this.groups, kind: this.kind});
    this.frames.push(one.start);
    for (const name of ["t", "penetration", "residual", "verdict", "lost"]) this[name].push(data[name][0]);
    for (const [name, unit, value] of info.series) {
      let found = this.series.find((each) => each.name === name);
      if (!found) this.series.push(found = {group: "energy and solver", name, unit, data: Array(this.t.length - 1).fill(NaN)});
      found.data.push(value ?? NaN);
    }
    if (this.frames.length > KEPT)
      for (const list of [this.frames, this.t, this.penetration, this.residual, this.verdict, this.lost, ...this.series.map((s) => s.data)])
        list.shift();
  }

  metres(x, k = 0) { return [0, 1, 2].map((i) => this.centre[i] + x[k + i] / this.zoom); }

  name(b) { return b < 0 ? "inertial frame" : this.names[b]; }
}

// Quantities computed from bodies and contacts, for one body or one lasting contact.
const OF_BODY = {
  "x": ["m", (run, f, b) => run.metres(f.x, 3 * b)[0]],
  "y": ["m", (run, f, b) => run.metres(f.x, 3 * b)[1]],
  "z": ["m", (run, f, b) => run.metres(f.x, 3 * b)[2]],
  "speed": ["m/s", (run, f, b) => Math.hypot(f.v[3 * b], f.v[3 * b + 1], f.v[3 * b + 2])],
  "velocity x": ["m/s", (run, f, b) => f.v[3 * b]],
  "velocity y": ["m/s", (run, f, b) => f.v[3 * b + 1]],
  "velocity z": ["m/s", (run, f, b) => f.v[3 * b + 2]],
  "spin": ["rad/s", (run, f, b) => Math.hypot(f.w[3 * b], f.w[3 * b + 1], f.w[3 * b + 2])],
  "contact force": ["N", (run, f, b) => size(forceOn(f, b))],
  "number of contacts": ["", (run, f, b) => touching(f, b).length],
};
const OF_CONTACT = {
  "normal force": ["N", (run, f, c) => (c < 0 ? NaN : f.normal[c])],
  "friction force": ["N", (run, f, c) => (c < 0 ? NaN : friction(f, c))],
  "gap": ["m", (run, f, c) => (c < 0 ? NaN : f.gap[c])],
};
const OF_RUN = {
  "contacts": ["", (run, k) => run.frame(k).contacts],
  "sliding contacts": ["", (run, k) => run.frame(k).state.reduce((n, s) => n + (s === 2), 0)],
  "largest contact force": ["N", (run, k) => { const f = run.frame(k); let top = 0; for (let c = 0; c < f.contacts; c++) top = Math.max(top, load(f, c)); return top; }],
};

const load = (f, c) => Math.hypot(f.load[3 * c], f.load[3 * c + 1], f.load[3 * c + 2]);
const friction = (f, c) => Math.sqrt(Math.max(load(f, c) ** 2 - f.normal[c] ** 2, 0));

function touching(f, b) {
  const found = [];
  for (let c = 0; c < f.contacts; c++) if (f.pair[2 * c] === b || f.pair[2 * c + 1] === b) found.push(c);
  return found;
}

function forceOn(f, b) {
  return touching(f, b).reduce((sum, c) => add(sum, [f.load[3 * c], f.load[3 * c + 1], f.load[3 * c + 2]], f.pair[2 * c] === b ? 1 : -1), [0, 0, 0]);
}

// All quantities that can be plotted: heading, name, unit, and function of the values of a run.
function quantities(run, choice) {
  const found = [];
  const put = (group, name, unit, values) => found.push({key: `${group}|${name}`, group, name, unit, values});
  const all = (r, make) => Float64Array.from({length: r.length}, (_, k) => make(k));
  for (const one of run.series)
    put(one.group, one.name, one.unit, (r) => (r.series.find((s) => s.group === one.group && s.name === one.name) || {data: []}).data);
  put("energy and solver", "residual", "", (r) => r.residual);
  put("energy and solver", "penetration", "m", (r) => r.penetration);
  if (!run.solid) return found;
  for (const [name, [unit, make]] of Object.entries(OF_RUN)) put("contacts", name, unit, (r) => all(r, (k) => make(r, k)));
  const body = choice.body;
  if (body !== null)
    for (const [name, [unit, make]] of Object.entries(OF_BODY)) {
      const called = run.names[body];
      put("body", `${called}: ${name}`, unit, (r) => {
        const b = r === run ? body : r.names.indexOf(called);
        return b < 0 ? [] : all(r, (k) => make(r, r.frame(k), b));
      });
    }
  if (choice.contact !== null && !run.frames)
    for (const [name, [unit, make]] of Object.entries(OF_CONTACT)) {
      const id = choice.contact;
      put("contact", `contact ${id}: ${name}`, unit, (r) => (r !== run ? [] : all(r, (k) => { const f = r.frame(k); return make(r, f, f.id.indexOf(id)); })));
    }
  return found;
}
