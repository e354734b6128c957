/**
 * Documents as a reader follows them: every fenced block, in its order, in one shell on one terminal
 * of a new user's machine.
 *
 *   ```console                a session: commands behind `$ `, continued behind `> `, and what they print; a line `...` stands for some lines left out
 *   ```console exits with 1   the same of commands that fail
 *   ```python file: NAME      a file, by its path from the folder that the shell is in
 *   ```sh not run: REASON     what cannot be run here
 */

import { expect } from "bun:test";
import { join } from "node:path";
import type { Sandbox } from "./sandbox.ts";

/** A fenced block. */
export interface Block {
  /** Where it begins in its document. */
  readonly line: number;
  readonly info: string;
  readonly text: string;
}

/** A command of a session. */
export interface Command {
  readonly input: string;
  readonly exitCode: number;
  /** Lines as the document has them. */
  readonly output: readonly string[];
}

/** What is different each time: ids, ports, processes, codes of logins, and durations. */
const CHANGING: readonly (readonly [RegExp, string])[] = [
  [/(?<![a-z0-9_])(dpl|dst|env|evl|evr|job|ofq|rev|whk)_[0-9a-f]{32}\b/g, "$1_ID"],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "ID"],
  [/\b127\.0\.0\.1:\d+/g, "127.0.0.1:PORT"],
  [/(?<=\/enter#code=)[\w-]+/g, "CODE"],
  [/\bprocess \d+/g, "process PID"],
  [/ \(\d+\.\ds\)$/g, ""],
  [/\b(\d+m)?(\d+s)?\d+(\.\d+)? ?m?s\b/g, "DURATION"],
];

/** The home of the reader. */
const HOME = "/home/ada";

/** Separate what the commands print, and that from their exit codes. */
const [BEFORE, AFTER] = ["\u001e", "\u001f"];

/** The blocks of a document. */
export function blocksOf(document: string): Block[] {
  return [...document.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(({ index, 1: info = "", 2: text = "" }) => ({
    line: document.slice(0, index).split("\n").length,
    info,
    text,
  }));
}

/** Whether a block is a session. */
export function isSession({ info }: Block): boolean {
  return /^console( exits with \d+)?$/.test(info);
}

/** The commands of a session; of every other block none. */
export function commandsOf(block: Block): Command[] {
  if (!isSession(block)) return [];
  const exitCode = Number(/\d+$/.exec(block.info)?.[0] ?? 0);
  const commands: { input: string; exitCode: number; output: string[] }[] = [];
  for (const row of block.text.trimEnd().split("\n")) {
    const last = commands.at(-1);
    if (row.startsWith("$ ")) commands.push({ input: row.slice(2), exitCode, output: [] });
    else if (last === undefined) throw new Error(`line ${block.line}: the session does not begin with a command`);
    else if (row.startsWith("> ") && last.output.length === 0) last.input += `\n${row.slice(2)}`;
    else last.output.push(row);
  }
  return commands;
}

/** Follows blocks in the home of a machine, and resolves with what became of their commands. */
export async function follow(blocks: readonly Block[], sandbox: Sandbox): Promise<Command[]> {
  const path = join(sandbox.root, "session.sh");
  await Bun.write(path, scriptOf(blocks));
  const [, ...parts] = (await onTerminal(path, sandbox)).replaceAll(sandbox.home, HOME).split(BEFORE);
  const commands = blocks.flatMap(commandsOf);
  return commands.map(({ input }, at) => {
    const [output = "", exitCode] = parts[at]?.split(AFTER) ?? [];
    return { input, exitCode: Number.parseInt(exitCode ?? "-1", 10), output: shown(output) };
  });
}

/**
 * Expects commands to have done what their document says. `changing` is what else is different each
 * time, with names in its place.
 */
export function expectSaid(
  told: readonly Command[],
  done: readonly Command[],
  changing: readonly (readonly [RegExp, string])[] = [],
): void {
  const steady = (lines: readonly string[]) =>
    lines.map((line) => [...changing, ...CHANGING].reduce((text, [found, name]) => text.replaceAll(found, name), line));
  const wanted = told.map((command) => ({ ...command, output: steady(command.output) }));
  const found = wanted.map(({ input, output }, at) => {
    const lines = steady(done[at]?.output ?? []);
    return { input, exitCode: done[at]?.exitCode, output: fits(output, lines) ? output : lines };
  });
  expect(found).toEqual(wanted);
}

/** Whether lines are those that are wanted, where `...` stands for one or more of them. */
export function fits(wanted: readonly string[], found: readonly string[]): boolean {
  const [first, ...rest] = wanted;
  if (first === undefined) return found.length === 0;
  if (first === "...") return found.some((_, i) => fits(rest, found.slice(i + 1)));
  return found.length > 0 && first === found[0] && fits(rest, found.slice(1));
}

/**
 * The script that does what the blocks say. A server takes any free port in the place of the usual
 * one.
 */
function scriptOf(blocks: readonly Block[]): string {
  const steps = blocks.flatMap((block) => {
    const file = /^\w+ file: (.+)$/.exec(block.info)?.[1];
    if (file !== undefined) return [`cat > '${file}' <<'END OF FILE'\n${block.text}END OF FILE`];
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
  const lines = written.split(/\r+\n/).map((line) => Bun.stripANSI(line.slice(line.lastIndexOf("\r") + 1)).trimEnd());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines;
}
