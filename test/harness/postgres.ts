/**
 * A real PostgreSQL for tests, with its own cluster in a temporary folder, on a free port, stopped
 * by its process id.
 */

import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { systemCode } from "../../src/disk/disk-error.ts";
import { freePort } from "./free-port.ts";
import { lacks } from "./needs.ts";

/** A running cluster. */
export interface TestPostgres {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Folder with the cluster's files. */
  readonly folder: string;
  /** Kills the server, as a crash would, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** Options of a cluster. */
export interface PostgresOptions {
  /** Lines for `postgresql.conf`. */
  readonly settings?: readonly string[];
  /** Files to put in the cluster's folder, readable by the server alone. */
  readonly files?: Readonly<Record<string, string>>;
}

const PASSWORD = "s3cret-of-test";
const POLL_MS = 5;
/**
 * Interval between signals in milliseconds. They are repeated because a postmaster before
 * PostgreSQL 16 can miss that its child ended, and then sleeps for a minute.
 */
const NUDGE_MS = 200;
const LONGEST_START_MS = 60_000;

/**
 * Folder of the server programs of the newest installed PostgreSQL; undefined when none is
 * installed.
 */
function postgresBin(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const folders = existsSync(versions)
    ? readdirSync(versions)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, "bin"))
    : [];
  return [...folders, ...(process.env.PATH ?? "").split(delimiter)].find((folder) => existsSync(join(folder, "initdb")));
}

/** Whether PostgreSQL is absent: see `lacks`. */
export const lacksPostgres = (): boolean => lacks("PostgreSQL", postgresBin() !== undefined);

/** Starts a cluster. The server refuses to run as root: root starts it as the user `postgres`. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const bin = postgresBin();
  if (!bin) throw new Error("PostgreSQL is not installed");
  const root = mkdtempSync(join(tmpdir(), "svc-postgres-"));
  const folder = join(root, "data");
  const isRoot = userInfo().uid === 0;
  mkdirSync(folder, { mode: 0o700 });
  if (isRoot) {
    const [uid, gid] = accountIds("postgres");
    for (const path of [root, folder]) chownSync(path, uid, gid);
  }
  const as = (argv: string[]): string[] => (isRoot ? ["runuser", "-u", "postgres", "--", ...argv] : argv);
  const log = join(root, "log");
  const run = async (argv: string[], stdin?: string): Promise<void> => {
    const child = Bun.spawn(as(argv), {
      stdin: stdin === undefined ? "ignore" : Buffer.from(stdin),
      stdout: "pipe",
      stderr: "pipe",
      cwd: root,
    });
    const said = await Promise.all([new Response(child.stderr).text(), new Response(child.stdout).text()]);
    if ((await child.exited) !== 0) throw new Error(`${argv[0]}: ${said.join("")}`);
  };

  await run(
    [join(bin, "initdb"), "-D", folder, "-U", "svc_test", "-A", "scram-sha-256", "--pwfile=/dev/stdin", "-E", "UTF8", "--no-sync"],
    `${PASSWORD}\n`,
  );
  const port = await freePort();
  const settings = [
    "fsync = off",
    "listen_addresses = '127.0.0.1'",
    `port = ${port}`,
    `unix_socket_directories = '${root}'`,
    ...(options.settings ?? []),
  ];
  writeFileSync(join(folder, "postgresql.auto.conf"), `${settings.join("\n")}\n`);
  for (const [name, text] of Object.entries(options.files ?? {})) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    if (isRoot) chownSync(join(folder, name), ...accountIds("postgres"));
  }
  const pidFile = join(folder, "postmaster.pid");
  const start = async (): Promise<void> => {
    await run([join(bin, "pg_ctl"), "-D", folder, "-W", "-s", "-l", log, "start"]);
    await untilReady(pidFile, log);
  };
  const end = async (): Promise<void> => {
    const pid = readPidFile(pidFile)?.pid;
    if (pid === undefined) return;
    for (let waited = 0; existsSync(pidFile); waited += POLL_MS) {
      if (waited % NUDGE_MS === 0 && !signal(pid, "SIGQUIT")) return rmSync(pidFile, { force: true });
      await Bun.sleep(POLL_MS);
    }
  };
  await start();
  return {
    host: "127.0.0.1",
    port,
    user: "svc_test",
    password: PASSWORD,
    database: "postgres",
    folder,
    async restart() {
      await end();
      await start();
    },
    async stop() {
      await end();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/**
 * The text of a file that another process may remove at any moment; empty when it does not exist.
 */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "";
    throw error;
  }
}

/**
 * The postmaster's process id from its pid file, and its status, which is empty until it is written
 * and `ready` when it accepts connections; undefined without a pid file.
 */
function readPidFile(path: string): { readonly pid: number; readonly status: string } | undefined {
  const lines = textOf(path).split("\n");
  const pid = Number(lines[0]);
  return pid > 0 ? { pid, status: lines[7]?.trim() ?? "" } : undefined;
}

/**
 * Resolves when the server accepts connections. Throws with its log when it has ended or did not
 * start.
 */
async function untilReady(pidFile: string, log: string): Promise<void> {
  const failed = (why: string) => new Error(`PostgreSQL ${why}:\n${textOf(log)}`);
  let seen: number | undefined;
  for (let waited = 0; ; waited += POLL_MS) {
    const now = readPidFile(pidFile);
    if (now?.status === "ready") return;
    if (seen !== undefined && !signal(seen, waited % NUDGE_MS === 0 ? "SIGHUP" : 0)) throw failed("has ended");
    if (waited > LONGEST_START_MS) throw failed("does not start");
    seen = now?.pid ?? seen;
    await Bun.sleep(POLL_MS);
  }
}

/** Sends a signal. False when there is no such process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if (systemCode(error) === "ESRCH") return false;
    throw error;
  }
}

function accountIds(user: string): [uid: number, gid: number] {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (!uid || !gid) throw new Error(`there is no user '${user}' to run PostgreSQL as`);
  return [Number(uid), Number(gid)];
}
