// Light or dark. The choice is a cookie, so that the server can write it into the page and nothing flashes.
const NAME = "contextive-theme";
const YEAR = 365 * 24 * 3600;

export function startTheme(): void {
  const button = document.querySelector<HTMLButtonElement>("[data-theme-switch]");
  if (button === null) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
    const current = root.dataset["theme"] ?? (systemIsDark ? "dark" : "light");
    const next = current === "dark" ? "light" : "dark";
    root.dataset["theme"] = next;
    document.cookie = `${NAME}=${next}; path=/; max-age=${YEAR}; samesite=strict`;
    document.dispatchEvent(new Event("themechange"));
  });
}
