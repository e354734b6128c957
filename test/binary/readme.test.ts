/**
 * The README as a reader follows it: every fenced block, in its order, in one shell on one terminal
 * of a new user's machine.
 *
 *   ```console              a session: commands behind `$ `, continued behind `> `, and what they print; a line `...` stands for some lines left out
 *   ```python file: NAME    a file, by its path from the folder that the shell is in
 *   ```sh not run: REASON   what cannot be run here, for one of the reasons that `NOT_RUN` lists
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { loadFlights } from "../harness/flights.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const ROOT = join(import.meta.dir, "../..");
const FLIGHTS = join(ROOT, "dist", "flights.db");

/** Why a block may be left out; each is the reason of some block. */
const NOT_RUN = ["builds and tests a clone", "needs a release host", "needs an identity provider", "needs other machines"];

/** What is different each time: ids, ports, processes, times of runs to come, and durations. */
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/(?<![a-z0-9_])(dpl|dst|env|job|ofq|rev)_[0-9a-f]{32}\b/g, "$1_ID"],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "ID"],
  [/(?<=^airport_departures +30m +|^nightly_routes.* )\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\b/g, "TIME"],
  [/\b127\.0\.0\.1:\d+/g, "127.0.0.1:PORT"],
  [/(?<=\/enter#code=)[\w-]+/g, "CODE"],
  [/\bprocess \d+/g, "process PID"],
  [/ \(\d+\.\ds\)$/g, ""],
  [/\b(\d+m)?(\d+s)?\d+(\.\d+)? ?m?s\b/g, "DURATION"],
];

/** The home of the README's reader. */
const HOME = "/home/ada";

/** Separate what the commands print, and that from their exit codes. */
const [BEFORE, AFTER] = ["\u001e", "\u001f"];

interface Command {
  readonly input: string;
  /** As the README has it. */
  readonly output: readonly string[];
}

interface Block {
  readonly line: number;
  readonly info: string;
  readonly text: string;
}

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const blocks: readonly Block[] = [...readme.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(({ index, 1: info = "", 2: text = "" }) => ({
  line: readme.slice(0, index).split("\n").length,
  info,
  text,
}));
const sessions = blocks.filter(({ info }) => info === "console").map((block) => ({ ...block, commands: commandsOf(block) }));

function commandsOf({ line, text }: Block): Command[] {
  const commands: { input: string; output: string[] }[] = [];
  for (const row of text.trimEnd().split("\n")) {
    const last = commands.at(-1);
    if (row.startsWith("$ ")) commands.push({ input: row.slice(2), output: [] });
    else if (last === undefined) throw new Error(`README.md:${line}: the session does not begin with a command`);
    else if (row.startsWith("> ") && last.output.length === 0) last.input += `\n${row.slice(2)}`;
    else last.output.push(row);
  }
  return commands;
}

/**
 * The script that does what the blocks say. A server takes any free port in the place of the usual
 * one.
 */
function script(): string {
  const steps = blocks.flatMap((block) => {
    const file = /^\w+ file: (.+)$/.exec(block.info)?.[1];
    if (file !== undefined) return [`cat > '${file}' <<'END OF FILE'\n${block.text}END OF FILE`];
    if (block.info !== "console") return [];
    return commandsOf(block).map(({ input }) => `printf '\\036'\n${input}\nprintf '\\037%d' $?`);
  });
  return ['svc() { if [ "$1 $2" = "server start" ]; then command svc "$@" --port 0; else command svc "$@"; fi; }', ...steps].join("\n");
}

/**
 * Runs a script on a terminal, says yes to its questions, and resolves with all that came to the
 * screen.
 */
async function onTerminal(path: string, sandbox: Sandbox): Promise<string> {
  const decoder = new TextDecoder();
  const { promise: drained, resolve: drain } = Promise.withResolvers<void>();
  let screen = "";
  const shell = Bun.spawn(["bash", path], {
    cwd: sandbox.home,
    env: { ...sandbox.env, PATH: `${join(sandbox.root, "bin")}:${sandbox.env.PATH}`, TERM: "xterm-256color" },
    timeout: 300_000,
    killSignal: "SIGKILL",
    terminal: {
      cols: 200,
      rows: 50,
      exit: () => drain(),
      data(terminal, bytes) {
        screen += decoder.decode(bytes, { stream: true });
        if (/\[y\/n\] $/i.test(screen)) terminal.write("y\r");
      },
    },
  });
  await shell.exited;
  await drained;
  return screen;
}

/** The lines that a terminal shows in the end: a line that was written anew has its last text. */
function shown(written: string): string[] {
  const lines = written.split("\r\n").map((line) => Bun.stripANSI(line.slice(line.lastIndexOf("\r") + 1)).trimEnd());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

function withoutChanging(line: string): string {
  return CHANGING.reduce((text, [changing, name]) => text.replaceAll(changing, name), line);
}

/** Whether lines are those of the README, where `...` stands for one or more of them. */
function fits(wanted: readonly string[], found: readonly string[]): boolean {
  const [first, ...rest] = wanted;
  if (first === undefined) return found.length === 0;
  if (first === "...") return found.some((_, i) => fits(rest, found.slice(i + 1)));
  return found.length > 0 && first === found[0] && fits(rest, found.slice(1));
}

test("every block is a session, a file, or left out for a reason that is listed", () => {
  const known = /^(console|\w+ file: [\w./-]+)$/;
  const reasonOf = ({ info }: Block) => /^\w+ not run: (.+)$/.exec(info)?.[1] ?? "";
  expect(readme.match(/```|~~~/g)).toHaveLength(2 * blocks.length);
  const others = blocks.filter(({ info }) => !known.test(info));
  expect(others.filter((block) => !NOT_RUN.includes(reasonOf(block)))).toEqual([]);
  expect([...new Set(others.map(reasonOf))].sort()).toEqual(NOT_RUN);
});

test("lines are compared whole, in their order, and `...` stands for at least one", () => {
  const found = ["a", "b", "c"];
  expect([found, ["..."], ["a", "..."], ["...", "c"], ["a", "...", "c"]].filter((wanted) => !fits(wanted, found))).toEqual([]);
  expect(
    [[], ["a"], ["a", "b"], ["a", "b", "c", "..."], ["...", "b"], ["b", "..."], ["a", "b", "C"]].filter((wanted) => fits(wanted, found)),
  ).toEqual([]);
});

describe.skipIf(process.platform === "win32" || lacksProgram("curl"))("sessions", () => {
  let sandbox: Sandbox;
  let results: { readonly exitCode: number; readonly output: readonly string[] }[];

  beforeAll(async () => {
    await loadFlights(FLIGHTS);
    sandbox = new Sandbox();
    const clone = join(sandbox.home, "svc");
    mkdirSync(join(clone, "dist"), { recursive: true });
    symlinkSync(FLIGHTS, join(clone, "dist/flights.db"));
    symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
    for (const example of ["test/fixtures/flights", "test/fixtures/airport-history.sql"])
      cpSync(join(ROOT, example), join(clone, example), { recursive: true });
    const path = join(sandbox.root, "readme.sh");
    await Bun.write(path, script());
    const [, ...parts] = (await onTerminal(path, sandbox)).replaceAll(sandbox.home, HOME).split(BEFORE);
    results = parts.map((part) => {
      const [output = "", exitCode] = part.split(AFTER);
      return { exitCode: Number.parseInt(exitCode ?? "-1", 10), output: shown(output) };
    });
  }, 300_000);
  afterAll(async () => {
    await sandbox?.svc(["server", "stop"]);
    await sandbox?.[Symbol.asyncDispose]();
  });

  let before = 0;
  for (const { line, commands } of sessions) {
    const from = before;
    before += commands.length;
    test(`README.md:${line}`, () => {
      const told = commands.map(({ input, output }) => ({ input, exitCode: 0, output: output.map(withoutChanging) }));
      const found = told.map(({ input, output }, i) => {
        const result = results[from + i];
        const lines = (result?.output ?? []).map(withoutChanging);
        return { input, exitCode: result?.exitCode, output: fits(output, lines) ? output : lines };
      });
      expect(found).toEqual(told);
    });
  }
});
