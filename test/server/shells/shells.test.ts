/**
 * Shells over the WebSocket of a real server: who may open one, what it is given, and that nothing
 * of it stays.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ClusterService } from "../../../gen/svc/v1/cluster_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import { type OpenShellRequestSchema, ShellService } from "../../../gen/svc/v1/shell_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { configure, type Person, person, tokenOf } from "../approvals/persons.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { Talk } from "./talk.ts";

const folder = new TempFolder();
let server: TestServer;
let pod: string;
let operator: Person;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  await server.client(SecretService).setSecrets({ secrets: [{ name: "API_KEY", value: "hush-hush-42" }] });
  expectLive(await deploy(server, { ...GREETING, "data/rows.txt": "one\ntwo\n" }));
  operator = await tokenOf(server, undefined, "operator", ["shell"]);
  await workerStarted();
}, 300_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const workers = async (): Promise<string[]> =>
  (await server.client(ClusterService).listPods({})).pods.filter(({ kind }) => kind === "worker").map(({ name }) => name);
/** Waits for a worker, whose name is `pod` then. */
const workerStarted = (): Promise<void> =>
  eventually(async () => {
    [pod = ""] = await workers();
    return pod !== "";
  }, "a worker");
const shellFolders = (): string[] => {
  const path = join(folder.path, "data/tmp/shells");
  return existsSync(path) ? readdirSync(path) : [];
};

type Wish = MessageInitShape<typeof OpenShellRequestSchema>;
const ticketOf = async (wish: Wish = {}, by: Person | undefined = undefined): Promise<string> =>
  (await (by?.client(ShellService) ?? server.client(ShellService)).openShell({ podName: pod, ...wish })).ticket;
const talk = async (wish: Wish = {}, by?: Person): Promise<Talk> => {
  const shell = Talk.connect(`${server.url}/v1/shells`, await ticketOf(wish, by), by?.token ?? (await server.token()));
  await eventually(() => shell.socket.readyState !== WebSocket.CONNECTING, "a connection");
  return shell;
};
const run = async (command: string, wish: Wish = {}, by?: Person): Promise<Talk> => {
  const shell = await talk({ command, ...wish }, by);
  await shell.ended();
  return shell;
};
const refusal = (wish: Wish, by?: Person): Promise<string> =>
  ticketOf(wish, by).then(
    () => "ok",
    (error: unknown) => (error instanceof ConnectError ? `${Code[error.code]}: ${error.rawMessage}` : String(error)),
  );
/** The status of a request that would be a WebSocket. */
const status = async (headers: Record<string, string>): Promise<number> =>
  (
    await fetch(`${server.url}/v1/shells`, {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        ...headers,
      },
    })
  ).status;

describe("what a shell is given", () => {
  test("the packages, the source and the variables of a worker", async () => {
    const shell = await run(
      'cat data/rows.txt; python -c "import os, features, svc; print(features.User.__name__, os.environ[\'API_KEY\'])"; echo "$SVC_ENVIRONMENT_NAME"; echo wrong >&2; exit 3',
    );
    expect([shell.out, shell.err, shell.exit]).toEqual(["one\ntwo\nUser hush-hush-42\ndefault\n", "wrong\n", 3]);
  }, 300_000);

  test("no secrets for who may not see them", async () => {
    const opened = await operator.client(ShellService).openShell({ podName: pod });
    expect(opened.withoutSecrets).toBe(true);
    const shell = await run("env", {}, operator);
    expect(shell.exit).toBe(0);
    expect(shell.out).toContain("SVC_ENVIRONMENT_NAME=default");
    expect(shell.out).not.toContain("hush-hush");
  }, 300_000);

  test("a copy of the source: what it changes there, the next one does not see", async () => {
    expect((await run("echo three >> data/rows.txt; echo x > left; ls")).out).toContain("left");
    expect((await run("cat data/rows.txt; ls")).out).not.toMatch(/three|left/);
    await eventually(() => shellFolders().length === 0, "no folder of a shell");
  }, 300_000);

  test("its input as far as its end, and its output whole", async () => {
    const shell = await talk({ command: "wc -c; head -c 3000000 /dev/zero | tr '\\0' z" });
    const sent = "x".repeat(30_000);
    for (let at = 0; at < 5; at++) shell.type(sent);
    await eventually(() => shell.events.filter((event) => event.is === "taken").length === 5, "all of it taken");
    shell.say({ is: "end" });
    await shell.ended();
    expect([shell.out.replaceAll("z", ""), shell.out.replace(/[^z]/g, "").length, shell.exit]).toEqual(["150000\n", 3_000_000, 0]);
  }, 300_000);

  test("signals are exit codes as shells have them", async () => {
    expect((await run("kill -9 $$")).exit).toBe(137);
    expect((await run("kill -TERM $$")).exit).toBe(143);
  }, 300_000);
});

