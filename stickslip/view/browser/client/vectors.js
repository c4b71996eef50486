// 1. Vectors, quaternions (scalar first) and column-major matrices.

const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const times = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const size = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => times(a, 1 / (size(a) || 1));
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// Rotate a vector by the quaternion that begins at p[k].
function turn(p, k, a) {
  const w = p[k], x = p[k + 1], y = p[k + 2], z = p[k + 3];
  const u = 2 * (y * a[2] - z * a[1]), v = 2 * (z * a[0] - x * a[2]), t = 2 * (x * a[1] - y * a[0]);
  return [a[0] + w * u + y * t - z * v, a[1] + w * v + z * u - x * t, a[2] + w * t + x * v - y * u];
}

// Quaternion of the shortest rotation from the z axis to a unit vector.
function turnTo(d) {
  if (d[2] < -0.999999) return [0, 1, 0, 0];
  const w = Math.sqrt(0.5 * (1 + d[2]));
  return [w, -d[1] / (2 * w), d[0] / (2 * w), 0];
}

function product(a, b) {
  const m = new Float32Array(16);
  for (let i = 0; i < 4; i++)
    for (let j = 0; j < 4; j++)
      for (let k = 0; k < 4; k++) m[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return m;
}

function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2), d = 1 / (near - far);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * d, -1, 0, 0, 2 * far * near * d, 0];
}

function looking(eye, right, above, back) {
  const row = (a) => -dot(a, eye);
  return [right[0], above[0], back[0], 0, right[1], above[1], back[1], 0, right[2], above[2], back[2], 0,
    row(right), row(above), row(back), 1];
}
