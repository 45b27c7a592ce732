"use strict";
// Draws the map from the data in the page, and opens one trial at a time. Text goes in as text: nothing here parses HTML.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const map = document.getElementById("map");
  const dialog = document.getElementById("trial");
  const form = document.getElementById("filters");
  const [byStudent, byKind, byText, found] = ["by-student", "by-kind", "by-text", "found"].map((id) => document.getElementById(id));
  const CHUNK = 60;
  const [FAILED, PASSED, ERRORED] = [0, 1, 2];
  const SIGNS = ["✗", "✓", "!"];
  const CLASSES = ["fail", "pass", "error"];
  const WORDS = ["failed", "passed", "errored"];

  const make = (name, content, attributes = {}) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    for (const part of [content].flat()) if (part !== null && part !== undefined) element.append(part);
    return element;
  };

  // trial: [student, case, arm, repeat, state, detail, answer, line, tokens in, tokens out, cost, seconds, log, sample, more]
  const rows = data.students.map(() => data.cases.map(() => null));
  data.trials.forEach((trial, number) => {
    const row = (rows[trial[0]][trial[1]] ??= data.arms.map(() => []));
    row[trial[2]].push(number);
  });
  for (const mine of rows)
    for (const row of mine) if (row) for (const cell of row) cell.sort((a, b) => data.trials[a][3] - data.trials[b][3]);

  const text = (number) => {
    const value = data.texts[number];
    return typeof value === "string" ? value : value[0];
  };
  const rate = (cell) => {
    const scored = cell.filter((number) => data.trials[number][4] !== ERRORED && !data.trials[number][14].late);
    return scored.length ? scored.filter((number) => data.trials[number][4] === PASSED).length / scored.length : null;
  };

  let shown = [];
  let drawn = 0;
  let body = null;
  let watched = null;
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) more();
  }, { rootMargin: "900px" });

  function wanted(row, known) {
    if (!row) return false;
    const kind = byKind.value;
    const sought = byText.value.trim().toLowerCase();
    if (sought && !known[0].toLowerCase().includes(sought) && !(known[1] !== null && text(known[1]).toLowerCase().includes(sought))) return false;
    if (kind === "unproven") return known[2] === "unproven";
    if (kind === "errored") return row.flat().some((number) => data.trials[number][4] === ERRORED);
    const [measured, against] = data.measured ?? [data.arms.length - 1, 0];
    if (kind === "failed") return row[measured].some((number) => data.trials[number][4] === FAILED);
    if (kind === "all") return true;
    if (!data.measured) return false;
    const [after, before] = [rate(row[measured]), rate(row[against])];
    if (after === null || before === null) return false;
    return kind === "helped" ? after > before : after < before;
  }

  function draw() {
    const student = Number(byStudent.value || 0);
    shown = [];
    data.cases.forEach((known, number) => {
      if (wanted(rows[student][number], known)) shown.push(number);
    });
    found.textContent = `${shown.length.toLocaleString("en")} of ${data.cases.length.toLocaleString("en")} cases`;
    const head = make("tr", [make("th", "Case", { scope: "col" }), ...data.arms.map((arm) => make("th", arm, { scope: "col" })), make("th", "Prompt", { scope: "col", class: "asks" })]);
    body = make("tbody");
    map.replaceChildren(make("table", [make("thead", head), body], { "aria-label": "Trials by case and arm" }));
    drawn = 0;
    more();
    const first = body.querySelector("button");
    if (first) first.tabIndex = 0;
  }

  function more(until = drawn + CHUNK) {
    const student = Number(byStudent.value || 0);
    const some = document.createDocumentFragment();
    for (; drawn < Math.min(until, shown.length); drawn++) some.append(line(student, shown[drawn]));
    body.append(some);
    if (watched) watcher.unobserve(watched);
    watched = drawn < shown.length ? body.lastElementChild : null;
    if (watched) watcher.observe(watched);
  }

  function line(student, number) {
    const [id, prompt, state, labels, use] = data.cases[number];
    const tags = [state === "unproven" ? state : "", ...labels, use].filter(Boolean);
    const head = make("th", [id, ...tags.map((tag) => make("span", tag, { class: "tag" }))], { scope: "row" });
    const cells = rows[student][number].map((cell, arm) => make("td", cell.map((trial) => square(trial, id, arm)), { class: cell.length > 6 ? "many" : "few" }));
    const asks = prompt === null ? "" : text(prompt).slice(0, 200);
    return make("tr", [head, ...cells, make("td", asks, { class: "asks" })]);
  }

  function square(number, id, arm) {
    const trial = data.trials[number];
    const late = trial[14].late ? " late" : "";
    const label = `${id}, ${data.arms[arm]}, run ${trial[3]}: ${WORDS[trial[4]]}${late ? ", not counted" : ""}`;
    const button = make("button", SIGNS[trial[4]], { type: "button", class: `cell ${CLASSES[trial[4]]}${late}`, "aria-label": label, title: label, tabindex: "-1" });
    button.dataset.trial = number;
    return button;
  }

  map.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) open(Number(button.dataset.trial));
  });

  // One stop for the Tab key, arrows within: twenty thousand stops would be a trap.
  map.addEventListener("keydown", (event) => {
    const now = event.target.closest("button");
    if (!now) return;
    const [row, mine] = [now.closest("tr"), [...now.closest("tr").querySelectorAll("button")]];
    const at = mine.indexOf(now);
    let next = null;
    if (event.key === "ArrowRight") next = mine[at + 1];
    else if (event.key === "ArrowLeft") next = mine[at - 1];
    else if (event.key === "Home") next = mine[0];
    else if (event.key === "End") next = mine[mine.length - 1];
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (event.key === "ArrowDown" && !row.nextElementSibling) more();
      const other = event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
      const theirs = other ? [...other.querySelectorAll("button")] : [];
      next = theirs[Math.min(at, theirs.length - 1)];
    } else return;
    event.preventDefault();
    if (!next) return;
    now.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  const block = (number, where) => {
    if (number < 0) return make("p", "Nothing.", { class: "muted" });
    const value = data.texts[number];
    const part = make("pre", text(number), { tabindex: "0" });
    if (typeof value === "string") return part;
    const cut = `Cut: the first ${value[0].length.toLocaleString("en")} of ${value[1].toLocaleString("en")} characters. ${where}`;
    return make("div", [part, make("p", cut, { class: "muted" })]);
  };

  function checks(trial) {
    const detail = trial[5];
    if (trial[4] === ERRORED) return make("p", `Nothing was measured: ${detail[0]}. ${text(detail[1])}`);
    const [grade, end] = Array.isArray(detail) ? detail : [detail, null];
    const list = make("ul", data.grades[grade].map(([kind, passed, saw]) =>
      make("li", [
        make("span", passed ? "✓" : "✗", { "aria-label": passed ? "passed" : "failed", role: "img" }),
        make("span", [`${kind}: `, make("span", text(saw), { class: "saw" })]),
      ], { class: passed ? "good" : "bad" })), { class: "checks" });
    return end ? make("div", [make("p", `The student did not come to an end by itself: ${end}.`), list]) : list;
  }

  const figure = (value, unit) => (value === null ? null : `${value.toLocaleString("en", { maximumSignificantDigits: 6 })} ${unit}`);

  function used(trial) {
    const extra = trial[14];
    return [
      figure(trial[8], "tokens in"), figure(trial[9], "tokens out"),
      trial[10] === null ? null : `$${trial[10]}`, figure(trial[11], "seconds"),
      extra.turns ? `${extra.turns} answers of the model` : null,
      extra.tries ? `tried ${extra.tries} times` : null,
      extra.stored ? `from the trial store, bought ${extra.stored}` : null,
      extra.loaded === undefined ? null : extra.loaded ? "skill loaded" : "skill not loaded",
      extra.read && extra.read.length ? `read ${extra.read.join(", ")}` : null,
    ].filter(Boolean).join(", ");
  }

  function left(trial) {
    const extra = trial[14];
    if (!extra.files && !extra.removed) return [];
    const parts = (extra.files ?? []).map(([path, size, number]) =>
      make("details", [make("summary", `${path}, ${size.toLocaleString("en")} bytes`), number < 0 ? make("p", "Not shown.", { class: "muted" }) : block(number, "")]));
    if (extra.removed) parts.push(make("p", `Taken away: ${extra.removed.join(", ")}`));
    return [make("h3", "Files it left"), ...parts];
  }

  function open(number) {
    const trial = data.trials[number];
    const known = data.cases[trial[1]];
    const row = rows[trial[0]][trial[1]].flat();
    const at = row.indexOf(number);
    const step = (name, to) => {
      const button = make("button", name, { type: "button" });
      button.disabled = to === undefined;
      button.addEventListener("click", () => open(to));
      return button;
    };
    const close = make("button", "Close", { type: "button" });
    close.addEventListener("click", () => dialog.close());
    const place = `Line ${trial[7]} of trials.jsonl has it whole`;
    const log = trial[12] < 0 ? "" : `; the exchange is sample ${trial[13]} of logs/${data.logs[trial[12]]}`;
    const prompt = known[1] === null
      ? make("p", "The case has changed since, or its file is gone. The engine's log has the prompt.", { class: "muted" })
      : block(known[1], "The case file has it whole.");
    dialog.replaceChildren(
      make("div", [close, step("Previous", row[at - 1]), step("Next", row[at + 1])], { class: "steps" }),
      make("h2", [`${known[0]}, ${data.arms[trial[2]]}, run ${trial[3]} `, make("span", `${SIGNS[trial[4]]} ${WORDS[trial[4]]}`, { class: `verdict ${["bad", "good", "unsure"][trial[4]]}` })], { id: "trial-title", tabindex: "-1" }),
      make("p", data.students[trial[0]] + (trial[14].late ? ". In flight when the decision fell: kept, and not counted." : ""), { class: "muted" }),
      make("h3", "What each check saw"), checks(trial),
      make("h3", "Prompt"), prompt,
      ...(known[5].length ? [make("p", `With the files ${known[5].join(", ")}`, { class: "muted" })] : []),
      make("h3", "Answer"), block(trial[6], "The line named below has it whole."),
      ...left(trial),
      make("p", used(trial), { class: "muted" }),
      make("p", `${place}${log}.`, { class: "muted" }),
    );
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    document.getElementById("trial-title").focus();
  }

  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  for (const control of [byStudent, byKind]) control.addEventListener("change", draw);
  let waiting = 0;
  byText.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("beforeprint", () => more(Math.min(shown.length, 400)));
  if (!data.measured) for (const name of ["helped", "hurt"]) byKind.querySelector(`[value=${name}]`).remove();
  form.hidden = false;
  draw();
})();
