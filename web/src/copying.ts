// Buttons that copy exactly what one would paste.
const SHOWN_FOR = 1500;

export function startCopying(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => void copy(button));
  }
}

async function copy(button: HTMLButtonElement): Promise<void> {
  const label = button.textContent;
  button.textContent = (await write(button.dataset["copy"] ?? "")) ? "Copied" : "Not copied";
  window.setTimeout(() => (button.textContent = label), SHOWN_FOR);
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // the page is not secure, or the reader did not allow it
  }
}
