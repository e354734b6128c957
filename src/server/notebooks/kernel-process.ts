/** The process of a kernel: cells go in, and what they give comes out. */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../../domain/error-text.ts";
import { type CellOutput, MAX_OUTPUTS, outputLength } from "../../domain/notebook/notebook.ts";
import { lastOutput } from "../../python/crash.ts";
import { encodeFrame, type Message } from "../python/frames.ts";
import type { StartedProcess } from "../python/launch.ts";
import type { PlainLog } from "../python/pool.ts";
import { type Connection, type ProcessEnd, type ProjectRuntime, PythonProcess } from "../python/process.ts";
import { makeSocketFolder } from "../python/socket-folder.ts";

/** How a run of a cell ended. */
export type RunState = "succeeded" | "failed" | "interrupted";

/** A run of a cell. */
export interface CellRun {
  /** Its name, unique among the runs of the process. */
  readonly name: string;
  /** Its number among the runs of the kernel. */
  readonly number: number;
  readonly source: string;
  /** Most characters that it may give. */
  readonly limit: number;
  readonly onOutput: (outputs: readonly CellOutput[]) => void;
}

/** A process that runs cells. */
export interface KernelProcess {
  /** Runs a cell; one is over before the next begins. Rejects when the process ends. */
  run(run: CellRun): Promise<RunState>;
  /** Interrupts the cell that runs. */
  interrupt(): void;
  /** Kills it with all that it started. */
  kill(): void;
  /** Resolves with how it ended, in words that follow "the kernel". */
  readonly ended: Promise<string>;
}

/** Settings of a process. */
export interface KernelProcessOptions {
  readonly runtime: ProjectRuntime;
  /** Folder of this kernel, which there is. */
  readonly folder: string;
  /** Kills it, and all that it started, when it is aborted. */
  readonly signal: AbortSignal;
  /** Title of the notebook. */
  readonly title: string;
  /**
   * Deploys what cells define to a branch; resolves with the deployment's id, and rejects with why
   * there is none.
   */
  readonly deploy: (branch: string, source: string) => Promise<string>;
  /** What the process wrote while no cell ran. */
  readonly onLine: (line: PlainLog) => void;
  readonly onStart: (process: StartedProcess) => void;
  readonly onEnd: (end: ProcessEnd) => void;
}

/**
 * Milliseconds to wait, once a cell has said that it ended, for what its children wrote to the
 * process's pipes: the lines there are bounded in rate, and the last one may have been dropped.
 */
const LAST_LINES_MS = 1_000;

/** Starts a process. Resolves when it can run cells; rejects with how it ended before. */
export async function startKernelProcess(options: KernelProcessOptions): Promise<KernelProcess> {
  const { runtime, title, folder, signal, deploy, onLine, onStart, onEnd } = options;
  signal.throwIfAborted();
  const sockets = await makeSocketFolder(join(folder, "sockets"));
  const cells = join(folder, "cells");
  await mkdir(cells, { mode: 0o700 });
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  let failure: Error | undefined;
  let connection: Connection | undefined;
  let current: Running | undefined;

  let isDeploying = false;
  const answerDeploy = async ({ branch, source }: Message, { writer }: Connection): Promise<void> => {
    const deployed = isDeploying
      ? Promise.reject(new Error("another deployment of the notebook is under way"))
      : deploy(String(branch), String(source));
    const isOwn = !isDeploying;
    isDeploying = true;
    const told = await deployed.then(
      (deployment) => ({ deployment, error: "" }),
      (error: unknown) => ({ deployment: "", error: errorText(error) }),
    );
    if (isOwn) isDeploying = false;
    writer.send(encodeFrame({ type: "DEPLOYED", ...told }));
  };
  const child = new PythonProcess(
    { ...runtime, mode: "kernel", args: ["--cells", cells, "--title", title], socketDir: sockets, writes: [cells] },
    {
      onMessage(message, from) {
        connection = from;
        if (message.type === "READY") ready.resolve();
        if (message.type === "DEPLOY") void answerDeploy(message, from);
        if (!current || message.run !== current.run.name) return;
        if (message.type === "OUTPUT") current.give(readOutputs(message));
        if (message.type === "DONE") current.done(readState(message));
      },
      onLog(line) {
        if (current && (line.logger === "stdout" || line.logger === "stderr")) current.line(line.logger, line.text);
        else if (!line.text.startsWith("\x1e")) onLine(line);
      },
      onProfile: () => undefined,
      onClosed: () => undefined,
      onEnd(end) {
        failure = new Error(`the kernel ${end.how}`);
        ready.reject(new Error([failure.message, ...lastOutput(end.stderr, 3)].join("\n")));
        current?.failed(failure);
        onEnd(end);
        ended.resolve(end.how);
      },
    },
  );
  ready.promise.catch(() => undefined);
  onStart(child.started);
  const kill = (): void => child.kill();
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  void ended.promise.then(() => {
    signal.removeEventListener("abort", kill);
    return rm(sockets, { recursive: true, force: true });
  });
  await ready.promise;

  return {
    async run(run) {
      if (failure) throw failure;
      const running = new Running(run);
      current = running;
      const { name, number, source, limit } = run;
      connection?.writer.send(encodeFrame({ type: "RUN", run: name, number, source, limit }));
      try {
        return await running.ended;
      } finally {
        current = undefined;
      }
    },
    interrupt: () => connection?.writer.send(encodeFrame({ type: "INTERRUPT" })),
    kill,
    ended: ended.promise,
  };
}

