// For keyboards and screen readers: the page's content comes before the sidebar, and every table has a name.
document.addEventListener("DOMContentLoaded", () => {
  const sidebar = document.querySelector(".bd-sidebar-primary");
  sidebar?.parentNode.append(sidebar); // its place on the screen is set in sentbook.css
  let heading = document.title;
  for (const element of document.querySelectorAll("article :is(h1, h2, h3, summary, table)")) {
    if (element.tagName !== "TABLE") heading = element.textContent.replace("#", "").trim();
    else if (!element.caption && !element.ariaLabel) element.ariaLabel = heading;
  }
});

// The download menu, without the theme's Bootstrap: a click or Enter opens it, Escape or whatever is done elsewhere closes it.
for (const button of document.querySelectorAll("[data-bs-toggle=dropdown]")) {
  const around = button.parentElement, menu = around.querySelector(".dropdown-menu");
  const show = open => { menu.classList.toggle("show", open); button.setAttribute("aria-expanded", open); };
  button.addEventListener("click", () => show(!menu.classList.contains("show")));
  around.addEventListener("focusout", event => { if (!around.contains(event.relatedTarget)) show(false); });
  around.addEventListener("keydown", event => { if (event.key === "Escape") { show(false); button.focus(); } });
}
