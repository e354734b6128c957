/**
 * Rounds of writing and killing on one data directory, with everything remembered that was
 * acknowledged.
 */

import { Database } from "bun:sqlite";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { DeploymentService, DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { InitialCredentials } from "../../../src/server/boot/start.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { spawnServer } from "../../harness/spawned-server.ts";
import type { Acknowledged } from "./writing-process.ts";

const TEXT_TABLE = "obs_1_user__text__v1";
/** States of a row in the order in which it takes them. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  upload: [""],
  client: [""],
  login_session: ["pending", "confirmed", "taken"],
  deployment: [String(DeploymentStatus.QUEUED), String(DeploymentStatus.BUILDING), String(DeploymentStatus.FAILED)],
  job: ["queued", "running", "failed", "succeeded"],
};
const STATE_COLUMN: Readonly<Record<string, string>> = {
  upload: "''",
  client: "''",
  login_session: "state",
  deployment: "status",
  job: "state",
};

/**
 * Builds the library that keeps what a power cut would leave; undefined when this machine has no C
 * compiler, or is not Linux.
 */
export function buildPowerCut(folder: string): string | undefined {
  if (process.platform !== "linux" || lacksProgram("cc")) return undefined;
  const library = join(folder, "power-cut.so");
  const built = Bun.spawnSync(["cc", "-shared", "-fPIC", "-O2", "-o", library, join(import.meta.dir, "power-cut/power-cut.c"), "-ldl"]);
  if (!built.success) throw new Error(built.stderr.toString());
  return library;
}

/** A data directory and what was promised about it. */
export class Lane implements Disposable {
  readonly #temp = new TempFolder();
  readonly #folder = join(this.#temp.path, "live");
  readonly #kept = join(this.#temp.path, "kept");
  readonly #observed = new Set<string>();
  readonly #rows = new Map<string, { readonly row: string; readonly id: string; readonly state: string }>();
  /** Time of observation by online key, as the file had it. */
  readonly #online = new Map<string, number>();
  #credentials: InitialCredentials | undefined;
  /** Acknowledged writes. */
  acknowledged = 0;
  /** Longest time from start to the first sign of life, milliseconds. */
  slowestStart = 0;

  /** @param library see `buildPowerCut` */
  constructor(
    readonly name: string,
    readonly random: (limit: number) => number,
    readonly library: string | undefined,
  ) {
    mkdirSync(this.#folder);
    mkdirSync(this.#kept);
  }

  get #env(): Record<string, string> {
    return this.library === undefined ? {} : { LD_PRELOAD: this.library, POWER_CUT: this.#kept };
  }

  /**
   * Starts a process that writes to the stores, and kills it: while it starts, or somewhere in the
   * write after a number of acknowledged ones.
   */
  async writeAndKill(round: string): Promise<void> {
    const began = performance.now();
    const child = Bun.spawn(["bun", join(import.meta.dir, "writing-process.ts"), this.#folder, round, String(this.random(2 ** 31))], {
      stdout: "pipe",
      stderr: "inherit",
      env: { ...process.env, ...this.#env },
    });
    const early = this.random(8) === 0;
    const kill = (after: number) => setTimeout(() => child.kill("SIGKILL"), after);
    if (early) kill(this.random(150));
    const lines = 1 + this.random(60);
    let killing = early;
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      if (text === "") this.slowestStart = Math.max(this.slowestStart, performance.now() - began);
      text += decoder.decode(chunk, { stream: true });
      if (!killing && text.split("\n").length > lines) {
        killing = true;
        kill(this.random(4));
      }
    }
    await child.exited;
    if (child.signalCode !== "SIGKILL") throw new Error(`the writing process ended by itself: ${child.exitCode} ${text.slice(-500)}`);
    for (const line of text.split("\n").slice(0, -1))
      this.#remember(JSON.parse(line) as Acknowledged | { readonly ready: InitialCredentials | null });
  }

  /**
   * Starts a real server, announces uploads over HTTP, and kills it. Without the credentials, which
   * a kill may have taken, it is on an empty directory.
   */
  async serveAndKill(): Promise<void> {
    if (!this.#credentials) this.renew();
    const began = performance.now();
    await using server = await spawnServer(this.#folder, this.#credentials, this.#env);
    this.slowestStart = Math.max(this.slowestStart, performance.now() - began);
    this.#credentials = server.credentials;
    const killed = Bun.sleep(this.random(120)).then(() => server.kill());
    const { clientId, clientSecret } = server.credentials;
    const write = async (): Promise<void> => {
      const response = await fetch(`${server.url}/v1/oauth/token`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ client_id: clientId, client_secret: clientSecret, grant_type: "client_credentials" }),
      });
      const { access_token } = (await response.json()) as { access_token: string };
      const transport = createConnectTransport({
        baseUrl: server.url,
        useBinaryFormat: true,
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${access_token}`);
            return next(request);
          },
        ],
      });
      const client = createClient(DeploymentService, transport);
      while (true) {
        const { uploadId } = await client.createUpload({
          sha256: this.random(2 ** 31)
            .toString(16)
            .padStart(64, "0"),
          sizeBytes: 1n,
        });
        this.#remember({ row: "upload", id: uploadId, state: "" });
      }
    };
    await Promise.allSettled([write(), write(), write(), killed]);
  }

  /** Compares the files with what was promised; gives what is wrong, in words. */
  check(): string[] {
    const wrong = this.#checkFiles(join(this.#folder, "data"), "killed");
    if (this.library !== undefined) wrong.push(...this.#checkFiles(this.#kept, "power cut"));
    return wrong;
  }

  /** Starts over with an empty directory. */
  renew(): void {
    for (const folder of [this.#folder, this.#kept]) {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
    }
    this.#observed.clear();
    this.#rows.clear();
    this.#online.clear();
    this.#credentials = undefined;
  }

  [Symbol.dispose](): void {
    this.#temp[Symbol.dispose]();
  }

  #remember(said: Acknowledged | { readonly ready: InitialCredentials | null }): void {
    if ("ready" in said) {
      this.#credentials = said.ready ?? this.#credentials;
      return;
    }
    this.acknowledged++;
    if ("observed" in said) for (const value of said.observed) this.#observed.add(value);
    else this.#rows.set(`${said.row} ${said.id}`, said);
  }

  /** Looks at copies, so that the next process finds the files as they were left. */
  #checkFiles(folder: string, event: "killed" | "power cut"): string[] {
    const copies = join(this.#temp.path, "copies");
    mkdirSync(copies);
    try {
      for (const name of existsSync(folder) ? readdirSync(folder) : [])
        if (/\.db(-wal)?$/.test(name)) cpSync(join(folder, name), join(copies, name));
      const wrong = [...this.#checkOffline(copies), ...this.#checkMetadata(copies)];
      if (event === "killed") wrong.push(...this.#checkOnline(copies));
      return wrong.map((text) => `${this.name}, ${event}: ${text}`);
    } finally {
      rmSync(copies, { recursive: true });
    }
  }

  #checkOffline(folder: string): string[] {
    const stored = new Set(
      rowsOf<{ value: string }>(join(folder, "offline.db"), TEXT_TABLE, `select value from ${TEXT_TABLE}`).map(({ value }) => value),
    );
    const lost = [...this.#observed].filter((value) => !stored.has(value));
    return [
      ...damageOf(join(folder, "offline.db")),
      ...(lost.length > 0 ? [`${lost.length} of ${this.#observed.size} observations lost: ${lost.slice(0, 3)}`] : []),
    ];
  }

  #checkMetadata(folder: string): string[] {
    const wrong = damageOf(join(folder, "meta.db"));
    for (const [table, states] of Object.entries(STATES)) {
      const found = rowsOf<{ id: string; state: string | number }>(
        join(folder, "meta.db"),
        table,
        `select id, ${STATE_COLUMN[table]} as state from ${table}`,
      );
      const known = new Map(found.map(({ id, state }) => [id, states.indexOf(String(state))]));
      for (const { row, id, state } of this.#rows.values())
        if (row === table && (known.get(id) ?? -1) < states.indexOf(state)) wrong.push(`${table} ${id} should be ${state || "there"}`);
    }
    return wrong.slice(0, 5);
  }

  /** An online value never gives way to an older one, over all processes. */
  #checkOnline(folder: string): string[] {
    const wrong = damageOf(join(folder, "online.db"));
    const found = rowsOf<{ pk: string; value: string; observed_at: number }>(
      join(folder, "online.db"),
      "online",
      "select pk, value, observed_at from online",
    );
    for (const { pk, value, observed_at } of found) {
      if (JSON.parse(value) !== observed_at) wrong.push(`online ${pk} has the value of another time`);
      if (observed_at < (this.#online.get(pk) ?? 0)) wrong.push(`online ${pk} went back to ${observed_at} from ${this.#online.get(pk)}`);
      this.#online.set(pk, observed_at);
    }
    for (const pk of this.#online.keys()) if (!found.some((row) => row.pk === pk)) wrong.push(`online ${pk} is gone`);
    return wrong.slice(0, 5);
  }
}

function rowsOf<T>(path: string, table: string, statement: string): T[] {
  if (!existsSync(path)) return [];
  using db = new Database(path);
  if (!db.query("select 1 from sqlite_master where name = ?").get(table)) return [];
  return db.query(statement).all() as T[];
}

function damageOf(path: string): string[] {
  if (!existsSync(path)) return [];
  using db = new Database(path);
  const said = db.query<{ integrity_check: string }, []>("pragma integrity_check").all();
  return said.length === 1 && said[0]?.integrity_check === "ok" ? [] : [`${path} is damaged: ${JSON.stringify(said.slice(0, 3))}`];
}
