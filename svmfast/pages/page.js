"use strict";
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const tip = document.getElementById("tip");
  const show = (mark) => {
    tip.replaceChildren();
    for (const [i, line] of mark.querySelector("title").textContent.split("\n").entries()) {
      const part = document.createElement(i ? "div" : "b");
      part.textContent = line;
      tip.append(part);
    }
    tip.style.display = "block";
    const box = mark.getBoundingClientRect(), width = tip.offsetWidth;
    const left = Math.min(box.right + 10, document.documentElement.clientWidth - width - 8);
    tip.style.left = `${Math.max(8, left) + scrollX}px`;
    tip.style.top = `${box.bottom + 8 + scrollY}px`;
  };
  const hide = () => { tip.style.display = "none"; };
  // Marks from left to right. The tab key reaches the recommended one, or else the first; arrow keys move between them.
  const across = (mark) => mark.getBoundingClientRect().left;
  const marks = all(".mark").sort((a, b) => across(a) - across(b));
  const chosen = marks.find((mark) => mark.querySelector(".chosen")) ?? marks[0];
  chosen?.setAttribute("tabindex", "0");
  // On a narrow screen the figure scrolls.
  const frame = chosen?.closest(".scroll");
  if (frame) frame.scrollLeft += across(chosen) - frame.getBoundingClientRect().left - frame.clientWidth / 2;
  for (const [place, mark] of marks.entries()) {
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = step && marks[place + step];
      if (!next) return;
      event.preventDefault();
      mark.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    });
    mark.addEventListener("pointerenter", () => show(mark));
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("focus", () => show(mark));
    mark.addEventListener("blur", hide);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    for (const [column, head] of all("th", table.tHead).entries()) {
      if (!head.textContent) continue;  // the stars
      const button = document.createElement("button");
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of all("th", table.tHead)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.cells[column].firstChild.textContent;
        const number = (words) => parseFloat(words.replace(/[,~]/g, ""));
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          // Rows without a value stay at the bottom in either order.
          if (x === "-" || y === "-") return (x === "-") - (y === "-");
          const order = isNaN(number(x)) || isNaN(number(y)) ? x.localeCompare(y) : number(x) - number(y);
          return up ? order : -order;
        });
        body.append(...rows);
      });
    }
  }
})();
