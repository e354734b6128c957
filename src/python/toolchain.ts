/**
 * Python on this machine: interpreters, virtual environments, the SDK that the binary carries, and
 * the analyzer that turns a source folder into a graph. Both halves use it: `svc apply` analyzes a
 * project before it asks the server, and the server analyzes uploads.
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

/** The result of a search for an interpreter; the places are for the message of finding 191. */
export interface InterpreterSearch {
  readonly found: Interpreter | undefined;
  /** Each place or command that was tried, and its result. */
  readonly searched: readonly string[];
}

/** Options of an analysis. */
export interface AnalyzeOptions {
  /** Folder with the project's source. */
  readonly root: string;
  /** Python files to import and SQL files to read, relative to the root. */
  readonly files: readonly string[];
  /** `python311`; undefined means the newest supported version found. */
  readonly runtime?: string;
  /** Text of the requirements file; undefined or empty means none. */
  readonly requirements?: string;
  /** Its path relative to the root, for findings. */
  readonly requirementsFile?: string;
  /** Name of the project, under which its compiled modules are kept. */
  readonly project?: string;
  /** Name of the environment, visible to user code. */
  readonly environmentName?: string;
  /** Time limit of the import; default 60 s. */
  readonly timeoutMs?: number;
  /** Called with the current activity in a few words, for example "installing requests 2.32.3". */
  readonly onProgress?: (doing: string) => void;
  /**
   * Called, and waited for, when the graph of the same bytes is kept from before and only has to be
   * read. Must not reject.
   */
  readonly onKept?: () => Promise<void>;
  /**
   * Called when the analyzer's process has started: from then on, the caller's own work delays
   * nothing.
   */
  readonly onStart?: () => void;
  /**
   * Called at most once, when the graph is there, with what caches it, for the caller to call when
   * nothing waits for that. Default: it is cached before the graph is returned.
   */
  readonly onCacheable?: (cache: () => void) => void;
  readonly signal?: AbortSignal;
}

/** What becomes of a virtual environment that is asked for. */
export interface VenvObserver {
  /**
   * Called once it is known: it was made before (`kept`), it has nothing but Python (`empty`), or
   * its requirements are installed now (`installing`).
   */
  onFound(how: "empty" | "installing" | "kept"): void;
  /** Called with each line of the installer. */
  onLine(line: string): void;
}

/** The result of an analysis. Errors among `graph.diagnostics` stop a deployment. */
export interface Analysis {
  /** The graph; a toolchain may leave out the translations of resolvers. */
  readonly graph: Graph;
  /**
   * The bytes of the whole graph, encoded at the first call, before which nobody changes the graph.
   */
  readonly bytes: () => Uint8Array;
  /**
   * The interpreter of the environment that was used; undefined when it could not be prepared
   * (findings 191, 102).
   */
  readonly python: string | undefined;
}

/**
 * The toolchain. Its folders are below `~/.svc` (or the server's data directory), with mode 0700.
 */
export interface PythonToolchain {
  /** Searches an interpreter for a runtime. */
  findInterpreter(runtime?: string): Promise<InterpreterSearch>;
  /**
   * The interpreter of a virtual environment for a runtime and requirements, built when it is
   * missing and kept by its hash. Throws `ToolchainError` with the installer's log. Files that the
   * requirements name are looked up in `root`.
   */
  environmentPython(
    options: Pick<AnalyzeOptions, "runtime" | "requirements" | "requirementsFile" | "onProgress" | "signal"> &
      Partial<Pick<AnalyzeOptions, "root">> & { readonly observer?: VenvObserver },
  ): Promise<string>;
  /** Folder that holds the `svc` package, unpacked from the binary. */
  sdkRoot(): Promise<string>;
  /** Folder of the caches for later processes; it need not exist. */
  cacheFolder(): Promise<string>;
  /**
   * Path of the file of a project's modules compiled for an interpreter; it need not exist. Only
   * `analyze` writes it.
   */
  compiledCode(python: string, project?: string): Promise<string>;
  /**
   * Imports the project, links the SQL files, and returns the graph with all findings, or the
   * cached graph of the same project. Never throws because of user code.
   */
  analyze(options: AnalyzeOptions): Promise<Analysis>;
}

/** Failed preparation of Python. `diagnostics` contains the finding (191, 102) with the reason. */
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
