"use strict";
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  document.documentElement.classList.add("js");

  for (const button of all("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const text = document.getElementById(button.dataset.of).textContent;
      const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
      // Some browsers give a page that was opened from a file no access to the clipboard.
      const select = () => { getSelection().selectAllChildren(document.getElementById(button.dataset.of)); };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select); else select();
    });
  }

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
  for (const mark of all(".mark")) {
    mark.addEventListener("pointerenter", () => show(mark));
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("focus", () => show(mark));
    mark.addEventListener("blur", hide);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  for (const button of all("button[data-group]")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (const one of all("[data-of-group]"))
        if (one.dataset.ofGroup === button.dataset.group) one.style.display = on ? "" : "none";
    });
  }

  const views = all("button[data-view]");
  const choose = (view) => {
    for (const button of views) button.setAttribute("aria-pressed", String(button.dataset.view === view));
    for (const figure of all("figure[data-is-view]")) figure.hidden = figure.dataset.isView !== view;
  };
  for (const button of views) button.addEventListener("click", () => choose(button.dataset.view));
  if (views.length) choose(views[0].dataset.view);

  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    for (const [column, head] of all("th", table.tHead).entries()) {
      const button = document.createElement("button");
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of all("th", table.tHead)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          // Rows without a value stay at the bottom in either order.
          if (x === "" || y === "") return (x === "") - (y === "");
          const order = isNaN(x) || isNaN(y) ? x.localeCompare(y) : x - y;
          return up ? order : -order;
        });
        body.append(...rows);
      });
    }
  }
})();
