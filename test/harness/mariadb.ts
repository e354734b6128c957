/**
 * A real MariaDB for tests, with its own data in a temporary folder, on a free port, stopped by its
 * process id.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { freePort } from "./free-port.ts";
import { lacksProgram, programPath } from "./needs.ts";

/** A running server. */
export interface TestMariadb {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Kills the server, as a crash would, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** A zone far from UTC, so that code that depends on the server's zone fails. */
const TIME_ZONE = "+05:00";
const PASSWORD = "s3cret-of-test";

/** Whether MariaDB is absent: see `lacks`. */
export const lacksMariadb = (): boolean => lacksProgram("mariadbd", "mariadb-install-db");

/** Starts a server with an empty database and one user. */
export async function startMariadb(): Promise<TestMariadb> {
  const [program, install] = [programPath("mariadbd"), programPath("mariadb-install-db")];
  if (!program || !install) throw new Error("MariaDB is not installed");
  const root = mkdtempSync(join(tmpdir(), "svc-mariadb-"));
  const data = join(root, "data");
  // A server that starts removes every temporary table in its folder for them, also those of
  // another that is being set up.
  const temporary = join(root, "tmp");
  mkdirSync(temporary);
  const base = dirname(dirname(program));
  const asRootUser = userInfo().uid === 0 ? ["--user=root"] : [];
  const made = Bun.spawnSync([
    install,
    "--no-defaults",
    `--basedir=${base}`,
    `--datadir=${data}`,
    `--tmpdir=${temporary}`,
    "--auth-root-authentication-method=normal",
    "--skip-test-db",
    ...asRootUser,
  ]);
  if (!made.success) throw new Error(`${made.stdout.toString()}${made.stderr.toString()}`);

  const port = await freePort();
  const socket = join(root, "socket");
  const start = (): Bun.Subprocess =>
    Bun.spawn(
      [
        program,
        "--no-defaults",
        `--basedir=${base}`,
        `--datadir=${data}`,
        `--tmpdir=${temporary}`,
        "--bind-address=127.0.0.1",
        `--port=${port}`,
        `--socket=${socket}`,
        `--log-error=${join(root, "log")}`,
        "--innodb-flush-log-at-trx-commit=2",
        `--default-time-zone=${TIME_ZONE}`,
        ...asRootUser,
      ],
      { stdout: "ignore", stderr: "ignore" },
    );
  const ready = async (process: Bun.Subprocess): Promise<void> => {
    while (process.exitCode === null) {
      if (existsSync(socket) && (await asRoot("select 1"))) return;
      await Bun.sleep(20);
    }
    throw new Error(await Bun.file(join(root, "log")).text());
  };
  const asRoot = async (text: string): Promise<boolean> => {
    const sql = new Bun.SQL({ adapter: "mariadb", path: socket, username: "root", password: () => "", database: "mysql", max: 1 });
    try {
      await sql.unsafe(text);
      return true;
    } catch {
      return false;
    } finally {
      await sql.close({ timeout: 0 }).catch(() => {});
    }
  };

  let running = start();
  await ready(running);
  for (const text of [
    "create database app",
    `create user 'svc_test'@'%' identified by '${PASSWORD}'`,
    "grant all on app.* to 'svc_test'@'%'",
  ])
    if (!(await asRoot(text))) throw new Error(`refused: ${text}`);
  return {
    host: "127.0.0.1",
    port,
    user: "svc_test",
    password: PASSWORD,
    database: "app",
    async restart() {
      running.kill("SIGKILL");
      await running.exited;
      rmSync(socket, { force: true });
      running = start();
      await ready(running);
    },
    async stop() {
      running.kill("SIGKILL");
      await running.exited;
      rmSync(root, { recursive: true, force: true });
    },
  };
}
