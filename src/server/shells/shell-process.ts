/**
 * The process of a shell: a program with a terminal, or with pipes. When it is ended, so is all
 * that it started and that did not leave its session.
 */

import { readdirSync, readFileSync } from "node:fs";
import { killGroup, withPrivateUmask } from "../../python/subprocess.ts";
import type { MeasuredProgram, ProgramStart } from "../processes/program.ts";

/** Milliseconds that programs have to end after they were hung up on. */
const GRACE_MS = 2_000;
/** Longest wait for the rest of the output of a program that has ended. */
const REST_MS = 2_000;
const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15 } as const;
/** The flag of terminals that stop their output at Ctrl-S. */
const IXON = process.platform === "darwin" ? 0x200 : 0x400;
const [XOFF, XON, END_OF_INPUT] = ["\x13", "\x11", "\x04"];

/** Starts a process. Throws the system's error. */
export function startShellProcess(start: ProgramStart): MeasuredProgram {
  return start.terminal ? withTerminal(start, start.terminal) : withPipes(start);
}

function withTerminal(
  { argv, cwd, env, onOutput, onTaken }: ProgramStart,
  { columns, rows }: { columns: number; rows: number },
): MeasuredProgram {
  let pending = 0;
  const output = Promise.withResolvers<void>();
  const child = withPrivateUmask(() =>
    Bun.spawn([...argv], {
      ...{ cwd, env: { ...env }, detached: true },
      terminal: {
        ...{ cols: columns, rows },
        data: (_terminal, bytes) => void onOutput("stdout", bytes),
        drain() {
          const taken = pending;
          pending = 0;
          onTaken(taken);
        },
        exit: () => output.resolve(),
      },
    }),
  );
  const { terminal } = child;
  if (!terminal) throw new Error("the program got no terminal");
  const held = holdSession(child);
  return {
    ...{ pid: child.pid, memoryLimitBytes: undefined },
    ended: child.exited.then(async (code) => {
      await Promise.race([output.promise, Bun.sleep(REST_MS)]);
      terminal.close();
      return exitCodeOf(child, code);
    }),
    write(bytes) {
      pending += bytes.length;
      if (!terminal.closed) terminal.write(bytes.slice());
    },
    endInput: () => void (terminal.closed || terminal.write(END_OF_INPUT)),
    resize: (width, height) => void (terminal.closed || terminal.resize(width, height)),
    pause() {
      if (terminal.closed || (terminal.inputFlags & IXON) === 0) return false;
      terminal.write(XOFF);
      return true;
    },
    resume: () => void (terminal.closed || terminal.write(XON)),
    async kill() {
      terminal.close();
      await held.kill();
    },
  };
}

function withPipes({ argv, cwd, env, onOutput, onTaken }: ProgramStart): MeasuredProgram {
  const child = withPrivateUmask(() =>
    Bun.spawn([...argv], {
      ...{ cwd, env: { ...env }, detached: true },
      ...{ stdin: "pipe", stdout: "pipe", stderr: "pipe" },
    }),
  );
  const read = async (stream: "stdout" | "stderr"): Promise<void> => {
    for await (const bytes of child[stream]) await onOutput(stream, bytes);
  };
  const output = Promise.all([read("stdout"), read("stderr")]).catch(() => undefined);
  const held = holdSession(child);
  /** Passes input on. A pipe that nobody reads any more may refuse by a throw as well as later. */
  const pass = async (use: (stdin: Bun.FileSink) => unknown): Promise<void> => {
    try {
      await use(child.stdin);
    } catch {
      // A program that reads no more has taken what it will ever take.
    }
  };
  return {
    ...{ pid: child.pid, memoryLimitBytes: undefined },
    ended: child.exited.then(async (code) => {
      await Promise.race([output, Bun.sleep(REST_MS)]);
      return exitCodeOf(child, code);
    }),
    write(bytes) {
      void pass((stdin) => {
        stdin.write(bytes.slice());
        return stdin.flush();
      }).then(() => onTaken(bytes.length));
    },
    endInput: () => void pass((stdin) => stdin.end()),
    resize: () => undefined,
    pause: () => true,
    resume: () => undefined,
    kill: held.kill,
  };
}

/** The exit code of a process that has ended: 128 and more for a signal. */
export function exitCodeOf({ signalCode }: Bun.Subprocess, code: number): number {
  return signalCode === null ? code : 128 + (SIGNALS[signalCode as keyof typeof SIGNALS] ?? 0);
}

/** The session of a process that leads one. */
function holdSession(child: Bun.Subprocess): { kill(): Promise<void> } {
  const { pid } = child;
  const signalAll = (signal: NodeJS.Signals): void => {
    killGroup(pid, signal);
    for (const member of sessionMembers(pid)) signalOne(member, signal);
  };
  return {
    async kill() {
      signalAll("SIGHUP");
      await Promise.race([child.exited, Bun.sleep(GRACE_MS)]);
      signalAll("SIGKILL");
      await child.exited;
    },
  };
}

/** Ids of the processes of a session, where the system tells them: Linux. */
function sessionMembers(session: number): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => sessionOf(name) === session)
    .map(Number);
}

function sessionOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
  } catch {
    return undefined;
  }
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
