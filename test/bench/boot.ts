/** How long a server takes from its start to its first answer. */

import { createServer } from "node:net";
import { join } from "node:path";
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

/** A port that nobody listens on at the moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}

/** Whether `GET /health` is answered. */
export function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`, { keepalive: false }).then(
    (response) => response.ok,
    () => false,
  );
}
