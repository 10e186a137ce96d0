// One visit of a server by a connected client. Says what the client saw; the test decides whether that is right.
import { writeFile } from "node:fs/promises";

const HEARD_WITHIN_MS = 10_000;

/** The wish of the test: `{ command } | { url }`, `uri`, `badCall`, `completion`, `prompt`, `configFile`, `newConfig`. */
export const wish = JSON.parse(process.argv[2]);

/** Notifications as they arrive, and a promise for the moment when all of `kinds` have. */
export class Ear {
  heard = [];
  #kinds;
  #resolve;

  constructor(kinds) {
    this.#kinds = new Set(kinds);
    this.all = new Promise((resolve) => (this.#resolve = resolve));
  }

  hear(notification) {
    this.heard.push({ method: notification.method, uri: notification.params?.uri });
    this.#kinds.delete(notification.method);
    if (this.#kinds.size === 0) this.#resolve();
  }
}

export const CHANGES = [
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
];

/** Walk through everything that a server offers; `subscribe` and `version` differ between the clients. */
export async function walk(client, ear, { version, subscribe }) {
  const names = (list) => list.map((item) => item.name);
  const tools = (await client.listTools()).tools;
  const report = {
    version,
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    tools: names(tools),
    resources: (await client.listResources()).resources.map((resource) => resource.uri),
    templates: (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
    prompts: names((await client.listPrompts()).prompts),
    called: await client.callTool({ name: "contextive_server_info", arguments: {} }),
    refused: await client.callTool({ name: "contextive_server_info", arguments: { colour: "red" } }),
    unknownTool: await failure(client.callTool({ name: "no_such_tool", arguments: {} })),
    read: await client.readResource({ uri: wish.uri }),
    unknownResource: await failure(client.readResource({ uri: "contextive:///nowhere" })),
    completed: (await client.complete(wish.completion)).completion.values,
    prompted: wish.prompt ? await client.getPrompt(wish.prompt) : null,
  };
  await subscribe(wish.uri);
  await writeFile(wish.configFile, wish.newConfig, "utf8");
  await Promise.race([ear.all, new Promise((resolve) => setTimeout(resolve, HEARD_WITHIN_MS).unref())]);
  return { ...report, heard: ear.heard, toolsAfterwards: names((await client.listTools()).tools) };
}

async function failure(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}
