/**
 * The program as a process: streams, signals, terminals. Run from source; the binary's own tests do
 * the same on what is shipped.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SRC = join(import.meta.dir, "../../src");
let dir: string;
let program: string;

/** Commands that do what the tests need, on the real machine. */
const PROGRAM = `
import { main } from ${JSON.stringify(join(SRC, "cli/run.ts"))};
import { defineCommand } from ${JSON.stringify(join(SRC, "cli/command.ts"))};
import { bool, int, text } from ${JSON.stringify(join(SRC, "cli/flag.ts"))};
import { CliError } from ${JSON.stringify(join(SRC, "errors/cli-error.ts"))};
import { systemDeps } from ${JSON.stringify(join(SRC, "context/system.ts"))};
import { tableView, textView } from ${JSON.stringify(join(SRC, "output/view.ts"))};
const plain = textView((data) => String(data));
const command = (run, flags = {}, view = plain, more = {}) => ({ summary: "Do", load: async () => ({ default: defineCommand({ summary: "Do", examples: [], flags, run, view, ...more }) }) });
const tree = {
  big: command(async (context, { bytes }) => "x".repeat(bytes - 1), { bytes: int("size", { default: 1_000_000 }) }),
  silent: command(async () => ""),
  works: command(async function* (context, { fails }) { yield "a plan"; yield "a step"; await context.clock.sleep(1); context.io.writeErr("done\\n"); if (fails) throw new CliError("it failed"); yield "the end"; yield "more"; }, { fails: bool("fail") }, plain, { mayEndAfter: (item) => item === "the end" }),
  wrong: command(async () => "x\\n".repeat(1_000_000), {}, plain, { exitCode: () => 3 }),
  drip: command(async function* (context) { for (let i = 0; ; i++) { yield "line " + i; await context.clock.sleep(1, context.signal); } }),
  hang: command(async (context) => { context.io.writeErr("hanging\\n"); await new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(context.signal.reason))); }),
  deaf: command(async (context) => { context.io.writeErr("deaf\\n"); await new Promise((resolve) => setTimeout(resolve, 60_000)); }),
  ask: command(async (context) => (await context.prompt.confirm("Go on?")) ? "yes" : "no"),
  pick: command(async (context) => context.prompt.pick("Which?", [{ label: "one", value: 1 }, { label: "two", value: 2 }], "--id")),
  many: command(async (context) => JSON.stringify(await context.prompt.pickMany("Which?", ["alpha", "beta", "gamma"].map((label) => ({ label, value: label })), "<name>"))),
  lines: command(async (context) => { const found = []; for (let line; (line = await context.io.readLine()) !== undefined; ) found.push(line); return JSON.stringify(found); }),
  work: command(async (context) => context.progress.step("Working", async (say) => { await context.clock.sleep(120); say("more"); context.progress.verbose("a step"); context.progress.debug("a header"); await context.clock.sleep(120); context.progress.note("a note"); return "done"; })),
  lost: command(async (context) => { void Promise.reject(new Error("nobody waits")); await context.clock.sleep(60_000, context.signal); }),
  table: command(async () => [{ a: "a".repeat(100) }], {}, tableView({ things: "x", rows: (data) => data, columns: [{ header: "Column", flexible: true, cell: (row) => row.a }, { header: "B", cell: () => "b" }] })),
};
const deps = { tree, categories: [], ...systemDeps() };
process.exitCode = await main(process.argv.slice(2), deps);
await deps.close();
`;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-process-"));
  program = join(dir, "program.ts");
  await Bun.write(program, PROGRAM);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const env = (over: Record<string, string> = {}) => ({ PATH: process.env.PATH ?? "", HOME: dir, ...over });
const shell = (script: string) => {
  const child = Bun.spawnSync(["bash", "-c", script.replaceAll("svc", `'${process.execPath}' '${program}'`)], { env: env(), cwd: dir });
  return { exitCode: child.exitCode, stdout: child.stdout.toString(), stderr: child.stderr.toString() };
};

