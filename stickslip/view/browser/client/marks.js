// 7. Marks: contacts, forces, force chains, joints, frames, sensors, trajectories.

const LONGEST = 4; // length of the longest arrow [lengths of the arrow of a typical force]
const LEAST = 2; // code of a force that is not unique and has been chosen by least norm
const JOINT = [204, 121, 167], SENSOR = [0, 175, 200], AXES = [[213, 60, 60], [60, 160, 70], [60, 100, 213]];
const FRAMES = 400, PATHS = 120000;

// Surface of revolution about z through points (radius, height), from top to bottom.
function revolved(curve, around = 10) {
  const v = [], t = [];
  curve.forEach(([r, z]) => {
    for (let k = 0; k < around; k++) v.push(r * Math.cos((2 * Math.PI * k) / around), r * Math.sin((2 * Math.PI * k) / around), z);
  });
  for (let i = 0; i + 1 < curve.length; i++)
    for (let k = 0; k < around; k++) {
      const a = i * around + k, b = i * around + ((k + 1) % around);
      t.push(a, a + around, b + around, a, b + around, b);
    }
  return {v: new Float32Array(v), t: new Int32Array(t), flat: false};
}

const ARC = [...Array(9).keys()].map((k) => [Math.sin((Math.PI * k) / 8), Math.cos((Math.PI * k) / 8)]);

class Segments {
  constructor() { this.room(256); }
  room(count) { const old = this.real; this.real = new Float32Array(7 * count); this.whole = new Uint32Array(this.real.buffer); if (old) this.real.set(old); this.count ??= 0; }
  clear() { this.count = 0; }
  put(a, b, colour, alpha = 255) {
    if (7 * this.count + 7 > this.real.length) this.room((2 * this.real.length) / 7);
    const k = 7 * this.count++;
    this.real.set(a, k);
    this.real.set(b, k + 3);
    this.whole[k + 6] = coded(colour, alpha);
  }
  get data() { return this.real.subarray(0, 7 * this.count); }
}

class Marks {
  constructor(engine, run, states) {
    Object.assign(this, {engine, run, states});
    const mesh = (curve, around) => solidMesh(engine.gl, engine.mesh.at, revolved(curve, around));
    this.shapes = {
      tube: mesh([[0, 0.5], [1, 0.5], [1, -0.5], [0, -0.5]]), cone: mesh([[0, 1], [1, 0], [0, 0]]), ball: mesh(ARC),
      cube: mesh([[0, 0.5], [0.7, 0.5], [0.7, -0.5], [0, -0.5]], 4),
    };
    this.solid = Object.fromEntries(Object.keys(this.shapes).map((name) => [name, new Copies()]));
    this.ghost = Object.fromEntries(Object.keys(this.shapes).map((name) => [name, new Copies()]));
    this.thin = new Segments();
    this.paths = null;
  }

  place(f, k, show, choice) {
    for (const lists of [this.solid, this.ghost]) for (const list of Object.values(lists)) list.clear();
    this.thin.clear();
    this.labels = [];
    if (show.forces) this._forces(f, show.stretch);
    if (show.chains) this._chains(f);
    if (show.joints) this._joints(f);
    if (show.frames) this._frames(f);
    if (show.sensors) this._sensors(f, k);
    if (show.labels) this.run.names.slice(0, 3000).forEach((name, b) => { if (this.run.kind[b] !== FIXED) this.labels.push([name, centre(f, b)]); });
    this.dots = show.contacts ? this._dots(f, choice) : null;
    this.shownPaths = show.paths === "none" ? null : this._paths(show.paths, choice.body, k);
  }

  _dots(f, choice) {
    const data = new Float32Array(4 * f.contacts), codes = new Uint32Array(data.buffer);
    for (let c = 0; c < f.contacts; c++) {
      data.set(f.point.subarray(3 * c, 3 * c + 3), 4 * c);
      codes[4 * c + 3] = coded(this.states[f.state[c]][1]);
    }
    const chosen = choice.contact === null ? -1 : f.id.indexOf(choice.contact);
    this.picked = null;
    if (chosen >= 0) {
      this.picked = new Float32Array([...f.point.subarray(3 * chosen, 3 * chosen + 3), 0]);
      new Uint32Array(this.picked.buffer)[3] = coded(CHOSEN);
    }
    return data;
  }

