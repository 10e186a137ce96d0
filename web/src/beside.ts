// Shows a requirement in the right column without loading the whole page again, and marks its words in the text.
import { startCopying } from "./copying";

let last: AbortController | undefined;

export function startBeside(): void {
  const contents = document.querySelector("details[data-contents]");
  if (contents !== null && window.matchMedia("(max-width: 720px)").matches) contents.removeAttribute("open");
  const column = document.getElementById("beside");
  if (column === null) return;
  window.addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("main details")) folded.setAttribute("open", "");
  });
  for (const badge of badges()) {
    badge.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      void choose(badge, column);
    });
  }
  for (const piece of document.querySelectorAll<HTMLElement>("[data-r]")) {
    piece.addEventListener("click", () => {
      const badge = document.getElementById(piece.dataset["r"] ?? "");
      if (badge !== null && window.getSelection()?.isCollapsed !== false) void choose(badge as HTMLAnchorElement, column);
    });
  }
  const current = document.querySelector<HTMLElement>(".badge[aria-current]");
  if (current !== null) mark(current);
}

export function badges(): HTMLAnchorElement[] {
  return [...document.querySelectorAll<HTMLAnchorElement>("a.badge")];
}

export async function choose(badge: HTMLAnchorElement, column: HTMLElement): Promise<void> {
  mark(badge);
  history.replaceState(null, "", badge.href);
  last?.abort();
  last = new AbortController();
  const address = new URL(badge.dataset["requirement"] ?? "", location.href);
  address.searchParams.set("form", "aside");
  try {
    const response = await fetch(address, { signal: last.signal, headers: { Accept: "text/html" } });
    if (!response.ok) return;
    const found = new DOMParser().parseFromString(await response.text(), "text/html");
    column.replaceChildren(...found.body.childNodes);
    column.scrollTop = 0;
    startCopying(column);
  } catch {
    // Another requirement was chosen meanwhile, or the server has ended.
  }
}

function mark(badge: HTMLElement): void {
  for (const other of document.querySelectorAll(".badge[aria-current]")) other.removeAttribute("aria-current");
  badge.setAttribute("aria-current", "true");
  for (const piece of document.querySelectorAll<HTMLElement>("[data-r]"))
    piece.classList.toggle("chosen-text", piece.dataset["r"] === badge.id);
}
