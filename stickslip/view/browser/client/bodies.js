// 6. Bodies: instances of their meshes, with levels of detail by their size on the screen.

const LEVELS = [[26, 9], [90, 26]]; // radius on the screen above which a level of detail is used [px], from fine to coarse; of shapes, of balls
const BALLS = [48, 24, 14]; // numbers of meridians of the levels of detail of balls
const SMALL = 22; // radius on the screen below which a ball is drawn as a disc [px]

class Bodies {
  constructor(engine, run, number) {
    this.engine = engine;
    this.run = run;
    this.number = number; // number of the run, part of the codes used for picking
    this.groups = run.groups.map((group) => {
      const round = (n) => revolved([...Array(n / 2 + 1).keys()].map((k) => [Math.sin((2 * Math.PI * k) / n), Math.cos((2 * Math.PI * k) / n)]), n);
      const meshes = (group.ball ? BALLS.map(round) : group.meshes).map((mesh) => solidMesh(engine.gl, engine.mesh.at, mesh));
      const bare = Array.from(group.x).every((c) => c === 0) && Array.from(group.p).every((c, i) => c === (i % 4 ? 0 : 1));
      const scales = Array.from(group.body, (_, i) => Math.max(...group.scale.subarray(3 * i, 3 * i + 3)));
      return {...group, meshes, lists: meshes.map(() => new Copies()), discs: new Copies(), bare, scales};
    });
  }

  // Fill the lists of instances for a frame and a camera.
  place(f, colours, chosen, eye, focal) {
    const none = [0, 0, 0, 0];
    for (const group of this.groups) {
      for (const list of [...group.lists, group.discs]) list.clear();
      const far = group.meshes.length - 1, {x, p, scale, colour} = group;
      for (let i = 0; i < group.body.length; i++) {
        const b = group.body[i], at = 3 * b, q = 4 * b;
        let place, turned;
        if (group.bare) {
          place = [f.x[at], f.x[at + 1], f.x[at + 2]];
          turned = [f.p[q], f.p[q + 1], f.p[q + 2], f.p[q + 3]];
        } else {
          const arm = turn(f.p, q, [x[3 * i], x[3 * i + 1], x[3 * i + 2]]);
          place = [f.x[at] + arm[0], f.x[at + 1] + arm[1], f.x[at + 2] + arm[2]];
          turned = quaternionProduct(f.p, q, p, 4 * i);
        }
        if (!turned[0] && !turned[1] && !turned[2] && !turned[3]) turned = [1, 0, 0, 0];
        let level = 0, list = null;
        if (far) {
          const away = Math.hypot(place[0] - eye[0], place[1] - eye[1], place[2] - eye[2]);
          const pixels = (focal * group.scales[i] * group.meshes[0].reach) / Math.max(away, 1e-6);
          level = LEVELS[+group.ball].findIndex((least) => pixels > least);
          if (level < 0) level = far;
          if (group.ball && pixels < SMALL && scale[3 * i] === scale[3 * i + 1] && scale[3 * i] === scale[3 * i + 2]) list = group.discs;
        }
        const own = colour.subarray(3 * i, 3 * i + 3);
        const shown = !group.ground && chosen.has(b) ? CHOSEN : (!group.ground && colours && colours[b]) || own;
        (list || group.lists[level]).put(place, turned, scale.subarray(3 * i, 3 * i + 3), shown, group.ground ? 0 : this.number * 0x800000 + b + 1);
      }
    }
  }

  draw({alpha = 1, cut, dim = 1, ground = true, solids = true}) {
    for (const group of this.groups) {
      if (group.ground ? !ground : !solids) continue;
      group.meshes.forEach((mesh, k) =>
        this.engine.copies(mesh, group.lists[k], group.ground ? {dim} : {alpha, cut, ball: group.ball}));
      this.engine.discs(group.discs, {alpha, cut});
    }
  }
}

function quaternionProduct(a, i, b, j) {
  const [aw, ax, ay, az] = [a[i], a[i + 1], a[i + 2], a[i + 3]], [w, x, y, z] = [b[j], b[j + 1], b[j + 2], b[j + 3]];
  return [aw * w - ax * x - ay * y - az * z, aw * x + ax * w + ay * z - az * y, aw * y - ax * z + ay * w + az * x, aw * z + ax * y - ay * x + az * w];
}
