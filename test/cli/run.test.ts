import { describe, expect, test } from "bun:test";
import { defineCommand, type TreeEntry } from "../../src/cli/command.ts";
import { arg, bool, int, list, text } from "../../src/cli/flag.ts";
import type { Tree } from "../../src/cli/resolve.ts";
import { AuthError, CliError, InterruptedError, UsageError } from "../../src/errors/cli-error.ts";
import { tableView, textView } from "../../src/output/view.ts";
import { runMain } from "../harness/context.ts";

type Item = { id: number; name: string };

const echo = defineCommand({
  summary: "Echo the input",
  description: "Prints what it was given.",
  examples: ["svc echo hello --times 2", { run: "svc echo x --tag a", does: "tagged" }],
  args: { word: arg("what to say") },
  flags: { times: int("how often", { default: 1 }), loud: bool("in capitals"), tag: list(text("tags"), { split: true }) },
  check({ times }) {
    if (times < 0) throw new UsageError("--times must not be negative");
  },
  async run(context, input) {
    if (input.word === "fail")
      throw new CliError("it failed", { code: "broken", hint: "Try another word.", details: { word: input.word } });
    if (input.word === "crash") throw new TypeError("undefined is no function");
    if (input.word === "login") throw new AuthError("no");
    if (input.word === "wait") {
      await context.clock.sleep(1, context.signal);
      throw new Error("aborted by the peer");
    }
    const words = Array.from({ length: input.times }, () => (input.loud ? input.word.toUpperCase() : input.word));
    return { words, tags: input.tag, json: context.flags.json };
  },
  exitCode: (data) => (data.words.length > 2 ? 1 : 0),
  view: textView<{ words: string[]; tags: string[] }>(({ words }) => words.join(" ")),
});

const stream = defineCommand({
  summary: "Stream items",
  examples: [],
  flags: { fail: bool("fail after two") },
  async *run(_context, { fail }) {
    yield { id: 1, name: "one" };
    yield { id: 200, name: "two" };
    if (fail) throw new CliError("cut off");
  },
  view: tableView({
    things: "items",
    rows: (item: Item) => [item],
    columns: [
      { header: "Id", cell: (item: Item) => String(item.id), align: "right" },
      { header: "Name", cell: (item: Item) => item.name },
    ],
  }),
});

const confide = defineCommand({
  summary: "Repeat the secrets",
  examples: [],
  flags: { strict: bool("refuse") },
  check({ strict }) {
    if (strict) throw new UsageError("refused");
  },
  run: async ({ flags }) => ({ secret: flags.clientSecret, token: flags.accessToken }),
  view: textView((data: object) => JSON.stringify(data)),
});

const needy = defineCommand({
  summary: "Need a session",
  examples: [],
  needs: ["session"],
  run: async () => "never",
  view: textView((data: string) => data),
});

const homeless = defineCommand({ ...needy, needs: ["project"] });
const load = (command: unknown): TreeEntry["load"] => (async () => ({ default: command })) as TreeEntry["load"];
const tree: Tree = {
  echo: { summary: "Echo the input", category: "Set up", load: load(echo) },
  stream: { summary: "Stream items", load: load(stream) },
  confide: { summary: "Repeat the secrets", load: load(confide) },
  needy: { summary: "Need a session", load: load(needy) },
  homeless: { summary: "Need a project", load: load(homeless) },
  group: { summary: "Group things", verbs: { echo: { summary: "Echo", load: load(echo) } } },
  both: { summary: "Both", load: load(stream), verbs: { list: { summary: "List", load: load(stream) } } },
};
const svc = (line: string, options: Parameters<typeof runMain>[1] = {}) =>
  runMain(
    line.split(" ").filter((word) => word !== ""),
    { tree, ...options },
  );

describe("a command", () => {
  test("prints text, or one JSON document", async () => {
    expect(await svc("echo hello --times 2 --loud")).toEqual({ exitCode: 0, stdout: "HELLO HELLO\n", stderr: "" });
    const { stdout, stderr } = await svc("--json echo hello --tag a,b --tag c");
    expect(JSON.parse(stdout)).toEqual({ words: ["hello"], tags: ["a", "b", "c"], json: true });
    expect(stdout).toContain('\n  "words": [');
    expect(stderr).toBe("");
  });

  test("its data may say failure", async () => {
    expect((await svc("echo a --times 3")).exitCode).toBe(1);
  });

  test("streams rows under one header, or one object a line", async () => {
    expect((await svc("stream")).stdout).toBe("Id  Name\n 1  one\n200  two\n");
    expect((await svc("stream --json")).stdout).toBe('{"id":1,"name":"one"}\n{"id":200,"name":"two"}\n');
    const cut = await svc("stream --json --fail");
    expect(cut.exitCode).toBe(1);
    expect(cut.stdout.split("\n")).toHaveLength(3);
    expect(JSON.parse(cut.stderr)).toEqual({ error: { code: "failed", message: "cut off" } });
  });
});

