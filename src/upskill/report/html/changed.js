// What changed: rows of cases and models, each opening its pair. Text goes in as text: nothing here parses HTML.
// Whenever a pair is shown, document receives "pair-opened" with {case, use, student, repeat, sides}; each side has the
// name of its arm, its element (to which controls may be appended) and its trial {line, state, answer}.
(() => {
  const given = document.getElementById("data");
  if (!given) return; // a generate that measured nothing
  const data = JSON.parse(given.textContent);
  const [list, dialog, form, byStudent, byKind, byText, found] = ["pairs", "pair", "filters", "by-student", "by-kind", "by-text", "found"].map((id) => document.getElementById(id));
  const CHUNK = 40;
  const ROOM = 170; // characters of an answer or a question in a row
  const FEW = 3; // rows of one kind that are shown in any case
  const FOLDED = { 4: "fail both times", 5: "pass both times" };
  const MOST_CELLS = 4_000_000; // of the table that finds common words: about 2,000 words on each side
  const [FAILED, PASSED, ERRORED] = [0, 1, 2];
  const SIGNS = ["✗", "✓", "!"];
  const CLASSES = ["fail", "pass", "error"];
  const ENDS = ["failed", "passed", "errored"];
  const [WORSE, BETTER] = data.kinds; // two runs have words of their own
  const KINDS = [["hurt", WORSE], ["helped", BETTER], ["differs", "≠ differs"], ["mixed", "= mixed"], ["same", "= still fails"], ["same", "= still passes"], ["errored", "– errored"]];
  const ALONE = { 4: "✗ fails", 5: "✓ passes", 3: "mixed" };
  const [before, after] = data.compared ?? [data.arms.length - 1, data.arms.length - 1];
  const pairArms = data.compared ? [before, after] : [after];
  const number = (value) => value.toLocaleString("en", { maximumSignificantDigits: 6 });

  const button = (name, act, attributes = {}) => {
    const made = make("button", name, { type: "button", ...attributes });
    if (act) made.addEventListener("click", act);
    else made.disabled = true;
    return made;
  };
  const text = (at) => (typeof data.texts[at] === "string" ? data.texts[at] : data.texts[at][0]);

  // trial: [student, case, arm, repeat, state, detail, answer, line, tokens in, tokens out, cost, seconds, log, sample, more]
  const trials = new Map();
  for (const trial of data.trials) {
    const key = trial[0] * data.cases.length + trial[1];
    if (!trials.has(key)) trials.set(key, []);
    trials.get(key).push(trial);
  }
  const trialsOf = ([student, known]) => trials.get(student * data.cases.length + known) ?? [];
  const trialOf = (row, arm, repeat) => trialsOf(row).find((trial) => trial[2] === arm && trial[3] === repeat);
  const repeatsOf = (row) => [...new Set(trialsOf(row).map((trial) => trial[3]))].sort((a, b) => a - b);

  // ---- rows

  let shown = [];
  let folds = [];
  const unfolded = new Set(data.unfolded);
  let drawn = 0;
  let watched = null;
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) more();
  }, { rootMargin: "900px" });

  function textsWith(sought) {
    const numbers = new Set();
    data.texts.forEach((value, at) => {
      if ((typeof value === "string" ? value : value[0]).toLowerCase().includes(sought)) numbers.add(at);
    });
    return numbers;
  }

  function isWanted(row, sought, texts) {
    const known = data.cases[row[1]];
    const [kind, mine] = [byKind.value, trialsOf(row)];
    if (byStudent && byStudent.value !== "" && row[0] !== Number(byStudent.value)) return false;
    if (sought && !known[0].toLowerCase().includes(sought) && !texts.has(known[1]) && !mine.some((trial) => texts.has(trial[6]))) return false;
    if (kind === "unproven") return known[2] === "unproven";
    if (kind === "errored") return mine.some((trial) => trial[4] === ERRORED);
    if (kind === "failed") return mine.some((trial) => trial[2] === after && trial[4] === FAILED);
    return kind === "all" || KINDS[row[2]][0] === kind;
  }

  function draw() {
    const sought = byText.value.trim().toLowerCase();
    const texts = sought ? textsWith(sought) : null;
    const wanted = data.rows.filter((row) => isWanted(row, sought, texts));
    found.textContent = wanted.length === data.rows.length ? "" : `${number(wanted.length)} of ${number(data.rows.length)}`;
    const same = Object.keys(FOLDED).map((kind) => [kind, wanted.filter((row) => row[2] === Number(kind)).length]);
    folds = data.compared && !sought && byKind.value === "all" ? same.filter(([kind, many]) => many > FEW && !unfolded.has(kind)) : [];
    shown = wanted.filter((row) => !folds.some(([kind]) => row[2] === Number(kind)));
    list.replaceChildren();
    drawn = 0;
    more();
    const first = list.querySelector("button");
    if (first) first.tabIndex = 0;
  }

  function more(until = drawn + CHUNK) {
    const some = document.createDocumentFragment();
    for (; drawn < Math.min(until, shown.length); drawn++) some.append(line(shown[drawn], drawn));
    if (drawn === shown.length) for (const fold of folds.splice(0)) some.append(folded(...fold));
    list.append(some);
    if (watched) watcher.unobserve(watched);
    watched = drawn < shown.length ? list.lastElementChild : null;
    if (watched) watcher.observe(watched);
  }

  // Rows in which nothing changed are one line, until somebody wants to see them.
  function folded(kind, many) {
    const opener = make("button", `${number(many)} ${FOLDED[kind]}: show ${many === 1 ? "it" : "them"}`, { type: "button", class: "row fold" });
    opener.addEventListener("click", (event) => {
      event.stopPropagation();
      const at = shown.length;
      unfolded.add(kind);
      draw();
      if (drawn <= at) more(at + 1);
      focusRow(at);
    });
    return make("li", opener);
  }

  const USES = { learn: "practice", negative: "unrelated" }; // as people call them; files and comments keep theirs
  const tagsOf = (known) => [known[2] === "unproven" ? known[2] : "", ...known[3], USES[known[4]] ?? known[4]].filter(Boolean);
  const kindOf = (row) => (data.compared ? KINDS[row[2]][1] : ALONE[row[2]] ?? KINDS[row[2]][1]);

  function line(row, at) {
    const known = data.cases[row[1]];
    const name = make("span", [
      make("strong", known[1] === null ? known[0] : inShort(known[1]), { class: "question" }),
      ...(data.students.length > 1 ? [" ", make("span", data.names[row[0]], { class: "model" })] : []),
      ...[...(known[1] === null ? [] : [known[0]]), ...tagsOf(known)].flatMap((tag) => [" ", make("span", tag, { class: "tag" })]),
    ], { class: "case" });
    const change = make("span", kindOf(row), { class: `change ${KINDS[row[2]][0]}` });
    const opener = make("button", [change, " ", name, " ", ...pairArms.map((arm) => excerpt(row, arm))], { type: "button", class: data.silent.includes(row[0]) ? "row quiet" : "row", tabindex: "-1" });
    opener.dataset.at = at;
    return make("li", opener);
  }

  // One side of a row: how often it passed, and what decided in the answer of the repeat that shows the change best.
  function excerpt(row, arm) {
    const mine = trialsOf(row).filter((trial) => trial[2] === arm);
    const trial = mine.find((one) => one[3] === row[3]) ?? mine[0];
    const title = make("span", data.arms[arm][1], { class: "arm" });
    if (!trial) return make("span", [title, " ", make("span", "not asked", { class: "muted" })], { class: "half" });
    const scored = mine.filter((one) => one[4] !== ERRORED);
    const tally = scored.length > 1 ? `${scored.filter((one) => one[4] === PASSED).length} of ${scored.length}` : "";
    const why = trial[4] === FAILED ? firstFailed(trial) : null;
    const end = [SIGNS[trial[4]], tally ? ` ${tally}` : "", make("span", ` ${tally ? "passed" : ENDS[trial[4]]}`, { class: "ended" })];
    return make("span", [
      title, " ", make("span", end, { class: `end ${CLASSES[trial[4]]}` }), " ",
      make("span", [make("span", beginning(trial, trialOf(row, arm === before ? after : before, row[3])), { class: "quote" }), ...(why ? [" ", make("span", why, { class: "why" })] : [])]),
    ], { class: "half" });
  }

  // Agents often end in the same words; then the first file they left tells more.
  function beginning(trial, partner) {
    if (trial[4] === ERRORED) return `Nothing was measured: ${trial[5][0]}`;
    const file = !partner || partner[6] === trial[6] ? trial[14].files?.[0].find((one) => one[2] >= 0) : undefined;
    if (file) return `${file[0]}: ${inShort(file[2])}`;
    return trial[6] < 0 ? "No answer." : `“${inShort(trial[6], decisive(trial, partner))}”`;
  }
  // At most so much of a text as a row has room for, around the place that matters.
  function inShort(at, place = 0) {
    const from = place > ROOM - 40 ? Math.max(0, place - 60) : 0;
    const words = text(at).slice(from, from + 600).replace(/^\s*(```|~~~).*$/gm, "").replace(/\s+/g, " ").trim();
    return `${from ? "…" : ""}${words.length > ROOM ? `${words.slice(0, ROOM - 1)}…` : words}`;
  }
  // Where a check found what it names in quotes; in an answer that failed, where it departs from the other side's.
  function decisive(trial, partner) {
    const answer = text(trial[6]);
    for (const [, passed, saw] of gradeOf(trial))
      for (const [, , named] of passed ? text(saw).matchAll(/(['"`])(.{2,200}?)\1/g) : []) if (answer.includes(named)) return answer.indexOf(named);
    const other = partner && partner[4] !== ERRORED && partner[6] >= 0 ? text(partner[6]) : "";
    let at = 0;
    while (at < answer.length && answer[at] === other[at]) at++;
    return trial[4] === FAILED && at < answer.length ? at : 0;
  }

  const gradeOf = (trial) => data.grades[Array.isArray(trial[5]) ? trial[5][0] : trial[5]];
  function firstFailed(trial) {
    const failed = gradeOf(trial).find((result) => !result[1]);
    return failed ? text(failed[2]).slice(0, 160) : null;
  }

  list.addEventListener("click", (event) => {
    const row = event.target.closest("button");
    if (row) open(Number(row.dataset.at));
  });

  // One stop for the Tab key, arrows within: thousands of stops would be a trap.
  function focusRow(at) {
    if (at >= drawn) more();
    const next = list.children[at]?.firstElementChild;
    if (!next) return;
    for (const one of list.querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
  list.addEventListener("keydown", (event) => {
    const at = Number(event.target.closest("button")?.dataset.at ?? -1);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: drawn - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    focusRow(to);
  });

  // ---- what differs

  // For two lists, which entries of each belong to their longest common part; null where that would take too long.
  function common(one, other) {
    let [start, end, last] = [0, one.length, other.length];
    while (start < end && start < last && one[start] === other[start]) start++;
    while (end > start && last > start && one[end - 1] === other[last - 1]) [end, last] = [end - 1, last - 1];
    const [high, wide] = [end - start, last - start + 1];
    if ((high + 1) * wide > MOST_CELLS) return null;
    const best = new Uint16Array((high + 1) * wide);
    for (let i = high - 1; i >= 0; i--)
      for (let j = wide - 2; j >= 0; j--)
        best[i * wide + j] = one[start + i] === other[start + j] ? best[(i + 1) * wide + j + 1] + 1 : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
    const flags = [one.map((_, i) => i < start || i >= end), other.map((_, j) => j < start || j >= last)];
    for (let i = 0, j = 0; i < high && j < wide - 1; ) {
      if (one[start + i] === other[start + j]) [flags[0][start + i++], flags[1][start + j++]] = [true, true];
      else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) i++;
      else j++;
    }
    return flags;
  }

  const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
  // The text with the words marked that the other text lacks; null where two texts have too little in common for that.
  function marked(mine, other) {
    const [words, others] = [mine.match(WORD) ?? [], other.match(WORD) ?? []];
    const isWord = (word) => word.trim() !== "";
    const [flags, theirs] = common(words.filter(isWord), others.filter(isWord)) ?? [[], []];
    if (5 * flags.filter(Boolean).length < flags.length + theirs.length) return null;
    let at = 0;
    const parts = [];
    words.forEach((word) => {
      const same = isWord(word) ? flags[at++] : null;
      const last = parts[parts.length - 1];
      if (last && (same === null || last.same === same)) last.text += word;
      else parts.push({ same: same ?? true, text: word });
    });
    return parts.map((part) => {
      const words = part.text.trimEnd();
      return part.same ? part.text : make("span", [make("mark", words), part.text.slice(words.length)]);
    });
  }

  function changedLines(old, now) {
    const [gone, come] = [old, now].map((whole) => whole.replace(/\n$/, "").split("\n"));
    const flags = common(gone, come);
    if (!flags) return null;
    const lines = [];
    for (let i = 0, j = 0; i < gone.length || j < come.length; ) {
      if (i < gone.length && !flags[0][i]) lines.push(["−", gone[i++]]);
      else if (j < come.length && !flags[1][j]) lines.push(["+", come[j++]]);
      else {
        lines.push([" ", come[j]]);
        [i, j] = [i + 1, j + 1];
      }
    }
    const near = (at) => lines.slice(Math.max(0, at - 3), at + 4).some(([sign]) => sign !== " ");
    const parts = [];
    lines.forEach(([sign, words], at) => {
      if (near(at)) parts.push(make("span", `${sign} ${words}\n`, { class: { "+": "added", "−": "removed", " ": "same" }[sign] }));
      else if (parts[parts.length - 1] !== "⋯\n") parts.push("⋯\n");
    });
    return parts;
  }

  // ---- a pair

  const pre = (content, kind = "") => make("pre", content, kind ? { class: kind } : {});
  const quiet = (...said) => make("p", said, { class: "muted" });
  function block(at, where, other) {
    if (at < 0) return quiet("Empty.");
    const value = data.texts[at];
    const words = (other === undefined || other < 0 ? null : marked(text(at), text(other))) ?? text(at);
    if (typeof value === "string") return pre(words);
    return make("div", [pre(words), quiet(`Shortened: the first ${number(value[0].length)} of ${number(value[1])} characters. ${where}`)]);
  }

  function checks(trial) {
    const detail = trial[5];
    if (trial[4] === ERRORED) return make("p", `Nothing was measured: ${detail[0]}. ${text(detail[1])}`);
    const asked = data.cases[trial[1]][6];
    const entries = gradeOf(trial).map(([kind, passed, saw], at) =>
      make("li", [
        make("p", [make("span", `${passed ? "✓ passed" : "✗ failed"}`, { class: `end ${passed ? "pass" : "fail"}` }), ` ${kind}`]),
        asked[at]?.[0] === kind ? pre(text(asked[at][1]), kind === "regex" ? "pattern" : "") : null,
        make("p", [make("span", "saw: ", { class: "muted" }), text(saw)], { class: "saw" }),
      ]));
    const ended = Array.isArray(detail) ? [make("p", `The model did not finish: ${detail[1]}.`)] : [];
    return make("div", [...ended, make("ul", entries, { class: "checks" })]);
  }

  function steps(trial) {
    if (!data.tools) return make("div");
    const extra = trial[14];
    if (!extra.steps) return make("div", [make("h4", "Steps"), quiet(extra.stored ? `From an earlier run (${extra.stored}). Its log has the steps.` : "Not on this page. They are in the Inspect log.")]);
    const [all, gap] = extra.steps;
    const entries = all.map((step) => make("li", step.length === 1 ? [make("p", text(step[0]), { class: "said" })] : call(step)));
    if (gap) entries.splice(gap[0], 0, make("li", quiet(`${number(gap[1])} steps are not shown. They are in the Inspect log.`)));
    const calls = all.filter((step) => step.length > 1).length;
    const summary = `Steps: ${calls} tool ${calls === 1 ? "call" : "calls"}${gap ? " shown" : ""}`;
    return make("details", [make("summary", summary), make("ol", entries, { class: "timeline" })], { open: "" });
  }

  const call = ([tool, given, output, failed, seconds]) => [
    make("p", [make("code", tool), failed ? make("span", " ✗ failed", { class: "end fail" }) : null, !seconds ? null : make("span", ` ${number(seconds)} s`, { class: "muted" })]),
    given < 0 ? null : block(given, "", undefined),
    output < 0 ? quiet("No output.") : make("div", block(output, "", undefined), { class: "output" }),
  ];

  const originals = new Map(data.originals.map(([known, path, at]) => [`${known}/${path}`, at]));
  function files(trial, others) {
    const extra = trial[14];
    const [listed, count] = extra.files ?? [[], 0];
    const theirs = others.flatMap((other) => other[14].files?.[0] ?? []);
    const missing = [...new Set(theirs.map(([path]) => path))].filter((path) => !listed.some((one) => one[0] === path));
    if (!listed.length && !missing.length && !extra.removed) return make("div");
    const parts = listed.map((file) => left(file, trial[1], theirs.find((other) => other[0] === file[0])));
    if (count > listed.length) parts.push(quiet(`${number(count - listed.length)} more files.`));
    if (extra.removed) parts.push(make("p", `Removed: ${extra.removed.join(", ")}`));
    if (missing.length) parts.push(quiet(`Not written on this side: ${missing.join(", ")}`));
    return make("div", [make("h4", "Files"), ...parts]);
  }

  function left([path, size, at], known, other) {
    const first = originals.get(`${known}/${path}`) ?? -1;
    const lines = at >= 0 && first >= 0 ? changedLines(text(first), text(at)) : null;
    const what = data.cases[known][5].includes(path) ? "changed" : "new";
    const summary = make("summary", `${path}, ${what}, ${number(size)} bytes`);
    const body = at < 0 ? quiet("Not shown: too long, or not text.") : lines ? pre(lines, "diff") : block(at, "", other?.[2]);
    return make("details", [summary, body], { open: "" });
  }

  function used(trial) {
    const extra = trial[14];
    const figure = (value, unit) => (value === null ? null : `${number(value)} ${unit}`);
    const log = trial[12] < 0 ? "" : `; full exchange: sample ${trial[13]} of logs/${data.logs[trial[12]]}`;
    const said = [
      figure(trial[8], "tokens in"), figure(trial[9], "tokens out"),
      trial[10] === null ? null : `$${trial[10]}`, figure(trial[11], "seconds"),
      extra.turns ? `${extra.turns} model ${extra.turns === 1 ? "turn" : "turns"}` : null,
      extra.tries ? `${extra.tries} attempts` : null,
      extra.stored ? `from the cache, answered ${extra.stored}` : null,
      extra.loaded === undefined ? null : !extra.loaded ? "skill not loaded" : extra.load_turn ? `skill loaded in turn ${extra.load_turn}` : "skill loaded",
      extra.other_skills?.length ? `other skills loaded: ${extra.other_skills.join(", ")}` : null,
      extra.read?.length ? `read ${extra.read.join(", ")}` : null,
    ].filter(Boolean).join(", ");
    return make("div", [quiet(said), make("details", [make("summary", "Where it is recorded"), quiet(`Model ${data.students[trial[0]]}. Full record: line ${trial[7]} of trials.jsonl${log}.`)])]);
  }

  function side(arm, trial, row, repeat) {
    const title = data.arms[arm][1];
    if (!trial) return make("section", [make("h3", title), quiet("Not asked in this repeat.")], { class: "side", "aria-label": title });
    const partner = trialOf(row, arm === before ? after : before, repeat);
    const others = data.arms.map((_, other) => (other === arm ? null : trialOf(row, other, repeat))).filter(Boolean);
    const late = trial[14].late ? quiet("This answer arrived after the decision, so it does not count.") : null;
    return make("section", [
      make("h3", [title, " ", make("span", `${SIGNS[trial[4]]} ${ENDS[trial[4]]}`, { class: `end ${CLASSES[trial[4]]}` })]),
      make("div", [late, make("h4", "Answer"), block(trial[6], "The full text is in trials.jsonl.", partner && arm !== partner[2] ? partner[6] : undefined)]),
      make("div", [make("h4", "Checks"), checks(trial)]),
      steps(trial), files(trial, others), used(trial),
    ], { class: "side", "aria-label": title });
  }

  function repeats(at, row, now) {
    const all = repeatsOf(row);
    if (all.length < 2) return null;
    const buttons = all.map((repeat) => {
      const ends = pairArms.map((arm) => trialOf(row, arm, repeat)?.[4]);
      const label = `Repeat ${repeat}: ${pairArms.map((arm, side) => `${data.arms[arm][1]} ${ENDS[ends[side]] ?? "not asked"}`).join(", ")}`;
      return button(`${repeat} ${ends.map((end) => SIGNS[end] ?? "–").join("→")}`, () => open(at, repeat), { "aria-label": label, "aria-pressed": String(repeat === now) });
    });
    return make("div", [make("span", "Repeat"), ...buttons], { class: "repeats", role: "group", "aria-label": "Repeats" });
  }

  function asked(known) {
    const prompt = known[1] === null ? quiet("The case has changed since, or its file is missing. The prompt is in the Inspect log.") : block(known[1], "The full text is in the case file.");
    return make("div", [make("h3", "Prompt"), prompt, known[5].length ? quiet(`With the files ${known[5].join(", ")}`) : null], { class: "asked" });
  }

  function open(at, repeat = shown[at][3]) {
    const row = shown[at];
    const known = data.cases[row[1]];
    const repeated = dialog.open && document.activeElement?.closest(".repeats") !== null;
    const step = (to) => (to >= 0 && to < shown.length ? () => open(to) : null);
    const sides = data.arms.map((_, arm) => arm).filter((arm) => trialsOf(row).some((trial) => trial[2] === arm));
    const made = sides.map((arm) => ({ arm, trial: trialOf(row, arm, repeat) })).map((one) => ({ ...one, element: side(one.arm, one.trial, row, repeat) }));
    const title = make("h2", [known[0], data.students.length > 1 ? `, ${data.names[row[0]]}` : "", " ", make("span", kindOf(row), { class: `change ${KINDS[row[2]][0]}` })], { id: "pair-title", tabindex: "-1" });
    const columns = make("div", made.map((one) => one.element), { class: `sides of-${made.length}` });
    const marks = columns.querySelector("mark") ? quiet(make("mark", "Marked"), " words are on one side only.") : null;
    dialog.replaceChildren(
      make("div", [button("Close", () => dialog.close()), button("Previous", step(at - 1)), button("Next", step(at + 1)), repeats(at, row, repeat)], { class: "steps" }),
      title, asked(known), marks ?? "", columns,
    );
    if (!dialog.open) dialog.showModal();
    dialog.dataset.at = at;
    dialog.scrollTop = 0;
    for (const one of dialog.querySelectorAll("pre")) if (one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    (repeated ? dialog.querySelector('[aria-pressed="true"]') : title).focus();
    const given = made.filter((one) => one.trial).map(({ arm, element, trial }) => ({ arm: data.arms[arm][0], element, trial: { line: trial[7], state: ENDS[trial[4]], answer: trial[6] < 0 ? "" : text(trial[6]) } }));
    document.dispatchEvent(new CustomEvent("pair-opened", { detail: { case: known[0], use: known[4], student: data.students[row[0]], repeat, sides: given } }));
  }

  dialog.addEventListener("close", () => focusRow(Number(dialog.dataset.at)));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  for (const control of [byStudent, byKind]) control?.addEventListener("change", draw);
  let waiting = 0;
  byText.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("beforeprint", () => more(Math.min(shown.length, 400)));
  form.hidden = document.getElementById("heads").hidden = false;
  draw();
})();
