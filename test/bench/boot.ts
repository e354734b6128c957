/** How long a server takes from its start to its first answer. */

import { join } from "node:path";
import { freePort } from "../harness/free-port.ts";
import type { Sandbox } from "../harness/sandbox.ts";

const RETRY_MS = 0.5;
const GIVE_UP_MS = 10_000;

/**
 * Starts a server on a data directory that it keeps, waits until `GET /health` is answered, stops
 * it; milliseconds from the start to the answer.
 */
export async function bootOnce(sandbox: Sandbox): Promise<number> {
  const port = await freePort();
  const started = performance.now();
  const server = Bun.spawn([sandbox.binary, "server", "start", "--port", String(port), "--data-dir", join(sandbox.root, "boot")], {
    cwd: sandbox.work,
    env: sandbox.env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  try {
    while (!(await answers(port))) {
      if (performance.now() - started > GIVE_UP_MS) throw new Error("the server does not answer");
      await Bun.sleep(RETRY_MS);
    }
    return performance.now() - started;
  } finally {
    server.kill();
    await server.exited;
  }
}

/** Whether `GET /health` is answered. */
export function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`, { keepalive: false }).then(
    (response) => response.ok,
    () => false,
  );
}
