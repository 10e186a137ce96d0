import assert from "node:assert/strict";
import { test } from "node:test";

import { Panel } from "./panel.js";

function screen() {
  const seen = [];
  return { seen, show: (text) => seen.push(text), darken: () => seen.push("dark") };
}

test("the open box is shown until its door is shut", () => {
  //= docs/spec/locker.md#fetching
  //= type=test
  //# The panel SHOULD show which box is open until its door is shut.
  const shown = screen();
  const panel = new Panel(shown);
  panel.doorOpened(7);
  panel.doorShut();
  assert.deepEqual(shown.seen, ["Box 7 is open", "Enter your code"]);
});

test("a panel on battery goes dark", () => {
  //= docs/spec/locker.md#power
  //= type=test
  //# The locker MAY darken the panel to save power.
  const shown = screen();
  const panel = new Panel(shown);
  panel.onMains = false;
  panel.idle();
  assert.deepEqual(shown.seen, ["dark"]);
});