  _tube(lists, a, b, radius, colour) {
    const way = add(b, a, -1), long = size(way);
    if (long > 1e-9) lists.tube.put(add(a, way, 0.5), turnTo(times(way, 1 / long)), [radius, radius, long], colour);
  }

  _arrow(lists, a, way, width, colour) {
    const long = size(way), head = Math.min(6 * width, 0.6 * long), d = times(way, 1 / long);
    this._tube(lists, a, add(a, d, long - head), width, colour);
    lists.cone.put(add(a, d, long - head), turnTo(d), [2.6 * width, 2.6 * width, head], colour);
  }

  // Arrows are drawn on the movable body; if both are movable, on the one that is lifted.
  _forces(f, stretch) {
    const {run} = this, limit = LONGEST * run.arrow;
    for (let c = 0; c < f.contacts; c++) {
      const force = [f.load[3 * c], f.load[3 * c + 1], f.load[3 * c + 2]];
      const [first, second] = [run.kind[f.pair[2 * c]] === DYNAMIC, run.kind[f.pair[2 * c + 1]] === DYNAMIC];
      const side = first === second ? (dot(force, run.up) >= 0 ? 1 : -1) : first ? 1 : -1;
      let way = times(force, side * run.force);
      const long = size(way);
      if (!(long > 1e-5)) continue;
      way = times(way, (stretch * Math.min(long, limit)) / long);
      let colour = this.states[f.state[c]][1];
      if (f.choice[c] === LEAST) colour = colour.map((x) => 0.55 * 255 + 0.45 * x);
      this._arrow(this.solid, f.point.subarray(3 * c, 3 * c + 3), way, 0.03 * run.arrow, colour);
    }
  }

  // Bars between the centres of bodies, with widths proportional to the square root of the force.
  _chains(f) {
    const {run} = this, top = run.top.force;
    const end = (b, c) => (run.kind[b] === DYNAMIC ? centre(f, b) : Array.from(f.point.subarray(3 * c, 3 * c + 3)));
    for (let c = 0; c < f.contacts; c++) {
      const share = Math.min(load(f, c) / top, 1);
      if (share < 0.004) continue;
      const colour = viridis(0.15 + 0.85 * share);
      this._tube(this.solid, end(f.pair[2 * c], c), end(f.pair[2 * c + 1], c), 0.4 * run.body * Math.sqrt(share), colour);
    }
  }

  _joints(f) {
    const {run, ghost} = this, s = run.thin;
    for (const joint of run.joints) {
      const at = point(f, joint.body[0], joint.point[0]), other = point(f, joint.body[1], joint.point[1]);
      const axis = joint.body[0] < 0 ? joint.axis : turn(f.p, 4 * joint.body[0], joint.axis);
      const bar = (long, wide) => this._tube(ghost, add(at, axis, -0.5 * long), add(at, axis, 0.5 * long), wide, JOINT);
      for (const b of joint.body) if (b >= 0) this.thin.put(centre(f, b), b === joint.body[0] ? at : other, JOINT, 150);
      if (joint.kind === "hinge" || joint.kind === "cylindrical") bar(2.4 * s, 0.45 * s);
      if (joint.kind === "slider" || joint.kind === "cylindrical") {
        bar(4.5 * s, 0.16 * s);
        for (const sign of [1, -1]) ghost.cone.put(add(at, axis, sign * 2.2 * s), turnTo(times(axis, sign)), [0.45 * s, 0.45 * s, 0.9 * s], JOINT);
      }
      if (joint.kind === "ball") ghost.ball.put(at, [1, 0, 0, 0], [0.6 * s, 0.6 * s, 0.6 * s], JOINT);
      if (joint.kind === "fixed") ghost.cube.put(at, [1, 0, 0, 0], [s, s, s], JOINT);
      if (joint.kind === "distance") {
        this.thin.put(at, other, JOINT);
        for (const end of [at, other]) ghost.ball.put(end, [1, 0, 0, 0], [0.35 * s, 0.35 * s, 0.35 * s], JOINT);
      }
      this.labels.push([joint.name, at]);
    }
  }

