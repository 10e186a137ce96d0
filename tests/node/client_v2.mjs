// The client of `@modelcontextprotocol/client` 2: asks with server/discover first and speaks 2026-07-28 where it can.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { CHANGES, Ear, walk, wish } from "./walk.mjs";

const [command, ...args] = wish.command ?? [];
const transport = wish.url
  ? new StreamableHTTPClientTransport(new URL(wish.url))
  : new StdioClientTransport({ command, args, stderr: "inherit" });
const client = new Client({ name: "client-v2", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
const ear = new Ear(CHANGES);
for (const method of CHANGES) {
  client.setNotificationHandler(method, (notification) => ear.hear(notification));
}
await client.connect(transport);
const subscribe = (uri) =>
  client.listen({ toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [uri] });
const report = await walk(client, ear, { version: client.getNegotiatedProtocolVersion(), subscribe });
await client.close();
console.log(JSON.stringify(report));
