// Keys of the whole site. Fields keep their own keys.
import { choose } from "./beside";

const VIEWS: Record<string, string> = {
  o: "/", s: "/specs", m: "/matrix", d: "/changes", c: "/code", g: "/graph", n: "/notes", t: "/status",
};
const HELP: [string, string][] = [
  ["/", "search"],
  ["j  k", "next and previous: in a specification the open requirements, elsewhere the entries of a list"],
  ["o", "open"],
  ["e", "open in the editor"],
  ["c", "copy the citation"],
  ["g o  g s  g d  g m  g c  g g  g n  g t", "overview, specs, changes, matrix, code, graph, notes, status"],
  ["?", "this help"],
  ["Esc", "close"],
];
const ENTRIES = ".matches li, table.list tbody tr, .attention li, .results li, [data-entry]";
const DONE = new Set(["done", "exception"]);
const CHORD_TIME = 1200;
let chordUntil = 0;

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.matches("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (press(event.key)) event.preventDefault();
  });
}

function press(key: string): boolean {
  if (Date.now() < chordUntil) {
    chordUntil = 0;
    const view = VIEWS[key];
    if (view !== undefined) location.assign(view);
    return view !== undefined;
  }
  switch (key) {
    case "/":
      document.getElementById("search")?.focus();
      return true;
    case "j":
    case "k":
      return step(key === "j" ? 1 : -1);
    case "o":
      return click(document.querySelector("#beside [data-open]")) || click(currentEntry()?.querySelector("a") ?? null);
    case "e":
      return click(document.querySelector("[data-editor]"));
    case "c":
      return click(document.querySelector("[data-copy]"));
    case "g":
      chordUntil = Date.now() + CHORD_TIME;
      return true;
    case "?":
      return showHelp();
    case "Escape":
      return closeHelp();
    default:
      return false;
  }
}

function click(element: Element | null): boolean {
  if (!(element instanceof HTMLElement)) return false;
  element.click();
  return true;
}

function step(direction: number): boolean {
  const open = [...document.querySelectorAll<HTMLAnchorElement>("a.badge")].filter((b) => !DONE.has(b.dataset["status"] ?? ""));
  return document.querySelector("a.badge") !== null ? stepRequirement(open, direction) : stepEntry(direction);
}

function stepRequirement(open: HTMLAnchorElement[], direction: number): boolean {
  const current = document.querySelector<HTMLElement>("a.badge[aria-current]");
  const after = (badge: HTMLElement): boolean =>
    current === null ? direction > 0 : Math.sign(position(badge, current)) === direction;
  const ordered = direction > 0 ? open : [...open].reverse();
  const next = ordered.find((badge) => badge !== current && after(badge));
  if (next === undefined) {
    return click(document.querySelector(direction > 0 ? "a[rel=next]" : "a[rel=prev]"));
  }
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "center" });
  const column = document.getElementById("beside");
  if (column !== null) void choose(next, column);
  return true;
}

function position(first: Node, second: Node): number {
  return second.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_FOLLOWING ? 1 : -1;
}

function currentEntry(): Element | null {
  return document.activeElement?.closest(ENTRIES) ?? null;
}

function stepEntry(direction: number): boolean {
  const entries = [...document.querySelectorAll(ENTRIES)];
  const current = currentEntry();
  const index = current === null ? (direction > 0 ? 0 : -1) : entries.indexOf(current) + direction;
  const link = entries.at(index)?.querySelector("a");
  if (link === null || link === undefined || index >= entries.length || (index < 0 && current !== null)) return false;
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: "nearest" });
  return true;
}

function showHelp(): boolean {
  if (closeHelp()) return true;
  const box = document.createElement("section");
  box.id = "help";
  box.className = "help";
  box.tabIndex = -1;
  box.setAttribute("aria-label", "Keys");
  const list = document.createElement("dl");
  for (const [keys, meaning] of HELP) {
    const term = document.createElement("dt");
    for (const key of keys.split("  ")) {
      const shown = document.createElement("kbd");
      shown.textContent = key;
      term.append(shown, " ");
    }
    const description = document.createElement("dd");
    description.textContent = meaning;
    list.append(term, description);
  }
  box.append(list);
  document.body.append(box);
  box.focus();
  return true;
}

function closeHelp(): boolean {
  const box = document.getElementById("help");
  box?.remove();
  return box !== null;
}
