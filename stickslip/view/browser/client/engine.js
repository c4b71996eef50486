// 5. WebGL: programs, meshes and lists of instances.

const COPY = 12; // numbers per instance: position 3, quaternion 4, scale 3, colour 1, picking code 1

function program(gl, [vertex, fragment]) {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  const names = (count, one) => [...Array(gl.getProgramParameter(made, count)).keys()].map((k) => gl[one](made, k).name);
  const at = {};
  for (const name of names(gl.ACTIVE_UNIFORMS, "getActiveUniform")) at[name] = gl.getUniformLocation(made, name);
  for (const name of names(gl.ACTIVE_ATTRIBUTES, "getActiveAttrib")) at[name] = gl.getAttribLocation(made, name);
  return {made, at};
}

// Upload a mesh; the triangles of flat meshes do not share corners.
function solidMesh(gl, at, mesh) {
  const flat = mesh.flat, count = mesh.t.length;
  const corners = new Float32Array(flat ? 3 * count : mesh.v.length), normals = new Float32Array(corners.length);
  let order = mesh.t, reach = 0;
  if (flat) {
    for (let i = 0; i < count; i++) corners.set(mesh.v.subarray(3 * mesh.t[i], 3 * mesh.t[i] + 3), 3 * i);
    order = Int32Array.from({length: count}, (_, i) => i);
  } else corners.set(mesh.v);
  const at3 = (k) => corners.subarray(3 * k, 3 * k + 3);
  for (let i = 0; i < count; i += 3) {
    const [a, b, c] = [order[i], order[i + 1], order[i + 2]];
    const n = cross(add(at3(b), at3(a), -1), add(at3(c), at3(a), -1));
    for (const k of [a, b, c]) for (let j = 0; j < 3; j++) normals[3 * k + j] += n[j];
  }
  for (let i = 0; i < corners.length; i += 3) {
    const n = unit(normals.subarray(i, i + 3));
    normals.set(size(n) ? n : [0, 0, 1], i);
    reach = Math.max(reach, size(corners.subarray(i, i + 3)));
  }
  const array = gl.createVertexArray(), copies = gl.createBuffer();
  gl.bindVertexArray(array);
  for (const [name, data] of [["corner", corners], ["normal", normals]]) {
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    if (!(name in at)) continue;
    gl.enableVertexAttribArray(at[name]);
    gl.vertexAttribPointer(at[name], 3, gl.FLOAT, false, 0, 0);
  }
  gl.bindBuffer(gl.ARRAY_BUFFER, copies);
  let from = 0;
  for (const [name, width, kind] of [["place", 3, gl.FLOAT], ["turned", 4, gl.FLOAT], ["scale", 3, gl.FLOAT], ["colour", 4, gl.UNSIGNED_BYTE], ["name", 4, gl.UNSIGNED_BYTE]]) {
    gl.enableVertexAttribArray(at[name]);
    gl.vertexAttribPointer(at[name], width, kind, kind !== gl.FLOAT, 4 * COPY, from);
    gl.vertexAttribDivisor(at[name], 1);
    from += kind === gl.FLOAT ? 4 * width : 4;
  }
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(order), gl.STATIC_DRAW);
  gl.bindVertexArray(null);
  return {array, copies, count, reach};
}

// A growing list of instances.
class Copies {
  constructor() { this.clear(64); }

  clear(room) {
    this.count = 0;
    if (room) this._allot(new ArrayBuffer(4 * COPY * room));
  }

  _allot(buffer) {
    this.real = new Float32Array(buffer);
    this.whole = new Uint32Array(buffer);
  }

  put(place, turned, scale, colour, name = 0) {
    let k = COPY * this.count++;
    if (k + COPY > this.real.length) {
      const old = this.real;
      this._allot(new ArrayBuffer(2 * old.buffer.byteLength));
      this.real.set(old);
    }
    const r = this.real;
    r[k++] = place[0]; r[k++] = place[1]; r[k++] = place[2];
    r[k++] = turned[0]; r[k++] = turned[1]; r[k++] = turned[2]; r[k++] = turned[3];
    r[k++] = scale[0]; r[k++] = scale[1]; r[k++] = scale[2];
    this.whole[k++] = coded(colour);
    this.whole[k] = name;
  }
}

const coded = (c, a = 255) => (c[0] | (c[1] << 8) | (c[2] << 16) | (a << 24)) >>> 0;

