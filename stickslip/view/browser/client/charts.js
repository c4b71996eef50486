// 9. Charts on canvases: curves over time or over each other, with a cursor; a click selects a time.

function shortest(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (x === 0) return "0";
  const far = Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3;
  return far ? x.toExponential(Math.max(digits - 2, 1)) : String(+x.toPrecision(digits));
}

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Adapt a canvas to the resolution of the screen; return its drawing context and size.
function sheet(canvas) {
  const scale = Math.min(devicePixelRatio || 1, 2), wide = canvas.clientWidth, high = canvas.clientHeight;
  if (canvas.width !== Math.round(wide * scale) || canvas.height !== Math.round(high * scale)) {
    canvas.width = Math.round(wide * scale);
    canvas.height = Math.round(high * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, wide, high);
  pen.font = "11px system-ui, sans-serif";
  return {pen, wide, high};
}

function bounds(lists, log) {
  let low = Infinity, high = -Infinity;
  for (const list of lists)
    for (const x of list) if (Number.isFinite(x) && (!log || x > 0)) { low = Math.min(low, x); high = Math.max(high, x); }
  if (low > high) return log ? [1e-16, 1] : [0, 1];
  return [log ? Math.max(low, high * 1e-18) : low, high];
}

// Bounds of values with a margin.
function room(lists, log) {
  const [low, high] = bounds(lists, log), more = 0.06 * (high - low) || Math.abs(high) * 1e-3 || 1;
  return log ? [low / 2, high * 2] : [low - more, high + more];
}

// Ticks at multiples of 1, 2 or 5 times a power of ten; for logarithmic scales, at powers of ten.
function ticks(low, high, count, log) {
  if (log) {
    const a = Math.ceil(Math.log10(low)), b = Math.floor(Math.log10(high)), step = Math.max(1, Math.ceil((b - a + 1) / count));
    return Array.from({length: Math.max(0, Math.floor((b - a) / step) + 1)}, (_, k) => 10 ** (a + k * step));
  }
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find((k) => k * power >= raw) * power;
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high; x += step) found.push(Math.abs(x) < 1e-9 * step ? 0 : x);
  return found;
}

// Draw curves {x, y, colour, dash} in a rectangle; return the maps from values to pixels.
function curves(pen, box, list, {log = false, span = null} = {}) {
  const [x0, y0, wide, tall] = box, ends = span || room(list.map((one) => one.x));
  const [bottom, top] = room(list.map((one) => one.y), log);
  const f = log ? Math.log10 : (x) => x, across = ends[1] - ends[0] || 1;
  const px = (x) => x0 + ((x - ends[0]) / across) * wide, py = (y) => y0 + tall - ((f(y) - f(bottom)) / (f(top) - f(bottom) || 1)) * tall;
  pen.save();
  pen.beginPath();
  pen.rect(x0, y0 - 1, wide, tall + 2);
  pen.clip();
  for (const one of list) {
    pen.strokeStyle = one.colour;
    pen.setLineDash(one.dash ? [4, 3] : []);
    pen.lineWidth = 1.4;
    pen.beginPath();
    let down = false;
    const count = Math.min(one.x.length, one.y.length), stride = Math.max(1, Math.floor(count / (8 * wide)));
    for (let k = 0; k < count; k += stride) {
      const y = one.y[k];
      if (!Number.isFinite(y) || (log && y <= 0)) { down = false; continue; }
      if (down) pen.lineTo(px(one.x[k]), py(y)); else pen.moveTo(px(one.x[k]), py(y));
      down = true;
    }
    pen.stroke();
  }
  pen.restore();
  return {px, py, bottom, top, time: (x) => ends[0] + ((x - x0) / wide) * across};
}

// Draw a chart with axes; `cursor` is the current time, `dots` are the current points of the curves.
class Chart {
  constructor(canvas, seek) {
    this.canvas = canvas;
    const go = (event) => { if (this.scale && this.overTime) seek(this.scale.time(event.offsetX)); else if (this.scale) seek(this.nearest(event.offsetX, event.offsetY)); };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); go(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
  }

  nearest(x, y) {
    let best = Infinity, t = 0;
    for (const one of this.list)
      for (let k = 0; k < one.x.length; k++) {
        const away = Math.hypot(this.scale.px(one.x[k]) - x, this.scale.py(one.y[k]) - y);
        if (away < best) [best, t] = [away, one.t[k]];
      }
    return t;
  }

