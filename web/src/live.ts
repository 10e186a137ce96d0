// Live updates. What keeps its place changes at once; what would move the text waits until the reader asks for it.
import { startBeside } from "./beside";
import { startCopying } from "./copying";

const LIVE = "[data-live]";
const KEYED = "[data-key]";

export function startLiveUpdates(): void {
  const main = document.getElementById("main");
  const sign = document.getElementById("live");
  if (main === null || sign === null || typeof EventSource === "undefined") return;
  const events = new EventSource("/events");
  let freshAt = Date.now();
  const show = (isFresh: boolean): void => {
    sign.hidden = false;
    sign.classList.toggle("stale", !isFresh);
    sign.textContent = isFresh ? "fresh" : "not connected";
    sign.title = `Last change seen ${new Date(freshAt).toLocaleTimeString()}`;
  };
  events.addEventListener("hello", () => show(true));
  events.addEventListener("change", () => {
    freshAt = Date.now();
    show(true);
    document.dispatchEvent(new Event("projectchange"));
    void update(main);
  });
  events.onerror = () => show(false);
  window.addEventListener("pagehide", () => events.close());
}

async function update(main: HTMLElement): Promise<void> {
  if (main.querySelector("form textarea") !== null) return; // somebody writes here
  let found: Document;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) return;
    found = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return;
  }
  const next = found.getElementById("main");
  if (next === null) return;
  for (const old of main.querySelectorAll<HTMLElement>(LIVE)) {
    const fresh = next.querySelector(`[data-live="${CSS.escape(old.dataset["live"] ?? "")}"]`);
    if (fresh !== null && fresh.innerHTML !== old.innerHTML) old.replaceChildren(...fresh.cloneNode(true).childNodes);
  }
  announce(countChanges(main, next), () => apply(main, next));
}

function countChanges(old: HTMLElement, fresh: HTMLElement): number {
  const before = keyed(old);
  const after = keyed(fresh);
  let changes = 0;
  for (const [key, text] of after) if (before.get(key) !== text) changes += 1;
  for (const key of before.keys()) if (!after.has(key)) changes += 1;
  return changes || (normal(old) === normal(fresh) ? 0 : 1);
}

function keyed(root: HTMLElement): Map<string, string> {
  return new Map([...root.querySelectorAll<HTMLElement>(KEYED)].map((item) => [item.dataset["key"] ?? "", normal(item)]));
}

function normal(element: HTMLElement): string {
  return (element.textContent ?? "").replace(/\s+/g, " ").trim();
}

function announce(changes: number, show: () => void): void {
  const box = document.getElementById("changes");
  if (box === null) return;
  box.hidden = changes === 0;
  if (changes === 0) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "show";
  button.addEventListener("click", () => {
    box.hidden = true;
    show();
  });
  box.replaceChildren(`${changes} ${changes === 1 ? "change" : "changes"} · `, button);
}

function apply(main: HTMLElement, next: HTMLElement): void {
  const top = window.scrollY;
  main.replaceChildren(...next.cloneNode(true).childNodes);
  window.scrollTo(0, top);
  startCopying(main);
  startBeside();
}
