"use strict";
// Stands first in the one script of a page, so that the files after it can use what is here.

// An element with text, elements or a list of them in it: nothing here parses HTML.
const make = (name, content, attributes = {}) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  for (const part of [content].flat()) if (part !== null && part !== undefined) element.append(part);
  return element;
};

// A button beside each command, which copies it.
for (const command of document.querySelectorAll(".command")) {
  const button = make("button", "Copy", { type: "button" });
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(command);
    navigator.clipboard?.writeText(command.textContent).then(() => {
      button.textContent = "Copied";
    }, () => {});
  });
  command.after(button);
}
