/** A real PostgreSQL for tests: a cluster of its own in a temporary folder, on a free port, stopped by its process id. */

import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";

/** A running cluster. */
export interface TestPostgres {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Folder with the cluster's files. */
  readonly folder: string;
  /** Ends the server as a crash does and starts it again on the same port. */
  restart(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** What a cluster starts with. */
export interface PostgresOptions {
  /** Lines for `postgresql.conf`. */
  readonly settings?: readonly string[];
  /** Files to lie in the cluster's folder, readable by the server alone. */
  readonly files?: Readonly<Record<string, string>>;
}

const PASSWORD = "s3cret-of-test";

/** Folder of PostgreSQL's server programs, the newest first; undefined when none is installed. */
export function postgresBin(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const folders = existsSync(versions)
    ? readdirSync(versions)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, "bin"))
    : [];
  return [...folders, ...(process.env.PATH ?? "").split(delimiter)].find((folder) => existsSync(join(folder, "initdb")));
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}

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
  const run = (argv: string[], stdin?: string): void => {
    const done = Bun.spawnSync(as(argv), { stdin: stdin === undefined ? "ignore" : Buffer.from(stdin), cwd: root });
    if (!done.success) throw new Error(`${argv[0]}: ${done.stderr.toString()}${done.stdout.toString()}`);
  };

  run(
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
  const control = (...argv: string[]): void => run([join(bin, "pg_ctl"), "-D", folder, "-w", "-t", "60", "-s", ...argv]);
  const start = (): void => control("-l", join(root, "log"), "start");
  const end = (): void => {
    const note = join(folder, "postmaster.pid");
    if (!existsSync(note)) return;
    const pid = Number(readFileSync(note, "utf8").split("\n")[0]);
    // Said again while it stays: a postmaster before PostgreSQL 16 can miss that its last child ended, and then sleeps for a minute.
    for (let waited = 0; existsSync(note); waited += 5) {
      if (waited % 200 === 0) process.kill(pid, "SIGQUIT");
      Bun.sleepSync(5);
    }
  };
  try {
    start();
  } catch (error) {
    const log = existsSync(join(root, "log")) ? readFileSync(join(root, "log"), "utf8") : "";
    throw new Error(`${String(error)}\n${log}`);
  }
  return {
    host: "127.0.0.1",
    port,
    user: "svc_test",
    password: PASSWORD,
    database: "postgres",
    folder,
    async restart() {
      end();
      start();
    },
    async stop() {
      end();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function accountIds(user: string): [uid: number, gid: number] {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (!uid || !gid) throw new Error(`there is no user '${user}' to run PostgreSQL as`);
  return [Number(uid), Number(gid)];
}
