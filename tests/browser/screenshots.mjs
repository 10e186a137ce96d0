// Takes the pictures of the documentation. Usage: node screenshots.mjs BASE-URL CHROMIUM DIRECTORY
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../../web/package.json", import.meta.url)));
const { chromium } = require("playwright-core");
const [base, executablePath, target] = process.argv.slice(2);

const PICTURES = [
  { name: "overview", path: "/" },
  { name: "specification", path: "/specs/docs-spec-locker", after: async (page) => page.keyboard.press("j") },
  { name: "graph", path: "/graph?node=SourceFile:src/locker/codes.py&depth=1", wait: "#graph[data-drawn]" },
];

mkdirSync(target, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const { name, path, wait, after } of PICTURES) {
  const page = await browser.newPage({ viewport: { width: 1120, height: 620 }, colorScheme: "light" });
  await page.goto(base + path, { waitUntil: "load" });
  if (wait) await page.waitForSelector(wait);
  if (after) {
    await after(page);
    await page.waitForSelector("#beside .card");
    await page.evaluate(() => window.scrollTo(0, 0));
  }
  await page.waitForSelector("#live:not([hidden])");
  await page.screenshot({ path: `${target}/site-${name}.png` });
  await page.close();
}
await browser.close();
