/* The list of verdicts: shows the claims that pass all filters, and keeps the filters in the URL. */
"use strict";

(() => {
  const form = document.getElementById("filters"), claims = [...document.querySelectorAll(".sb-claim")];

  function filter() {
    const {text, ...chosen} = Object.fromEntries(new FormData(form)), words = text.toLowerCase();
    for (const claim of claims) {
      const fits = Object.entries(chosen).every(([name, value]) => !value || claim.dataset[name] === value);
      claim.hidden = !fits || !claim.textContent.toLowerCase().includes(words);
    }
    for (const group of document.querySelectorAll("[data-group]")) {
      group.hidden = ![...group.querySelectorAll(".sb-claim")].some(claim => !claim.hidden);
    }
    const left = claims.filter(claim => !claim.hidden).length;
    document.getElementById("found").textContent = `${left} of ${claims.length} claims`;
  }

  function read() {
    if (location.hash.includes("=")) {
      for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
        if (form.elements[name]) form.elements[name].value = value;
      }
    } else if (location.hash) {
      const card = document.getElementById(location.hash.slice(1))?.closest("details");
      if (card) for (const field of form.elements) if (field.name) field.value = "";  // no filter hides it
      filter();
      if (card) { card.open = true; card.scrollIntoView(); }
    }
    filter();
  }

  form.addEventListener("input", () => {
    const set = [...new FormData(form)].filter(([, value]) => value);
    history.replaceState(null, "", set.length ? `#${new URLSearchParams(set)}` : location.pathname);
    filter();
  });
  form.addEventListener("reset", () => setTimeout(() => {
    history.replaceState(null, "", location.pathname);
    filter();
  }));
  form.addEventListener("submit", event => event.preventDefault());
  addEventListener("hashchange", read);
  read();
})();