describe("a terminal", () => {
  const TERMINAL = { terminal: true, columns: 91, rows: 33, terminalKind: "vt100" };

  test("has the size that it was given, and the one that it is given later", async () => {
    const shell = await talk(TERMINAL);
    shell.type('stty size; echo "kind=$TERM"; tty\r');
    await shell.until("kind=vt100");
    expect(shell.out).toContain("33 91");
    await shell.until("/dev/");
    shell.say({ is: "resize", columns: 120, rows: 40 });
    shell.type("stty size\r");
    await shell.until("40 120");
    shell.type("exit 5\r");
    await shell.ended();
    expect(shell.exit).toBe(5);
  }, 300_000);

  test("passes Ctrl-C to what runs in it, not to the shell", async () => {
    const shell = await talk(TERMINAL);
    shell.type("sh -c 'echo begun-$((1+1)); exec sleep 600'\r");
    await shell.until("begun-2");
    shell.type("\u0003");
    shell.type("echo after-$((1+2))\r");
    await shell.until("after-3");
    shell.type("\u0004");
    await shell.ended();
    expect(shell.exit).toBe(0);
  }, 300_000);
});

describe("the end of a shell", () => {
  test("is that of all that it started, when its connection is closed", async () => {
    const shell = await talk({ command: "sleep 600 & sleep 600 & (trap '' HUP; echo pids $! $$; sleep 600)" });
    await shell.until("pids ");
    const pids = [...(/pids (\d+) (\d+)/.exec(shell.out) ?? [])].slice(1).map(Number);
    expect(pids.every(isAlive)).toBe(true);
    shell.socket.close();
    await eventually(() => !pids.some(isAlive), "the end of what it started");
    await eventually(() => shellFolders().length === 0, "no folder of a shell");
  }, 300_000);

  test("and when it ends by itself", async () => {
    const shell = await run("sleep 600 >/dev/null 2>&1 & echo pid $!");
    const pid = Number(/pid (\d+)/.exec(shell.out)?.[1]);
    await eventually(() => !isAlive(pid), "the end of what it started");
    expect(shell.exit).toBe(0);
  }, 300_000);

  test("comes with the credentials that opened it", async () => {
    const spare = await tokenOf(server, undefined, "spare", ["shell"]);
    const shell = await talk({ command: "echo here; sleep 600" }, spare);
    await shell.until("here");
    await server.client(ServiceTokenService).deleteServiceToken({ id: spare.clientId });
    await shell.ended();
    expect(shell.failure).toContain("The session or the client of the stream has ended");
  }, 300_000);

  test("comes with what is no message of a shell, and with input that nothing reads", async () => {
    const odd = await talk({ command: "sleep 600" });
    await eventually(() => odd.events.length > 0, "its beginning");
    odd.socket.send("what?");
    await odd.ended();
    expect(odd.failure).toContain("none of a shell");
    const full = await talk({ command: "sleep 600" });
    await eventually(() => full.events.length > 0, "its beginning");
    for (let at = 0; at < 40 && full.closed === undefined; at++) full.type("x".repeat(32 * 1024));
    await full.ended();
    expect(full.failure).toContain("faster than the program takes it");
  }, 300_000);

  test("a message beyond the bound closes the connection", async () => {
    const shell = await talk({ command: "sleep 600" });
    await eventually(() => shell.events.length > 0, "its beginning");
    shell.type("x".repeat(100 * 1024));
    await shell.ended();
    await eventually(() => shellFolders().length === 0, "no folder of a shell");
  }, 300_000);
});

