"use strict";
// A button beside each command, which copies it.
for (const command of document.querySelectorAll(".command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    getSelection().selectAllChildren(command);
    navigator.clipboard?.writeText(command.textContent).then(() => {
      button.textContent = "Copied";
    }, () => {});
  });
  command.after(button);
}
