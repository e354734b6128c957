/**
 * The context of a command: everything that it may use. Members are lazy getters or functions, so
 * that `svc --help` reads no file and opens no connection; tests pass their own. No other module
 * uses `process`, `console` or `node:fs` for a command.
 */

import type { Api, HttpClient } from "../client/api.ts";
import type { Settings } from "../config/settings.ts";
import type { Project } from "../project/project.ts";
import type { PythonToolchain } from "../python/toolchain.ts";
import type { Releases } from "../release/releases.ts";
import type { Attached } from "./attached.ts";
import type { Clock } from "./clock.ts";
import type { GlobalFlags } from "./flags.ts";
import type { Io } from "./io.ts";
import type { Machine, Surroundings } from "./machine.ts";
import type { Progress, Prompt } from "./prompt.ts";
import type { Screen } from "./screen.ts";

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
  /** The name of that project; undefined when there is none, or it cannot be used. */
  projectName(): Promise<string | undefined>;
  /** Python on this machine. */
  python(): PythonToolchain;
  /** Releases of svc itself, and the installed builds. */
  readonly releases: Releases;
  /**
   * Shows a long text one screen at a time on a terminal. Resolves with false, and shows nothing,
   * without a terminal.
   */
  page(text: string): Promise<boolean>;
  /**
   * Gives the whole screen to `run`, and restores it however that ends. Rejects with UsageError
   * without a terminal.
   */
  screen(run: (screen: Screen, signal: AbortSignal) => Promise<void>): Promise<void>;
  /**
   * Gives the streams to `run`, the terminal in raw mode unless it is passed on `asPipes`, and
   * restores it however that ends. Rejects with what `run` rejects with.
   */
  attach<T>(run: (attached: Attached) => Promise<T>, asPipes?: boolean): Promise<T>;
  /** The server's services, with scope headers and credentials. */
  readonly api: Api;
  /** Plain HTTP to the server. */
  readonly http: HttpClient;
}
