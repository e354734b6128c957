/**
 * A server in its own process, for tests that kill it: `bun server-process.ts <folder>`. Prints its
 * address and credentials as one line of JSON.
 */

import { join } from "node:path";
import { shareFirstUse } from "./first-use.ts";
import { TestServer } from "./running-server.ts";

const [folder = "", credentials = "null"] = process.argv.slice(2);
const home = join(folder, "home");
shareFirstUse(home);
const { HOME, PATH, SVC_CONTAINER_ENGINE } = process.env;
const env = { HOME, PATH, SVC_CONTAINER_ENGINE };
const server = await TestServer.start(folder, { home, env, credentials: JSON.parse(credentials) ?? undefined });
process.stdout.write(`${JSON.stringify({ url: server.url, credentials: server.credentials })}\n`);
