/* What the pages that a reader explores share: elements, numbers, the address, and moving about by the keyboard. */
"use strict";

window.sentbook = (() => {
  const MINUS = "\u2212";
  const SVG = "http://www.w3.org/2000/svg";

  function fill(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.flat(2).filter(child => child !== null && child !== undefined && child !== false));
    return made;
  }

  /** Make an element; text becomes text and never HTML. */
  const element = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const drawn = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

  /** Fill a box anew; the control in it that had the focus has it again. */
  function refill(box, ...children) {
    const stops = () => [...box.querySelectorAll("button, select, input, summary")], at = stops().indexOf(document.activeElement);
    box.replaceChildren(...children);
    stops()[at]?.focus();
  }

  /** Read the data that the page brings with it. */
  const data = name => JSON.parse(document.getElementById(name).textContent);

  const held = {};

  /** Keep data by their name: of the page, or of a script that brings them. */
  const keep = one => { held[one.name] = one; };

  /** Have data that are kept, or that a script brings: a page that is opened without a server may load one, too. */
  const loaded = (name, src) => held[name] ? Promise.resolve(held[name]) : new Promise((resolve, reject) => {
    document.head.append(element("script", {src, onload: () => held[name] ? resolve(held[name]) : reject(), onerror: reject}));
  });

  /** Write a number with a true minus sign and never a negative zero, as the tables do. */
  function number(value, digits = 1, signed = false) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
    const text = Math.abs(value).toFixed(digits);
    if (Number(text) === 0) return text;
    return (value < 0 ? MINUS : signed ? "+" : "") + text;
  }

  const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;

  /** Half the share `level` of Student's t: the area below cos^(nu-1) from 0 to atan(t / sqrt(nu)), found by halving. */
  function student(freedom, level = 0.95) {
    const area = end => {
      const steps = 400, width = end / steps;
      let sum = 0;
      for (let step = 0; step <= steps; step++) {
        const weight = step === 0 || step === steps ? 1 : step % 2 ? 4 : 2;
        sum += weight * Math.max(0, Math.cos(step * width)) ** (freedom - 1);
      }
      return sum * width / 3;
    };
    const goal = level * area(Math.PI / 2);
    let low = 0, high = Math.PI / 2;
    for (let turn = 0; turn < 40; turn++) {
      const middle = (low + high) / 2;
      if (area(middle) < goal) low = middle; else high = middle;
    }
    return Math.sqrt(freedom) * Math.tan(low);
  }

  /** Half the interval of a mean over seeds, or of a difference of two such means (Welch); 0 where no side has seeds. */
  function overSeeds(...sides) {
    const parts = sides.filter(side => side.length > 1).map(side => {
      const middle = mean(side), size = side.length;
      return [side.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (size - 1) / size, size - 1];
    });
    const total = parts.reduce((sum, [part]) => sum + part, 0);
    if (!(total > 0)) return 0;
    const freedom = total ** 2 / parts.reduce((sum, [part, one]) => sum + part ** 2 / one, 0);
    return student(freedom) * Math.sqrt(total);
  }

  /** What a reader chose, kept in the address behind the #. A plain anchor is left alone. */
  const address = {
    read: () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : ""),
    write(state) {
      const parts = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value !== null));
      const hash = parts.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    },
    /** Do what the address asks for, now and when it changes. */
    follow(act) {
      const now = () => { const asked = address.read(); if ([...asked].length) act(asked); };
      addEventListener("hashchange", now);
      now();
    },
  };

  /** One stop of the tab key for many elements: arrows move among them, Home and End go to the ends. */
  function roving(box, selector, next) {
    const stops = () => [...box.querySelectorAll(selector)];
    const only = chosen => stops().forEach(stop => stop.setAttribute("tabindex", stop === chosen ? "0" : "-1"));
    only(stops()[0]);
    if (box.dataset.roving) return;
    box.dataset.roving = "on";
    box.addEventListener("focusin", event => { if (event.target.matches(selector)) only(event.target); });
    box.addEventListener("keydown", event => {
      const all = stops(), at = all.indexOf(event.target);
      if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      const to = event.key === "Home" ? all[0] : event.key === "End" ? all.at(-1) : next(event.key, all, at);
      if (!to) return;
      event.preventDefault();
      only(to);
      to.focus();
    });
  }

  /** The neighbour in a table: rows above and below, cells beside. */
  function inTable(key, all, at) {
    const cell = all[at].closest("td, th"), row = cell.parentElement;
    const inside = one => all.find(stop => one.contains(stop));
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const to = all[at + (key === "ArrowLeft" ? -1 : 1)];
      return to && row.contains(to) ? to : null;
    }
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const rows = [...row.closest("table").rows], step = key === "ArrowUp" ? -1 : 1;
    for (let to = rows.indexOf(row) + step; rows[to]; to += step) {
      const there = rows[to].cells[cell.cellIndex];
      if (there && inside(there)) return inside(there);
    }
    return null;
  }

  /** The neighbour in a row of elements. */
  const inLine = (key, all, at) => ({ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[key] || 0)
    && all[at + {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[key]];

  /** A labelled choice among [value, words]. */
  function select(label, options, value, onchange) {
    const id = `sb-${label.toLowerCase().replaceAll(/\W+/g, "-")}`;
    const made = element("select", {id, onchange: event => onchange(event.target.value)},
      options.map(([option, words]) => element("option", {value: option, selected: option === value}, words)));
    return element("div", {class: "sb-field sb-stack"}, element("label", {for: id}, label), made);
  }

  /** A group of choices of which one holds. */
  function radios(label, name, options, value, onchange) {
    return element("fieldset", {class: "sb-field sb-radios"}, element("legend", {}, label),
      options.map(([option, words]) => element("label", {},
        element("input", {type: "radio", name, value: option, checked: option === value, onchange: () => onchange(option)}),
        element("span", {}, words))));
  }

  function checkbox(words, checked, onchange) {
    const made = element("input", {type: "checkbox", checked, onchange: event => onchange(event.target.checked)});
    return element("label", {class: "sb-check"}, made, element("span", {}, words));
  }

  /** Hand a text to the reader as a file. */
  function save(name, text) {
    const link = element("a", {href: URL.createObjectURL(new Blob([text], {type: "text/csv;charset=utf-8"})), download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const csv = rows => rows.map(row => row.map(value => {
    const text = String(value ?? "");
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }).join(",")).join("\r\n") + "\r\n";

  /** A scale from data to pixels, and round numbers on it. */
  function scale(low, high, from, to) {
    const at = value => from + (value - low) / (high - low) * (to - from);
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(times => times * power).find(size => size >= rough);
    const ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-9; tick += step) ticks.push(Math.round(tick * 1e6) / 1e6);
    return Object.assign(at, {ticks});
  }

  return {element, drawn, refill, data, keep, loaded, number, mean, student, overSeeds, address, roving, inTable, inLine, select, radios, checkbox,
          save, csv, scale};
})();
