"use strict";
// The numbers beside the picture: the player calls show(k) whenever it comes to frame k, forwards or backwards.
window.stickslip = {
  show(k) {
    const rows = JSON.parse(document.getElementById("stickslip-rows").textContent);
    this.show = (number) => {
      if (number >= rows.length) return;  // a world alone has no numbers
      rows[number].forEach((text, column) => {
        document.getElementById("stickslip-" + column).textContent = text;
      });
      const missed = rows[number][2].includes("missed");
      document.getElementById("stickslip-2").classList.toggle("missed", missed);
    };
    this.show(k);
  },
};
