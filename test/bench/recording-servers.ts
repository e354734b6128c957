/**
 * Two servers in one process with the same project, of which one records nothing: the same compiled
 * code and the same memory, so that what differs between them is what recording costs. Prints where
 * they are, as JSON, and runs until its input ends.
 */

import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";
import { queryProject } from "./generate-project.ts";

const env = { PATH: process.env.PATH, HOME: process.env.HOME };

async function served(folder: TempFolder, recording: Record<string, string>) {
  const server = await TestServer.start(folder.path, { env: { ...env, ...recording }, logLevel: "warning" });
  expectLive(await deploy(server, queryProject()));
  const { hostname: host, port } = new URL(server.url);
  return { server, place: { host, port: Number(port), authorization: `Bearer ${await server.token()}` } };
}

using folders = new DisposableStack();
const off = await served(folders.use(new TempFolder()), { SVC_BENCH_RECORDING: "off" });
const on = await served(folders.use(new TempFolder()), {});
console.log(JSON.stringify({ off: off.place, on: on.place }));
for await (const _ of Bun.stdin.stream());
await Promise.all([off, on].map(({ server }) => server[Symbol.asyncDispose]()));