describe("stdout", () => {
  test("a slow reader gets every byte", () => {
    expect(shell("svc big --bytes 3000000 | (sleep 0.3; wc -c)").stdout.trim()).toBe("3000000");
  });

  test("the parent of a pipe that does not block gets every byte too", async () => {
    const child = Bun.spawn([process.execPath, program, "big"], { env: env(), stdout: "pipe", stderr: "inherit" });
    let size = 0;
    for await (const chunk of child.stdout) {
      size += chunk.length;
      await Bun.sleep(1);
    }
    expect(size).toBe(1_000_000);
  });

  test("a file that others write to as well keeps what they wrote, also when there is nothing to say", () => {
    expect(shell("(echo before; svc silent; svc big --bytes 3; echo after) > out; cat out").stdout).toBe("before\nxx\nafter\n");
  });

  test("a full disk is an error", () => {
    const { exitCode, stderr } = shell("svc big > /dev/full");
    expect([exitCode, stderr]).toEqual([1, "Error: cannot write to stdout: no space left on the device\n"]);
  });

  test("a reader that goes away ends a stream quietly", () => {
    const { exitCode, stdout, stderr } = shell('svc drip | head -1; exit "${PIPESTATUS[0]}"');
    expect([exitCode, stdout, stderr]).toEqual([0, "line 0\n", ""]);
  });

  test("a stream that changes something goes on without a reader to where its work is whole, and its failure is told", () => {
    const unread = (command: string) => shell(`{ sleep 0.1; ${command}; } | true; exit "\${PIPESTATUS[0]}"`);
    expect(unread("svc works")).toEqual({ exitCode: 0, stdout: "", stderr: "done\n" });
    expect(unread("svc works --fails")).toEqual({ exitCode: 1, stdout: "", stderr: "done\nError: it failed\n" });
  });

  test("an outcome is the exit code, read to its end or not", () => {
    expect(shell('svc wrong | head -1; exit "${PIPESTATUS[0]}"')).toEqual({ exitCode: 3, stdout: "x\n", stderr: "" });
  });

  test("a closed stdout is an error, unless there is nothing to say", () => {
    expect(shell("svc big >&-")).toEqual({ exitCode: 1, stdout: "", stderr: "Error: cannot write to stdout: it is closed\n" });
    expect(shell("svc big >&- <&-").exitCode).toBe(1);
    expect(shell("svc silent >&-").exitCode).toBe(0);
  });

  test("closed streams crash nothing", () => {
    expect(shell("svc nonsense 2>&-").exitCode).toBe(2);
    expect(shell("svc ask <&-").exitCode).toBe(1);
  });

  test("appending to a file keeps what is there", () => {
    shell("echo first > log; svc big --bytes 2 >> log; svc big --bytes 2 >> log");
    expect(shell("cat log").stdout).toBe("first\nx\nx\n");
  });
});

describe("stdin", () => {
  test("a pipe may answer", () => {
    expect(shell("echo y | svc ask").stdout).toBe("yes\n");
    expect(shell("echo YES | svc ask").stdout).toBe("yes\n");
    expect(shell("echo maybe | svc ask").stdout).toBe("no\n");
  });

  test("where nobody answers, the question is no, and says how to go on", () => {
    const { stdout, stderr, exitCode } = shell("svc ask < /dev/null");
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toBe("Go on? [y/n] \nAborted.\nNobody answered: stdin ended. Pass --yes where there is nobody to ask.\n");
  });

  test("lines come one by one, whatever their ends and chunks", () => {
    expect(shell("(printf 'a\\r\\n\\n'; sleep 0.1; printf '\\xc3'; sleep 0.1; printf '\\xa9nd') | svc lines").stdout).toBe(
      '["a","","énd"]\n',
    );
  });

  test("nothing to pick with on a pipe", () => {
    const { exitCode, stderr } = shell("svc pick < /dev/null");
    expect([exitCode, stderr]).toEqual([2, "Error: --id is required when there is no terminal to ask on\n"]);
    expect(shell("svc many < /dev/null").stderr).toBe("Error: <name> is required when there is no terminal to ask on\n");
  });
});

/** Starts the program and waits until its stderr says `mark`. */
async function started(args: string[], mark: string) {
  const child = Bun.spawn([process.execPath, program, ...args], { env: env(), stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  const reader = child.stderr.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const until = async (wanted: string) => {
    while (!text.includes(wanted)) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
    }
    return text;
  };
  await until(mark);
  return { child, until };
}

describe("signals", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s ends with %i", async (signal, exitCode) => {
    const { child, until } = await started(["hang"], "hanging");
    child.kill(signal);
    expect(await until("never")).toBe("hanging\nInterrupted.\n");
    expect(await child.exited).toBe(exitCode);
  });

  test("a command that does not listen is told how to be stopped, and a second Ctrl-C stops it", async () => {
    const { child, until } = await started(["deaf"], "deaf");
    child.kill("SIGINT");
    await until("Press Ctrl-C again");
    child.kill("SIGINT");
    await child.exited;
    expect(child.signalCode).toBe("SIGINT");
  });

  test("an error that nobody waits for is reported, without a stack", async () => {
    const { child, until } = await started(["lost"], "nobody waits");
    expect(await until("never")).not.toMatch(/\n\s+at /);
    expect(await child.exited).toBe(1);
  });
});

