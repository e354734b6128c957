/** The machine that a command runs on. */

import type { FolderFacts } from "../disk/folder-facts.ts";

/** The environment that surrounds the process. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  readonly hostname: string;
  readonly homeDir: string;
  /** Path of the running executable. */
  readonly execPath: string;
  readonly pid: number;
}

/** Outcome of a child process. */
export interface ChildResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that can be started. */
export interface Program {
  /** Without the `.exe` of Windows. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
}

/** A sender of UDP datagrams. */
export interface Datagrams {
  /** Sends one datagram without waiting for it or confirming its arrival. */
  send(text: string): void;
  /**
   * Resolves when everything was handed to the network, with the first error if there was one, such
   * as a host that does not exist.
   */
  close(): Promise<Error | undefined>;
}

/** The machine: files, programs, a browser. Paths are absolute. */
export interface Machine {
  /**
   * Runs a program to its end; `inherit` gives it the terminal. Rejects when the program cannot be
   * started.
   */
  run(
    argv: readonly string[],
    options?: {
      cwd?: string;
      env?: Record<string, string>;
      inherit?: boolean;
      input?: string;
    },
  ): Promise<ChildResult>;
  /** First match of a program on PATH. */
  which(name: string): string | undefined;
  /**
   * The programs whose names begin with a prefix, sorted by name: those in the absolute folders of
   * PATH, the first one of each name.
   */
  programs(prefix: string): Promise<readonly Program[]>;
  /**
   * Replaces this process with another program, with the same streams and environment; signals and
   * the exit code are then those of the program. Resolves, with the exit code, only on systems
   * where a process cannot be replaced. Rejects with a CliError when the program cannot be started.
   */
  become(path: string, words: readonly string[]): Promise<number>;
  /**
   * Opens a URL in the browser; false when no browser can be opened. A URL with a secret is opened
   * `privately`, through a file in that folder that only this user may read; the next one removes
   * the file.
   */
  openUrl(url: string, options?: { readonly privately?: string }): Promise<boolean>;
  readText(path: string): Promise<string | undefined>;
  readBytes(path: string): Promise<Uint8Array | undefined>;
  /**
   * Writes a file and creates its folders; `private` means mode 0600. Atomic: written beside and
   * renamed.
   */
  writeFile(path: string, content: string | Uint8Array, options?: { private?: boolean }): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** A sender of datagrams to a host and port. */
  datagrams(host: string, port: number): Promise<Datagrams>;
  /** Facts about a folder, or about the nearest existing one above it. */
  folder(path: string): Promise<FolderFacts>;
  /** Removes other users' access to a file or folder; false when that failed. */
  closeToOthers(path: string): Promise<boolean>;
  makeTempDir(prefix: string): Promise<string>;
  remove(path: string): Promise<void>;
  /** Calls back (debounced by `debounceMs`) with changed absolute paths until aborted. */
  watch(dir: string, onChange: (paths: readonly string[]) => void, options: { signal: AbortSignal; debounceMs: number }): void;
}
