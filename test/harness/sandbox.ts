/**
 * A new user's machine: an empty HOME, and the compiled binary alone in an empty folder. Everything
 * that a test starts here is ended with it.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redeem } from "./browser-session.ts";
import { eventually } from "./eventually.ts";
import { shareFirstUse } from "./first-use.ts";
import { isAlive } from "./is-alive.ts";
import { linkOrCopy } from "./release-feed.ts";

/** The binary under test, made by `bun build.ts --single`. */
export const BINARY = join(import.meta.dir, "../../dist", process.platform === "win32" ? "svc.exe" : "svc");

/** The result of a command. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of a command's run. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string | undefined>;
  readonly input?: string;
  readonly timeoutMs?: number;
  /** Used in place of the sandbox's own. */
  readonly wrapper?: readonly string[];
}

/** A user's machine for one test. */
export class Sandbox implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), "svc-test-"));
  readonly home = join(this.root, "home");
  readonly work = join(this.root, "work");
  /** The binary, which may be a link to the built one: replace it and never write into it. */
  readonly binary = join(this.root, "bin", "svc");
  readonly env: Record<string, string>;
  /** Address of the server, once started. */
  url = "";
  /** Whether the first use of Python is part of the test: nothing of it is shared. */
  isFirstUseOwn = false;
  /** Arguments put before each command, for example of a program that enters a namespace. */
  wrapper: readonly string[] = [];

  constructor(env: Record<string, string> = {}) {
    if (!existsSync(BINARY)) throw new Error(`${BINARY} is missing: run \`bun build.ts --single\``);
    for (const dir of ["home", "work", "bin"]) mkdirSync(join(this.root, dir));
    linkOrCopy(BINARY, this.binary);
    this.env = { HOME: this.home, PATH: process.env.PATH ?? "", LANG: "C.UTF-8", SVC_NO_UPDATE_CHECK: "1", SVC_KEYCHAIN: "off", ...env };
  }

  /** Runs `svc` to its end. */
  async svc(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
    const child = Bun.spawn([...(options.wrapper ?? this.wrapper), this.binary, ...args], {
      cwd: options.cwd ?? this.work,
      env: { ...this.env, ...options.env },
      stdin: options.input === undefined ? "ignore" : new TextEncoder().encode(options.input),
      stdout: "pipe",
      stderr: "pipe",
      timeout: options.timeoutMs ?? 300_000,
      killSignal: "SIGKILL",
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { exitCode, stdout, stderr };
  }

  /** Runs `svc ... --json` and parses its output; throws with its stderr when it failed. */
  async json<T = unknown>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    const outcome = await this.svc([...args, "--json"], options);
    if (outcome.exitCode !== 0) throw new Error(`svc ${args.join(" ")}: exit ${outcome.exitCode}\n${outcome.stderr}`);
    return JSON.parse(outcome.stdout) as T;
  }

  /** Starts the embedded server on a free port and makes later commands use it. */
  async startServer(env: Record<string, string> = {}, flags: readonly string[] = []): Promise<string> {
    if (!this.isFirstUseOwn) shareFirstUse(join(this.home, ".svc"));
    const outcome = await this.svc(["server", "start", "--detach", "--port", "0", "--json", ...flags], { env });
    if (outcome.exitCode !== 0) throw new Error(`server did not start: ${outcome.stderr}`);
    this.url = (JSON.parse(outcome.stdout) as { url: string }).url;
    return this.url;
  }

  /** Kills the server, and waits until it is gone, and its lock with it. */
  async killServer(): Promise<void> {
    const { pid } = JSON.parse(readFileSync(join(this.home, ".svc/data/server.json"), "utf8")) as { pid: number };
    process.kill(pid, "SIGKILL");
    await eventually(() => !isAlive(pid), "the server is gone");
  }

  /** The text of a page, as a browser receives it that `svc dashboard` logged in. */
  async page(address: string): Promise<string> {
    const entry = new URL((await this.json<{ url: string }>(["dashboard", "/"])).url);
    const { headers } = await redeem(entry.origin, new URLSearchParams(entry.hash.slice(1)).get("code") ?? "");
    return (await fetch(address, { headers })).text();
  }

  /** Copies a fixture project into the work folder and returns its path. */
  async project(fixture: string, name = fixture): Promise<string> {
    const target = join(this.work, name);
    await cp(join(import.meta.dir, "../fixtures", fixture), target, { recursive: true });
    return target;
  }

  /** The login that the first start of the server stored, exchanged for a token. */
  async accessToken(): Promise<string> {
    const file = await Bun.file(join(this.home, ".config/svc.yml")).text();
    const told = (name: string) => new RegExp(`${name}: *"?([^"\\s]+)`, "i").exec(file)?.[1];
    const response = await fetch(`${this.url}/v1/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_id: told("clientId"), client_secret: told("clientSecret"), grant_type: "client_credentials" }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  /** Headers of calls to the server's HTTP API with that token. */
  async authorized(): Promise<{ authorization: string; "content-type": string }> {
    return { authorization: `Bearer ${await this.accessToken()}`, "content-type": "application/json" };
  }

  /** Writes a project from its files and returns its path. */
  async write(files: Record<string, string>, name = "project"): Promise<string> {
    const target = join(this.work, name);
    for (const [path, text] of Object.entries(files)) await Bun.write(join(target, path), text);
    return target;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.url) await this.svc(["server", "stop"]);
    rmSync(this.root, { recursive: true, force: true });
  }
}
