// 14. The view: runs, the options of the display, and the drawing loop.

const SUN = [-0.5, 0.75, 0.8]; // direction to the sun: right, towards the viewer and up, relative to the initial camera
const SLOW = 0.07, QUICK = 0.025; // drawing time of a picture above which the resolution is reduced, and below which it is increased [s]
const COARSEST = 0.5;
const LABELS = 200; // largest number of names that are written

class View {
  constructor(content, runs) {
    Object.assign(this, {runs, states: content.states, verdicts: content.verdicts, live: content.live});
    this.solid = runs.some((run) => run.solid);
    this.show = {
      contacts: true, forces: content.forces, chains: false, joints: false, sensors: false, frames: false, labels: false, solids: true, ground: true,
      colour: "body", paths: "none", stretch: 1, opacity: 1, cut: "none", cutAt: 0, flip: false, follow: false,
    };
    this.choice = {run: 0, body: null, contact: null};
    this.player = new Player(this.allTimes(), content.speed);
    this.quality = 1;
    this.late = true;
    this.cache = new Map();
    this.stale = this.state = 0;
    document.documentElement.classList.add(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    if (innerWidth < 720) { this.fold(true); by("card").open = !this.solid || Boolean(content.live); }
    if (this.solid) this._scene();
    this.panel = new Panel(this);
    if (!this.solid) this.sheets = new Sheets(this, this.panel);
    this.panel.sign = "";
    this.panel.offer();
    this.strips = new Strips(by("strips"), (t) => this.seek(t));
    bindBar(this);
    bindKeys(this);
    if (this.solid) bindPointer(this, by("stage"));
    by("notes").append(...content.notes.map((note) => el("p", {textContent: note})));
    for (const id of ["first", "back", "play", "on", "last", "slider", "speed"]) by(id).disabled = !content.live && this.player.times.length < 2;
    by("strips").hidden = !content.live && this.player.times.length < 2;
    new ResizeObserver(() => this.touch()).observe(by("stage"));
    new ResizeObserver(() => this.touch()).observe(by("strips"));
    this.setSpeed(this.player.speed);
    this.loop();
  }

  _scene() {
    this.engine = new Engine(by("gl"));
    this.bodies = this.runs.map((run, k) => new Bodies(this.engine, run, k));
    this.marks = this.runs.map((run) => new Marks(this.engine, run, this.states));
    const half = [0, 1, 2].map((i) => Math.max(...this.runs.map((run) => run.half[i])));
    this.camera = new Camera(this.runs[0].up, half);
    const {right, back} = this.camera.axes();
    this.sun = unit(add(add(times(right, SUN[0]), back, SUN[1]), this.runs[0].up, SUN[2]));
    by("gl").addEventListener("webglcontextlost", (event) => { event.preventDefault(); this.say("the graphics card was lost; load the page again"); });
    this.fresh = true;
  }

  get active() { return this.runs[this.choice.run]; }
  get span() { return [this.player.start, this.player.end]; }
  get height() { return by("stage").clientHeight; }
  frame(run = this.active) { return run.frame(run.at(this.player.now)); }

  allTimes() { return [...new Set(this.runs.flatMap((run) => Array.from(run.t)))].sort((a, b) => a - b); }

  // 1. Options and selection.
  touch() { this.late = true; }
  changed() { this.stale++; this.touch(); }

  set(name, value) {
    this.show[name] = value;
    if (name === "chains") this.show.opacity = value ? 0.25 : 1;
    if (name === "follow") { this.focus = null; if (value && this.choice.body !== null) this.camera.target = centre(this.frame(), this.choice.body); }
    if (name === "paths" && value === "body" && this.choice.body === null) this.say("click a body to see its trajectory");
    this.panel.sync();
    this.changed();
  }

  choose(choice) {
    Object.assign(this.choice, choice);
    if (this.choice.body !== null && this.choice.contact === null && by("app").classList.contains("closed") === false && this.panel.shown === "Show") this.panel.open("Body");
    this.focus = null;
    this.panel.sync();
    this.changed();
  }

  // Select a contact and move the camera near it.
  jump(id) {
    const f = this.frame(), c = f.id.indexOf(id);
    if (c < 0) return;
    this.choice.contact = id;
    this.choice.body = null;
    this.show.contacts = true;
    this.show.follow = false;
    this.camera.target = Array.from(f.point.subarray(3 * c, 3 * c + 3));
    this.camera.distance = Math.min(this.camera.distance, Math.max(14 * this.active.body, 0.4));
    this.choose({});
  }

  nextContact() {
    const f = this.frame(), order = [...Array(f.contacts).keys()].sort((a, b) => load(f, b) - load(f, a));
    if (!order.length) return this.say("no contacts at this instant");
    const k = order.findIndex((c) => f.id[c] === this.choice.contact);
    this.jump(f.id[order[(k + 1) % order.length]]);
  }

  pick(x, y) {
    const stage = by("stage").getBoundingClientRect();
    const part = this.parts().findIndex(([left, top, wide, high]) => x - stage.x >= left && x - stage.x < left + wide && y - stage.y >= top && y - stage.y < top + high);
    if (part < 0) return;
    const [left, top, wide, high] = this.parts()[part], run = this.runs[part], f = this.frame(run), [px, py] = [x - stage.x - left, y - stage.y - top];
    if (this.show.contacts) {
      let best = 9, found = -1;
      for (let c = 0; c < f.contacts; c++) {
        const at = this.camera.seen(f.point.subarray(3 * c, 3 * c + 3), wide, high);
        if (at && Math.hypot(at[0] - px, at[1] - py) < best) { best = Math.hypot(at[0] - px, at[1] - py); found = c; }
      }
      if (found >= 0) { this.choice.run = part; this.choice.contact = f.id[found]; this.choice.body = null; this.panel.open("Contacts"); return this.choose({}); }
    }
    const name = this.picked(x - stage.x, y - stage.y);
    this.choose(name ? {run: name >> 23, body: (name & 0x7fffff) - 1, contact: null} : {body: null, contact: null});
  }

  // Pick the object at a point of the canvas: everything is drawn in colours that encode it, and one pixel is read.
  picked(x, y) {
    const {gl} = this.engine, wide = gl.canvas.width, high = gl.canvas.height, px = Math.floor(x * this.dots), py = high - 1 - Math.floor(y * this.dots);
    const make = (kind) => { const made = gl.createRenderbuffer(); gl.bindRenderbuffer(gl.RENDERBUFFER, made); gl.renderbufferStorage(gl.RENDERBUFFER, kind, wide, high); return made; };
    const target = gl.createFramebuffer(), buffers = [make(gl.RGBA8), make(gl.DEPTH_COMPONENT24)];
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    [gl.COLOR_ATTACHMENT0, gl.DEPTH_ATTACHMENT].forEach((place, k) => gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffers[k]));
    gl.enable(gl.SCISSOR_TEST);
    this.render({pick: [px, py]});
    const found = new Uint8Array(4);
    gl.readPixels(px, py, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, found);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.deleteFramebuffer(target);
    buffers.forEach((buffer) => gl.deleteRenderbuffer(buffer));
    return found[0] | (found[1] << 8) | (found[2] << 16);
  }

