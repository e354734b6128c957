/**
 * ClickHouse for tests: its own engine, as the Python package `chdb` has it, behind a small HTTP
 * interface (`clickhouse-http.py`), with data in a temporary folder, stopped by its process id.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";

/** A running server. */
export interface TestClickhouse {
  readonly host: string;
  readonly port: number;
  /** Kills the server, as a crash would, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** The Python that has `chdb`; SVC_TEST_CHDB names another one. */
const python = (): string => process.env.SVC_TEST_CHDB ?? "python3";

/** Whether Python's `chdb` is absent. */
export const lacksClickhouse = (): boolean => {
  const found = Bun.spawnSync([python(), "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('chdb') is None)"], {
    stderr: "ignore",
  });
  return !found.success;
};

/** Starts a server without tables. */
export async function startClickhouse(): Promise<TestClickhouse> {
  const folder = mkdtempSync(join(tmpdir(), "svc-clickhouse-"));
  const port = await freePort();
  const start = async (): Promise<Bun.Subprocess> => {
    const child = Bun.spawn([python(), join(import.meta.dir, "clickhouse-http.py"), String(port), join(folder, "data")], {
      stdout: "pipe",
      stderr: "inherit",
    });
    const { value } = await child.stdout.getReader().read();
    if (!value) throw new Error("ClickHouse's engine did not start");
    return child;
  };
  let server = await start();
  const kill = async (): Promise<void> => {
    server.kill("SIGKILL");
    await server.exited;
  };
  return {
    host: "127.0.0.1",
    port,
    async restart() {
      await kill();
      server = await start();
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
