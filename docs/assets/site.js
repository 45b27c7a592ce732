// Boxes that scroll can be reached by keys. The theme takes that from code where there is no mouse; it is given back.
const keep = new MutationObserver((changes) =>
  changes.forEach(({ target }) => {
    if (!target.hasAttribute("tabindex")) target.tabIndex = 0;
  }),
);
document.querySelectorAll("pre > code").forEach((box) => {
  box.tabIndex = 0;
  keep.observe(box, { attributes: true, attributeFilter: ["tabindex"] });
});
// The theme wraps tables in boxes while the page loads.
addEventListener("load", () =>
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }),
);
