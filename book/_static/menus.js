/* The menus at the head of a page, which the theme leaves to 80 KB of Bootstrap. A click or Enter opens one; arrows move in
   it; Escape, or whatever is done elsewhere, closes it. */
"use strict";

document.querySelectorAll("[data-bs-toggle=dropdown]").forEach(button => {
  const around = button.parentElement, menu = around.querySelector(".dropdown-menu");
  const show = open => {
    menu.classList.toggle("show", open);
    button.setAttribute("aria-expanded", open);
  };
  button.addEventListener("click", () => show(!menu.classList.contains("show")));
  document.addEventListener("click", event => { if (!around.contains(event.target)) show(false); });
  around.addEventListener("focusout", event => { if (event.relatedTarget && !around.contains(event.relatedTarget)) show(false); });
  around.addEventListener("keydown", event => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (event.key === "Escape") { show(false); button.focus(); }
    if (!step) return;
    event.preventDefault();
    show(true);
    const items = [...menu.querySelectorAll(".dropdown-item")], at = items.indexOf(document.activeElement);
    items.at((at + (at < 0 && step < 0 ? 0 : step)) % items.length).focus();
  });
});