/** What stands for the outputs beyond the bound. */
const TOO_MANY: CellOutput = { kind: "stream", stream: "stderr", text: `\n[further outputs were left out: a cell keeps ${MAX_OUTPUTS}]\n` };

/** The run that the process is asked to do, until it has said all of it. */
class Running {
  readonly ended: Promise<RunState>;
  private readonly settled = Promise.withResolvers<RunState>();
  private left: number;
  private outputs = 0;
  /** Stream of the last output; empty = it was no text. */
  private last = "";
  /** Streams of the process that have not come to the end of the run. */
  private readonly open = new Set(["stdout", "stderr"]);
  private state: RunState | undefined;

  constructor(readonly run: CellRun) {
    // The process bounds what it sends, and says so; the rest is for one that does not.
    this.left = run.limit + 64 * 1024;
    this.ended = this.settled.promise;
    this.ended.catch(() => undefined);
  }

  /** Passes outputs on that are within the bounds. */
  give(outputs: readonly CellOutput[]): void {
    const kept = outputs.flatMap((output): CellOutput[] => {
      const stream = output.kind === "stream" ? output.stream : "";
      const goesOn = stream !== "" && stream === this.last;
      this.left -= outputLength(output);
      if (this.left < 0 || (this.outputs > MAX_OUTPUTS && output.kind !== "error")) return [];
      if (!goesOn) this.outputs++;
      this.last = stream;
      return this.outputs > MAX_OUTPUTS && output.kind !== "error" ? [TOO_MANY] : [output];
    });
    if (kept.length > 0) this.run.onOutput(kept);
  }

  /** Takes a line that was written to a pipe, and not with Python's streams. */
  line(stream: "stdout" | "stderr", text: string): void {
    const mark = `\x1e${this.run.name}\x1e`;
    if (!text.endsWith(mark)) {
      this.give([{ kind: "stream", stream, text: `${text}\n` }]);
      return;
    }
    const rest = text.slice(0, -mark.length);
    if (rest !== "") this.give([{ kind: "stream", stream, text: rest }]);
    this.open.delete(stream);
    this.settle();
  }

  /** Notes that the cell has ended; its last lines may still be on their way. */
  done(state: RunState): void {
    this.state = state;
    this.settle();
    setTimeout(() => this.settled.resolve(state), LAST_LINES_MS).unref();
  }

  failed(error: Error): void {
    this.settled.reject(error);
  }

  private settle(): void {
    if (this.state !== undefined && this.open.size === 0) this.settled.resolve(this.state);
  }
}

function readState({ state }: Message): RunState {
  return state === "succeeded" || state === "interrupted" ? state : "failed";
}

/**
 * The outputs of a frame. The process runs the notebook's code, so what does not have their form is
 * left out.
 */
function readOutputs({ outputs }: Message): CellOutput[] {
  return Array.isArray(outputs) ? outputs.flatMap((output: unknown) => readOutput((output ?? {}) as Record<string, unknown>)) : [];
}

function readOutput({ kind, stream, text, data, name, message, traceback }: Record<string, unknown>): CellOutput[] {
  const isText = (value: unknown): value is string => typeof value === "string";
  switch (kind) {
    case "stream":
      return (stream === "stdout" || stream === "stderr") && isText(text) ? [{ kind, stream, text }] : [];
    case "display":
    case "result": {
      const forms = Object.entries((data ?? {}) as object).filter((form): form is [string, string] => isText(form[1]));
      return [{ kind, data: Object.fromEntries(forms) }];
    }
    case "error":
      return isText(name) && isText(message) && isText(traceback) ? [{ kind, name, message, traceback }] : [];
    default:
      return [];
  }
}