  reset() { this.focus = null; this.show.follow = false; this.camera.reset(this.aspect()); this.panel.sync(); this.touch(); }
  look(azimuth, height) { this.camera.reset(this.aspect(), azimuth, height); this.focus = null; this.touch(); }

  aspect() { const [, , wide, high] = this.parts()[0]; return Math.max(wide / (high || 1), 0.2); }

  toggle() {
    if (this.player.playing) this.player.pause(); else this.player.play(clock());
    this.tail = false;
    this.touch();
  }

  step(by_) { this.player.step(by_, clock()); this.tail = false; this.touch(); }

  seek(t) {
    this.player.seek(clamp(t, ...this.span), clock());
    this.tail = Boolean(this.live) && this.player.now >= this.player.end;
    this.touch();
  }

  setSpeed(speed) {
    this.player.pace(speed, clock());
    by("speed").value = speed;
  }

  fold(closed = !by("app").classList.contains("closed")) {
    by("app").classList.toggle("closed", closed);
    by("open").setAttribute("aria-expanded", !closed);
    this.panel?.refresh();
    this.touch();
  }

  dark() {
    const root = document.documentElement.classList;
    root.toggle("dark");
    root.toggle("light", !root.contains("dark"));
    this.touch();
  }

  say(text) {
    by("message").textContent = text;
    by("message").classList.add("shown");
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => by("message").classList.remove("shown"), 1800);
  }

  save() {
    this.render();
    by("gl").toBlob((blob) => {
      const link = el("a", {href: URL.createObjectURL(blob), download: `${document.title}.png`});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // Values of a quantity of a run; quantities of all frames are computed once.
  values(one, run) {
    if (run.frames) return one.values(run);
    const key = `${this.runs.indexOf(run)}|${one.key}`;
    if (!this.cache.has(key)) this.cache.set(key, one.values(run));
    return this.cache.get(key);
  }

  // 2. Pictures.
  parts() {
    const wide = by("stage").clientWidth, high = by("stage").clientHeight;
    if (this.runs.length < 2) return [[0, 0, wide, high]];
    return wide > high ? [[0, 0, wide / 2, high], [wide / 2, 0, wide / 2, high]] : [[0, 0, wide, high / 2], [0, high / 2, wide, high / 2]];
  }

  cut(run) {
    const {show} = this;
    if (show.cut === "none") return null;
    let n = show.cut === "view" ? this.camera.axes().back : [0, 1, 2].map((i) => +("xyz"[i] === show.cut));
    const reach = show.cut === "view" ? size(run.half) : Math.abs(dot(n, run.half)), at = show.cutAt * reach * 1.02;
    return show.flip ? [...times(n, -1), -at] : [...n, at];
  }

  follow() {
    if (!this.show.follow) return;
    const run = this.active, f = this.frame(), {body} = this.choice;
    const chosen = body === null ? run.moving.filter((b) => run.kind[b] === DYNAMIC) : [body];
    const now = times(chosen.reduce((sum, b) => add(sum, centre(f, b)), [0, 0, 0]), 1 / (chosen.length || 1));
    if (this.focus) this.camera.target = add(this.camera.target, add(now, this.focus, -1));
    this.focus = now;
  }

  render({pick = null} = {}) {
    const {engine, show} = this, {gl} = engine, stage = by("stage"), canvas = by("gl");
    this.dots = Math.min(devicePixelRatio || 1, 2) * this.quality;
    const [wide, high] = [Math.max(1, Math.round(stage.clientWidth * this.dots)), Math.max(1, Math.round(stage.clientHeight * this.dots))];
    if (!pick && (canvas.width !== wide || canvas.height !== high)) { canvas.width = wide; canvas.height = high; }
    if (this.fresh) { this.camera.reset(this.aspect()); this.fresh = false; }
    this.follow();
    gl.enable(gl.SCISSOR_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(true);
    const dim = document.documentElement.classList.contains("dark") ? 0.42 : 1;
    const back = dim < 1 ? [0.078, 0.094, 0.114] : [0.933, 0.945, 0.961];
    this.parts().forEach(([left, top, w, h], r) => {
      const run = this.runs[r], k = run.at(this.player.now), f = run.frame(k), aspect = w / (h || 1);
      const box = [left * this.dots, high - (top + h) * this.dots, w * this.dots, h * this.dots].map(Math.round);
      gl.viewport(...box);
      gl.scissor(...(pick ? [...pick, 1, 1] : box));
      gl.clearColor(...(pick ? [0, 0, 0, 0] : [...back, 1]));
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const matrix = this.camera.matrix(aspect), eye = this.camera.eye, focal = (0.5 * h * this.dots) / Math.tan(ANGLE / 2);
      engine.begin(matrix, run.up, this.sun, this.camera.axes(), eye, Boolean(pick));
      const mine = r === this.choice.run, chosen = new Set();
      const contact = mine && this.choice.contact !== null ? f.id.indexOf(this.choice.contact) : -1;
      if (this.choice.body !== null) { const b = mine ? this.choice.body : run.names.indexOf(this.active.names[this.choice.body]); if (b >= 0) chosen.add(b); }
      if (contact >= 0) for (const b of [f.pair[2 * contact], f.pair[2 * contact + 1]]) if (run.kind[b] !== FIXED) chosen.add(b);
      this.bodies[r].place(f, bodyColours(run, f, show.colour, this.states), chosen, eye, focal);
      const cut = this.cut(run);
      if (pick) return this.bodies[r].draw({cut, ground: false, solids: show.solids});
      const key = `${k}|${this.stale}|${run.t[0]}`;
      if (this.marks[r].key !== key) { this.marks[r].place(f, k, show, mine ? this.choice : {body: chosen.values().next().value ?? null, contact: null}); this.marks[r].key = key; }
      const nearer = (0.012 * run.body) / this.camera.distance, marks = () => this.marks[r].draw([w * this.dots, h * this.dots], this.dots, nearer);
      this.bodies[r].draw({dim, ground: show.ground, solids: false});
      if (show.opacity >= 1) { this.bodies[r].draw({cut, ground: false, solids: show.solids}); marks(); return; }
      marks();
      gl.enable(gl.BLEND);
      this.bodies[r].draw({cut, alpha: show.opacity, ground: false, solids: show.solids});
      gl.disable(gl.BLEND);
    });
    gl.disable(gl.SCISSOR_TEST);
    if (!pick) this.labels();
  }

  labels() {
    const {pen} = sheet(by("over"));
    const dark = document.documentElement.classList.contains("dark");
    pen.textBaseline = "middle";
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    this.parts().forEach(([left, top, wide, high], r) => {
      pen.fillStyle = dark ? "#fff" : "#111";
      pen.strokeStyle = dark ? "#000c" : "#fffc";
      const taken = []; // rectangles of drawn labels; overlapping labels are moved down
      for (const [text, at] of this.marks[r].labels.slice(0, LABELS)) {
        const place = this.camera.seen(at, wide, high);
        if (!place || place[0] < 0 || place[0] > wide || place[1] < 0 || place[1] > high) continue;
        const said = text.slice(0, 48), long = pen.measureText(said).width, [x, y0] = place;
        let y = y0;
        for (let k = 0; k < 6 && taken.some(([a, b, c]) => Math.abs(b - y) < 12 && x < a + c && a < x + long); k++) y += 12;
        taken.push([x, y, long]);
        pen.strokeText(said, left + x + 7, top + y);
        pen.fillText(said, left + x + 7, top + y);
      }
      if (this.runs.length > 1) {
        pen.textAlign = "center";
        pen.font = "600 13px system-ui, sans-serif";
        pen.strokeText(this.runs[r].title, left + 0.5 * wide, top + high - 14);
        pen.fillText(this.runs[r].title, left + 0.5 * wide, top + high - 14);
        pen.font = "11px system-ui, sans-serif";
        pen.textAlign = "left";
        if (r) { pen.fillStyle = ink("--line"); if (left) pen.fillRect(left - 1, 0, 2, high); else pen.fillRect(0, top - 1, wide, 2); }
      }
    });
  }

  // 3. Numbers next to the picture.
  readings() {
    const runs = this.runs, at = runs.map((run) => run.at(this.player.now)), rows = [];
    const row = (name, make, dot) => rows.push([name, runs.map((run, r) => make(run, at[r])), dot]);
    if (runs.length > 1) row("", (run) => run.title);
    row("penetration", (run, k) => `${run.penetration[k].toExponential(2)} m`);
    row("residual", (run, k) => run.residual[k].toExponential(1) + (run.tolerance ? ` of ${run.tolerance.toExponential(0)}` : ""));
    row("verdict", (run, k) => (run.tolerance ? this.verdicts[run.verdict[k]] : "–"));
    if (this.solid) {
      const counts = runs.map((run, r) => { const n = [0, 0, 0, 0]; for (const s of run.frame(at[r]).state) n[s]++; return n; });
      this.states.forEach(([name, colour], s) => rows.push([name, counts.map((n) => String(n[s])), css(colour)]));
      if (runs.some((run, r) => run.lost[at[r]])) row("lost bodies", (run, k) => String(run.lost[k]));
    }
    const sign = JSON.stringify(rows);
    if (sign === this.readSign) return;
    this.readSign = sign;
    by("readings").replaceChildren(el("table", {}, ...rows.map(([name, cells, colour]) => {
      const head = el("th", {scope: "row"});
      if (colour) { const dot = el("i", {className: "dot"}); dot.style.background = colour; head.append(dot); }
      head.append(name);
      return el("tr", {}, head, ...cells.map((text) => el("td", {textContent: text, className: name === "verdict" ? text : ""})));
    })));
  }

  legend() {
    const {colour} = this.show;
    if (this.legendSign === colour) return;
    this.legendSign = colour;
    by("legend").replaceChildren();
    if (colour !== "speed" && colour !== "force") return;
    const bar = el("canvas", {width: 100, height: 1, role: "img", "aria-label": "scale of colours"}), pen = bar.getContext("2d");
    for (let k = 0; k < 100; k++) { pen.fillStyle = css(viridis(k / 99)); pen.fillRect(k, 0, 1, 1); }
    by("legend").append(bar, el("span", {}, el("span", {textContent: "0"}), el("span", {textContent: colour === "speed" ? "speed [m/s]" : "force [N]"}), el("span", {textContent: shortest(this.runs[0].top[colour])})));
  }

  // 4. The loop: it draws if something has changed.
  loop() {
    let last = 0, quiet = 0, beside = 0;
    const tick = () => {
      requestAnimationFrame(tick);
      const now = clock(), before = this.player.now;
      this.player.tick(now);
      const moving = this.player.now !== before;
      if (moving) this.late = true;
      if (!this.late) {
        if (this.quality < 1 && now - quiet > 0.3) { this.quality = 1; this.late = true; this.slowly = true; }
        return;
      }
      this.late = false;
      const took = now - last;
      if (now - quiet < 0.3 && !this.slowly) {
        if (took > SLOW) this.quality = Math.max(COARSEST, this.quality * 0.85);
        else if (took < QUICK && this.quality < 1) this.quality = Math.min(1, this.quality * 1.05);
      }
      this.slowly = false;
      last = quiet = now;
      if (this.solid) this.render();
      if (now - beside > 0.09 || !this.player.playing) { beside = now; this.beside(); } else this.time();
    };
    requestAnimationFrame(tick);
  }

  time() {
    const {player} = this, k = player.index, t = player.times[k];
    by("now").textContent = `${shownTime(t, player.times)} s`;
    const slider = by("slider");
    slider.min = player.start;
    slider.max = player.end;
    slider.value = player.now;
    slider.setAttribute("aria-valuetext", by("now").textContent);
    const word = player.playing ? "Pause" : "Play";
    if (by("play").getAttribute("aria-label") === word) return;
    by("play").setAttribute("aria-label", word);
    by("play").querySelector("path").setAttribute("d", player.playing ? "M5 3v10M11 3v10" : "M4 2.5L13 8l-9 5.5z");
  }

  beside() {
    this.time();
    this.readings();
    if (this.solid) this.legend();
    this.strips.draw(this.runs, this.span, this.player.now, this.verdicts);
    this.panel.refresh();
    this.sheets?.draw();
  }

  // Pictures per second, averaged over `count` finished pictures; used by the benchmark.
  measure(count) {
    const {gl} = this.engine, pixel = new Uint8Array(4), begun = performance.now();
    for (let k = 0; k < count; k++) {
      this.camera.turn(4, 0);
      this.player.now = this.player.times[k % this.player.times.length];
      this.render();
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    }
    return (1000 * count) / (performance.now() - begun);
  }
}

const clock = () => performance.now() / 1000;

// Format a time with enough decimals to distinguish the frames.
function shownTime(t, all) {
  let least = Infinity;
  for (let k = 1; k < Math.min(all.length, 200); k++) if (all[k] > all[k - 1]) least = Math.min(least, all[k] - all[k - 1]);
  const digits = Math.max(Math.ceil(-Math.log10(least) - 1e-9), 2), last = Math.abs(all[all.length - 1]);
  return digits <= 9 && last < 1e7 ? t.toFixed(digits) : String(+t.toPrecision(9));
}

(async () => {
  const content = JSON.parse(by("contents").textContent);
  const bytes = await inflated(by("numbers").textContent);
  try {
    const runs = unpacked(content.runs, bytes).map((run) => new Run(run));
    const view = new View(content, runs);
    window.stickslip = view;
    if (content.live) listen(view, -1);
    else if (view.player.times.length > 1) view.toggle();
    view.touch();
  } catch (error) {
    by("readings").replaceChildren(el("p", {className: "missed", textContent: `The run cannot be shown: ${error.message}.`}));
    throw error;
  }
})();
