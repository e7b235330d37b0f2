/* The page of all results: choose a recorded table, sort, filter, shade, open a cell, hold two encoders against each other. */
"use strict";

(() => {
  const {element, refill, data, keep, loaded, number, mean, overSeeds, address, roving, inTable, select, checkbox, save, csv} = window.sentbook;
  const box = document.getElementById("results-explorer");
  const {first, runs} = data("results-data");
  const [METHOD, COLUMN, PROTOCOL, N, SEEDS, VALUES, ROW, LOW, HIGH, PAPER, LETTERS] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  const MEAN = "mean", state = {};
  let run, cells, view, wanted;

  // -- what is chosen ---------------------------------------------------------------------------------------------------

  /** Choose a table, which may have to load; of two that do, the one asked for last stays. */
  function open(name, asked) {
    const own = wanted = runs.some(one => one.name === name) ? name : first.name;
    return loaded(own, `../_static/recorded/${own.replace("/", "-")}.js`).then(found => own === wanted && choose(found, asked),
      () => { view.said.textContent = `The numbers of ${own} did not load; load this page again, or choose another table.`; });
  }

  /** Show a table with its own first choices, then what is asked for. */
  function choose(found, asked = new URLSearchParams()) {
    run = found;
    for (const column of run.columns) Object.assign(column, run.metrics[column.measure], {dataset: column.key.split("~")[0]});
    cells = run.methods.map(() => []);
    for (const cell of run.cells) cells[cell[METHOD]][cell[COLUMN]] = cell;
    const methods = run.methods, given = asked.get("columns");
    const shown = given === null ? run.columns.filter(column => column.shown).map(column => column.key) : given.split(",");
    Object.assign(state, {
      table: run.name,
      find: asked.get("find") || "",
      left: new Set((asked.get("without") || "").split(",").filter(Boolean)),
      columns: new Set(shown), sort: asked.get("sort") || "", up: asked.get("order") === "up",
      pin: asked.get("pin") !== "no", shades: asked.get("shades") !== "no",
      a: methods.includes(asked.get("a")) ? asked.get("a") : "", b: methods.includes(asked.get("b")) ? asked.get("b") : "",
    });
    controls();
    draw();
  }

  function remember() {
    const own = run.columns.filter(column => column.shown).map(column => column.key).join(",");
    const chosen = run.columns.filter(column => state.columns.has(column.key)).map(column => column.key).join(",");
    address.write({
      table: state.table === first.name ? "" : state.table, find: state.find, without: [...state.left].join(","),
      columns: chosen === own ? null : chosen, sort: state.sort, order: state.sort && state.up ? "up" : "",
      pin: state.pin ? "" : "no", shades: state.shades ? "" : "no", a: state.a, b: state.b,
    });
  }

  const settingOf = method => (/\[(.+?)\]/.exec(method) || ["", ""])[1];
  const columns = () => run.columns.map((column, at) => ({...column, at})).filter(column => state.columns.has(column.key));
  const value = (method, column) => cells[method][column.at] ? mean(cells[method][column.at][VALUES]) : null;

  /** The columns that a mean is over: times 100, the more the better, no mean themselves, and no set twice. */
  function averaged() {
    const shown = columns(), parts = new Set(shown.map(column => column.part));
    return shown.filter(column => column.hundred && !column.lower && !column.mean && !parts.has(column.dataset));
  }

  const whole = values => values.length && !values.includes(null) ? mean(values) : null;

  /** The rows that are left, in order; a row without a number comes last. */
  function rows() {
    const over = averaged(), word = state.find.toLowerCase();
    const left = run.methods.map((name, at) => ({name, at, mean: whole(over.map(column => value(at, column)))}))
      .filter(row => row.name.toLowerCase().includes(word) && !state.left.has(settingOf(row.name)));
    const column = run.columns.findIndex(one => one.key === state.sort);
    if (!state.sort) return left;
    if (state.sort === "name") return left.sort((a, b) => a.name.localeCompare(b.name) * (state.up ? 1 : -1));
    const of = row => state.sort === MEAN ? row.mean : column < 0 ? null : value(row.at, {at: column});
    return left.sort((a, b) => (of(a) === null) - (of(b) === null) || (of(a) - of(b)) * (state.up ? 1 : -1));
  }

  function set(changes) {
    Object.assign(state, changes);
    remember();
    draw();
  }

  // -- the table --------------------------------------------------------------------------------------------------------

  function sortBy(key, lower) {
    set({sort: key, up: state.sort === key ? !state.up : key === "name" || lower});
    view.table.querySelector(`thead [data-key="${CSS.escape(key)}"]`)?.focus();
  }

  function head(key, words, small, lower, kind = "") {
    const sorted = state.sort === key ? (state.up ? "ascending" : "descending") : null;
    const sign = sorted ? (state.up ? " \u25b2" : " \u25bc") : "";
    return element("th", {scope: "col", class: kind, "aria-sort": sorted},
      element("button", {type: "button", "data-key": key, onclick: () => sortBy(key, lower)},
        words + sign, small && element("small", {}, small)));
  }

  function table() {
    const shown = columns(), over = averaged(), left = rows();
    const ends = shown.map(column => {
      const values = left.map(row => value(row.at, column)).filter(one => one !== null);
      return [Math.min(...values), Math.max(...values)];
    });
    const pinned = state.pin ? "sb-pinned" : "";
    const line = row => element("tr", {class: row.name === state.a ? "sb-a" : row.name === state.b ? "sb-b" : null},
      element("th", {scope: "row", class: "sb-first"}, row.name.replace(/ \[.+?\]/, ""),
        settingOf(row.name) && element("span", {class: "sb-soft"}, ` ${settingOf(row.name)}`)),
      over.length > 1 && element("td", {class: `sb-mean ${pinned}`}, number(row.mean)),
      shown.map((column, at) => {
        const found = value(row.at, column), [low, high] = ends[at];
        if (found === null) return element("td", {}, "");
        const share = high > low ? (found - low) / (high - low) : 0.5;
        const heat = state.shades ? `--heat: ${(column.lower ? 1 - share : share).toFixed(3)}` : null;
        const best = found === (column.lower ? low : high) && left.length > 1;
        return element("td", {style: heat, class: best ? "sb-top" : null},
          element("button", {type: "button", "data-cell": `${row.at},${column.at}`, "aria-haspopup": "dialog"},
            number(found, column.digits)));
      }));
    return element("table", {"aria-label": run.title},
      element("thead", {}, element("tr", {}, head("name", "Encoder", "", true, "sb-first"),
        over.length > 1 && head(MEAN, "Mean", `of ${over.length}`, false, `sb-mean ${pinned}`),
        shown.map(column => head(column.key, column.label, [column.unit.replaceAll(" ", "\u00a0"), column.how].filter(Boolean).join("\n"), column.lower)))),
      element("tbody", {}, left.map(line)));
  }

  /** One line about a cell: what a hand at the mouse, the keyboard or a finger asks for first. */
  function tell(button) {
    const [method, at] = button.dataset.cell.split(",").map(Number), column = run.columns[at], cell = cells[method][at];
    const [low, high, over] = interval(cell, column);
    const around = over ? ` [${number(low, column.digits)}, ${number(high, column.digits)}] ${over}` : "";
    const paper = cell[PAPER] === undefined || cell[PAPER] === null ? "" : `; the paper ${number(cell[PAPER], column.digits)}`;
    view.said.textContent =
      `${run.methods[method]} on ${column.label}: ${number(mean(cell[VALUES]), column.digits)}${around}${paper}`;
  }

  function interval(cell, column) {
    if (typeof cell[LOW] === "number") return [cell[LOW], cell[HIGH], "over test items"];
    const half = overSeeds(cell[VALUES]), middle = mean(cell[VALUES]);
    return half ? [middle - half, middle + half, `over ${cell[VALUES].length} seeds`] : [null, null, ""];
  }

  // -- the drawer -------------------------------------------------------------------------------------------------------

  function show(button) {
    const [method, at] = button.dataset.cell.split(",").map(Number), column = run.columns[at], cell = cells[method][at];
    const digits = column.digits + 1, half = overSeeds(cell[VALUES]), middle = mean(cell[VALUES]);
    const ends = (low, high) => `[${number(low, digits)}, ${number(high, digits)}]`;
    const tied = cell[LETTERS] && cells.flatMap((row, other) => row[at]?.[LETTERS] && other !== method
      && [...row[at][LETTERS]].some(letter => cell[LETTERS].includes(letter)) ? [run.methods[other]] : []);
    const facts = [
      [column.metric, number(middle, digits)],
      ["The paper", typeof cell[PAPER] === "number" ? number(cell[PAPER], column.digits) : "prints no such number"],
      cell[VALUES].length > 1
        ? ["Seeds", cell[VALUES].map((one, seed) => `${run.seeds[cell[SEEDS]][seed]}: ${number(one, digits)}`).join(" \u00b7 ")]
        : ["Seeds", run.seeds[cell[SEEDS]][0] === null ? "none" : `one: ${run.seeds[cell[SEEDS]][0]}`],
      half > 0 && ["95 % over seeds", ends(middle - half, middle + half)],
      typeof cell[LOW] === "number" && ["95 % over test items", ends(cell[LOW], cell[HIGH])],
      ["Test items", cell[N].toLocaleString("en").replaceAll(",", "\u202f")],
      ["Protocol", run.protocols[cell[PROTOCOL]]],
      tied && ["Not told apart from", tied.join(", ") || "no other row"],
      ["Run", element("a", {href: `_runs/${run.name}.html#${run.profile}-${cell[ROW]}`}, `${run.title}, profile ${run.profile}`)],
      ["Make it again", element("code", {}, run.command)],
    ].filter(Boolean);
    const side = (name, words) => element("button", {type: "button", onclick: () => {
      drawer.close();
      set({[name]: run.methods[method]});
      view.forest.scrollIntoView({block: "nearest"});
    }}, words);
    const drawer = element("dialog", {class: "sentbook sb-drawer", "aria-label": `${run.methods[method]} on ${column.label}`,
      onclose: () => { drawer.remove(); view.table.querySelector(`[data-cell="${button.dataset.cell}"]`)?.focus(); },
      onkeydown: event => { if (event.key === "Escape") drawer.close(); },  // the theme keeps Escape from the browser
      onclick: event => { if (event.target === drawer) drawer.close(); }},
      element("div", {}, element("p", {class: "sb-drawer-title"}, element("strong", {}, run.methods[method]), ` on ${column.label}`),
        element("dl", {}, facts.map(([term, words]) => [element("dt", {}, term), element("dd", {}, words)])),
        element("p", {class: "sb-buttons"}, side("a", "Take as A"), side("b", "Take as B"),
          element("button", {type: "button", onclick: () => drawer.close()}, "Close"))));
    document.body.append(drawer);
    drawer.showModal();
  }

  // -- A against B ------------------------------------------------------------------------------------------------------

  /** A - B on a column: difference, ends, and what these are over. */
  function compare(a, b, column) {
    const one = cells[a][column.at], other = cells[b][column.at];
    if (!one || !other) return null;
    const half = overSeeds(one[VALUES], other[VALUES]), seeds = half ? " and seeds" : "";
    const wide = (value, low, high, over) =>
      ({value, low: value - Math.hypot(value - low, half), high: value + Math.hypot(high - value, half), over});
    for (const [first, second, at, value, low, high, kind] of run.tests) {
      if (at !== column.at) continue;
      const more = run.kinds[kind].includes("seed") ? (v, l, h, over) => ({value: v, low: l, high: h, over}) : wide;
      if (first === a && second === b) return more(value, low, high, `tested on the same items${seeds}`);
      if (first === b && second === a) return more(-value, -high, -low, `tested on the same items${seeds}`);
    }
    const value = mean(one[VALUES]) - mean(other[VALUES]), [x, y] = [mean(one[VALUES]), mean(other[VALUES])];
    if (typeof one[LOW] === "number" && typeof other[LOW] === "number") {
      const low = value - Math.hypot(x - one[LOW], other[HIGH] - y), high = value + Math.hypot(one[HIGH] - x, y - other[LOW]);
      const told = !one[LETTERS] || !other[LETTERS] ? "" : [...one[LETTERS]].some(letter => other[LETTERS].includes(letter))
        ? "; not told apart by the column's test" : "; told apart by the column's test";
      return {...wide(value, low, high, `two intervals of their own${seeds}${told}`), apart: true};
    }
    return half ? {value, low: value - half, high: value + half, over: "over seeds alone"} : {value, over: "no interval"};
  }

  function forest() {
    const [a, b] = [run.methods.indexOf(state.a), run.methods.indexOf(state.b)];
    if (a < 0 || b < 0 || a === b) return element("p", {class: "sb-foot"}, "Choose two different rows as A and B to see their differences.");
    const lines = columns().map(column => ({column, ...compare(a, b, column)})).filter(line => line.value !== undefined);
    const drawn = lines.filter(line => line.column.hundred);
    const all = drawn.flatMap(line => [line.value, line.low ?? 0, line.high ?? 0, 0]);
    const [low, high] = [Math.min(...all, -1), Math.max(...all, 1)], place = x => `${(100 * (x - low) / (high - low)).toFixed(2)}%`;
    const ticks = window.sentbook.scale(low, high, 0, 1).ticks;
    const side = line => line.low === undefined || (line.low <= 0 && line.high >= 0) ? "even"
      : (line.value > 0) !== line.column.lower ? "a" : "b";
    const wins = name => lines.filter(line => side(line) === name).length;
    const track = line => element("td", {class: `sb-track sb-side-${side(line)}`}, element("div", {"aria-hidden": "true"},
      element("i", {class: "sb-zero", style: `left: ${place(0)}`}),
      line.low !== undefined && element("i", {class: line.apart ? "sb-range sb-apart" : "sb-range",
        style: `left: ${place(line.low)}; width: calc(${place(line.high)} - ${place(line.low)})`}),
      element("i", {class: "sb-point", style: `left: ${place(line.value)}`})));
    const words = line => [number(line.value, line.column.digits, true), line.low !== undefined
      && ` [${number(line.low, line.column.digits, true)}, ${number(line.high, line.column.digits, true)}]`];
    return element("div", {class: "sb-scroll", role: "region", tabindex: "0", "aria-label": "A against B"},
      element("p", {class: "sb-caption"}, element("strong", {}, `${state.a} \u2212 ${state.b}`), element("span", {class: "sb-how"},
        `A is better on ${wins("a")} of ${lines.length} columns by an interval of 95 %, B on ${wins("b")}, undecided ${wins("even")}`)),
      element("table", {class: "sb-forest"}, element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "Column"),
        element("th", {scope: "col", class: "sb-axis"}, element("div", {"aria-hidden": "true"}, ticks.map(tick =>
          element("i", {style: `left: ${place(tick)}`}, number(tick, 0))))), element("th", {scope: "col"}, "A \u2212 B"),
        element("th", {scope: "col"}, "Interval"))),
      element("tbody", {}, lines.map(line => element("tr", {"data-column": line.column.key}, element("th", {scope: "row"}, line.column.label,
        element("span", {class: "sb-soft"}, ` ${line.column.unit}`), line.column.how && ` (${line.column.how})`), line.column.hundred ? track(line) : element("td", {class: "sb-soft"}, line.column.unit),
        element("td", {class: "sb-difference"}, words(line)), element("td", {class: "sb-soft sb-over"}, line.over))))));
  }

  // -- the page ---------------------------------------------------------------------------------------------------------

  function download() {
    const lines = [["table", "profile", "encoder", "data set", "measure", "unit", "protocol", "items", "seed", "value"]];
    for (const row of rows()) for (const column of columns()) {
      const cell = cells[row.at][column.at];
      cell?.[VALUES].forEach((one, seed) => lines.push([run.name, run.profile, row.name, column.dataset, column.key.split("~")[1],
        column.hundred ? "x 100" : "", run.protocols[cell[PROTOCOL]], cell[N], run.seeds[cell[SEEDS]][seed] ?? "", one]));
    }
    save(`${run.name.replace("/", "-")}.csv`, csv(lines));
  }

  function chooser(open) {
    const groups = [...new Set(run.columns.map(column => column.metric))];
    const only = wanted => { set({columns: new Set(wanted.map(column => column.key))}); controls(); };
    const pick = (words, wanted) => element("button", {type: "button", onclick: () => only(wanted)}, words);
    return element("details", {class: "sb-columns", open}, element("summary", {}, `Columns: ${state.columns.size} of ${run.columns.length}`),
      element("p", {class: "sb-buttons"}, pick("as in the table", run.columns.filter(column => column.shown)), pick("all", run.columns),
        pick("none", []), groups.length > 1 && groups.map(group => pick(`only ${group}`, run.columns.filter(column => column.metric === group)))),
      groups.map(group => element("fieldset", {class: "sb-field"}, element("legend", {}, group), run.columns.filter(column => column.metric === group)
        .map(column => checkbox([column.label, column.how].filter(Boolean).join(", "), state.columns.has(column.key), on => {
          state.columns[on ? "add" : "delete"](column.key);
          view.controls.querySelector(".sb-columns > summary").textContent = `Columns: ${state.columns.size} of ${run.columns.length}`;
          set({});
        })))));
  }

  function controls() {
    const settings = [...new Set(run.methods.map(settingOf))].filter(Boolean);
    const sides = [["", "\u2013"], ...run.methods.map(name => [name, name])];
    refill(view.controls,
      select("Table", runs.map(one => [one.name, one.title]), run.name, name => open(name).then(remember)),
      element("label", {class: "sb-field sb-stack"}, element("span", {}, "Encoder"),
        element("input", {type: "search", value: state.find, placeholder: "a part of its name", oninput: event => set({find: event.target.value})})),
      settings.length > 1 ? element("fieldset", {class: "sb-field"}, element("legend", {}, "Setting"), settings.map(name =>
        checkbox(name, !state.left.has(name), on => { state.left[on ? "delete" : "add"](name); set({}); }))) : "",
      select("A", sides, state.a, a => set({a})), select("B", sides, state.b, b => set({b})),
      element("div", {class: "sb-field"}, checkbox("Pin the mean", state.pin, pin => set({pin})),
        checkbox("Shades", state.shades, shades => set({shades}))),
      element("button", {type: "button", onclick: download}, "CSV"), chooser(view.controls.querySelector(".sb-columns")?.open));
  }

  function draw() {
    view.table.replaceChildren(table());
    roving(view.table, "button", inTable);
    view.forest.replaceChildren(forest());
    view.said.textContent = `${view.table.querySelectorAll("tbody tr").length} of ${run.methods.length} rows; `
      + "open a cell for seeds, protocol and run; arrow keys move about, Enter on a head sorts";
  }

  view = {
    controls: element("form", {class: "sb-controls", onsubmit: event => event.preventDefault()}),
    table: element("div", {class: "sb-scroll sb-grid"}),
    said: element("p", {class: "sb-live", role: "status"}),
    forest: element("div", {}),
  };
  for (const kind of ["focusin", "mouseover"]) {
    view.table.addEventListener(kind, event => { const at = event.target.closest("[data-cell]"); if (at) tell(at); });
  }
  view.table.addEventListener("click", event => { const at = event.target.closest("[data-cell]"); if (at) show(at); });
  keep(first);
  choose(first);
  address.follow(asked => open(asked.get("table"), asked));
  box.replaceChildren(element("div", {class: "sentbook sb-explore"}, view.controls, view.said, view.table, view.forest));
})();
