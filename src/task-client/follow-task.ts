/** Following a task to its end: what it prints, and how it stands. */

import type { LogLine } from "../../gen/svc/v1/log_pb.ts";
import { type Task, TaskState } from "../../gen/svc/v1/task_pb.ts";
import type { Context } from "../context/context.ts";
import { CliError } from "../errors/cli-error.ts";
import { followLines } from "../log-client/follow-lines.ts";

/** What happens while a task is followed: a line that it printed, or the task once it has ended. */
export type TaskEvent = { readonly kind: "line"; readonly line: LogLine } | { readonly kind: "ended"; readonly task: Task };

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** Lines of before with which the following begins. */
const RECENT = 1_000;
/** Longest wait for the last lines of a task that has ended. */
const LAST_LINES_MS = 5_000;

/** Whether a task has ended. */
export function hasEnded({ state }: Task): boolean {
  return state !== TaskState.RECEIVED && state !== TaskState.RUNNING;
}

/**
 * The lines of a task as they come, then the task. When the command is interrupted the task goes
 * on, and the user is told how to end it.
 */
export async function* followTask(context: Pick<Context, "api" | "clock" | "progress" | "signal">, id: string): AsyncGenerator<TaskEvent> {
  const { api, clock, progress, signal } = context;
  const [tasks, logs] = [await api.tasks(), await api.logs()];
  const search = `operation_id:"${id}"`;
  const over = new AbortController();
  const onInterrupt = (): void => progress.note(`\nThe task goes on. \`svc task cancel ${id}\` ends it, \`svc task get ${id}\` shows it.`);
  signal.addEventListener("abort", onInterrupt, { once: true });
  const lines: LogLine[] = [];
  let failure: unknown;
  let wake: () => void = () => undefined;
  const until = AbortSignal.any([signal, over.signal]);
  const reading = (async () => {
    for await (const line of followLines({ clock, progress, signal: until }, logs, { search, recent: RECENT })) {
      lines.push(line);
      wake();
    }
  })().catch((error: unknown) => {
    if (!until.aborted) failure = error;
    wake();
  });
  const pause = (ms: number): Promise<unknown> => {
    const rest = new AbortController();
    wake = () => rest.abort();
    return clock.sleep(ms, AbortSignal.any([rest.signal, signal])).catch(() => undefined);
  };
  let shown = 0;
  const taken = (): TaskEvent[] => {
    const events = lines.splice(0).map((line) => ({ kind: "line", line }) as const);
    shown += events.length;
    return events;
  };
  const taskNow = async (): Promise<Task> => {
    const { task } = await tasks.getTask({ id });
    if (!task) throw new CliError(`The server gave no task ${id}`, { code: "broken_answer" });
    return task;
  };
  try {
    let task = await taskNow();
    for (let pauseMs = FIRST_PAUSE_MS; !hasEnded(task); pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
      await pause(pauseMs);
      signal.throwIfAborted();
      yield* taken();
      if (failure !== undefined) throw failure;
      task = await taskNow();
    }
    const { counts } = await logs.aggregateLogs({ search, ...(task.createdAt && { startTime: task.createdAt }) });
    const all = Math.min(
      counts.reduce((sum, { count }) => sum + Number(count), 0),
      shown + lines.length + RECENT,
    );
    const began = clock.now();
    while (shown + lines.length < all && clock.now() - began < LAST_LINES_MS && failure === undefined) await pause(LAST_LINES_MS);
    signal.throwIfAborted();
    yield* taken();
    yield { kind: "ended", task };
  } finally {
    signal.removeEventListener("abort", onInterrupt);
    over.abort();
    await reading;
  }
}
