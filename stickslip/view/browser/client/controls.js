// 12. Controls: touch, mouse and keyboard.

const KEYS = [
  ["Space", "play or pause"], ["← →", "previous or next frame"], ["Home End", "first or last frame"], ["+ −", "faster or slower"],
  ["C", "contacts"], ["F", "forces"], ["N", "force chains"], ["J", "joints"], ["S", "sensors"], ["A", "frames (axes)"], ["L", "names"],
  ["B", "colour by …"], ["T", "trajectories"], ["X", "cut by a plane"], ["[ ]", "move the plane"], ["O", "camera follows"], ["R", "reset the camera"],
  ["1 2 3", "from the front, the side, above"], ["G", "go to the next contact"], ["P", "panel"], ["D", "light or dark"], ["K", "save a picture"], ["Esc", "clear the selection"], ["?", "this list"],
  ["drag", "turn"], ["Shift + drag, right drag", "move"], ["wheel, pinch", "zoom"], ["click", "choose a body or a contact"],
];

const cycle = (list, now) => list[(list.indexOf(now) + 1) % list.length];

function bindPointer(view, stage) {
  const fingers = new Map();
  let moved = 0, spread = 0;
  const gap = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  stage.addEventListener("pointerdown", (event) => {
    if (event.target.closest("#card, #open, #sheets")) return;
    stage.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    moved = 0;
    if (fingers.size === 2) spread = gap();
  });
  stage.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const dx = event.clientX - last.x, dy = event.clientY - last.y;
    moved += Math.abs(dx) + Math.abs(dy);
    last.x = event.clientX;
    last.y = event.clientY;
    if (fingers.size === 2) {
      const now = gap();
      view.camera.zoom(spread / (now || 1));
      view.camera.move(dx / 2, dy / 2, view.height);
      spread = now;
    } else if (moved > 3) {
      if (event.buttons === 2 || event.buttons === 4 || event.shiftKey) view.camera.move(dx, dy, view.height);
      else view.camera.turn(-dx, dy);
    }
    view.touch();
  });
  const end = (event) => {
    const own = fingers.delete(event.pointerId);
    if (own && event.type === "pointerup" && moved <= 3 && event.button === 0 && !fingers.size) view.pick(event.clientX, event.clientY);
  };
  stage.addEventListener("pointerup", end);
  stage.addEventListener("pointercancel", end);
  stage.addEventListener("contextmenu", (event) => event.preventDefault());
  stage.addEventListener("wheel", (event) => {
    if (event.target.closest("#card, #sheets")) return;
    event.preventDefault();
    view.camera.zoom(Math.exp(clamp(event.deltaY, -200, 200) * 0.0015));
    view.touch();
  }, {passive: false});
}

function bindKeys(view) {
  const flag = (name) => () => { if (!by(`show-${name}`)?.disabled) { view.set(name, !view.show[name]); view.say(`${by(`show-${name}`).parentNode.firstChild.nextSibling.textContent}: ${view.show[name] ? "on" : "off"}`); } };
  const next = (name) => () => { view.set(name, cycle([...by(`show-${name}`).options].map((o) => o.value), view.show[name])); view.say(`${by(`show-${name}`).getAttribute("aria-label")}: ${by(`show-${name}`).selectedOptions[0].textContent}`); };
  const faster = (by_) => () => view.setSpeed(SPEEDS[clamp(SPEEDS.indexOf(view.player.speed) + by_, 0, SPEEDS.length - 1)]);
  const solid = {
    c: flag("contacts"), f: flag("forces"), n: flag("chains"), j: flag("joints"), s: flag("sensors"), a: flag("frames"), l: flag("labels"), o: flag("follow"),
    b: next("colour"), t: next("paths"), x: next("cut"), r: () => view.reset(), 1: () => view.look(0, 0), 2: () => view.look(Math.PI / 2, 0), 3: () => view.look(0, 1.55),
    "[": () => view.set("cutAt", clamp(view.show.cutAt - 0.04, -1, 1)), "]": () => view.set("cutAt", clamp(view.show.cutAt + 0.04, -1, 1)),
    g: () => view.nextContact(), k: () => view.save(), escape: () => view.choose({body: null, contact: null}),
  };
  const all = {
    " ": () => view.toggle(), arrowleft: () => view.step(-1), arrowright: () => view.step(1), home: () => view.seek(-Infinity), end: () => view.seek(Infinity),
    "+": faster(1), "=": faster(1), "-": faster(-1), p: () => view.fold(), d: () => view.dark(), "?": () => by("help").showModal(),
  };
  const known = view.solid ? {...all, ...solid} : all;
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey || !known[key] || by("help").open) return;
    const there = event.target;
    if (there.matches?.("select, input[type=search]") && key.length === 1) return;
    if (there.matches?.("select") && key.startsWith("arrow")) return;
    if (there.matches?.("input[type=range]:not(#slider)") && key.startsWith("arrow")) return;
    if (key === " " && there.matches?.("button, input[type=checkbox], summary, select")) return;
    event.preventDefault();
    known[key]();
  });
  by("keys").append(...KEYS.map(([key, text]) => el("div", {}, el("span", {textContent: text}), el("kbd", {textContent: key}))));
}

function bindBar(view) {
  const on = (id, act) => by(id).addEventListener("click", act);
  on("play", () => view.toggle());
  on("first", () => view.seek(-Infinity));
  on("last", () => view.seek(Infinity));
  on("back", () => view.step(-1));
  on("on", () => view.step(1));
  on("ask", () => by("help").showModal());
  on("open", () => view.fold());
  by("slider").addEventListener("input", () => { view.player.pause(); view.seek(+by("slider").value); });
  by("speed").append(...SPEEDS.map((s) => option(s, `${s}×`)));
  by("speed").addEventListener("change", () => view.setSpeed(+by("speed").value));
  by("loop").addEventListener("change", () => { view.player.loop = by("loop").checked; });
}
