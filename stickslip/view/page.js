"use strict";
// Sorting and filtering of tables. The page is complete without this script.

const GAPS = new Set(["", "–", "not run"]);
const words = new Intl.Collator("en", {numeric: true});

// Sort key of a cell: a number, else its text; null for empty cells.
function key(text) {
  if (GAPS.has(text)) return null;
  const number = Number(text.endsWith("%") ? text.slice(0, -1) : text);
  return Number.isNaN(number) ? text : number;
}

// Numbers come before text; `sign` reverses the order, but empty cells are always last.
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  const first = typeof a === "number", second = typeof b === "number";
  if (first !== second) return sign * (second - first);
  return sign * (first ? a - b : words.compare(a, b));
}

function prepare(table) {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  // Cells are read on first use, because a long table may never be sorted.
  let rows = null;
  const read = () => rows ??= Array.from(body.rows, (row) => {
    const texts = Array.from(row.cells, (cell) => cell.textContent);
    return {row, keys: texts.map(key), text: texts.join("\n").toLowerCase()};
  });

  // The widths of the columns are fixed at the first use: the layout is stable while rows are filtered,
  // and the browser does not measure every cell again.
  const figure = table.closest("figure.long");
  let frozen = !figure;
  function freeze() {
    if (frozen || !table.offsetWidth) return;
    const widths = heads.map((head) => head.getBoundingClientRect().width);
    table.style.width = table.getBoundingClientRect().width + "px";
    heads.forEach((head, column) => { head.style.width = widths[column] + "px"; });
    table.style.tableLayout = "fixed";
    frozen = true;
  }

  function sort(column) {
    freeze();
    const falling = heads[column].getAttribute("aria-sort") === "ascending";
    const sign = falling ? -1 : 1;
    read().sort((a, b) => compare(a.keys[column], b.keys[column], sign));
    body.append(...rows.map((each) => each.row));
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", falling ? "descending" : "ascending");
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(column));
    head.append(button);
  });

  if (figure) filter(figure, read, freeze);
}

function filter(figure, read, freeze) {
  const bar = document.createElement("div");
  const input = document.createElement("input");
  const count = document.createElement("output");
  bar.className = "filter";
  input.type = "search";
  input.placeholder = "Filter rows";
  input.setAttribute("aria-label", "Filter rows of: " + figure.querySelector("figcaption").textContent);
  const total = figure.querySelector("tbody").rows.length;
  const say = (shown) => { count.textContent = (shown === total ? "" : shown + " of ") + total + " rows"; };
  input.addEventListener("input", () => {
    freeze();
    const sought = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const {row, text} of read()) {
      row.hidden = !sought.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    say(shown);
  });
  say(total);
  bar.append(input, count);
  figure.querySelector(".box").before(bar);
}

// Open a folded section when a link leads to it.
function unfold() {
  const part = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  const folded = part ? part.querySelector("details") : null;
  if (folded) folded.open = true;
}

for (const table of document.querySelectorAll("table.sortable")) prepare(table);
window.addEventListener("hashchange", unfold);
unfold();
