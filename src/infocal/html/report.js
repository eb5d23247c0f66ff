"use strict";
const few = 20;

function valueOf(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  const number = text === "" ? NaN : Number(text);
  return Number.isNaN(number) ? text : number;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b);
}

function sort(table, heading) {
  const column = [...heading.parentNode.children].indexOf(heading);
  const falling = heading.getAttribute("aria-sort")
    ? heading.getAttribute("aria-sort") === "ascending"
    : heading.classList.contains("number");
  for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const keyed = [...table.tBodies[0].rows].map((row) => [valueOf(row.cells[column]), row]);
  keyed.sort(([a], [b]) => {
    if ((a === "–") !== (b === "–")) return a === "–" ? 1 : -1;
    return falling ? compare(b, a) : compare(a, b);
  });
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const heading of table.tHead.rows[0].cells) {
    heading.querySelector("button").addEventListener("click", () => {
      sort(table, heading);
      if (table.id === "by-class") fold();
    });
  }
}

const byClass = document.getElementById("by-class");
const find = document.getElementById("find");
const all = document.getElementById("all");
const found = document.getElementById("found");

function fold() {
  const wanted = find.value.trim().toLowerCase();
  const folded = byClass.classList.contains("folded") && !wanted;
  let shown = 0;
  for (const row of byClass.tBodies[0].rows) {
    row.hidden = (folded && shown >= few) || !row.cells[0].textContent.toLowerCase().includes(wanted);
    if (!row.hidden) shown += 1;
  }
  all.hidden = !folded || shown === byClass.tBodies[0].rows.length;
  found.textContent = `${shown} of ${byClass.tBodies[0].rows.length} shown`;
}

find.addEventListener("input", fold);
all.addEventListener("click", () => {
  byClass.classList.remove("folded");
  fold();
  find.focus();
});
fold();