describe("who may open one", () => {
  test("is decided before the connection is upgraded", async () => {
    const token = await server.token();
    const bearer = `Bearer ${token}`;
    const reader = await tokenOf(server, undefined, "reader", ["read", "deploy", "query.online"]);
    const ticket = await ticketOf();
    expect(await status({ "svc-shell-ticket": ticket })).toBe(401);
    expect(await status({ "svc-shell-ticket": ticket, authorization: "Bearer nonsense" })).toBe(401);
    expect(await status({ "svc-shell-ticket": ticket, authorization: `Bearer ${reader.token}` })).toBe(403);
    expect(await status({ "svc-shell-ticket": ticket, authorization: `Bearer ${operator.token}` })).toBe(403);
    expect(await status({ authorization: bearer })).toBe(403);
    expect(await status({ "svc-shell-ticket": `${ticket}x`, authorization: bearer })).toBe(403);
    expect(await status({ "svc-shell-ticket": ticket, authorization: bearer, origin: "http://evil.example" })).toBe(403);
    expect(await status({ "svc-shell-ticket": ticket, authorization: bearer, host: "evil.example" })).toBe(403);
    expect(await refusal({}, reader)).toContain("PermissionDenied");
    expect(shellFolders()).toEqual([]);
  }, 300_000);

  test("a ticket is good once, and not for long", async () => {
    const ticket = await ticketOf({ command: "true" });
    const first = Talk.connect(`${server.url}/v1/shells`, ticket, await server.token());
    await first.ended();
    expect(first.exit).toBe(0);
    expect(await status({ "svc-shell-ticket": ticket, authorization: `Bearer ${await server.token()}` })).toBe(403);
    const late = await ticketOf();
    server.clock.advance(61_000);
    expect(await status({ "svc-shell-ticket": late, authorization: `Bearer ${await server.token()}` })).toBe(403);
  }, 300_000);

  test("is bounded by environment", async () => {
    const open: Talk[] = [];
    for (let at = 0; at < 8; at++) open.push(await talk({ command: "echo here; sleep 600" }));
    for (const shell of open) await shell.until("here");
    expect(await status({ "svc-shell-ticket": await ticketOf(), authorization: `Bearer ${await server.token()}` })).toBe(429);
    for (const shell of open) shell.socket.close();
    await eventually(() => shellFolders().length === 0, "their ends");
  }, 300_000);

  test.each<[string, () => Wish, string]>([
    ["no such pod", () => ({ podName: "worker-none-1" }), "NotFound: No pod"],
    ["another namespace", () => ({ namespace: "staging" }), "NotFound"],
    ["another cluster", () => ({ clusterName: "other" }), "NotFound"],
    ["another container", () => ({ containerName: "sidecar" }), "NotFound"],
    ["a terminal without size", () => ({ terminal: true }), "InvalidArgument"],
    ["a vast terminal", () => ({ terminal: true, columns: 5_000, rows: 20 }), "InvalidArgument"],
    ["a kind with markup", () => ({ terminalKind: "a;b" }), "InvalidArgument"],
    ["a vast command", () => ({ command: "x".repeat(8_193) }), "InvalidArgument"],
  ])("%s is refused", async (_name, wish, says) => {
    expect(await refusal(wish())).toStartWith(says);
  });

  test("a server's own process has no environment", async () => {
    const own = (await server.client(ClusterService).listPods({})).pods.find(({ kind }) => kind === "server")?.name ?? "";
    expect(await refusal({ podName: own })).toContain("has no environment of a project");
  });
});

describe("with its environment", () => {
  test("a shell ends when that is suspended", async () => {
    const shell = await talk({ command: "echo here; sleep 600" });
    await shell.until("here");
    await server.client(EnvironmentService).suspendEnvironment({});
    await shell.ended();
    expect(shell.failure).toContain("suspended");
    await eventually(async () => (await workers()).length === 0, "the end of the workers");
    await server.client(EnvironmentService).resumeEnvironment({});
    await workerStarted();
  }, 300_000);

  test("nobody opens one when that is protected; one that is open ends with the server, in words", async () => {
    await person(server, folder.path, "approver", ["read", "approve"]);
    const shell = await talk({ command: "echo pid $$; sleep 600" });
    await shell.until("pid ");
    await configure(server, { protected: true });
    expect(await refusal({})).toContain("FailedPrecondition: Environment 'default' is protected");
    const pid = Number(/pid (\d+)/.exec(shell.out)?.[1]);
    await server.server.stop();
    await shell.ended();
    expect(shell.failure).toBe("The server stops.");
    await eventually(() => !isAlive(pid), "the end of its program");
  }, 300_000);
});
