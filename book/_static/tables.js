/* Tables of many numbers, each a link to its run: one stop of the tab key a table, arrows within it, and a line that says
   what a cell's title holds to those who have no mouse. Without this script every link is a stop of its own.
   Below: tables on a phone. */
"use strict";

/** Of a number whose cell has nothing else to say. */
const WHY = "Why this number";

const words = element => element ? element.textContent.replace(/\s+/g, " ").trim() : "";

/** What stands above each column of a table, both storeys as one line. */
function headsOf(table) {
  const found = [], taken = [];
  [...table.tHead.rows].forEach((row, storey) => {
    let column = 0;
    for (const cell of row.cells) {
      while (taken[storey]?.[column]) column++;
      for (let across = 0; across < cell.colSpan; across++, column++) {
        for (let down = 0; down < cell.rowSpan; down++) (taken[storey + down] ||= [])[column] = true;
        (found[column] ||= []).push(words(cell));
      }
    }
  });
  return found.map(parts => parts.filter(Boolean).join(" "));
}

document.querySelectorAll(".sentbook .sb-scroll").forEach(box => {
  const table = box.querySelector("table"), links = table ? [...table.querySelectorAll("a[href]")] : [];
  if (links.length < 6) return;
  const titled = table.querySelector("td a[title]") !== null;
  const line = Object.assign(document.createElement("p"), {className: "sb-foot sb-told"});
  line.setAttribute("role", "status");
  if (titled) {
    line.textContent = "Point at a number, or move among them with the arrow keys, for its interval.";
    box.after(line);
  }
  const only = chosen => links.forEach(link => { link.tabIndex = link === chosen ? 0 : -1; });
  const tell = link => {
    const cell = link.closest("td, th"), row = cell.closest("tr");
    const at = [...row.cells].slice(0, cell.cellIndex).reduce((sum, one) => sum + one.colSpan, 0);
    line.textContent = `${words(row.cells[0])}, ${headsOf(table)[at]}: ${words(link)} ${link.title === WHY ? "" : link.title}`;
  };

  /** The next link in a row, or the one in the same column of a row above or below. */
  function next(link, key) {
    const cell = link.closest("td, th"), row = cell.closest("tr");
    if (key === "Home") return links[0];
    if (key === "End") return links.at(-1);
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const to = links[links.indexOf(link) + (key === "ArrowRight" ? 1 : -1)];
      return to && row.contains(to) ? to : null;
    }
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const rows = [...table.rows], step = key === "ArrowDown" ? 1 : -1;
    for (let at = rows.indexOf(row) + step; rows[at]; at += step) {
      const found = rows[at].cells[cell.cellIndex]?.querySelector("a[href]");
      if (found) return found;
    }
    return null;
  }

  only(links[0]);
  table.addEventListener("focusin", event => {
    const link = event.target.closest("a[href]");
    if (link) { only(link); if (titled) tell(link); }
  });
  table.addEventListener("mouseover", event => {
    const link = titled && event.target.closest("a[href]");
    if (link) tell(link);
  });
  table.addEventListener("keydown", event => {
    const link = event.target.closest("a[href]");
    const to = link && !event.altKey && !event.ctrlKey && !event.metaKey ? next(link, event.key) : null;
    if (to) { event.preventDefault(); only(to); to.focus(); }
  });
});

document.querySelectorAll(".sentbook a[href*='_runs/']:not([title]):not([hidden])").forEach(link => { link.title = WHY; });

/* A table that is too wide for a phone becomes cards, a row a card; elsewhere it scrolls, and the keyboard can scroll it.
   A box that does not scroll is no stop of the tab key. */
const phone = matchMedia("(max-width: 40rem)");

/** Say in each cell what stood above it. */
function label(table) {
  const heads = headsOf(table);
  for (const row of [...table.tBodies].flatMap(body => [...body.rows])) {
    let at = 0;
    for (const cell of row.cells) {
      if (at && words(cell)) cell.dataset.label = heads[at] ?? "";
      if (at && !cell.querySelector("p, ul, details") && words(cell).length < 36) cell.classList.add("sb-line");
      at += cell.colSpan;
    }
  }
}

/** The cells of the first column of numbers; none where two storeys of the head make groups of it. */
function pinned(table) {
  const [top, second] = table.tHead.rows, [name, first] = top.cells;
  if (!name?.classList.contains("sb-first") || !first || first.colSpan > 1) return [];
  const heads = second && name.rowSpan > 1 && first.rowSpan === 1 ? [first, second.cells[0]] : [first];
  const cells = [...table.tBodies].flatMap(body => [...body.rows]).map(row => row.cells[1]);
  return cells.some(cell => cell?.matches(".sb-text, .sb-left:not([colspan])")) ? [] : [...heads, ...cells.filter(cell => cell?.colSpan === 1)];
}

/** Let the first column of numbers of a cut table stay beside the names. */
function pin(table, cut) {
  const name = table.querySelector("th.sb-first");
  if (!name || table.closest(".sb-explore") || cut === table.classList.contains("sb-pins")) return;
  table.classList.toggle("sb-pins", cut);
  table.style.setProperty("--sb-pin", `${name.offsetWidth}px`);
  pinned(table).forEach(cell => cell.classList.toggle("sb-pin", cut));
}

const sizes = new ResizeObserver(entries => entries.forEach(({target: box}) => {
  const table = box.querySelector("table");
  if (!table || !box.clientWidth) return;
  if (!phone.matches) table.classList.remove("sb-cards");
  let cut = box.scrollWidth > box.clientWidth + 1;
  if (cut && phone.matches && table.tHead && !box.closest(".sb-explore")) {
    label(table);
    table.classList.add("sb-cards");
    cut = false;
  }
  if (table.tHead) pin(table, cut && !phone.matches);
  box.tabIndex = cut ? 0 : -1;
}));
document.querySelectorAll(".sentbook .sb-scroll, .pst-scrollable-table-container").forEach(box => sizes.observe(box));

/* A link into what is folded unfolds it. */
function unfold() {
  const to = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part; (part = to?.closest("details:not([open])"));) { part.open = true; to.scrollIntoView(); }
}
addEventListener("hashchange", unfold);
if (location.hash) unfold();