  _frames(f) {
    const {run} = this;
    const triad = (at, p, k, long) => AXES.forEach((colour, i) => this.thin.put(at, add(at, turn(p, k, [0, 1, 2].map((j) => +(i === j))), long), colour));
    for (const b of run.moving.slice(0, FRAMES)) triad(centre(f, b), f.p, 4 * b, 1.5 * run.body);
    const origin = run.centre.map((x) => -x * run.zoom);
    if (size(origin) < 40) {
      triad(origin, [1, 0, 0, 0], 0, 1);
      "xyz".split("").forEach((name, i) => this.labels.push([name, add(origin, [0, 1, 2].map((j) => +(i === j)), 1.06)]));
    }
  }

  _sensors(f, k) {
    const s = 0.6 * this.run.thin;
    for (const sensor of this.run.sensors) {
      const places = sensor.body.map((b, i) => point(f, b, sensor.point[i]));
      for (const at of places) this.ghost.ball.put(at, [1, 0, 0, 0], [s, s, s], SENSOR);
      if (places.length > 1) this.thin.put(places[0], places[1], SENSOR);
      const values = this.run.series.filter((one) => one.group === "sensors" && (one.name === sensor.name || (one.name.startsWith(sensor.name) && /^\d+$/.test(one.name.slice(sensor.name.length))))).map((one) => shortest(one.data[k], 3));
      this.labels.push([values.length ? `${sensor.name}: ${values.join(", ")}` : sensor.name, places[0]]);
    }
  }

  // Trajectories of centres up to the current time; the lines of all frames are computed once.
  _paths(which, body, k) {
    const {run} = this, bodies = which === "all" ? run.moving : body === null ? [] : [body];
    const key = `${which}|${body}|${run.length}|${run.frames ? run.t[0] : 0}`;
    if (!this.paths || this.paths.key !== key) {
      const list = new Segments(), step = Math.max(1, Math.ceil((bodies.length * run.length) / PATHS)), ends = [0];
      for (let i = 1; i < run.length; i++) {
        if (i % step === 0) {
          const [a, b] = [run.frame(i - step), run.frame(i)];
          for (const n of bodies) list.put(centre(a, n), centre(b, n), which === "all" ? this._own(n) : [230, 159, 0]);
        }
        ends.push(list.count);
      }
      this.paths = {key, list, ends};
    }
    return {data: this.paths.list.data, count: this.paths.ends[k] ?? 0};
  }

  _own(b) {
    for (const group of this.run.groups) { const i = group.body.indexOf(b); if (i >= 0) return Array.from(group.colour.subarray(3 * i, 3 * i + 3)); }
    return JOINT;
  }

  draw(pixels, dots, nearer, alpha) {
    const {engine} = this, gl = engine.gl;
    for (const [name, list] of Object.entries(this.solid)) engine.copies(this.shapes[name], list);
    if (this.shownPaths?.count) engine.lines(this.shownPaths.data, this.shownPaths.count, 1.6 * dots, 1, pixels);
    // Draw twice: pale where the mark is hidden, opaque where it is visible.
    gl.enable(gl.BLEND);
    for (const [test, strength] of [[gl.GREATER, 0.35], [gl.LEQUAL, 1]]) {
      gl.depthFunc(test);
      gl.depthMask(test === gl.LEQUAL);
      for (const [name, list] of Object.entries(this.ghost)) engine.copies(this.shapes[name], list, {alpha: strength});
      if (this.thin.count) engine.lines(this.thin.data, this.thin.count, 1.6 * dots, strength, pixels);
      if (this.picked) engine.points(this.picked, 1, 17 * dots, strength, nearer);
      if (this.dots?.length) engine.points(this.dots, this.dots.length / 4, 8 * dots, strength, nearer);
    }
    gl.depthFunc(gl.LEQUAL);
    gl.disable(gl.BLEND);
  }
}

const centre = (f, b) => [f.x[3 * b], f.x[3 * b + 1], f.x[3 * b + 2]];
const point = (f, b, at) => (b < 0 ? at : add(centre(f, b), turn(f.p, 4 * b, at)));
