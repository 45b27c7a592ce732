// Comments on answers: controls beside each answer of an opened pair, and a small file to save. Comments are held while
// the page is open and go nowhere else; the file says which answer each is about, and never contains the answer.
(() => {
  const [given, bar, count, save, said] = ["feedback-data", "feedback", "feedback-count", "feedback-save", "feedback-said"].map((id) => document.getElementById(id));
  if (!given) return;
  const { run, skill, cases, file: FILE, next } = JSON.parse(given.textContent);
  const dialog = document.getElementById("pair");
  const OPINIONS = ["right", "wrong", "unclear"];
  const MOST_NOTE = 4000;
  const comments = new Map();
  let saved = true;

  function changed(key, comment) {
    if (comment.opinion || comment.note) comments.set(key, comment);
    else comments.delete(key);
    saved = comments.size === 0;
    count.textContent = comments.size === 1 ? "1 comment" : `${comments.size} comments`;
    said.textContent = "";
    bar.hidden = comments.size === 0;
  }

  function controls({ case: name, use, student, repeat }, { arm, trial }) {
    const key = JSON.stringify([student, name, arm, repeat]);
    const before = comments.get(key);
    const note = make("textarea", [], { rows: "2", maxlength: MOST_NOTE, id: `note-${arm}` });
    note.value = before?.note ?? "";
    const choices = OPINIONS.map((opinion) => {
      const radio = make("input", [], { type: "radio", name: `opinion-${arm}`, value: opinion });
      radio.checked = before?.opinion === opinion;
      return radio;
    });
    const clear = make("button", ["Clear"], { type: "button" });
    const keep = () => {
      const opinion = choices.find((radio) => radio.checked)?.value ?? null;
      clear.hidden = !opinion && !note.value;
      const comment = { case: name, case_digest: cases[name] ?? null, model: student, arm, repeat, line: trial.line, opinion, note: note.value.trim() };
      changed(key, comment);
    };
    for (const radio of choices) radio.addEventListener("change", keep);
    note.addEventListener("input", keep);
    clear.addEventListener("click", () => {
      for (const radio of choices) radio.checked = false;
      note.value = "";
      keep();
      choices[0].focus();
    });
    clear.hidden = !before;
    const unseen = use === "held-out" || use === "negative";
    const warning = `This is ${use === "negative" ? "an unrelated" : "a held-out"} case. Comments on it are not used unless you retire the case.`;
    return make("fieldset", [
      make("legend", ["Your comment"]),
      make("div", [...OPINIONS.map((opinion, at) => make("label", [choices[at], opinion])), clear], { class: "opinions" }),
      make("label", ["Note"], { for: note.id }), note,
      ...(unseen ? [make("p", [warning], { class: "muted" })] : []),
    ], { class: "comment" });
  }

  document.addEventListener("pair-opened", ({ detail }) => {
    for (const side of detail.sides) {
      if (side.trial.state !== "errored") side.element.append(controls(detail, side)); // an error is no answer to judge
    }
    dialog?.append(bar); // what is outside an open dialog cannot be reached
  });
  dialog?.addEventListener("close", () => document.body.append(bar));

  save.addEventListener("click", () => {
    const file = { schema: "upskill.feedback/1", run, skill, comments: [...comments.values()] };
    const address = URL.createObjectURL(new Blob([`${JSON.stringify(file, null, 1)}\n`], { type: "application/json" }));
    make("a", [], { href: address, download: FILE }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    saved = true;
    said.replaceChildren(`Saved as ${FILE}. Next: `, make("code", [next]));
  });

  addEventListener("beforeunload", (event) => {
    if (!saved) event.preventDefault();
  });
})();
