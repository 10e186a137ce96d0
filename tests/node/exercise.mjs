// Use every feature of a server with a connected client and report the results, which the Python test checks.
import { writeFile } from "node:fs/promises";

const NOTIFICATION_TIMEOUT_MS = 10_000;

/** The options of the test: `{ command } | { url }`, `uri`, `badCall`, `completion`, `prompt`, `configFile`, `newConfig`. */
export const options = JSON.parse(process.argv[2]);

/** Collects notifications; the promise `all` resolves when one of each of `kinds` has arrived. */
export class NotificationLog {
  received = [];
  #kinds;
  #resolve;

  constructor(kinds) {
    this.#kinds = new Set(kinds);
    this.all = new Promise((resolve) => (this.#resolve = resolve));
  }

  add(notification) {
    this.received.push({ method: notification.method, uri: notification.params?.uri });
    this.#kinds.delete(notification.method);
    if (this.#kinds.size === 0) this.#resolve();
  }
}

export const CHANGES = [
  "notifications/tools/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
];

/** Use everything that a server offers; `subscribe` and `version` differ between the clients. */
export async function exercise(client, log, { version, subscribe }) {
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
    read: await client.readResource({ uri: options.uri }),
    unknownResource: await failure(client.readResource({ uri: "contextive:///nowhere" })),
    completed: (await client.complete(options.completion)).completion.values,
    prompted: options.prompt ? await client.getPrompt(options.prompt) : null,
  };
  await subscribe(options.uri);
  await writeFile(options.configFile, options.newConfig, "utf8");
  await Promise.race([log.all, new Promise((resolve) => setTimeout(resolve, NOTIFICATION_TIMEOUT_MS).unref())]);
  return { ...report, notifications: log.received, toolsAfterwards: names((await client.listTools()).tools) };
}

async function failure(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}
