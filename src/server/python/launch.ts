/** How a process of a project's code is started: by default on this machine, beside the server. */

import { killGroup, withPrivateUmask } from "../../python/subprocess.ts";

/** What is started. */
export interface LaunchOrder {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folders and files that it reads, and folders that it may change. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** How it ended. */
export interface LaunchEnd {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  /** "exited with code 3" or "was killed by SIGSEGV". */
  readonly how: string;
  /** Processor time in milliseconds; undefined when unknown. */
  readonly cpuMs: number | undefined;
}

/** What a process and all that it started use. */
export interface LaunchUse {
  /** Processor time in milliseconds since it began. */
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

/** What was started, as what it uses is limited and measured. */
export interface StartedProcess {
  /** On this machine, also that of its process group; 0 = unknown. */
  readonly pid: number;
  /** Most memory that it gets, in bytes; undefined = not limited. */
  readonly memoryLimitBytes: number | undefined;
  /** What it uses, where the process id does not tell; undefined = nobody knows. Never rejects. */
  readonly use?: () => Promise<LaunchUse | undefined>;
}

/** The least of some limits of memory, in bytes; undefined = none of them limits. */
export function leastLimit(...limits: readonly (number | undefined)[]): number | undefined {
  const known = limits.filter((limit) => limit !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * What was started: the launcher, whose child runs the project's code. It ends with the child's
 * exit status.
 */
export interface Launched extends StartedProcess {
  /** What the child is told that its parent is. */
  readonly launcher: number;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** Resolves when it and all that it started have ended. Never rejects. */
  readonly ended: Promise<LaunchEnd>;
  /** Sends all of its processes a signal, unless it has ended. */
  kill(signal: NodeJS.Signals): void;
  /** Sends the launcher alone a signal, unless it has ended. */
  signalLauncher(signal: NodeJS.Signals): void;
}

/** Starts a process. Throws the system's error when that fails at once. */
export type Launch = (order: LaunchOrder) => Launched;

/** Starts it here, in a group of its own; it ends with the server, which has its stdin. */
export const launchHere: Launch = ({ argv, cwd, env }) => {
  const child = withPrivateUmask(() =>
    Bun.spawn([...argv], { cwd, env: { ...env }, stdin: "pipe", stdout: "pipe", stderr: "pipe", detached: true }),
  );
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const ended = child.exited.then((): LaunchEnd => {
    killGroup(child.pid, "SIGKILL");
    const { exitCode, signalCode } = child;
    const used = child.resourceUsage()?.cpuTime.total;
    return {
      exitCode: signalCode ? undefined : (exitCode ?? undefined),
      how: signalCode ? `was killed by ${signalCode}` : `exited with code ${exitCode}`,
      cpuMs: used === undefined ? undefined : Number(used) / 1000,
    };
  });
  return {
    ...{ pid: child.pid, memoryLimitBytes: undefined, launcher: child.pid, stdout: child.stdout, stderr: child.stderr, ended },
    kill: (signal) => isRunning() && killGroup(child.pid, signal),
    signalLauncher: (signal) => isRunning() && child.kill(signal),
  };
};
