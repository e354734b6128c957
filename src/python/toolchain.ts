/**
 * Python on this machine: interpreters, virtual environments, the SDK carried by the binary, and
 * the analyzer that turns a source folder into a graph. Both halves use it: `svc apply` analyzes
 * before it asks, and the server analyzes what it was sent.
 */

import type { Diagnostic } from "../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../gen/svc/v1/graph_pb.ts";

/** An interpreter that can run the SDK. */
export interface Interpreter {
  /** Absolute path. */
  readonly path: string;
  /** For example "3.11.7". */
  readonly version: string;
}

/** Where interpreters were looked for, for the message of finding 191. */
export interface InterpreterSearch {
  readonly found: Interpreter | undefined;
  /** Each place or command tried, and what it said. */
  readonly searched: readonly string[];
}

/** What an analysis needs. */
export interface AnalyzeOptions {
  /** Folder with the project's source. */
  readonly root: string;
  /** Python files to import and SQL files to read, relative to the root. */
  readonly files: readonly string[];
  /** `python311`; undefined = the newest supported one found. */
  readonly runtime?: string;
  /** Text of the requirements file; undefined or empty = none. */
  readonly requirements?: string;
  /** Its path relative to the root, for findings. */
  readonly requirementsFile?: string;
  /** Name of the project: what is compiled for it is kept under that name. */
  readonly project?: string;
  /** Name of the environment, visible to user code. */
  readonly environmentName?: string;
  /** Longest import; default 60 s. */
  readonly timeoutMs?: number;
  /** Called with what is being done, in a few words, for example "installing requests 2.32.3". */
  readonly onProgress?: (doing: string) => void;
  /**
   * Called when the analyzer's process runs: what the caller has to do on its own thread meanwhile
   * holds up nothing from then on.
   */
  readonly onStart?: () => void;
  readonly signal?: AbortSignal;
}

/** The result of an analysis. Errors among `graph.diagnostics` stop a deployment. */
export interface Analysis {
  readonly graph: Graph;
  /**
   * The interpreter of the environment it ran in; undefined when it could not be made ready
   * (findings 191, 102).
   */
  readonly python: string | undefined;
}

/** The toolchain. Folders live below `~/.svc` (or the server's data directory), mode 0700. */
export interface PythonToolchain {
  /** Looks for an interpreter for a runtime. */
  findInterpreter(runtime?: string): Promise<InterpreterSearch>;
  /**
   * The interpreter of a virtual environment for a runtime and requirements, built if need be and
   * kept by its hash. Throws `ToolchainError` with the installer's log. Files that the requirements
   * name are looked up in `root`.
   */
  environmentPython(
    options: Pick<AnalyzeOptions, "runtime" | "requirements" | "requirementsFile" | "onProgress" | "signal"> &
      Partial<Pick<AnalyzeOptions, "root">>,
  ): Promise<string>;
  /** Folder that holds the `svc` package, unpacked from the binary. */
  sdkRoot(): Promise<string>;
  /** Folder of results that are kept for later processes; it need not exist. */
  cacheFolder(): Promise<string>;
  /**
   * Path of the file with what was compiled of a project for an interpreter; there need be none. It
   * is written by `analyze` alone.
   */
  compiledCode(python: string, project?: string): Promise<string>;
  /**
   * Imports the project, links the SQL files, and returns the graph with all findings; a graph of
   * the same project that is known is returned without that. Never throws because of user code.
   */
  analyze(options: AnalyzeOptions): Promise<Analysis>;
}

/** Python could not be made ready. `diagnostics` holds the finding (191, 102) that says why. */
export class ToolchainError extends Error {
  override readonly name = "ToolchainError";
  constructor(
    message: string,
    readonly diagnostics: readonly Diagnostic[],
    readonly log = "",
  ) {
    super(message);
  }
}
