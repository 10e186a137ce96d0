// The client of `@modelcontextprotocol/sdk` 1: the initialize handshake, up to 2025-11-25.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { CHANGES, NotificationLog, exercise, options } from "./exercise.mjs";

const [command, ...args] = options.command ?? [];
const transport = options.url
  ? new StreamableHTTPClientTransport(new URL(options.url))
  : new StdioClientTransport({ command, args, stderr: "inherit" });
let version;
const forward = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (negotiated) => {
  version = negotiated;
  forward?.(negotiated);
};

const client = new Client({ name: "sdk-v1", version: "1.0.0" });
const log = new NotificationLog(CHANGES);
for (const schema of [
  ToolListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
]) {
  client.setNotificationHandler(schema, (notification) => log.add(notification));
}
await client.connect(transport);
const report = await exercise(client, log, { version, subscribe: (uri) => client.subscribeResource({ uri }) });
await client.close();
console.log(JSON.stringify(report));
