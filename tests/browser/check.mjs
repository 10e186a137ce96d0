// Opens every view in a browser and prints what was found as JSON. Usage: node check.mjs BASE-URL CHROMIUM WHAT
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../../web/package.json", import.meta.url)));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

const [base, executablePath, what] = process.argv.slice(2);
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const FORMS = [
  { name: "desktop, light", viewport: DESKTOP, colorScheme: "light" },
  { name: "desktop, dark", viewport: DESKTOP, colorScheme: "dark" },
  { name: "phone, light", viewport: PHONE, colorScheme: "light" },
];
const RUNS = 5;

/** The address of every view, with names that the project really has. */
export async function addresses() {
  const get = async (path) => (await fetch(base + path, { headers: { Accept: "application/json" } })).json();
  const specification = (await get("/specs")).specifications[0].address;
  const requirement = (await get(`${specification}?level=MUST`)).matching[0].badge;
  const row = (await get("/matrix?sort=code&order=descending")).rows[0];
  const file = row.code[0].address.replace(/[?#].*/, "");
  const path = decodeURIComponent(file.replace("/code/", ""));
  const notes = (await get("/notes")).notes;
  const found = {
    overview: "/",
    specifications: "/specs",
    specification,
    "specification with a requirement": requirement.here.replace(/#.*/, ""),
    "specification, filtered": `${specification}?level=MUST`,
    requirement: row.address,
    findings: "/findings",
    matrix: "/matrix",
    directory: "/code",
    file,
    search: "/search?q=answer+within+the+limit",
    "search without a result": "/search?q=zyzzogeton+quixotry",
    "graph, begin": "/graph",
    graph: `/graph?node=${encodeURIComponent(`File:${path}`)}`,
    notes: "/notes",
    status: "/status",
    "unknown page": "/nothing",
  };
  return notes.length ? { ...found, note: notes[0].address } : found;
}

async function withPage(browser, options, work) {
  const context = await browser.newContext(options);
  try {
    return await work(await context.newPage(), context);
  } finally {
    await context.close();
  }
}

function watch(page, status) {
  const problems = [];
  page.on("console", (message) => {
    const isExpected = status === 404 && message.text().includes("404");
    if (message.type() === "error" && !isExpected) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith("data:")) problems.push(`request to ${url}`);
  });
  return problems;
}

/** Console errors, foreign requests, violations of WCAG A and AA, and text that is wider than the screen. */
async function views(browser) {
  const results = [];
  for (const [view, path] of Object.entries(await addresses())) {
    for (const form of FORMS) {
      const result = await withPage(browser, { ...form, bypassCSP: false }, async (page) => {
        const expected = view === "unknown page" ? 404 : 200;
        const problems = watch(page, expected);
        const response = await page.goto(base + path, { waitUntil: "load" });
        if (response.status() !== expected) problems.push(`status ${response.status()}`);
        if (view === "graph") await page.waitForSelector("#graph[data-drawn]", { timeout: 10_000 });
        await page.waitForFunction(() => document.readyState === "complete");
        await page.evaluate(await source(axe));
        const found = await page.evaluate(() =>
          window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }),
        );
        for (const violation of found.violations) {
          const nodes = violation.nodes.slice(0, 3).map((node) => `${node.target.join(" ")}: ${node.any[0]?.message ?? ""}`);
          problems.push(`${violation.id}: ${nodes.join(" | ")}`);
        }
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        if (width > form.viewport.width + 1) problems.push(`the page is ${width} px wide`);
        return { view, form: form.name, problems };
      });
      results.push(result);
    }
  }
  return results;
}

async function source(path) {
  const { readFile } = await import("node:fs/promises");
  return readFile(path, "utf8");
}

/** First contentful paint, the median of five, and the size of the HTML. */
async function budgets(browser) {
  const results = [];
  for (const [view, path] of Object.entries(await addresses())) {
    const paints = [];
    let bytes = 0;
    for (let run = 0; run <= RUNS; run += 1) {
      await withPage(browser, { viewport: DESKTOP }, async (page) => {
        const response = await page.goto(base + path, { waitUntil: "load" });
        bytes = (await response.body()).length;
        const paint = await page.evaluate(
          () =>
            new Promise((resolve) => {
              const known = performance.getEntriesByName("first-contentful-paint")[0];
              if (known) resolve(known.startTime);
              new PerformanceObserver((list, observer) => {
                for (const entry of list.getEntriesByName("first-contentful-paint")) {
                  observer.disconnect();
                  resolve(entry.startTime);
                }
              }).observe({ type: "paint", buffered: true });
            }),
        );
        if (run) paints.push(paint); // the first one warms the server
      });
    }
    paints.sort((a, b) => a - b);
    results.push({ view, paint: Math.round(paints[Math.floor(RUNS / 2)]), bytes });
  }
  return results;
}

/** From the overview to a requirement and back with keys alone. */
async function keyboard(browser) {
  const steps = [];
  const specification = (await addresses()).specification;
  await withPage(browser, { viewport: DESKTOP }, async (page) => {
    await page.goto(base + "/", { waitUntil: "load" });
    await page.keyboard.press("/");
    steps.push({ step: "slash focuses the search", ok: await page.evaluate(() => document.activeElement?.id === "search") });
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await Promise.all([page.waitForURL("**/specs"), page.keyboard.press("s")]);
    steps.push({ step: "g s opens the specifications", ok: true });
    await page.keyboard.press("j");
    await Promise.all([page.waitForURL("**/specs/**"), page.keyboard.press("Enter")]);
    steps.push({ step: "j and Enter open a specification", ok: true });
    await page.goto(base + specification, { waitUntil: "load" });
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.querySelector("a.badge[aria-current]") || location.search.includes("part="));
    steps.push({ step: "j chooses the next open requirement", ok: true });
    await page.waitForSelector("#beside [data-open]");
    await Promise.all([page.waitForURL("**/requirements/**"), page.keyboard.press("o")]);
    steps.push({ step: "o opens it", ok: true });
    await page.keyboard.press("?");
    steps.push({ step: "question mark shows the keys", ok: await page.locator("#help").isVisible() });
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    steps.push({ step: "the focus is visible", ok: outline !== "none" });
  });
  return steps;
}

/** The median time of a frame while a graph of many nodes is dragged. */
async function drag(browser) {
  return withPage(browser, { viewport: DESKTOP }, async (page) => {
    const graph = (await addresses()).graph;
    await page.goto(`${base}${graph}&depth=4&most=1500`, { waitUntil: "load" });
    await page.waitForSelector("#graph[data-drawn]", { timeout: 30_000 });
    const nodes = Number(await page.getAttribute("#graph", "data-drawn"));
    const box = await page.locator("#graph").boundingBox();
    await page.evaluate(() => {
      window.frames_ = [];
      let last = performance.now();
      const next = (now) => {
        window.frames_.push(now - last);
        last = now;
        requestAnimationFrame(next);
      };
      requestAnimationFrame(next);
    });
    await page.mouse.move(box.x + 20, box.y + 20);
    await page.mouse.down();
    for (let step = 0; step < 60; step += 1) await page.mouse.move(box.x + 20 + step * 8, box.y + 20 + step * 5);
    await page.mouse.up();
    const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b);
    return { nodes, median: Math.round(frames[Math.floor(frames.length / 2)]) };
  });
}

const CHECKS = { views, budgets, keyboard, drag };
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  console.log(JSON.stringify(await CHECKS[what](browser)));
} finally {
  await browser.close();
}
