"use strict";
// Rows unfold, tables sort and filter. Without this script the page shows everything unfolded.
for (const table of document.querySelectorAll("table.operators")) {
  const groups = () => [...table.tBodies];
  const tools = document.getElementById(table.dataset.tools);
  const shown = tools && tools.querySelector("output");

  for (const group of groups()) {
    const button = group.querySelector("button.more");
    const detail = group.rows[1];
    if (!button || !detail) continue;
    detail.hidden = true;
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      detail.hidden = !detail.hidden;
      button.setAttribute("aria-expanded", String(!detail.hidden));
    });
  }

  const head = table.tHead.rows[0];
  [...head.cells].forEach((cell, column) => {
    const button = cell.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") === "ascending";
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (group) => group.rows[0].cells[column].dataset.key ?? group.rows[0].cells[column].textContent.trim();
      const numeric = cell.classList.contains("n");
      const compare = (a, b) => (numeric ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b)));
      const sorted = groups().sort((a, b) => (down ? -1 : 1) * compare(a, b));
      table.append(...sorted);
    });
  });

  if (!tools) continue;
  tools.hidden = false;
  const fields = [...tools.querySelectorAll("input, select")];
  const filter = () => {
    let count = 0;
    for (const group of groups()) {
      const fits = fields.every((field) => {
        const wanted = field.value.trim().toLowerCase();
        return !wanted || (field.type === "search" ? group.dataset.text.includes(wanted) : group.dataset[field.name] === field.value);
      });
      group.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${groups().length} operators`;
  };
  for (const field of fields) field.addEventListener("input", filter);
  filter();
}
