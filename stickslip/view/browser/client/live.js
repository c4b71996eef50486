// 13. A live run: the page requests each frame after it has received the previous one.
async function listen(view, number) {
  const run = view.runs[0];
  view.tail = true;
  by("live").hidden = false;
  for (const id of ["rate", "again"]) by(id).hidden = true;
  const order = (name) => fetch("order", {method: "POST", headers: {"X-Stickslip": name}}).catch(() => {});
  by("hold").addEventListener("click", () => order("hold"));
  by("stop").addEventListener("click", () => order("stop"));
  by("slow").addEventListener("change", () => order(by("slow").checked ? "slow" : "fast"));
  for (;;) {
    let answer = null;
    try {
      answer = await fetch(`next?after=${number}`);
    } catch (error) { break; }
    if (answer.status !== 200) { await new Promise((done) => setTimeout(done, 300)); continue; }
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (!bytes.length) break;
    const long = new DataView(bytes.buffer).getUint32(0, true);
    const info = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + long)));
    number = info.number;
    by("hold").textContent = info.held ? "Continue" : "Pause the run";
    by("notes").replaceChildren(el("p", {textContent: info.progress}));
    const data = unpacked(info.instant, await inflated(bytes.subarray(4 + long)));
    if (!run.length || data.t[0] > run.t[run.length - 1] || !run.frames) {
      run.append(data, info);
      view.player.set(Array.from(run.t));
      if (view.tail) view.player.now = view.player.end;
      view.cache.clear();
      view.changed();
    }
  }
  // The run is over: reload the page if the same address serves the recorded run.
  by("live").hidden = true;
  view.say("the run is over");
  for (let k = 0; k < 120; k++) {
    await new Promise((done) => setTimeout(done, 500));
    try {
      if ((await (await fetch("kind")).text()) === "run") return location.reload();
    } catch (error) { /* no server yet */ }
  }
}
