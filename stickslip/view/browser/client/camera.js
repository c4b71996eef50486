// 8. The camera: it orbits a target, which may follow a body.

const ANGLE = (40 * Math.PI) / 180, FILLED = 0.8;

class Camera {
  constructor(up, half) {
    const least = Math.abs(up[2]) > 0.99 ? [0, -1, 0] : [[1, 0, 0], [0, 1, 0], [0, 0, 1]][[0, 1, 2].reduce((a, b) => (Math.abs(up[b]) < Math.abs(up[a]) ? b : a))];
    this.up = up;
    this.front = unit(add(least, up, -dot(least, up)));
    this.side = cross(this.front, up);
    this.half = half;
    this.reset(1.5);
  }

  // Show the whole scene, slightly from above.
  reset(aspect, azimuth = -0.487, height = 0.412) {
    this.azimuth = azimuth;
    this.height = height;
    this.target = [0, 0, 0];
    const {back, right, above} = this.axes(), high = FILLED * Math.tan(ANGLE / 2);
    let needed = 1.5;
    for (let k = 0; k < 8; k++) {
      const corner = this.half.map((h, i) => ((k >> i) & 1 ? h : -h));
      needed = Math.max(needed, dot(corner, back) + Math.max(Math.abs(dot(corner, above)) / high, Math.abs(dot(corner, right)) / (high * aspect)));
    }
    this.distance = needed;
  }

  axes() {
    const level = add(times(this.front, Math.cos(this.azimuth)), this.side, Math.sin(this.azimuth));
    const back = add(times(level, Math.cos(this.height)), this.up, Math.sin(this.height));
    const right = cross(this.up, level);
    return {back, right, above: cross(back, right)};
  }

  get eye() { return add(this.target, this.axes().back, this.distance); }

  turn(dx, dy) {
    this.azimuth += 0.008 * dx;
    this.height = clamp(this.height + 0.008 * dy, -1.55, 1.55);
  }

  // Move the target by dx, dy pixels in a view of the height `high` [px].
  move(dx, dy, high) {
    const {right, above} = this.axes(), step = (2 * Math.tan(ANGLE / 2) * this.distance) / high;
    this.target = add(add(this.target, right, -dx * step), above, dy * step);
  }

  zoom(factor) { this.distance = clamp(this.distance * factor, 0.02, 400); }

  // View and projection matrix for an aspect ratio, width over height.
  matrix(aspect) {
    const {back, right, above} = this.axes();
    return product(perspective(ANGLE, aspect, 0.01 * this.distance, 20 * this.distance + 60), looking(this.eye, right, above, back));
  }

  // Position of a point on the screen [px] in a view of this width and height; null behind the camera.
  seen(x, wide, high) {
    const {back, right, above} = this.axes(), way = add(x, this.eye, -1), ahead = -dot(way, back);
    if (ahead <= 0) return null;
    const scale = (0.5 * high) / Math.tan(ANGLE / 2) / ahead;
    return [0.5 * wide + scale * dot(way, right), 0.5 * high - scale * dot(way, above), scale];
  }
}
