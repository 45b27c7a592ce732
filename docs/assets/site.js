// Boxes that scroll sideways can be reached and scrolled with the keyboard.
document.querySelectorAll("pre > code, .md-typeset__scrollwrap").forEach((box) => {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
});