/** Runs the program on a terminal of its own; `type` answers what appears on the screen. */
async function onTerminal(
  args: string[],
  over: Record<string, string> = {},
  type: readonly (readonly [seen: string, keys: string])[] = [],
) {
  let screen = "";
  const answers = [...type];
  const { promise: drained, resolve: drain } = Promise.withResolvers<void>();
  const child = Bun.spawn([process.execPath, program, ...args], {
    cwd: dir,
    env: env({ TERM: "xterm-256color", ...over }),
    terminal: {
      cols: 40,
      rows: 20,
      exit: () => drain(),
      data(terminal, bytes) {
        screen += new TextDecoder().decode(bytes);
        const next = answers[0];
        if (next && screen.includes(next[0])) {
          answers.shift();
          terminal.write(next[1]);
        }
      },
    },
  });
  const exitCode = await child.exited;
  await drained;
  return { exitCode, screen };
}

describe("on a terminal", () => {
  test("tables are cut to its width, with a dim header", async () => {
    const { screen } = await onTerminal(["table"]);
    const [header, row] = screen.split("\r\n");
    expect(header).toContain("\u001b[2mColumn\u001b[22m");
    expect(Bun.stringWidth(row ?? "")).toBe(40);
    expect(row).toEndWith("…  b");
  });

  test("NO_COLOR and --no-color take the colour away", async () => {
    expect((await onTerminal(["table"], { NO_COLOR: "1" })).screen).not.toContain("\u001b[");
    expect((await onTerminal(["table", "--no-color"])).screen).not.toContain("\u001b[");
    expect((await onTerminal(["nonsense", "--no-color"])).screen).not.toContain("\u001b[");
    expect((await onTerminal(["nonsense"])).screen).toContain("\u001b[31m");
  });

  test("a question is answered by a line", async () => {
    const { screen, exitCode } = await onTerminal(["ask"], {}, [["[y/n]", "y\r"]]);
    expect(exitCode).toBe(0);
    expect(screen).toContain("yes");
  });

  test("Ctrl-C at a question ends with 130", async () => {
    const { exitCode, screen } = await onTerminal(["ask"], {}, [["[y/n]", "\u0003"]]);
    expect(exitCode).toBe(130);
    expect(screen).toMatch(/\[y\/n\].*\r\nInterrupted\./);
  });

  test("several are picked by typing a part of each, selecting and going on", async () => {
    const picked = await onTerminal(["many"], {}, [
      ["gamma", "/bet"],
      ["/bet", "\t"],
      ["◼", "\r"],
    ]);
    expect([picked.exitCode, picked.screen.trimEnd().endsWith('["beta"]')]).toEqual([0, true]);
    const left = await onTerminal(["many"], {}, [["gamma", "\u0003"]]);
    expect(left.exitCode).toBe(130);
  });

  test("one of several is picked with the keys; Ctrl-C ends with 130 and leaves the cursor visible", async () => {
    const picked = await onTerminal(["pick"], {}, [["two", "\u001b[B\r"]]);
    expect(picked.exitCode).toBe(0);
    expect(picked.screen.trimEnd()).toEndWith("2");
    const left = await onTerminal(["pick"], {}, [["two", "\u0003"]]);
    expect(left.exitCode).toBe(130);
    expect(left.screen.lastIndexOf("\u001b[?25h")).toBeGreaterThan(left.screen.lastIndexOf("\u001b[?25l"));
  });

  test("work is shown by a spinner, and by a line where there is none", async () => {
    const spun = await onTerminal(["work"]);
    expect(spun.screen).toContain("⠋ Working");
    expect(spun.screen).toMatch(/. Working: more/);
    expect(spun.screen).toContain("✓ Working\r\n");
    expect(spun.screen).toContain("a note\r\n");
    for (const [args, over] of [
      [["work", "--no-spinners"], {}],
      [["work"], { CI: "true" }],
    ] as const) {
      const { screen } = await onTerminal([...args], over);
      expect(screen).toBe("Working\r\na note\r\ndone\r\n");
    }
    expect((await onTerminal(["work", "--json"])).screen).toBe('"done"\r\n');
    expect(shell("svc work").stderr).toBe("Working\na note\n");
    expect(shell("svc work --json")).toEqual({ exitCode: 0, stdout: '"done"\n', stderr: "" });
  });
});

describe("logs", () => {
  test("go to stderr: steps with -v, details with -vv", () => {
    expect(shell("svc work -v")).toEqual({ exitCode: 0, stdout: "done\n", stderr: "Working\n[info] a step\na note\n" });
    expect(shell("svc work -vv").stderr).toBe("Working\n[info] a step\n[debug] a header\na note\n");
    expect(shell("svc work --json -v").stderr).toBe("[info] a step\n");
  });
});
