/**
 * The context of a command: everything that it may use. Members are lazy getters or functions, so
 * that `svc --help` reads no file and opens no connection; tests pass their own. No other module
 * uses `process`, `console` or `node:fs` for a command.
 */

import type { Api, HttpClient } from "../client/api.ts";
import type { Settings } from "../config/settings.ts";
import type { FolderFacts } from "../disk/folder-facts.ts";
import type { Project } from "../project/project.ts";
import type { PythonToolchain } from "../python/toolchain.ts";
import type { Releases } from "../release/releases.ts";
import type { Clock } from "./clock.ts";
import type { Io } from "./io.ts";
import type { Progress, Prompt } from "./prompt.ts";

/**
 * A kind of thing that the server knows by name and a shell can complete; `output` is a feature or
 * a class, `source` a branch or a deployment.
 */
export type ServerNoun = "feature" | "output" | "branch" | "environment" | "deployment" | "source";

/** Where colours are used: on terminals, everywhere, or nowhere. */
export type ColorChoice = "auto" | "always" | "never";

/** Global flags after parsing. */
export interface GlobalFlags {
  readonly branch?: string | true;
  readonly environment?: string;
  readonly apiHost?: string;
  readonly grpcHost?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly accessToken?: string;
  readonly authConfig?: string;
  readonly json: boolean;
  readonly spinners: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  /**
   * Whether svc may look for a newer version and mention it: not with --json, in CI, or when turned
   * off.
   */
  readonly updateCheck: boolean;
  /** Absolute directory from which the project is looked for. */
  readonly dir: string;
  readonly color: ColorChoice;
  /** Whether long output may be shown in a pager. */
  readonly pager: boolean;
}

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

/** The context of one command. */
export interface Context {
  readonly flags: GlobalFlags;
  readonly io: Io;
  readonly clock: Clock;
  readonly surroundings: Surroundings;
  readonly machine: Machine;
  readonly prompt: Prompt;
  readonly progress: Progress;
  /** Aborted by Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Settings with their sources; reads config files, opens no connection. */
  settings(): Promise<Settings>;
  /** The project above `flags.dir`. Throws the "no project file" error. */
  project(): Promise<Project>;
  /** Python on this machine. */
  python(): PythonToolchain;
  /** Releases of svc itself, and the installed builds. */
  readonly releases: Releases;
  /**
   * Shows a long text one screen at a time on a terminal. Resolves with false, and shows nothing,
   * without a terminal.
   */
  page(text: string): Promise<boolean>;
  /** The server's services, with scope headers and credentials. */
  readonly api: Api;
  /** Plain HTTP to the server. */
  readonly http: HttpClient;
}
