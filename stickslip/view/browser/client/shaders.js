// 4. Shaders: instances of meshes, round points, and lines of constant width on the screen.

const MESH = [`#version 300 es
in vec3 corner; in vec3 normal;
in vec3 place; in vec4 turned; in vec3 scale; in vec4 colour; in vec4 name;
uniform mat4 view;
out vec3 vNormal; out vec3 vPlace; out vec3 vCorner; flat out vec4 vColour; flat out vec4 vName;
vec3 rotated(vec4 p, vec3 a) { return a + 2.0 * cross(p.yzw, cross(p.yzw, a) + p.x * a); }
void main() {
  vPlace = place + rotated(turned, scale * corner);
  vNormal = rotated(turned, normal / scale);
  vCorner = corner; vColour = colour; vName = name;
  gl_Position = view * vec4(vPlace, 1.0);
}`, `#version 300 es
precision highp float;
in vec3 vNormal; in vec3 vPlace; in vec3 vCorner; flat in vec4 vColour; flat in vec4 vName;
uniform vec4 cut; uniform vec3 up; uniform vec3 sun; uniform float alpha; uniform float ball; uniform bool pick; uniform float dim;
out vec4 seen;
void main() {
  if (dot(vPlace, cut.xyz) > cut.w) discard;
  if (pick) { seen = vName; return; }
  vec3 c = vColour.rgb * dim;
  if (ball > 0.5 && vCorner.x * vCorner.y * vCorner.z > 0.0) c *= 0.72;
  if (!gl_FrontFacing) { seen = vec4(c * 0.5, alpha); return; }
  vec3 n = normalize(vNormal);
  float light = 0.5 + 0.2 * dot(n, up) + 0.48 * max(dot(n, sun), 0.0);
  seen = vec4(c * light + 0.03, alpha);
}`];

// Small balls: discs that face the camera, in front of the ball and shaded like it; two triangles each.
const DISC = [`#version 300 es
in vec3 corner;
in vec3 place; in vec4 turned; in vec3 scale; in vec4 colour; in vec4 name;
uniform mat4 view; uniform vec3 right; uniform vec3 above; uniform vec3 eye;
out vec2 vCorner; flat out vec4 vColour; flat out vec4 vName; flat out vec4 vTurned; flat out vec3 vPlace; flat out float vRadius;
void main() {
  float away = distance(eye, place);
  vec3 front = place + (eye - place) * (scale.x / away);
  float wide = scale.x * (away - scale.x) / away;
  vCorner = corner.xy; vColour = colour; vName = name; vTurned = turned; vPlace = place; vRadius = scale.x;
  gl_Position = view * vec4(front + wide * (corner.x * right + corner.y * above), 1.0);
}`, `#version 300 es
precision highp float;
in vec2 vCorner; flat in vec4 vColour; flat in vec4 vName; flat in vec4 vTurned; flat in vec3 vPlace; flat in float vRadius;
uniform vec3 right; uniform vec3 above; uniform vec4 cut; uniform vec3 up; uniform vec3 sun; uniform float alpha; uniform bool pick;
out vec4 seen;
vec3 rotated(vec4 p, vec3 a) { return a + 2.0 * cross(p.yzw, cross(p.yzw, a) + p.x * a); }
void main() {
  float r = dot(vCorner, vCorner);
  if (r > 1.0) discard;
  vec3 n = vCorner.x * right + vCorner.y * above + sqrt(1.0 - r) * cross(right, above);
  if (dot(vPlace + vRadius * n, cut.xyz) > cut.w) discard;
  if (pick) { seen = vName; return; }
  vec3 own = rotated(vec4(vTurned.x, -vTurned.yzw), n);
  float light = 0.5 + 0.2 * dot(n, up) + 0.48 * max(dot(n, sun), 0.0);
  seen = vec4(vColour.rgb * (own.x * own.y * own.z > 0.0 ? 0.72 : 1.0) * light + 0.03, alpha);
}`];

const POINT = [`#version 300 es
in vec3 place; in vec4 colour;
uniform mat4 view; uniform float width; uniform float nearer;
out vec4 vColour;
void main() {
  gl_Position = view * vec4(place, 1.0);
  gl_Position.z -= nearer * gl_Position.w;
  gl_PointSize = width;
  vColour = colour;
}`, `#version 300 es
precision highp float;
in vec4 vColour;
uniform float alpha;
out vec4 seen;
void main() {
  float r = length(gl_PointCoord - 0.5);
  if (r > 0.5) discard;
  seen = vec4(r > 0.38 ? vec3(1.0) : vColour.rgb, alpha);
}`];

const LINE = [`#version 300 es
in vec3 start; in vec3 end; in vec4 colour;
uniform mat4 view; uniform vec2 pixels; uniform float width;
out vec4 vColour;
void main() {
  vec4 a = view * vec4(start, 1.0), b = view * vec4(end, 1.0);
  float near = 0.001;
  if (a.w < near && b.w < near) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (a.w < near) a = mix(a, b, (near - a.w) / (b.w - a.w));
  if (b.w < near) b = mix(b, a, (near - b.w) / (a.w - b.w));
  vec2 way = (b.xy / b.w - a.xy / a.w) * pixels;
  vec2 side = length(way) > 1e-6 ? normalize(vec2(-way.y, way.x)) : vec2(1.0, 0.0);
  vec4 here = (gl_VertexID & 2) == 0 ? a : b;
  here.xy += ((gl_VertexID & 1) == 0 ? 1.0 : -1.0) * side * width / pixels * here.w;
  gl_Position = here;
  vColour = colour;
}`, `#version 300 es
precision highp float;
in vec4 vColour;
uniform float alpha;
out vec4 seen;
void main() { seen = vec4(vColour.rgb, vColour.a * alpha); }`];
