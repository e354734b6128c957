/**
 * What a command is given. Everything is a lazy getter or a function, so that `svc --help` reads no
 * file and dials nothing; tests hand in their own. No other module touches `process`, `console` or
 * `node:fs` on a command's behalf.
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
 * What the server knows by name and a shell can complete; `output` is a feature or a class,
 * `source` a branch or a deployment.
 */
export type ServerNoun = "feature" | "output" | "branch" | "environment" | "deployment" | "source";

/** Where colours are written: on terminals, everywhere, or nowhere. */
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
   * Whether a newer version may be looked for and mentioned: not with --json, in CI, or when it was
   * turned off.
   */
  readonly updateCheck: boolean;
  /** Absolute directory to start looking from. */
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

/** Where UDP datagrams are sent to. */
export interface Datagrams {
  /** Sends one; nobody waits for it, and nobody says whether it arrived. */
  send(text: string): void;
  /**
   * Resolves when everything was handed to the network, with the first error there was, such as a
   * host that does not exist.
   */
  close(): Promise<Error | undefined>;
}

/** Reaching the machine: files, programs, a browser. Paths are absolute. */
export interface Machine {
  /**
   * Runs a program to its end; `inherit` gives it the terminal. Rejects when it cannot be started.
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
   * The programs whose names begin with a prefix, by name: those in the absolute folders of PATH,
   * of each name the first.
   */
  programs(prefix: string): Promise<readonly Program[]>;
  /**
   * Makes another program of this process, with its streams and its environment; signals and the
   * exit code are that program's. Resolves, with the exit code, only where a process cannot become
   * another. Rejects with a CliError when it cannot be started.
   */
  become(path: string, words: readonly string[]): Promise<number>;
  /**
   * Opens a URL in the browser; false when there is none to open. One that holds a secret is opened
   * `privately`, through a file in that folder that only this user may read; the next one removes
   * it.
   */
  openUrl(url: string, options?: { readonly privately?: string }): Promise<boolean>;
  readText(path: string): Promise<string | undefined>;
  readBytes(path: string): Promise<Uint8Array | undefined>;
  /** Writes a file and its folders; `private` = mode 0600. Atomic: written beside and renamed. */
  writeFile(path: string, content: string | Uint8Array, options?: { private?: boolean }): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Datagrams to a host and port. */
  datagrams(host: string, port: number): Promise<Datagrams>;
  /** What a folder, or the nearest one above it that is there, can be used for. */
  folder(path: string): Promise<FolderFacts>;
  /** Takes a file or folder out of the reach of other users; false when that did not succeed. */
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
  /** Settings with their sources; reads config files, does not dial. */
  settings(): Promise<Settings>;
  /** The project above `flags.dir`. Throws the "no project file" error. */
  project(): Promise<Project>;
  /** Python on this machine. */
  python(): PythonToolchain;
  /** Releases of svc itself, and the installed builds. */
  readonly releases: Releases;
  /**
   * Shows a long text a screen at a time, on a terminal; resolves with false, and shows nothing,
   * where there is none.
   */
  page(text: string): Promise<boolean>;
  /** The server's services, with scope headers and credentials. */
  readonly api: Api;
  /** Plain HTTP to the server. */
  readonly http: HttpClient;
}