describe("exit codes and messages", () => {
  test("usage errors are 2 and come before anything runs", async () => {
    for (const line of ["echo", "echo a --tims 2", "echo a --times x", "ecko", "group eco", "echo a --times=-1", "stream x", "--jsn"]) {
      const { exitCode, stdout, stderr } = await svc(line);
      expect([line, exitCode, stdout]).toEqual([line, 2, ""]);
      expect(stderr).toStartWith("Error: ");
    }
    expect((await svc("both lits")).stderr).toContain("unknown command 'svc both lits'; did you mean 'svc both list'?");
  });

  test("a failure says what to do next; with --json it is an object on stderr", async () => {
    expect(await svc("echo fail")).toEqual({ exitCode: 1, stdout: "", stderr: "Error: it failed\nTry another word.\n" });
    const { stdout, stderr } = await svc("echo fail --json");
    expect(stdout).toBe("");
    expect(JSON.parse(stderr)).toEqual({
      error: { code: "broken", message: "it failed", details: { word: "fail", hint: "Try another word." } },
    });
  });

  test("no stack without -vv, and a fault says that it is one", async () => {
    const { exitCode, stderr } = await svc("echo crash");
    expect(exitCode).toBe(1);
    expect(stderr).toContain("this is a fault in svc: undefined is no function");
    expect(stderr).toContain("-vv");
    expect(stderr).not.toMatch(/\n\s+at /);
    expect((await svc("echo crash -v")).stderr).not.toMatch(/\n\s+at /);
    expect((await svc("echo crash -vv")).stderr).toMatch(/\n\s+at .*run\.test\.ts/);
  });

  test("refused or missing credentials are 4, a missing project 1", async () => {
    expect((await svc("echo login")).exitCode).toBe(4);
    const { exitCode, stderr } = await svc("needy");
    expect(exitCode).toBe(4);
    expect(stderr).toContain("svc login");
    expect((await svc("needy", { env: { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret" } })).stdout).toBe("never\n");
    expect((await svc("homeless", { cwd: "/" })).exitCode).toBe(1);
  });

  test("an interrupted command is 130, whatever it throws on the way out", async () => {
    const signal = AbortSignal.abort(new InterruptedError(130));
    const { exitCode, stderr } = await svc("echo wait", { signal });
    expect([exitCode, stderr]).toEqual([130, "Interrupted.\n"]);
    expect((await svc("stream", { signal: AbortSignal.abort(new InterruptedError(143)) })).exitCode).toBe(143);
  });
});

describe("a secret given as -", () => {
  test("is what stdin holds without the newline at its end, and no warning is due", async () => {
    expect(await svc("confide --client-secret -", { stdin: "s3cret \r\n" })).toEqual({
      exitCode: 0,
      stdout: '{"secret":"s3cret "}\n',
      stderr: "",
    });
    expect((await svc("confide --token=-", { stdin: "t0ken" })).stdout).toBe('{"token":"t0ken"}\n');
    expect((await svc("confide --client-secret - --access-token given", { stdin: "s" })).stdout).toBe('{"secret":"s","token":"given"}\n');
  });

  test.each([
    ["", "is empty"],
    ["\n", "is empty"],
    ["one\ntwo\n", "more than one line"],
    ["x".repeat(64 * 1024 + 1), "longer than 64 KiB"],
  ])("is refused when it is none: %#", async (stdin, says) => {
    const { exitCode, stderr } = await svc("confide --client-secret -", { stdin });
    expect([exitCode, stderr.includes(says), stderr.includes("two")]).toEqual([2, true, false]);
  });

  test("is not read twice, not without need, and not from a terminal that cannot ask", async () => {
    const both = await svc("confide --client-secret - --access-token -", { stdin: "s" });
    expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining("cannot both be read from stdin")]);
    expect((await svc("confide --strict --client-secret -", { stdin: "" })).stderr).toContain("refused");
    expect((await svc("confide --client-secret -", { stdinIsTTY: true })).stderr).toContain("no terminal to ask");
  });
});

describe("help", () => {
  test("--help anywhere shows the command's help and runs nothing", async () => {
    for (const line of ["echo --help", "echo -h", "echo fail --help", "--help echo", "echo --nonsense --help"]) {
      const { exitCode, stdout } = await svc(line);
      expect([line, exitCode]).toEqual([line, 0]);
      expect(stdout).toContain("svc echo <word> [flags]");
    }
    const { stdout } = await svc("echo --help");
    expect(stdout).toContain("--times <int>  how often (default 1)");
    expect(stdout).toContain("--tag <text>   tags (repeatable)");
    expect(stdout).toContain("Prints what it was given.");
    expect(stdout).toContain("svc echo x --tag a\n      tagged");
    expect(stdout).toContain("Global flags");
  });

  test("--version is answered at once, and only without a command", async () => {
    for (const line of ["--version", "-V", "--no-color --version"])
      expect(await svc(line)).toEqual({ exitCode: 0, stdout: "svc v0.0.0-dev\n", stderr: "" });
    expect(JSON.parse((await svc("--json --version")).stdout)).toEqual({ version: "v0.0.0-dev" });
    expect((await svc("echo --version")).exitCode).toBe(2);
  });

  test("words after -- are no flags", async () => {
    expect((await svc("echo -- --help")).stdout).toBe("--help\n");
  });

  test("a group prints its help on stdout with exit 0", async () => {
    const { exitCode, stdout } = await svc("group");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("echo  Echo");
    expect((await svc("group --json")).stdout).toStartWith("{");
    expect((await svc("--branch echo")).stderr).toContain("no command given: '--branch echo' was read as a flag and its value");
  });
});
