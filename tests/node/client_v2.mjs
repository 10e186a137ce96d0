// The client of `@modelcontextprotocol/client` 2: sends server/discover first and prefers 2026-07-28.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { CHANGES, NotificationLog, exercise, options } from "./exercise.mjs";

const [command, ...args] = options.command ?? [];
const transport = options.url
  ? new StreamableHTTPClientTransport(new URL(options.url))
  : new StdioClientTransport({ command, args, stderr: "inherit" });
const client = new Client({ name: "client-v2", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
const log = new NotificationLog(CHANGES);
for (const method of CHANGES) {
  client.setNotificationHandler(method, (notification) => log.add(notification));
}
await client.connect(transport);
const subscribe = (uri) =>
  client.listen({ toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [uri] });
const report = await exercise(client, log, { version: client.getNegotiatedProtocolVersion(), subscribe });
await client.close();
console.log(JSON.stringify(report));
