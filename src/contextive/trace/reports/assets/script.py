"""The script of the HTML report: filters, search and keyboard navigation. The report is readable without it."""

SCRIPT = """
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const tools = document.getElementById("tools");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const none = document.getElementById("none");
  const boxes = tools ? all("input[type=checkbox]", tools) : [];
  const links = new Map(all("nav.contents a").map((link) => [link.hash.slice(1), link.parentElement]));
  const sections = all("details.s").map((element) => ({
    element,
    opened: element.open,
    link: links.get(element.id),
    heading: element.querySelector("h3").textContent.toLowerCase(),
    rows: all(":scope > details.r", element).map((row) => ({
      element: row, status: row.dataset.status, level: row.dataset.level, words: null,
    })),
  }));
  let filtered = false;
  const total = sections.reduce((sum, section) => sum + section.rows.length, 0);

  const wordsOf = (row, section) => row.words ??= [
    section.heading, row.element.id, row.element.querySelector(".text").textContent,
    ...all(".head .path", row.element).map((path) => path.textContent),
  ].join(" ").toLowerCase();

  const checked = (name) => new Set(boxes.filter((box) => box.name === name && box.checked).map((box) => box.value));

  function filter() {
    const statuses = checked("status"), levels = checked("level");
    const needles = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const active = statuses.size || levels.size || needles.length;
    let count = 0;
    if (active && !filtered) for (const section of sections) section.opened = section.element.open;
    filtered = Boolean(active);
    for (const section of sections) {
      let visible = 0;
      for (const row of section.rows) {
        const matches = (!statuses.size || statuses.has(row.status)) && (!levels.size || levels.has(row.level))
          && (!needles.length || needles.every((needle) => wordsOf(row, section).includes(needle)));
        if (row.element.hidden === matches) row.element.hidden = !matches;
        if (matches) visible += 1;
      }
      count += visible;
      section.visible = visible;
    }
    for (const section of sections) {
      const hide = filtered && !section.visible;
      section.element.hidden = hide;
      if (section.link) section.link.hidden = hide;
      section.element.open = active ? count <= 400 || section.opened : section.opened;
    }
    for (const spec of all("section.spec, details.others")) {
      spec.hidden = filtered && !all("details.s", spec).some((section) => !section.hidden);
    }
    shown.textContent = active ? `${count} of ${total} shown` : `${total} requirements`;
    none.hidden = !active || count > 0;
    for (const clear of all("[data-do=clear]", tools)) clear.hidden = !active;
  }

  function clear() {
    search.value = "";
    for (const box of boxes) box.checked = false;
    filter();
  }

  /* Replaces links to code elsewhere on the page with a copy of the code. */
  function fill(row) {
    for (const link of all("a.same", row)) {
      const code = document.getElementById(link.hash.slice(1))?.querySelector(".code");
      if (code) link.replaceWith(code.cloneNode(true));
    }
    const facts = row.querySelector(".facts");
    if (facts && !facts.querySelector(".copy")) {
      const button = document.createElement("button");
      button.className = "copy";
      button.type = "button";
      button.textContent = "Copy citation";
      facts.append(button);
    }
  }

  function citation(row) {
    const words = row.querySelector(".text").textContent.trim().split(/\\s+/);
    const lines = [];
    for (const word of words) {
      const last = lines.length - 1;
      if (last >= 0 && lines[last].length + word.length < 78) lines[last] += " " + word;
      else lines.push(word);
    }
    return [`//= ${row.closest("details.s").dataset.target}`, ...lines.map((line) => `//# ${line}`), ""].join("\\n");
  }

  async function copy(button) {
    const text = citation(button.closest("details.r"));
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const block = document.createElement("pre");
      block.className = "code";
      block.tabIndex = 0;
      block.textContent = text;
      button.parentElement.after(block);
      button.remove();
      getSelection().selectAllChildren(block);
    }
  }

  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]")) clear();
    for (let element = target; element; element = element.parentElement) if (element.matches("details")) element.open = true;
    target.scrollIntoView();
  }

  // One layer at a time: sections open before the requirements in them, and close after them.
  function fold(open) {
    const visible = sections.filter((section) => !section.element.hidden);
    const rows = visible.flatMap((section) => section.rows.map((row) => row.element)).filter((row) => !row.hidden);
    const inner = open ? visible.every((section) => section.element.open) : rows.some((row) => row.open);
    if (inner) for (const row of rows) row.open = open;
    else for (const section of visible) section.element.open = section.opened = open;
  }

  function step(direction) {
    const stops = all("details.r:not([hidden]) > summary").filter((summary) => summary.checkVisibility());
    if (!stops.length) return;
    const here = document.activeElement?.closest("details.r")?.querySelector("summary");
    const next = stops[here ? stops.indexOf(here) + direction : 0];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  }

  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches("details.r")) fill(event.target);
  }, true);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.classList.contains("copy")) copy(button);
    else if (button.dataset.do === "clear") clear();
    else if (button.dataset.do === "open" || button.dataset.do === "close") fold(button.dataset.do === "open");
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !tools) return;
    if (event.target.matches("input")) {
      if (event.key === "Escape") { clear(); event.target.blur(); }
      return;
    }
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
  });
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => { for (const section of sections) section.element.open = true; });
  if (tools) {
    let timer = 0;
    search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
    tools.addEventListener("change", (event) => { if (event.target !== search) filter(); });
    tools.hidden = false;
    filter();
  }
  reveal();
})();
"""
SCRIPT_HASH = "sha256-zmQq+QsTIXQm+xW06Kko38U7tJb11YkxEk7MoC8UDVY="
"""A constant, so that a report need not load OpenSSL to compute it. A test checks it."""