class Engine {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", {alpha: false, antialias: !slowCard(), preserveDrawingBuffer: false, powerPreference: "high-performance"});
    if (!gl) throw new Error("this browser has no WebGL 2");
    this.gl = gl;
    this.canvas = canvas;
    this.mesh = program(gl, MESH);
    this.point = program(gl, POINT);
    this.line = program(gl, LINE);
    this.disc = program(gl, DISC);
    this.square = solidMesh(gl, this.disc.at, {v: new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), t: new Int32Array([0, 1, 2, 0, 2, 3]), flat: false});
    this.lists = {point: this._array(this.point.at, [["place", 3], ["colour", 0]], 0), line: this._array(this.line.at, [["start", 3], ["end", 3], ["colour", 0]], 1)};
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  _array(at, parts, divisor) {
    const gl = this.gl, array = gl.createVertexArray(), buffer = gl.createBuffer();
    const stride = parts.reduce((sum, [, width]) => sum + 4 * (width || 1), 0);
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    let from = 0;
    for (const [name, width] of parts) {
      gl.enableVertexAttribArray(at[name]);
      if (width) gl.vertexAttribPointer(at[name], width, gl.FLOAT, false, stride, from);
      else gl.vertexAttribPointer(at[name], 4, gl.UNSIGNED_BYTE, true, stride, from);
      gl.vertexAttribDivisor(at[name], divisor);
      from += 4 * (width || 1);
    }
    gl.bindVertexArray(null);
    return {array, buffer};
  }

  // Draw all instances of a mesh in one call.
  copies(mesh, list, uniforms = {}) {
    if (!list.count) return;
    const gl = this.gl, at = this.mesh.at;
    gl.useProgram(this.mesh.made);
    gl.uniform1f(at.ball, uniforms.ball ? 1 : 0);
    gl.uniform1f(at.alpha, uniforms.alpha ?? 1);
    gl.uniform1f(at.dim, uniforms.dim ?? 1);
    gl.uniform4fv(at.cut, uniforms.cut || [0, 0, 0, 1]);
    gl.bindVertexArray(mesh.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.copies);
    gl.bufferData(gl.ARRAY_BUFFER, list.real.subarray(0, COPY * list.count), gl.DYNAMIC_DRAW);
    gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0, list.count);
  }

  // Draw small balls as discs.
  discs(list, {alpha = 1, cut} = {}) {
    if (!list.count) return;
    const gl = this.gl, at = this.disc.at;
    gl.useProgram(this.disc.made);
    gl.uniform1f(at.alpha, alpha);
    gl.uniform4fv(at.cut, cut || [0, 0, 0, 1]);
    gl.bindVertexArray(this.square.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.square.copies);
    gl.bufferData(gl.ARRAY_BUFFER, list.real.subarray(0, COPY * list.count), gl.DYNAMIC_DRAW);
    gl.drawElementsInstanced(gl.TRIANGLES, 6, gl.UNSIGNED_INT, 0, list.count);
  }

  // Set the uniforms common to all programs.
  begin(view, up, sun, {right, above}, eye, pick = false) {
    const gl = this.gl;
    this.view = view;
    for (const {made, at} of [this.mesh, this.disc]) {
      gl.useProgram(made);
      gl.uniformMatrix4fv(at.view, false, view);
      gl.uniform3fv(at.up, up);
      gl.uniform3fv(at.sun, sun);
      gl.uniform1i(at.pick, pick ? 1 : 0);
    }
    gl.uniform3fv(this.disc.at.right, right);
    gl.uniform3fv(this.disc.at.above, above);
    gl.uniform3fv(this.disc.at.eye, eye);
  }

  points(data, count, width, alpha, nearer) {
    this._list("point", data, width, alpha, (at) => this.gl.uniform1f(at.nearer, nearer));
    this.gl.drawArrays(this.gl.POINTS, 0, count);
  }

  lines(data, count, width, alpha, pixels) {
    this._list("line", data, width, alpha, (at) => this.gl.uniform2fv(at.pixels, pixels));
    this.gl.drawArraysInstanced(this.gl.TRIANGLE_STRIP, 0, 4, count);
  }

  _list(kind, data, width, alpha, more) {
    const gl = this.gl, {made, at} = this[kind], list = this.lists[kind];
    gl.useProgram(made);
    gl.uniformMatrix4fv(at.view, false, this.view);
    gl.uniform1f(at.width, width);
    gl.uniform1f(at.alpha, alpha);
    more(at);
    gl.bindVertexArray(list.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, list.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
  }
}

// Whether WebGL is rendered in software, where antialiasing is too slow.
function slowCard() {
  const gl = document.createElement("canvas").getContext("webgl");
  const about = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const name = about ? gl.getParameter(about.UNMASKED_RENDERER_WEBGL) : "";
  if (gl) gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}
