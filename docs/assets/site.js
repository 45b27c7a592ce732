// A box of code that scrolls can be reached by keys. The theme takes that away where there is no mouse; it is given back.
const keep = new MutationObserver((changes) =>
  changes.forEach(({ target }) => {
    if (!target.hasAttribute("tabindex")) target.tabIndex = 0;
  }),
);
document.querySelectorAll("pre > code").forEach((box) => {
  box.tabIndex = 0;
  keep.observe(box, { attributes: true, attributeFilter: ["tabindex"] });
});