  draw(list, {overTime, span, now, across, up, log = false}) {
    const {pen, wide, high} = sheet(this.canvas);
    if (!wide || !high) return;
    Object.assign(this, {list, overTime});
    const left = 46, box = [left, 8, wide - left - 8, high - 40];
    const soft = ink("--soft"), line = ink("--line");
    const found = this.scale = curves(pen, box, list, {log, span: overTime ? span : null});
    pen.fillStyle = soft;
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const y of ticks(found.bottom, found.top, 5, log)) {
      pen.fillText(shortest(y, 3), left - 4, found.py(y));
      pen.beginPath(); pen.moveTo(left, found.py(y)); pen.lineTo(wide - 8, found.py(y)); pen.globalAlpha = 0.6; pen.stroke(); pen.globalAlpha = 1;
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const ends = overTime ? span : room(list.map((one) => one.x));
    for (const x of ticks(ends[0], ends[1], Math.max(2, Math.floor(wide / 75)))) pen.fillText(shortest(x, 3), found.px(x), high - 29);
    pen.fillText(across, left + 0.5 * box[2], high - 14);
    if (up) { pen.textAlign = "left"; pen.fillText(up, left + 3, 6); }
    curves(pen, box, list, {log, span: overTime ? span : null});
    if (overTime) { pen.strokeStyle = ink("--ink"); pen.beginPath(); pen.moveTo(found.px(now), 8); pen.lineTo(found.px(now), high - 32); pen.stroke(); }
    for (const one of list) {
      const k = one.now;
      if (k === undefined || !Number.isFinite(one.y[k])) continue;
      pen.fillStyle = one.colour;
      pen.beginPath(); pen.arc(found.px(one.x[k]), found.py(one.y[k]), 3.5, 0, 7); pen.fill();
    }
  }
}

// Draw the strips under the time line: energies, and the residual on a logarithmic scale.
class Strips {
  constructor(canvas, seek) {
    this.canvas = canvas;
    this.hover = null;
    const go = (event) => { if (this.scale) seek(this.scale.time(event.offsetX)); };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); go(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
  }

  draw(runs, span, now, verdicts) {
    const {pen, wide, high} = sheet(this.canvas);
    if (!wide || !high) return;
    const soft = ink("--soft"), half = (high - 4) / 2;
    const energies = ["kinetic energy", "potential energy", "kinetic + potential", "energy"];
    const lists = [[], []];
    runs.forEach((run, r) => {
      const dash = r > 0;
      for (const one of run.series) {
        const k = energies.indexOf(one.name);
        if (k >= 0 && one.group === "energy and solver") lists[0].push({x: run.t, y: one.data, colour: [curveColour(4), curveColour(0), ink("--ink")][Math.min(k, 2)], dash});
      }
      lists[1].push({x: run.t, y: run.residual, colour: curveColour(2), dash});
      if (run.tolerance) lists[1].push({x: span, y: [run.tolerance, run.tolerance], colour: soft, dash: true});
    });
    const write = (text, x, y, colour) => { pen.fillStyle = colour; pen.fillText(text, x, y); };
    const titles = [["energy", ink("--soft")], ["kinetic", curveColour(4)], ["potential", curveColour(0)], ["sum", ink("--ink")]];
    lists.forEach((list, k) => {
      const top = k * (half + 4), head = 14;
      pen.fillStyle = ink("--hover");
      pen.fillRect(8, top + head, wide - 16, half - head);
      const found = curves(pen, [8, top + head + 2, wide - 16, half - head - 4], list, {span, log: k === 1});
      if (k === 0) this.scale = found;
      pen.textBaseline = "top";
      pen.textAlign = "left";
      let x = 8;
      for (const [word, colour] of k ? [["residual", curveColour(2)], ["tolerance", soft]] : titles) {
        if (k === 0 && !list.length && word !== "energy") continue;
        write(word, x, top, colour);
        x += pen.measureText(word).width + 8;
      }
      if (k === 1)
        runs.forEach((run) => {
          pen.fillStyle = ink("--bad");
          for (let i = 0; i < run.length; i++) if (verdicts[run.verdict[i]] === "missed") pen.fillRect(found.px(run.t[i]) - 1, top + half - 5, 2, 5);
        });
      pen.textAlign = "right";
      const [low, high_] = bounds(list.filter((one) => one.x !== span).map((one) => one.y), k === 1);
      const least = k || Math.abs(low) > 1e-9 * high_ ? low : 0, any = list.some((one) => one.x !== span && Array.from(one.y).some((y) => y > 0));
      write(k && !any ? "0" : `${shortest(least, 3)} to ${shortest(high_, 3)}${k ? "" : " J"}`, wide - 8, top, soft);
    });
    const x = this.scale.px(now);
    pen.strokeStyle = ink("--ink");
    pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, high); pen.stroke();
  }
}
