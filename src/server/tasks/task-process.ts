/** The process of one attempt of a task: what it is asked, what it prints, and how it ends. */

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crashedAt, lastOutput } from "../../python/crash.ts";
import type { Message } from "../python/frames.ts";
import type { StartedProcess } from "../python/launch.ts";
import type { PlainLog } from "../python/pool.ts";
import { type ProcessEnd, type ProjectRuntime, PythonProcess } from "../python/process.ts";
import { SampleSum } from "../python/profile.ts";
import { makeSocketFolder } from "../python/socket-folder.ts";
import type { TaskRequest, TaskStackRecord } from "../stores/metadata/tasks.ts";

/** How an attempt ended. */
export interface TaskEnding {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  /** Why it failed; empty = it did not. */
  readonly error: string;
  /**
   * Whether another attempt would fail alike: there is nothing to run, or not with these arguments.
   */
  readonly isWrong: boolean;
  /** What a function returned, as JSON; empty = nothing. */
  readonly result: string;
  readonly stacks: readonly TaskStackRecord[];
  /** Samples that are in no stack. */
  readonly dropped: number;
  readonly cpuMs: number | undefined;
}

/** Options of an attempt. */
export interface TaskProcessOptions {
  readonly runtime: ProjectRuntime;
  readonly request: TaskRequest;
  /** Folder of this attempt, which there is. */
  readonly folder: string;
  /** Ends the process, and all that it started, when it is aborted. */
  readonly signal: AbortSignal;
  readonly onLog: (line: PlainLog) => void;
  /** Called once it has been started. */
  readonly onStart: (process: StartedProcess) => void;
}

/** Milliseconds from the request to end until the process is killed. */
const GRACE_MS = 5_000;
/** Longest result, in characters: `RESULT_LENGTH` of the task. */
const MAX_RESULT = 64 * 1024;
const MAX_ERROR = 2_000;
/** Most different stacks; samples of others are counted only. */
const MAX_STACKS = 1_000;
/** Exit code with which a process says that there is nothing to run. */
const WRONG_TASK = 2;

/** What a process says of its exception. */
interface RaisedError {
  /** Empty = it is no exception of the task's code. */
  readonly kind: string;
  readonly message: string;
  readonly stack: string;
  readonly file: string;
  readonly line: number;
}

/** Runs an attempt to its end. Rejects with the system's error when it cannot be started. */
export async function runTaskProcess(options: TaskProcessOptions): Promise<TaskEnding> {
  const { runtime, request, folder, signal, onLog, onStart } = options;
  signal.throwIfAborted();
  const sockets = await makeSocketFolder(join(folder, "sockets"));
  const asked = join(sockets, "request.json");
  const { target, args, kwargs, texts, profiling } = request;
  await writeFile(asked, JSON.stringify({ ...target, args, kwargs, texts }), { mode: 0o600 });
  let said: { readonly error?: RaisedError; readonly result?: string } = {};
  const profile = new SampleSum(MAX_STACKS);
  const ended = Promise.withResolvers<ProcessEnd>();
  try {
    const child = new PythonProcess(
      { ...runtime, mode: "task", args: ["--request", asked, ...(profiling ? ["--profile"] : [])], socketDir: sockets },
      {
        onMessage(message) {
          if (message.type === "END") said = readEnd(message);
        },
        onLog,
        onProfile: (samples) => profile.add(samples),
        onClosed: () => undefined,
        onEnd: ended.resolve,
      },
    );
    onStart(child.started);
    let killing: ReturnType<typeof setTimeout> | undefined;
    const end = (): void => {
      child.kill("SIGTERM");
      killing = setTimeout(() => child.kill(), GRACE_MS);
    };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    const ending = await ended.promise;
    clearTimeout(killing);
    signal.removeEventListener("abort", end);
    if (said.error && said.error.kind !== "") onLog(stackLine(said.error));
    return {
      exitCode: ending.exitCode,
      error: ending.exitCode === 0 ? "" : errorOf(ending, said.error, runtime.sourceRoot).slice(0, MAX_ERROR),
      isWrong: ending.exitCode === WRONG_TASK && said.error?.kind === "",
      result: said.result ?? "",
      stacks: profile.stacks().map(({ frames, samples }) => ({ frames, samples })),
      dropped: profile.dropped,
      cpuMs: ending.cpuMs,
    };
  } finally {
    await rm(sockets, { recursive: true, force: true });
  }
}

/**
 * An END frame. The process runs the project's code, so what does not have its form is left out.
 */
function readEnd({ error, result }: Message): { readonly error?: RaisedError; readonly result?: string } {
  const { kind, message, stack, file, line } = (error ?? {}) as Record<string, unknown>;
  const isError = [kind, message, stack, file].every((part) => typeof part === "string") && Number.isSafeInteger(line);
  return {
    ...(isError && { error: { kind, message, stack, file, line } as RaisedError }),
    ...(typeof result === "string" && result.length <= MAX_RESULT && { result }),
  };
}

function stackLine({ kind, message, stack }: RaisedError): PlainLog {
  return {
    level: "error",
    text: `${kind}: ${message}\n${stack}`.trimEnd(),
    logger: "task",
    resolver: "",
    queryId: "",
    timestampMs: Date.now(),
  };
}

function errorOf({ how, stderr }: ProcessEnd, raised: RaisedError | undefined, root: string): string {
  if (raised) {
    const place = raised.file === "" ? "" : ` (${raised.file}:${raised.line})`;
    return `${[raised.kind, raised.message].filter((part) => part !== "").join(": ")}${place}`;
  }
  const frame = crashedAt(stderr, root);
  const place = frame ? ` at ${frame.file}:${frame.line} in ${frame.function}` : "";
  return [`the task ${how}${place}`, ...lastOutput(stderr, 3)].join("\n");
}
