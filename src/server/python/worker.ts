/**
 * A worker: the process that runs a deployment's resolvers, and the messages on its two
 * connections.
 */

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Diagnostic, DiagnosticSchema } from "../../../gen/svc/v1/error_pb.ts";
import { finding } from "../../domain/finding.ts";
import { IMPORT_UNFINISHED } from "../../domain/rules/loading.ts";
import { crashedAt, lastOutput } from "../../python/crash.ts";
import { encodeFrame, type FrameWriter, type Message } from "./frames.ts";
import type { StartedProcess } from "./launch.ts";
import type { PlainLog } from "./pool.ts";
import { type Connection, type ProcessEnd, type ProjectRuntime, PythonProcess } from "./process.ts";
import type { ProfileSamples } from "./profile.ts";

/** Settings with which a worker is started. */
export interface WorkerSpec extends ProjectRuntime {
  /** File of compiled modules, of which it uses those that fit. */
  readonly codeFile?: string;
  /** File with the JSON list of the modules to import. */
  readonly fileList: string;
  /** Of workers of a venv; absent = they are of the environment's own requirements. */
  readonly venv?: {
    readonly name: string;
    /** File with the JSON list of modules that are left out when they cannot be imported. */
    readonly classList: string;
  };
  /** Folder for its socket, mode 0700, with a short path. */
  readonly socketDir: string;
  /** Whether it samples what resolvers are doing. */
  readonly profiles?: boolean;
  /** Longest time until it is ready, from `begins` on. */
  readonly startTimeoutMs: number;
  /**
   * Until it resolves, the worker imports the project and runs no hooks. When it rejects, the
   * worker waits until it is killed. Default: it has resolved.
   */
  readonly begins?: Promise<unknown>;
}

/** A resolver that a worker has loaded. */
export interface LoadedResolver {
  /** Whether it runs concurrently on the event loop. */
  readonly isAsync: boolean;
  /** Whether it takes the query's time. */
  readonly usesNow: boolean;
  /** File relative to the project's root. */
  readonly file: string;
  readonly line: number;
}

/** The end of a worker. */
export interface WorkerEnding extends ProcessEnd {
  /** Reason why it never became ready; undefined = it did. */
  readonly startFailure?: string;
}

/** Events of a running worker. */
export interface WorkerEvents {
  /** A RESULT frame. */
  onResult(message: Message): void;
  onLog(line: PlainLog): void;
  /** Samples of what resolvers were doing. */
  onProfile(samples: ProfileSamples): void;
  /**
   * A connection was closed without a request: the process accepts no more calls, and is about to
   * end.
   */
  onClosing(): void;
  /**
   * The process has ended and all its messages and output were passed on. Called once, even when it
   * never became ready.
   */
  onEnd(ending: WorkerEnding): void;
}

/**
 * The error of a worker that did not become ready: its project does not import, or the process
 * died.
 */
export class WorkerStartError extends Error {
  override readonly name = "WorkerStartError";
  constructor(
    message: string,
    readonly diagnostics: readonly Diagnostic[],
  ) {
    super(message);
  }
}

/** Time in which a process that is too slow to start says where it is. */
const STACK_MS = 2_000;

/** Time that a child has to end after its connections, before the launcher is told to end it. */
const EXIT_MS = 250;
/** Time that the launcher then has, on a machine that may have much else to do. */
const LAUNCHER_EXIT_MS = 10_000;

/** The frame that lets a worker run its hooks. */
const BEGIN = encodeFrame({ type: "BEGIN" });

/** A running worker. */
export class Worker {
  /** Resolvers by FQN; filled when ready. */
  readonly resolvers = new Map<string, LoadedResolver>();
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** Resolves when the project is imported; rejects with WorkerStartError. */
  readonly ready: Promise<void>;
  private readonly process: PythonProcess;
  private data: FrameWriter | undefined;
  private control: FrameWriter | undefined;
  private slowStart = false;
  private isReady = false;
  private hooks = false;
  private failure: WorkerStartError | undefined;
  private draining = false;
  private hasBegun = false;
  private isOver = false;
  private startTimer: Timer | undefined;
  private readonly settle = Promise.withResolvers<void>();

