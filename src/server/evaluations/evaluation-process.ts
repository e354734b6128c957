/** The process of a run: rows go in, outputs and scores come out, a batch at a time. */

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import { isPythonModule } from "../../domain/source-file.ts";
import { tagged } from "../../domain/value.ts";
import { lastOutput } from "../../python/crash.ts";
import { JobFailed } from "../jobs/runner.ts";
import { encodeFrame, MAX_FRAME, type Message } from "../python/frames.ts";
import type { StartedProcess } from "../python/launch.ts";
import type { PlainLog } from "../python/pool.ts";
import { type Connection, type ProcessEnd, type ProjectRuntime, PythonProcess } from "../python/process.ts";
import { makeSocketFolder } from "../python/socket-folder.ts";
import type { TableChunk, TableColumn } from "../tables/engine.ts";

/** What became of rows, in their order. */
export interface ScoredRows {
  /** What the function returned, as text. */
  readonly outputs: readonly (string | null)[];
  /** By scorer. */
  readonly scores: ReadonlyMap<string, readonly (number | null)[]>;
  /** What failed, by scorer and by the empty name for the function: a message by row. */
  readonly errors: ReadonlyMap<string, ReadonlyMap<number, string>>;
}

/** A process that evaluates rows. */
export interface EvaluationProcess {
  /** Evaluates rows. Rejects when the process ends, and with the signal's reason. */
  evaluate(chunk: TableChunk): Promise<ScoredRows>;
  /** Ends the process, which has answered all rows, and resolves when it has ended. */
  close(): Promise<void>;
}

/** Settings of a process. */
export interface EvaluationProcessOptions {
  readonly runtime: ProjectRuntime;
  /** Name of the evaluation. */
  readonly name: string;
  readonly scorers: readonly string[];
  /** Modules that it imports, by their files; default: all. */
  readonly files?: readonly string[];
  /** Columns of the rows, in the order of the chunks' columns. */
  readonly columns: readonly TableColumn[];
  /** Folder of this attempt, which there is. */
  readonly folder: string;
  /** Kills the process, and all that it started, when it is aborted. */
  readonly signal: AbortSignal;
  readonly onLog: (line: PlainLog) => void;
  readonly onStart: (process: StartedProcess) => void;
  readonly onEnd: (end: ProcessEnd) => void;
}

/** The function among what fails. */
export const TASK = "";

/** Largest score, so that averages have room: `LARGEST_SCORE` of the process. */
const MAX_SCORE = 1e100;

/**
 * Starts a process. Resolves when the project has been imported; rejects with JobFailed when that
 * fails.
 */
export async function startEvaluationProcess(options: EvaluationProcessOptions): Promise<EvaluationProcess> {
  const { runtime, name, scorers, columns, folder, signal, onLog, onStart, onEnd } = options;
  signal.throwIfAborted();
  const sockets = await makeSocketFolder(join(folder, "sockets"));
  const modules = options.files ?? (await Array.fromAsync(new Bun.Glob("**/*.py").scan({ cwd: runtime.sourceRoot })));
  const asked = join(sockets, "request.json");
  const dtypes = Object.fromEntries(columns.map((column) => [column.name, toJson(DataTypeSchema, column.dtype)]));
  await writeFile(asked, JSON.stringify({ name, files: modules.filter(isPythonModule).sort(), dtypes }), { mode: 0o600 });

  let waiting = Promise.withResolvers<Message>();
  let connection: Connection | undefined;
  const ended = Promise.withResolvers<ProcessEnd>();
  const child = new PythonProcess(
    { ...runtime, mode: "evaluation", args: ["--request", asked], socketDir: sockets },
    {
      onMessage(message, from) {
        connection = from;
        if (message.type === "FAILED") waiting.reject(new JobFailed(String(message.message)));
        else if (message.type !== "HELLO") waiting.resolve(message);
      },
      onLog,
      onProfile: () => undefined,
      onClosed: () => undefined,
      onEnd(end) {
        waiting.reject(signal.aborted ? signal.reason : new Error([`the process ${end.how}`, ...lastOutput(end.stderr, 3)].join("\n")));
        onEnd(end);
        ended.resolve(end);
      },
    },
  );
  onStart(child.started);
  const kill = (): void => child.kill();
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const cleanUp = ended.promise.then(async () => {
    signal.removeEventListener("abort", kill);
    await rm(sockets, { recursive: true, force: true });
  });
  /** The next answer of the process. */
  const answer = async (frame?: Buffer): Promise<Message> => {
    const mine = waiting.promise;
    if (frame) connection?.writer.send(frame);
    const message = await mine;
    waiting = Promise.withResolvers();
    waiting.promise.catch(() => undefined);
    return message;
  };
  try {
    await answer();
  } catch (error) {
    kill();
    await cleanUp;
    throw error;
  }

  return {
    async evaluate({ rows, columns: values }) {
      const named = Object.fromEntries(columns.map((column, at) => [column.name, (values[at] ?? []).map(tagged)]));
      const frame = encodeFrame({ type: "ROWS", rows, columns: named });
      if (frame.length > MAX_FRAME)
        throw new JobFailed(`${rows} rows of the dataset take ${frame.length} bytes, and ${MAX_FRAME} are the most`);
      return readScored(await answer(frame), rows, scorers);
    },
    async close() {
      if (connection) connection.writer.send(encodeFrame({ type: "DONE" }));
      await cleanUp;
    },
  };
}

/**
 * A SCORED frame. The process runs the project's code, so one that does not have its form is an
 * error.
 */
function readScored(message: Message, rows: number, scorers: readonly string[]): ScoredRows {
  const { outputs, scores, errors } = message as Partial<Record<string, unknown>>;
  const isList = (given: unknown, isItem: (item: unknown) => boolean): boolean =>
    Array.isArray(given) && given.length === rows && given.every((item) => item === null || isItem(item));
  const byScorer = (scores ?? {}) as Record<string, unknown>;
  const failed = Object.entries((errors ?? {}) as Record<string, Record<string, unknown>>);
  if (
    !isList(outputs, (item) => typeof item === "string") ||
    !scorers.every((name) => isList(byScorer[name], isScore)) ||
    !failed.every(([, texts]) => Object.values(texts).every((text) => typeof text === "string"))
  )
    throw new Error("the process answered with something else than scored rows");
  return {
    outputs: outputs as (string | null)[],
    scores: new Map(scorers.map((name) => [name, byScorer[name] as (number | null)[]])),
    errors: new Map(
      failed.map(([name, texts]) => [name, new Map(Object.entries(texts).map(([row, text]) => [Number(row), text as string]))]),
    ),
  };
}

function isScore(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) <= MAX_SCORE;
}
