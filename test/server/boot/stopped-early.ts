/**
 * Starts servers one after another, each in a folder of its own, and stops each some turns of the
 * event loop later after its start than the one before: `bun stopped-early.ts <folder> <servers>`.
 * Prints what a server warns of. Ends by itself unless a stopped server goes on.
 */

import { join } from "node:path";
import { systemClock } from "../../../src/context/system-clock.ts";
import { start } from "../../../src/server/boot/start.ts";

const [folder = "", servers = "0"] = process.argv.slice(2);
for (let nth = 0; nth < Number(servers); nth++) {
  const server = await start({
    port: 0,
    dataDir: join(folder, String(nth)),
    clock: { now: systemClock.now, sleep: (ms, signal) => systemClock.sleep(ms < 100 ? 0 : ms, signal) },
    env: {},
    version: "test",
    log: (line) => void (line.includes('"level":"info"') || process.stdout.write(`${line}\n`)),
  });
  for (let turn = 0; turn < 4 * nth; turn++) await new Promise((resolve) => setImmediate(resolve));
  await server.stop();
}
