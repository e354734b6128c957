/** One worker process: its start, the messages on its two connections, and its end. */

import { chmodSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import type { Socket, Subprocess, UnixSocketListener } from "bun";
import { type Diagnostic, DiagnosticSchema } from "../../../gen/svc/v1/error_pb.ts";
import { finding } from "../../domain/finding.ts";
import { IMPORT_UNFINISHED } from "../../domain/rules/loading.ts";
import { crashedAt, lastOutput } from "../../python/crash.ts";
import { killGroup, within, withPrivateUmask } from "../../python/subprocess.ts";
import { encodeFrame, FrameReader, FrameWriter, type Message } from "./frames.ts";
import { OutputCapture } from "./output-capture.ts";
import type { PlainLog, WorkerLog } from "./pool.ts";
import { type ProfileSamples, readProfile } from "./profile.ts";

/** Settings with which a worker is started. */
export interface WorkerSpec {
  /** Interpreter of the deployment's virtual environment. */
  readonly python: string;
  /** Folder that holds the package `svc`. */
  readonly sdkRoot: string;
  /** File of compiled modules, of which it uses those that fit. */
  readonly codeFile?: string;
  /** Folder of the deployment's source, without symbolic links. */
  readonly sourceRoot: string;
  /** File with the JSON list of the modules to import. */
  readonly fileList: string;
  /** All environment variables of the worker. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder for its socket, mode 0700, with a short path. */
  readonly socketDir: string;
  /** Cap on its address space. */
  readonly memoryLimitBytes?: number;
  /** Whether it samples what resolvers are doing. */
  readonly profiles?: boolean;
  /** Longest time until it has imported the project. */
  readonly startTimeoutMs: number;
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
export interface WorkerEnding {
  /** "exited with code 3" or "was killed by SIGSEGV". */
  readonly how: string;
  /** The last lines that it wrote to stderr. */
  readonly stderr: string;
  /** Reason why it never became ready; undefined = it did. */
  readonly startFailure?: string;
  /** Processor time of it and its children in milliseconds; undefined when unknown. */
  readonly cpuMs?: number | undefined;
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

/** Time to wait for frames and output after the process has ended. */
const LAST_WORDS_MS = 250;

/** Time in which a process that is too slow to start says where it is. */
const STACK_MS = 2_000;

/** Time that a child has to end after its connections, before the launcher is told to end it. */
const EXIT_MS = 250;
/** Time that the launcher then has, on a machine that may have much else to do. */
const LAUNCHER_EXIT_MS = 10_000;

interface Connection {
  readonly reader: FrameReader;
  readonly writer: FrameWriter;
}

/** A running worker. */
export class Worker {
  /** Resolvers by FQN; filled when ready. */
  readonly resolvers = new Map<string, LoadedResolver>();
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** Resolves when the project is imported; rejects with WorkerStartError. */
  readonly ready: Promise<void>;
  /**
   * The launcher, whose child runs the project's code. It ends with the child's exit status, and
   * ends the child when its stdin, to which nothing is written, is closed.
   */
  private readonly process: Subprocess<"pipe", "pipe", "pipe">;
  private readonly listener: UnixSocketListener<Connection>;
  private readonly sockets = new Set<Socket<Connection>>();
  private data: FrameWriter | undefined;
  private control: FrameWriter | undefined;
  private slowStart = false;
  private isReady = false;
  private hooks = false;
  private failure: WorkerStartError | undefined;
  private draining = false;
  private readonly settle = Promise.withResolvers<void>();
  private readonly quiet = Promise.withResolvers<void>();

  constructor(
    private readonly spec: WorkerSpec,
    private readonly events: WorkerEvents,
  ) {
    const path = join(spec.socketDir, `${crypto.randomUUID().slice(0, 8)}.sock`);
    this.listener = Bun.listen<Connection>({
      unix: path,
      socket: {
        open: (socket) => {
          socket.data = { reader: new FrameReader(), writer: new FrameWriter(socket) };
          this.sockets.add(socket);
        },
        data: (socket, chunk) => this.receive(socket, chunk),
        drain: (socket) => socket.data.writer.drain(),
        close: (socket) => this.closed(socket),
        error: (socket) => this.closed(socket),
      },
    });
    const limit = spec.memoryLimitBytes === undefined ? [] : ["--memory-limit", String(spec.memoryLimitBytes)];
    const boot = join(spec.sdkRoot, "svc", "_boot.py");
    const argv = [
      spec.python,
      "-I",
      "-B",
      "-X",
      "utf8",
      "-X",
      "faulthandler",
      boot,
      "worker",
      "--root",
      spec.sourceRoot,
      "--files",
      spec.fileList,
      "--socket",
      path,
      ...limit,
      ...(spec.codeFile === undefined ? [] : ["--code", spec.codeFile]),
      ...(spec.profiles ? ["--profile"] : []),
    ];
    try {
      chmodSync(path, 0o600);
      this.process = withPrivateUmask(() =>
        Bun.spawn(argv, {
          cwd: spec.sourceRoot,
          env: { ...spec.env },
          stdin: "pipe",
          stdout: "pipe",
          stderr: "pipe",
          detached: true,
        }),
      );
    } catch (error) {
      this.stopListening(path);
      throw error;
    }
    this.ready = this.settle.promise;
    const timer = setTimeout(() => {
      this.slowStart = true;
      killGroup(this.process.pid, "SIGABRT");
      setTimeout(() => this.kill(), STACK_MS).unref();
    }, spec.startTimeoutMs);
    this.ended = this.live(path);
    this.ready.catch(() => undefined).finally(() => clearTimeout(timer));
  }

  /** Process id, also that of its process group. */
  get pid(): number {
    return this.process.pid;
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
    if (this.process.exitCode === null && this.process.signalCode === null) killGroup(this.process.pid, "SIGKILL");
  }

  /**
   * Ends the child, if it has not ended by itself, in which case the launcher still ends with its
   * status; to kill the launcher would hide that.
   */
  private endChild(): void {
    const hasLauncher = process.platform !== "win32";
    if (hasLauncher && this.process.exitCode === null && this.process.signalCode === null) this.process.kill("SIGTERM");
    setTimeout(() => this.kill(), hasLauncher ? LAUNCHER_EXIT_MS : 0).unref();
  }

  private async live(path: string): Promise<void> {
    const log = (level: WorkerLog["level"], logger: string) => (text: string) =>
      this.events.onLog({ level, text, logger, resolver: "", queryId: "", timestampMs: Date.now() });
    const stdout = new OutputCapture(this.process.stdout, log("info", "stdout"));
    const stderr = new OutputCapture(this.process.stderr, log("warning", "stderr"));
    await this.process.exited;
    killGroup(this.process.pid, "SIGKILL");
    this.stopListening(path);
    stdout.hurry();
    stderr.hurry();
    const silent = Promise.all([stdout.ended, stderr.ended, this.sockets.size === 0 ? undefined : this.quiet.promise]);
    await within(LAST_WORDS_MS, silent);
    for (const socket of this.sockets) socket.terminate();
    stdout.stop();
    stderr.stop();
    const how = this.process.signalCode ? `was killed by ${this.process.signalCode}` : `exited with code ${this.process.exitCode}`;
    const used = this.process.resourceUsage()?.cpuTime.total;
    const ending = { how, stderr: stderr.tail(), cpuMs: used === undefined ? undefined : Number(used) / 1000 };
    if (!this.isReady) this.failure ??= this.startError(ending);
    if (this.failure) this.settle.reject(this.failure);
    this.events.onEnd({ ...ending, ...(this.failure && { startFailure: this.failure.message }) });
  }

  private startError(ending: WorkerEnding): WorkerStartError {
    const frame = crashedAt(ending.stderr, this.spec.sourceRoot);
    const place = frame ? ` at ${frame.file}:${frame.line} in ${frame.function}` : "";
    const what = this.slowStart
      ? `importing the project in a worker took longer than ${this.spec.startTimeoutMs / 1000} s; it was stopped${place}`
      : `the worker ${ending.how}${place} before the project was imported`;
    const message = [what, ...lastOutput(ending.stderr, 8).map((line) => `  ${line}`)].join("\n");
    return new WorkerStartError(message, [finding(IMPORT_UNFINISHED.unfinished({ problem: message }), undefined)]);
  }

  private stopListening(path: string): void {
    this.listener.stop();
    try {
      unlinkSync(path);
    } catch {
      return;
    }
  }

  private closed(socket: Socket<Connection>): void {
    this.sockets.delete(socket);
    if (!this.draining) {
      this.events.onClosing();
      setTimeout(() => this.endChild(), EXIT_MS).unref();
    }
    if (this.sockets.size === 0) this.quiet.resolve();
  }

  private receive(socket: Socket<Connection>, chunk: Buffer): void {
    try {
      socket.data.reader.push(chunk, (message) => this.handle(socket, message));
    } catch {
      this.kill();
    }
  }

  private handle(socket: Socket<Connection>, message: Message): void {
    switch (message.type) {
      case "RESULT":
        this.events.onResult(message);
        break;
      case "LOG":
        this.events.onLog({
          level: message.level as WorkerLog["level"],
          text: String(message.text),
          logger: String(message.logger),
          resolver: String(message.resolver),
          queryId: String(message.queryId),
          timestampMs: Number(message.timestampMs),
        });
        break;
      case "PROFILE":
        this.events.onProfile(readProfile(message));
        break;
      case "HELLO":
        if (message.launcher !== this.process.pid) socket.terminate();
        else if (message.role === "data") this.data = socket.data.writer;
        else this.control = socket.data.writer;
        break;
      case "READY":
        for (const [fqn, loaded] of Object.entries(message.resolvers as Record<string, LoadedResolver>)) this.resolvers.set(fqn, loaded);
        this.hooks = message.hasAfterHooks === true;
        this.isReady = true;
        this.settle.resolve();
        break;
      case "FAILED": {
        const diagnostics = (message.diagnostics as JsonValue[]).map((finding) => fromJson(DiagnosticSchema, finding));
        this.failure = new WorkerStartError(diagnostics[0]?.message ?? "the project does not import", diagnostics);
        this.settle.reject(this.failure);
      }
    }
  }
}
