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
