// 10. The player: a time of the run that advances with the clock.

const SPEEDS = [0.01, 0.03, 0.1, 0.25, 0.5, 1, 2, 4, 8];
const SHORTEST = 3; // shortest duration of a replay, if the list of speeds allows it [s]
const HOLD = 0.7; // time for which the last frame is shown before the loop restarts [s]

class Player {
  constructor(times, factor = 1) {
    this.factor = factor; // factor of all speeds, an option of the page
    this.set(times);
    const span = this.end - this.start;
    this.speed = factor === 1 ? SPEEDS.filter((s) => s <= 1 && span >= SHORTEST * s).pop() ?? SPEEDS[0] : 1;
    this.now = this.start;
    this.playing = false;
    this.loop = true;
  }

  set(times) {
    this.times = times; // times of the frames of all runs, ascending
    this.start = times[0];
    this.end = times[times.length - 1];
  }

  get index() {
    let k = 0;
    while (k + 1 < this.times.length && this.times[k + 1] <= this.now) k++;
    return k;
  }

  play(clock) {
    if (this.now >= this.end) this.now = this.start;
    this.playing = this.end > this.start;
    this.begun = [this.now, clock];
  }

  pause() { this.playing = false; }

  seek(t, clock) {
    this.now = clamp(t, this.start, this.end);
    this.begun = [this.now, clock];
  }

  step(by, clock) {
    this.pause();
    this.seek(this.times[clamp(this.index + by, 0, this.times.length - 1)], clock);
  }

  pace(speed, clock) {
    this.speed = speed;
    this.begun = [this.now, clock];
  }

  // Time of the run at a reading of the clock [s].
  tick(clock) {
    if (!this.playing) return;
    const t = this.begun[0] + this.speed * this.factor * (clock - this.begun[1]);
    if (t <= this.end) this.now = t;
    else if (this.loop && t > this.end + HOLD * this.speed * this.factor) {
      this.now = this.start;
      this.begun = [this.now, clock];
    } else {
      this.now = this.end;
      if (!this.loop) this.playing = false;
    }
  }
}