  constructor(
    private readonly spec: WorkerSpec,
    private readonly events: WorkerEvents,
  ) {
    this.process = new PythonProcess(
      {
        ...spec,
        mode: "worker",
        ...(spec.codeFile !== undefined && { reads: [spec.codeFile] }),
        args: [
          "--files",
          spec.fileList,
          ...(spec.codeFile === undefined ? [] : ["--code", spec.codeFile]),
          ...(spec.venv ? ["--venv", spec.venv.name, "--classes", spec.venv.classList] : []),
          ...(spec.profiles ? ["--profile"] : []),
        ],
      },
      {
        onMessage: (message, connection) => this.handle(message, connection),
        onLog: (line) => events.onLog(line),
        onProfile: (samples) => events.onProfile(samples),
        onClosed: () => this.closed(),
        onEnd: (end) => this.over(end),
      },
    );
    this.ready = this.settle.promise;
    this.ended = this.process.ended;
    if (spec.begins)
      spec.begins.then(
        () => this.begin(),
        () => undefined,
      );
    else this.begin();
    this.ready.catch(() => undefined).finally(() => clearTimeout(this.startTimer));
  }

  /** What is known of its process since its start. */
  get started(): StartedProcess {
    return this.process.started;
  }

  /** Whether the project has hooks that run after the last call. */
  get hasAfterHooks(): boolean {
    return this.hooks;
  }

  /**
   * Sends a call: to the event loop for `async def` resolvers, or to the end of the main thread's
   * queue.
   */
  call(frame: Buffer, isAsync: boolean): void {
    (isAsync ? this.control : this.data)?.send(frame);
  }

  /**
   * Cancels a call. One that has not begun is answered as cancelled at once; a running one is
   * interrupted only with `interrupt`, and then answered as cancelled when it stops.
   */
  cancel(id: number, interrupt: boolean): void {
    this.control?.send(encodeFrame({ type: "CANCEL", id, interrupt }));
  }

  /** Ends the worker after the calls that were sent to it. */
  drain(): void {
    this.draining = true;
    this.data?.send(encodeFrame({ type: "DRAIN" }));
  }

  /** Kills its process group. */
  kill(): void {
    this.process.kill();
  }

  /**
   * Ends the child, if it has not ended by itself, in which case the launcher still ends with its
   * status; to kill the launcher would hide that.
   */
  private endChild(): void {
    const hasLauncher = process.platform !== "win32";
    if (hasLauncher) this.process.signalLauncher("SIGTERM");
    setTimeout(() => this.kill(), hasLauncher ? LAUNCHER_EXIT_MS : 0).unref();
  }

  /** Lets it run its hooks once it has imported the project, and bounds the time of its start. */
  private begin(): void {
    if (this.isOver) return;
    this.hasBegun = true;
    this.data?.send(BEGIN);
    this.startTimer = setTimeout(() => {
      this.slowStart = true;
      this.process.kill("SIGABRT");
      setTimeout(() => this.kill(), STACK_MS).unref();
    }, this.spec.startTimeoutMs);
  }

  private over(end: ProcessEnd): void {
    this.isOver = true;
    if (!this.isReady) this.failure ??= this.startError(end);
    if (this.failure) this.settle.reject(this.failure);
    this.events.onEnd({ ...end, ...(this.failure && { startFailure: this.failure.message }) });
  }

  private startError(ending: ProcessEnd): WorkerStartError {
    const frame = crashedAt(ending.stderr, this.spec.sourceRoot);
    const place = frame ? ` at ${frame.file}:${frame.line} in ${frame.function}` : "";
    const what = this.slowStart
      ? `importing the project in a worker took longer than ${this.spec.startTimeoutMs / 1000} s; it was stopped${place}`
      : `the worker ${ending.how}${place} before the project was imported`;
    const message = [what, ...lastOutput(ending.stderr, 8).map((line) => `  ${line}`)].join("\n");
    return new WorkerStartError(message, [finding(IMPORT_UNFINISHED.unfinished({ problem: message }), undefined)]);
  }

  private closed(): void {
    if (this.draining) return;
    this.events.onClosing();
    setTimeout(() => this.endChild(), EXIT_MS).unref();
  }

  private handle(message: Message, { writer }: Connection): void {
    switch (message.type) {
      case "RESULT":
        this.events.onResult(message);
        break;
      case "HELLO":
        if (message.role === "control") this.control = writer;
        else {
          this.data = writer;
          if (this.hasBegun) writer.send(BEGIN);
        }
        break;
      case "READY":
        for (const [fqn, loaded] of Object.entries(message.resolvers as Record<string, LoadedResolver>)) this.resolvers.set(fqn, loaded);
        this.hooks = message.hasAfterHooks === true;
        this.isReady = true;
        this.settle.resolve();
        break;
      case "FAILED": {
        const diagnostics = (message.diagnostics as JsonValue[]).map((finding) => fromJson(DiagnosticSchema, finding));
        this.isOver = true;
        this.failure = new WorkerStartError(diagnostics[0]?.message ?? "the project does not import", diagnostics);
        this.settle.reject(this.failure);
      }
    }
  }
}
