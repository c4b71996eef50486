// 11. The panel: display options, contacts, the selected body, plots.

const by = (id) => document.getElementById(id);
const ROWS = 150; // largest number of listed contacts

function el(tag, props = {}, ...children) {
  const made = Object.assign(document.createElement(tag), props);
  for (const [name, value] of Object.entries(props)) if (name.includes("-") || name === "role") made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const option = (value, text = value) => el("option", {value, textContent: text});
const facts = (rows) => el("div", {className: "facts"}, ...rows.flatMap(([name, value]) => [el("span", {textContent: name}), el("span", {textContent: value})]));
const vector = (x) => x.map((c) => shortest(c + 0, 3)).join(", ");

class Panel {
  constructor(view) {
    this.view = view;
    this.pages = {};
    this.plotted = [];
    this.across = "";
    const names = view.solid ? ["Show", "Contacts", "Body", "Plot"] : ["Plot"];
    for (const name of names) {
      const tab = el("button", {type: "button", role: "tab", textContent: name, id: `tab-${name}`, "aria-controls": `page-${name}`});
      tab.addEventListener("click", () => this.open(name));
      by("tabs").append(tab);
      const page = el("div", {id: `page-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`});
      by("bodies").append(page);
      this.pages[name] = {tab, page};
    }
    if (view.solid) {
      this._show(this.pages.Show.page);
      this._contacts(this.pages.Contacts.page);
      this._body(this.pages.Body.page);
    }
    this._plot(this.pages.Plot.page);
    this.open(names[0]);
  }

  open(name) {
    this.shown = name;
    for (const [each, {tab, page}] of Object.entries(this.pages)) {
      page.hidden = each !== name;
      tab.setAttribute("aria-selected", each === name);
    }
    this.refresh();
  }

  // 1. Display options.
  _show(page) {
    const {view} = this, {show} = view, run = view.runs[0];
    const box = (name, text, key, there = true) => {
      const input = el("input", {type: "checkbox", id: `show-${name}`, checked: show[name], disabled: !there});
      input.addEventListener("change", () => view.set(name, input.checked));
      return el("label", {}, input, text, ...(key ? [el("kbd", {textContent: key})] : []));
    };
    const pick = (name, text, choices, key) => {
      const input = el("select", {id: `show-${name}`, "aria-label": text}, ...choices.map(([value, word]) => option(value, word)));
      input.value = show[name];
      input.addEventListener("change", () => view.set(name, input.value));
      return el("div", {className: "row"}, el("span", {textContent: text}), input, el("kbd", {textContent: key}));
    };
    const slide = (name, text, min, max, step) => {
      const input = el("input", {type: "range", id: `show-${name}`, min, max, step, value: show[name], "aria-label": text});
      input.addEventListener("input", () => view.set(name, +input.value));
      return el("div", {className: "row"}, el("span", {textContent: text}), input);
    };
    const button = (text, key, act, id = "") => {
      const made = el("button", {type: "button", textContent: text, title: `${text} (${key})`, id});
      made.addEventListener("click", act);
      return made;
    };
    page.append(
      el("fieldset", {}, el("legend", {textContent: "Draw"}), el("div", {className: "grid"},
        box("contacts", "contacts", "C"), box("forces", "forces", "F"), box("chains", "force chains", "N"), box("joints", "joints", "J", run.joints.length),
        box("sensors", "sensors", "S", run.sensors.length), box("frames", "frames", "A"), box("labels", "names", "L"), box("solids", "bodies"), box("ground", "ground"))),
      el("fieldset", {}, pick("colour", "colour by", [["body", "body"], ["speed", "speed"], ["force", "contact force"], ["state", "state of contacts"]], "B"),
        pick("paths", "trajectory", [["none", "none"], ["body", "of the chosen body"], ["all", "of all bodies"]], "T"),
        slide("stretch", "arrows", 0.2, 5, 0.1), slide("opacity", "opacity", 0.1, 1, 0.05)),
      el("fieldset", {}, pick("cut", "cut", [["none", "none"], ["x", "across x"], ["y", "across y"], ["z", "across z"], ["view", "across the view"]], "X"),
        slide("cutAt", "position", -1, 1, 0.01), box("flip", "other side")),
      el("fieldset", {}, el("legend", {textContent: "Camera"}), el("div", {className: "row"}, button("Reset", "R", () => view.reset()), button("Front", "1", () => view.look(0, 0)), button("Side", "2", () => view.look(Math.PI / 2, 0)), button("Top", "3", () => view.look(0, 1.55))),
        box("follow", "follow the chosen body, or all", "O")),
      el("fieldset", {}, el("div", {className: "row"}, button("Light or dark", "D", () => view.dark()), button("Save picture", "K", () => view.save()))),
    );
  }

  // 2. Contacts, by decreasing force; a click selects a contact.
  _contacts(page) {
    const {view} = this;
    this.filter = el("select", {"aria-label": "State"}, option("", "all states"), ...view.states.map(([name]) => option(name)));
    this.mine = el("input", {type: "checkbox"});
    this.which = el("select", {"aria-label": "Run", hidden: view.runs.length < 2}, ...view.runs.map((run, k) => option(k, run.title)));
    for (const input of [this.filter, this.mine]) input.addEventListener("change", () => this.refresh());
    this.which.addEventListener("change", () => view.choose({run: +this.which.value, body: null, contact: null}));
    this.contact = el("div");
    this.rows = el("tbody");
    this.more = el("p", {className: "soft"});
    page.append(el("div", {className: "row"}, this.which, this.filter, el("label", {}, this.mine, "of the chosen body")), this.contact,
      el("table", {className: "list"}, el("thead", {}, el("tr", {}, el("th", {textContent: "bodies"}), el("th", {textContent: "force [N]"}))), this.rows), this.more);
  }

  _listed(f, contacts, self = null) {
    const {view} = this, run = view.active;
    return contacts.map((c) => {
      const [a, b] = [f.pair[2 * c], f.pair[2 * c + 1]];
      const name = self === null ? `${run.name(a)} – ${run.name(b)}` : run.name(a === self ? b : a);
      const [word, colour] = view.states[f.state[c]];
      const dot = el("i", {className: "dot", title: word});
      dot.style.background = css(colour);
      const jump = el("button", {type: "button", title: `${name}, ${word}`}, dot, name);
      const row = el("tr", {className: f.id[c] === view.choice.contact ? "chosen" : ""}, el("td", {}, jump), el("td", {textContent: shortest(load(f, c), 3)}));
      row.addEventListener("click", () => view.jump(f.id[c]));
      return row;
    });
  }

  _fillContacts() {
    const {view} = this, f = view.frame(), state = view.states.findIndex(([name]) => name === this.filter.value), own = this.mine.checked ? view.choice.body : null;
    let found = [...Array(f.contacts).keys()];
    if (state >= 0) found = found.filter((c) => f.state[c] === state);
    if (own !== null) found = found.filter((c) => f.pair[2 * c] === own || f.pair[2 * c + 1] === own);
    found.sort((a, b) => load(f, b) - load(f, a));
    this.rows.replaceChildren(...this._listed(f, found.slice(0, ROWS)));
    this.more.textContent = found.length > ROWS ? `and ${found.length - ROWS} more` : found.length ? "" : "no contacts at this instant";
    const c = view.choice.contact === null ? -1 : f.id.indexOf(view.choice.contact), run = view.active;
    if (view.choice.contact === null) this.contact.replaceChildren(el("p", {className: "soft", textContent: "Click a contact, here or in the picture, to go to it."}));
    else if (c < 0) this.contact.replaceChildren(el("p", {className: "soft", textContent: "The chosen contact is open at this instant."}));
    else
      this.contact.replaceChildren(facts([
        ["bodies", `${run.name(f.pair[2 * c])} – ${run.name(f.pair[2 * c + 1])}`],
        ["state", view.states[f.state[c]][0]],
        ["normal force", `${shortest(f.normal[c], 4)} N`], ["friction", `${shortest(friction(f, c), 4)} N`],
        ["force", `${["", "unique", "not unique (least norm)"][f.choice[c]] || "not known whether unique"}`],
        ["gap", `${shortest(f.gap[c], 3)} m`], ["point", `${vector(run.metres(f.point, 3 * c))} m`],
      ]));
  }

  // 3. The selected body.
  _body(page) {
    const {view} = this;
    this.who = el("select", {"aria-label": "Body"});
    this.who.addEventListener("change", () => view.choose({body: this.who.value === "" ? null : +this.who.value, contact: null}));
    this.state = el("div");
    this.touches = el("tbody");
    page.append(el("div", {className: "row"}, this.who), this.state, el("table", {className: "list"}, this.touches));
  }

  _fillBody() {
    const {view} = this, run = view.active, b = view.choice.body, f = view.frame();
    if (this.listed !== run) {
      this.who.replaceChildren(option("", "no body chosen"), ...run.names.slice(0, 5000).map((name, k) => option(k, name)));
      this.listed = run;
    }
    this.who.value = b === null ? "" : b;
    if (b === null) {
      this.state.replaceChildren(el("p", {className: "soft", textContent: "Click a body for its state."}));
      this.touches.replaceChildren();
      return;
    }
    const at = touching(f, b).sort((a, c) => load(f, c) - load(f, a)), kind = ["dynamic", "kinematic", "fixed"][run.kind[b]];
    const three = (x) => [0, 1, 2].map((i) => x[3 * b + i]);
    this.state.replaceChildren(facts([
      ["kind", run.kind[b] === DYNAMIC ? `${kind}, ${shortest(run.mass[b], 4)} kg` : kind],
      ["centre", `${vector(run.metres(f.x, 3 * b))} m`], ["velocity", `${vector(three(f.v))} m/s`], ["spin", `${vector(three(f.w))} rad/s`],
      ["contact force", `${vector(forceOn(f, b))} N`], ["contacts", `${at.length}`],
    ]));
    this.touches.replaceChildren(...this._listed(f, at.slice(0, 30), b));
  }

  // 4. Plots of any quantity.
  _plot(page) {
    const {view} = this;
    this.add = el("select", {"aria-label": "Add a curve"});
    this.add.addEventListener("change", () => { if (this.add.value) this.plot(this.add.value); this.add.value = ""; });
    this.along = el("select", {"aria-label": "Horizontal axis"});
    this.along.addEventListener("change", () => { this.across = this.along.value; this.refresh(); });
    this.log = el("input", {type: "checkbox"});
    this.log.addEventListener("change", () => this.refresh());
    const canvas = el("canvas", {className: "chart", role: "img", id: "plot", "aria-label": "Chosen quantities over time; click to go to a time"});
    this.keys = el("div");
    this.chart = new Chart(canvas, (t) => view.seek(t));
    page.append(el("div", {className: "row"}, this.add), canvas, this.keys,
      el("div", {className: "row"}, el("span", {textContent: "against"}), this.along), el("label", {}, this.log, "logarithmic"),
      el("p", {className: "soft", textContent: view.solid ? "Choose a body or a contact to plot its quantities." : ""}));
  }

  // Add a curve by its key, such as "body|ball: speed".
  plot(key) {
    const one = this.offered.get(key);
    if (one && !this.plotted.some((each) => each.key === key)) this.plotted = [...this.plotted, one].slice(-CURVES);
    this.refresh();
  }

  offer() {
    const {view} = this, sign = JSON.stringify([view.choice, view.active.series.length]);
    if (sign === this.sign) return;
    this.sign = sign;
    this.offered = new Map(quantities(view.active, view.choice).map((one) => [one.key, one]));
    const groups = () => {
      const made = new Map();
      for (const one of this.offered.values()) {
        if (!made.has(one.group)) made.set(one.group, el("optgroup", {label: one.group}));
        made.get(one.group).append(option(one.key, one.name));
      }
      return [...made.values()];
    };
    this.add.replaceChildren(option("", "add a curve …"), ...groups());
    this.along.replaceChildren(option("", "time"), ...groups());
    if (this.offered.has(this.across)) this.along.value = this.across; else this.across = "";
    view.sheets?.offer(groups);
    if (!this.plotted.length && this.offered.size) {
      const first = ["kinetic energy", "potential energy"].map((name) => `energy and solver|${name}`).filter((key) => this.offered.has(key));
      this.plotted = (first.length ? first : [[...this.offered.keys()][0]]).map((key) => this.offered.get(key));
    }
  }

  // Curves of some quantities of all runs, over time or over another quantity.
  curves(plotted, across) {
    const {view} = this, list = [];
    plotted.forEach((one, i) => view.runs.forEach((run, r) => {
      const y = view.values(one, run);
      if (y.length) list.push({x: across ? view.values(across, run) : run.t, t: run.t, y, colour: curveColour(i), dash: r > 0, now: run.at(view.player.now)});
    }));
    const units = [...new Set(plotted.map((one) => one.unit))];
    return [list, {overTime: !across, span: view.span, now: view.player.now, across: across ? `${across.name}${across.unit ? ` [${across.unit}]` : ""}` : "t [s]", up: units.length === 1 && units[0] ? `[${units[0]}]` : ""}];
  }

  _fillPlot() {
    const [list, how] = this.curves(this.plotted, this.offered.get(this.across));
    this.chart.draw(list, {...how, log: this.log.checked});
    const sign = this.plotted.map((one) => one.key).join();
    const now = this.plotted.map((one) => shortest(this.view.values(one, this.view.active)[this.view.active.at(this.view.player.now)], 4));
    if (this.shownKeys !== sign) {
      this.shownKeys = sign;
      this.keys.replaceChildren(...this.plotted.map((one, i) => {
        const bar = el("i"), drop = el("button", {type: "button", textContent: "×", title: `Remove ${one.name}`});
        bar.style.background = `var(--c${i})`;
        drop.addEventListener("click", () => { this.plotted = this.plotted.filter((each) => each !== one); this.refresh(); });
        return el("div", {className: "key"}, bar, el("span", {textContent: one.name, title: one.name}), el("output"), drop);
      }));
    }
    [...this.keys.children].forEach((row, i) => { row.querySelector("output").textContent = `${now[i]} ${this.plotted[i].unit}`; });
  }

  refresh() {
    this.offer();
    if (by("app").classList.contains("closed")) return;
    if (this.shown === "Contacts") this._fillContacts();
    if (this.shown === "Body") this._fillBody();
    if (this.shown === "Plot") this._fillPlot();
  }

  // Update the inputs from the state of the view.
  sync() {
    for (const [name, value] of Object.entries(this.view.show)) {
      const input = by(`show-${name}`);
      if (input?.type === "checkbox") input.checked = value;
      else if (input) input.value = value;
    }
    this.refresh();
  }
}

// Plots in place of the picture for runs without bodies: curves over time, and a phase portrait.
class Sheets {
  constructor(view, panel) {
    Object.assign(this, {view, panel, list: []});
    by("app").classList.add("equations");
    by("sheets").hidden = false;
    const group = (name) => quantities(view.active, view.choice).filter((one) => one.group === name).map((one) => one.key);
    const q = [...group("coordinates"), ...group("states")], v = group("velocities"), r = group("multipliers"), y = group("outputs");
    const energy = group("energy and solver").filter((key) => key.endsWith("|kinetic + potential"));
    for (const key of [...q.slice(0, 3), ...v.slice(0, 2), ...r.slice(0, 2), ...y.slice(0, 1), ...energy]) this.sheet(key, "");
    if (q.length && (v.length || q.length > 1)) this.sheet(v[0] || q[1], q[0]);
  }

  sheet(key, across) {
    const up = el("select", {"aria-label": "Quantity"}), along = el("select", {"aria-label": "Horizontal axis"});
    const canvas = el("canvas", {className: "chart", role: "img", "aria-label": "Plot; click to go to a time"});
    const one = {key, across, up, along, chart: new Chart(canvas, (t) => this.view.seek(t))};
    up.addEventListener("change", () => { one.key = up.value; this.draw(); });
    along.addEventListener("change", () => { one.across = along.value; this.draw(); });
    by("sheets").append(el("figure", {}, el("div", {className: "row"}, up, along), canvas));
    this.list.push(one);
  }

  offer(groups) {
    for (const one of this.list) {
      one.up.replaceChildren(...groups());
      one.along.replaceChildren(option("", "over time"), ...groups());
      for (const o of one.along.querySelectorAll("optgroup option")) o.textContent = `against ${o.textContent}`;
      one.up.value = one.key;
      one.along.value = one.across;
    }
  }

  draw() {
    const {offered} = this.panel;
    for (const one of this.list) if (offered.has(one.key)) one.chart.draw(...this.panel.curves([offered.get(one.key)], offered.get(one.across)));
  }
}
