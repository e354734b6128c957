/**
 * `svc shell` of the built binary: in pipes, on a terminal and in a real terminal multiplexer. The
 * terminal is as it was however a shell ends.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { eventually } from "../harness/eventually.ts";
import { Multiplexer } from "../harness/multiplexer.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal, workInShell } from "../harness/terminal.ts";

const NO_TMUX = lacksProgram("tmux");

/** The prompt of `sh`, as root and as others. */
const PROMPT = /^[#$] ?$/;

const FEATURES = `from svc import online
from svc.features import features

@features
class User:
    id: int
    name: str

@online
def name(id: User.id) -> User.name:
    return "n"
`;

let sandbox: Sandbox;
let pod = "";

const worker = async (): Promise<string> => {
  const { pods } = await sandbox.json<{ pods: { name: string; kind: string }[] }>(["pods"]);
  return pods.find(({ kind }) => kind === "worker")?.name ?? "";
};
const shell = (command: string, input?: string, ...flags: readonly string[]) =>
  sandbox.svc(["shell", "--pod", pod, "--command", command, ...flags], input === undefined ? {} : { input });

beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  const project = await sandbox.write({ "svc.yaml": "project: demo\n", "features.py": FEATURES });
  const { exitCode, stderr } = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  if (exitCode !== 0) throw new Error(stderr);
  await eventually(async () => (await worker()) !== "", "a worker");
  pod = await worker();
}, 300_000);
afterAll(async () => {
  await sandbox.svc(["server", "stop"]);
  await sandbox[Symbol.asyncDispose]();
}, 300_000);

describe("in pipes", () => {
  test("input, output, errors and the exit code are the program's", async () => {
    const outcome = await shell("cat; echo wrong >&2; exit 9", "a\nb\n");
    expect(outcome).toEqual({ exitCode: 9, stdout: "a\nb\n", stderr: "wrong\n" });
    expect(await sandbox.svc(["shell", "-p", pod], { input: 'python -c "import features; print(features.name.__name__)"' })).toEqual({
      ...{ exitCode: 0, stdout: "name\n", stderr: "" },
    });
  }, 300_000);

  test("megabytes come through both ways, whole", async () => {
    const input = "0123456789abcdef".repeat(131_072);
    const { exitCode, stdout } = await shell("cat", input);
    expect([exitCode, stdout === input]).toEqual([0, true]);
  }, 300_000);

  test("the log of events has sizes, and nothing of what was said", async () => {
    const { stdout, stderr } = await shell("echo secret-$((6*7))", "secret input", "--debug-log");
    expect(stdout).toBe("secret-42\n");
    const path = /Events are written to (\S+)/.exec(stderr)?.[1] ?? "";
    const text = readFileSync(path, "utf8");
    expect(text).not.toContain("secret");
    expect(
      text
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { is: string }).is),
    ).toEqual(expect.arrayContaining(["stdin", "end", "opened", "stdout", "exit", "closed"]));
  }, 300_000);

  test("what is refused is refused in words", async () => {
    const none = await sandbox.svc(["shell", "--pod", "worker-none"]);
    expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining("No pod 'worker-none' runs.")]);
    const unnamed = await sandbox.svc(["shell"]);
    expect([unnamed.exitCode, unnamed.stderr]).toEqual([2, expect.stringContaining("--pod <name> is required")]);
    const json = await shell("true", undefined, "--json");
    expect([json.exitCode, json.stderr]).toEqual([2, expect.stringContaining("--json is not for a shell")]);
  }, 300_000);
});

describe("on a terminal", () => {
  test("keys are the shell's, Ctrl-C too, and the exit code is", async () => {
    const terminal = Terminal.start(sandbox, ["shell", "--pod", pod], { columns: 91, rows: 33 });
    const { exitCode, before, after } = await workInShell(terminal);
    expect([exitCode, after]).toEqual([5, before]);
  }, 300_000);

  test.each<[string, (terminal: Terminal) => void, number]>([
    ["Enter ~ .", (terminal) => terminal.press("\r~."), 129],
    ["SIGTERM", (terminal) => terminal.signal("SIGTERM"), 143],
    ["SIGHUP", (terminal) => terminal.signal("SIGHUP"), 129],
  ])(
    "%s ends it, and the terminal is as it was",
    async (_name, end, code) => {
      const terminal = Terminal.start(sandbox, ["shell", "--pod", pod, "--command", "echo pid-$$; trap '' INT HUP; sleep 600"]);
      await terminal.until("pid-");
      end(terminal);
      const { exitCode, before, after } = await terminal.ended();
      expect([exitCode, after]).toEqual([code, before]);
      await eventually(async () => (await shells()) === 0, "the end of the shell");
    },
    300_000,
  );

  const shells = async (): Promise<number> =>
    (await sandbox.json<{ pods: { kind: string }[] }>(["pods"])).pods.filter(({ kind }) => kind === "shell").length;
});

describe.skipIf(NO_TMUX)("in a terminal multiplexer", () => {
  test("a program that draws has the size of the window, as it changes", async () => {
    using mux = new Multiplexer(sandbox, 100, 30);
    mux.type(`${sandbox.binary} shell --pod ${pod} --command 'python -q'`);
    mux.press("Enter");
    await mux.until((screen) => screen.some((line) => line.includes(">>>")), "a prompt");
    mux.type("import os, features; os.get_terminal_size(), features.User.__name__");
    mux.press("Enter");
    await mux.until((screen) => screen.join("").includes("columns=100, lines=30), 'User'"), "the size");
    mux.resize(72, 21);
    mux.type("os.get_terminal_size()");
    mux.press("Enter");
    await mux.until((screen) => screen.join("").includes("columns=72, lines=21"), "the new size");
    mux.press("C-d");
    await mux.until((screen) => PROMPT.test(screen.findLast((line) => line !== "") ?? ""), "the prompt of the own shell");
    mux.type("echo code-$?; stty -a | grep -o '.icanon'");
    mux.press("Enter");
    const screen = await mux.until((lines) => lines.join("\n").includes("code-0"), "the end");
    await mux.until((lines) => lines.some((line) => line === " icanon"), "the terminal as it was");
    expect(screen.join("\n")).not.toContain("Error");
  }, 300_000);

  test("a server that stops is told of, and the terminal is as it was", async () => {
    using mux = new Multiplexer(sandbox, 100, 30);
    mux.type(`${sandbox.binary} shell --pod ${pod}`);
    mux.press("Enter");
    mux.type("echo ready-$((1+1))");
    mux.press("Enter");
    // What is typed before the shell's prompt comes is answered on the prompt's own line
    await mux.until((lines) => lines.some((line) => line.endsWith("ready-2")), "the shell");
    expect((await sandbox.svc(["server", "stop"])).exitCode).toBe(0);
    await mux.until((lines) => lines.some((line) => line.startsWith("Error: the shell ended: The server stops.")), "the words");
    mux.type("stty -a | grep -o '.icanon'");
    mux.press("Enter");
    await mux.until((lines) => lines.some((line) => line === " icanon"), "the terminal as it was");
  }, 300_000);
});
