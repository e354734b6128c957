/**
 * Ctrl-C and its like on a terminal, wherever a command can wait: the exit code, the terminal as it
 * was, no files left, and the server told by the end of the connection.
 */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  CreateLoginSessionResponseSchema,
  GetLoginSessionResponseSchema,
  LoginSessionStatus,
  WhoAmIResponseSchema,
} from "../../gen/svc/v1/auth_pb.ts";
import {
  CreateDeploymentResponseSchema,
  CreateUploadResponseSchema,
  DeploymentStatus,
  ListBranchesResponseSchema,
  ListDeploymentsResponseSchema,
  ValidateGraphResponseSchema,
  WatchDeploymentResponseSchema,
} from "../../gen/svc/v1/deployment_pb.ts";
import { QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import { type FakeServer, fakeServer, protoAnswer } from "../client/fake-server.ts";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";

const CTRL_C = "\u0003";
const SIGNALS = [
  ["Ctrl-C", 130, (terminal: Terminal) => terminal.press(CTRL_C)],
  ["SIGTERM", 143, (terminal: Terminal) => terminal.signal("SIGTERM")],
  ["SIGHUP", 129, (terminal: Terminal) => terminal.signal("SIGHUP")],
] as const;
const QUEUED = { id: "dpl_1", status: DeploymentStatus.QUEUED };
const LIVE = { ...QUEUED, status: DeploymentStatus.LIVE };
/** A stream of one state, and its end. */
const LIVE_STREAM = (() => {
  const state = toBinary(WatchDeploymentResponseSchema, create(WatchDeploymentResponseSchema, { deployment: LIVE }));
  return new Uint8Array([0, 0, 0, 0, state.length, ...state, 2, 0, 0, 0, 2, 0x7b, 0x7d]);
})();

let sandbox: Sandbox;
let server: FakeServer;
let project: string;
let temporary: string;
/** The word of the path that is never answered. */
let silent = "";
let opened = 0;
let closed = 0;

beforeAll(async () => {
  sandbox = new Sandbox({ SVC_ACCESS_TOKEN: "token" });
  temporary = join(sandbox.root, "tmp");
  mkdirSync(temporary);
  server = fakeServer({
    call: (request) => {
      const word = new URL(request.url).pathname.split("/").pop() ?? "";
      if (word !== silent) return answer(word);
      opened++;
      return new Promise<Response>((resolve) =>
        request.signal.addEventListener("abort", () => {
          closed++;
          resolve(new Response());
        }),
      );
    },
  });
  Object.assign(sandbox.env, { SVC_API_SERVER: server.url, TMPDIR: temporary });
  project = await sandbox.write({
    "svc.yaml": "project: people\nenvironments:\n  default: {}\n",
    "features.py": "from svc.features import features\n\n@features\nclass User:\n    id: int\n",
  });
  await sandbox.svc(["lint", "--local"], { cwd: project });
});
afterAll(async () => {
  await server.stop();
  await sandbox[Symbol.asyncDispose]();
});
afterEach(() => {
  silent = "";
  opened = 0;
  closed = 0;
});

function answer(word: string): Response {
  switch (word) {
    case "WhoAmI":
      return protoAnswer(WhoAmIResponseSchema, { userId: "usr_1", environmentName: "default" });
    case "CreateLoginSession":
      return protoAnswer(CreateLoginSessionResponseSchema, { loginSessionId: "s", sessionSecret: "secret", url: "http://127.0.0.1/login" });
    case "GetLoginSession":
      return protoAnswer(GetLoginSessionResponseSchema, { status: LoginSessionStatus.PENDING });
    case "ValidateGraph":
      return protoAnswer(ValidateGraphResponseSchema, { diff: {} });
    case "CreateUpload":
      return protoAnswer(CreateUploadResponseSchema, { uploadId: "upl_1", url: "/v1/objects/bundle", complete: silent !== "bundle" });
    case "CreateDeployment":
      return protoAnswer(CreateDeploymentResponseSchema, { deployment: LIVE });
    case "ListBranches":
      return protoAnswer(ListBranchesResponseSchema, { branches: [{ name: "one" }, { name: "two" }] });
    case "ListDeployments":
      return protoAnswer(ListDeploymentsResponseSchema, { deployments: [QUEUED, { ...QUEUED, id: "dpl_2" }] });
    case "WatchDeployment":
      return new Response(LIVE_STREAM, { headers: { "content-type": "application/connect+proto" } });
    case "Query":
      return protoAnswer(QueryResponseSchema, { data: [{ field: "user.name", value: { kind: { case: "stringValue", value: "ada" } } }] });
    default:
      return new Response("no", { status: 404 });
  }
}

function leftovers(): string[] {
  const below = (folder: string) => readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
  return [...below(temporary), ...[sandbox.home, project].flatMap(below).filter((name) => /\.(tmp|part)$/.test(name))];
}

/**
 * A place where a command waits: what is on the screen there, and which call the server does not
 * answer.
 */
interface Place {
  readonly args: readonly string[];
  readonly shows?: string;
  readonly silent?: string;
  readonly env?: Record<string, string>;
}

const QUERY = ["query", "--in", "user.id=1", "--out", "user"];
const PLACES: Readonly<Record<string, Place>> = {
  "the question of login": { args: ["login"], shows: "[y/n]" },
  "the wait for a login": { args: ["login", "--no-prompt"], shows: "Waiting for the confirmation" },
  "the question for a secret": { args: ["login", "--client-id", "id", "--client-secret-stdin"], shows: "Enter the client secret" },
  "the question of apply": { args: ["apply"], shows: "[y/n]" },
  "the choice of a branch": { args: ["branch", "source"], shows: "two" },
  "the validation on the server": { args: ["apply"], silent: "ValidateGraph" },
  "an upload": { args: ["apply", "--force"], silent: "bundle" },
  "the creation of a deployment": { args: ["apply", "--force"], silent: "CreateDeployment" },
  "the wait for a deployment": { args: ["apply", "--force", "--await"], silent: "WatchDeployment" },
  "watching a project": { args: ["apply", "--force", "--watch", "--branch", "try"], shows: "Watching " },
  "a query": { args: QUERY, silent: "Query" },
  "a query that is repeated": { args: [...QUERY, "--repeat", "100ms"], shows: "ada" },
  "a load test": { args: [...QUERY, "--benchmark", "--qps", "5", "--duration", "1h"], silent: "Query" },
  "following a log": { args: ["server", "logs", "--follow"], shows: "hello" },
};

describe("a command that waits is ended by", () => {
  beforeAll(() => {
    const folder = join(sandbox.home, ".svc/data");
    mkdirSync(folder, { recursive: true });
    appendFileSync(join(folder, "server.log"), '{"level":"info","message":"hello"}\n');
  });
  for (const [signal, exitCode, send] of SIGNALS) {
    for (const [name, place] of Object.entries(PLACES)) {
      test(`${signal} at ${name}`, async () => {
        silent = place.silent ?? "";
        const terminal = Terminal.start(sandbox, place.args, { cwd: project, env: place.env });
        if (place.shows !== undefined) await terminal.until(place.shows);
        else await eventually(() => opened > 0, "a connection");
        send(terminal);
        const ended = await terminal.ended();
        expect(ended.exitCode).toBe(exitCode);
        expect(ended.after).toBe(ended.before);
        expect(ended.screen.lastIndexOf("\u001b[?25h")).toBeGreaterThanOrEqual(ended.screen.lastIndexOf("\u001b[?25l"));
        expect(ended.screen).not.toMatch(/\n\s+at /);
        if (place.silent !== undefined) await eventually(() => closed === opened, "the end of every connection");
        expect(leftovers()).toEqual([]);
      });
    }
  }
});

test("a secret is asked for without echo", async () => {
  const terminal = Terminal.start(sandbox, ["user", "-vv", "--access-token", "-"]);
  await terminal.until("Enter the access token");
  terminal.press("c4nary-typed\r");
  const ended = await terminal.ended();
  expect([ended.exitCode, ended.after, ended.screen.includes("usr_1")]).toEqual([0, ended.before, true]);
  expect(ended.screen).not.toMatch(/c4nary|•|\*\*\*\*/);
});

test("a second Ctrl-C right behind the first ends it as well", async () => {
  for (const name of ["the question of apply", "an upload", "watching a project"]) {
    const place = PLACES[name] as Place;
    silent = place.silent ?? "";
    opened = 0;
    const terminal = Terminal.start(sandbox, place.args, { cwd: project });
    if (place.shows !== undefined) await terminal.until(place.shows);
    else await eventually(() => opened > 0, "a connection");
    terminal.press(CTRL_C);
    terminal.press(CTRL_C);
    const ended = await terminal.ended();
    expect([ended.exitCode, ended.after]).toEqual([130, ended.before]);
  }
});

describe("a project whose import does not end", () => {
  test("is left by Ctrl-C, and its Python ends too", async () => {
    const slow = await sandbox.write(
      {
        "svc.yaml": "project: slow\nenvironments:\n  default: {}\n",
        "slow.py": `import os, time
with open("started.part", "w") as note:
    note.write(str(os.getpid()))
os.rename("started.part", "started")
time.sleep(600)
`,
      },
      "slow",
    );
    const started = join(slow, "started");
    const terminal = Terminal.start(sandbox, ["lint", "--local"], { cwd: slow });
    await eventually(() => existsSync(started), "the start");
    terminal.press(CTRL_C);
    const ended = await terminal.ended();
    expect([ended.exitCode, ended.after]).toEqual([130, ended.before]);
    const pid = readFileSync(started, "utf8");
    await eventually(() => !existsSync(`/proc/${pid}`), "the end of the process");
    expect(leftovers()).toEqual([]);
  });
});

describe("the pager of its own", () => {
  const ways = [
    ["q", 0, (terminal: Terminal) => terminal.press("q")],
    ["Ctrl-C", 0, (terminal: Terminal) => terminal.press(CTRL_C)],
    ["SIGTERM", 143, (terminal: Terminal) => terminal.signal("SIGTERM")],
  ] as const;
  for (const [name, exitCode, leave] of ways) {
    test(`is left by ${name}, and the terminal is as it was`, async () => {
      const bin = join(sandbox.root, "bin-without-less");
      mkdirSync(bin, { recursive: true });
      for (const program of ["sh", "stty"]) Bun.spawnSync(["ln", "-sf", Bun.which(program) ?? "", join(bin, program)]);
      const terminal = Terminal.start(sandbox, ["changelog"], { env: { PATH: bin }, rows: 6 });
      await terminal.until("q leaves");
      leave(terminal);
      const ended = await terminal.ended();
      expect([ended.exitCode, ended.after]).toEqual([exitCode, ended.before]);
      expect(ended.screen.lastIndexOf("\u001b[?1049l")).toBeGreaterThan(ended.screen.lastIndexOf("\u001b[?1049h"));
      expect(ended.screen.lastIndexOf("\u001b[?25h")).toBeGreaterThan(ended.screen.lastIndexOf("\u001b[?25l"));
    });
  }
});
