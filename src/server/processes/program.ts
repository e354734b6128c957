/** Programs that people run by hand: how they are started, and what is had of them. */

import type { GroupUse } from "./group-use.ts";

/** How a program is started. */
export interface ProgramStart {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Size of its terminal; undefined = it has pipes. */
  readonly terminal: { readonly columns: number; readonly rows: number } | undefined;
  /**
   * Called with what it writes, one call after the other: the next output is read when this
   * resolves, where the output comes through a pipe.
   */
  readonly onOutput: (stream: "stdout" | "stderr", bytes: Uint8Array) => void | Promise<void>;
  /** Called when this many more bytes of its input were taken. */
  readonly onTaken: (bytes: number) => void;
}

/** A running program with its streams. */
export interface RunningProgram {
  /** Its exit code, 128 and more for a signal, once all of its output was handed over. */
  readonly ended: Promise<number>;
  write(bytes: Uint8Array): void;
  /** Ends its input. */
  endInput(): void;
  /** Does nothing without a terminal. */
  resize(columns: number, rows: number): void;
  /** Holds its output back, if the terminal's program lets it; false when it does not. */
  pause(): boolean;
  resume(): void;
  /** Hangs up, and kills what is left a moment later. Resolves when it is over. */
  kill(): Promise<void>;
}

/** A running program, as what it uses is measured. */
export interface MeasuredProgram extends RunningProgram {
  /** On this machine; 0 = it is in a container. */
  readonly pid: number;
  /** Most memory that it gets, in bytes; undefined = not limited. */
  readonly memoryLimitBytes: number | undefined;
  /** What it uses where no process of this machine tells; undefined = nobody knows. */
  readonly use?: (() => Promise<GroupUse | undefined>) | undefined;
}

/** How a program is started in a container, where folders have the paths that they have here. */
export interface ContainedStart extends ProgramStart {
  /** Folders that it reads, and those that it may change. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** Starts a program in a container. Rejects with Failure, and with the signal's reason. */
export type StartContained = (start: ContainedStart, signal: AbortSignal) => Promise<MeasuredProgram>;
