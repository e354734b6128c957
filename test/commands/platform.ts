/**
 * The real embedded server in this process, a small real project, and commands run by `main` as the
 * command line runs them.
 */

import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "../../src/cli/run.ts";
import { systemClock } from "../../src/context/system-clock.ts";
import { type Server, start } from "../../src/server/boot/start.ts";
import { type TestOptions, tempFolder, testRun } from "../client/test-context.ts";
import { exchange } from "../harness/browser-session.ts";
import { shareAnalyses, sharedHome } from "../harness/first-use.ts";

/** A running platform. */
export interface Platform {
  readonly server: Server;
  readonly url: string;
  /** Home folder whose environment holds the credentials. */
  readonly home: string;
  readonly env: Record<string, string>;
  readonly environmentId: string;
}

/** Starts the server on a free port with data of its own. */
export async function startPlatform(env: Record<string, string> = {}): Promise<Platform> {
  const home = tempFolder("svc-platform-");
  shareAnalyses(join(home, ".svc"));
  const server = await start({
    port: 0,
    dataDir: join(home, "data"),
    home: sharedHome(),
    clock: systemClock,
    workers: 1,
    env: { PATH: process.env.PATH, HOME: sharedHome(), ...env },
    log: () => undefined,
    version: "v0.0.0-test",
  });
  const created = server.initialCredentials;
  if (!created) throw new Error("a first start creates credentials");
  return {
    server,
    url: server.url,
    home,
    environmentId: created.environmentId,
    env: { SVC_CLIENT_ID: created.clientId, SVC_CLIENT_SECRET: created.clientSecret, SVC_API_SERVER: server.url, ...env },
  };
}

/** What a method of the contract answers to the platform's own client, as JSON. */
export async function ask({ env, url }: Platform, method: string, body: object): Promise<unknown> {
  const token = await exchange(url, env.SVC_CLIENT_ID ?? "", env.SVC_CLIENT_SECRET ?? "");
  const response = await fetch(`${url}/svc.v1.${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.json();
}

/** What a command did. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Stdout as JSON. */
  json(): unknown;
}

/**
 * Runs a command of `src/commands` with its words, as `svc` would: `run("query", ["--in",
 * "user.id=1"])`.
 */
export async function runCommand(
  path: string,
  words: readonly string[],
  options: TestOptions & { readonly dir?: string } = {},
): Promise<Outcome> {
  const run = testRun(options);
  const exitCode = await main([...path.split("/"), ...words], run.deps);
  return { exitCode, stdout: run.stdout(), stderr: run.stderr(), json: () => JSON.parse(run.stdout()) };
}

const PROJECT: Readonly<Record<string, string>> = {
  "svc.yaml": "project: demo\nenvironments:\n  default: {}\n",
  "features.py": `from svc.features import features, feature


@features(owner="a@example.com", max_staleness="1h")
class User:
    id: int
    # What people call the user.
    name: str
    name_length: int
    score: float = feature(max_staleness="0s")
    fragile: int = feature(max_staleness="0s", owner="b@example.com")
`,
  "resolvers.py": `from features import User
from svc import online


@online
def get_name(id: User.id) -> User.name:
    return f"user-{id}"


@online
def length(name: User.name) -> User.name_length:
    return len(name)


@online
def score(id: User.id) -> User.score:
    return id / 2


@online
def fragile(id: User.id) -> User.fragile:
    if id == 13:
        raise ValueError("unlucky number")
    return id
`,
};

/** Writes the project into a fresh folder; `files` replace or add. */
export function writeProject(files: Record<string, string> = {}): string {
  const folder = tempFolder("svc-project-");
  for (const [name, text] of Object.entries({ ...PROJECT, ...files })) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** A copy of a project. */
export function copyProject(from: string): string {
  const folder = tempFolder("svc-project-");
  cpSync(from, folder, { recursive: true });
  return folder;
}
