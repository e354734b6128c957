import { expect, test } from "bun:test";
import type { OfflineQuery } from "../../../gen/svc/v1/offline_query_pb.ts";
import { OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { WatchTopic } from "../../../gen/svc/v1/watch_pb.ts";
import type { Context } from "../../../src/context/context.ts";
import { CliError } from "../../../src/errors/cli-error.ts";
import { followQuery } from "../../../src/query-client/offline/follow-query.ts";
import { isPending, turn } from "../../harness/eventually.ts";

const BEGUN = { id: "ofq_1", status: OfflineQueryStatus.QUEUED, totalRows: 0n, doneRows: 0n } as OfflineQuery;

/** A server with one query, whose hints and pauses the test gives. */
function server(options: { readonly givesHints: boolean }) {
  const ending = new AbortController();
  const state = { asked: 0, watched: 0, closed: 0, status: OfflineQueryStatus.QUEUED };
  let hint: (topics: WatchTopic[]) => void = () => undefined;
  const pauses: number[] = [];
  let endPause: () => void = () => undefined;
  const context = {
    signal: ending.signal,
    clock: {
      now: () => 0,
      sleep: (ms: number, signal: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          pauses.push(ms);
          endPause = resolve;
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    },
    progress: {
      note: () => undefined,
      verbose: () => undefined,
      step: (_: string, run: (say: () => void) => unknown) => run(() => undefined),
    },
    api: {
      offlineQueries: async () => ({
        getOfflineQuery: async () => {
          state.asked++;
          return { query: { ...BEGUN, status: state.status } };
        },
      }),
      watches: async () => ({
        async *watch(_: unknown, { signal }: { readonly signal: AbortSignal }) {
          if (!options.givesHints) throw new CliError("There is no such method.", { code: "unimplemented" });
          state.watched++;
          signal.addEventListener("abort", () => state.closed++);
          yield { topics: [] };
          for (;;) {
            const { promise, resolve, reject } = Promise.withResolvers<WatchTopic[]>();
            hint = resolve;
            signal.addEventListener("abort", () => reject(signal.reason));
            yield { topics: await promise };
          }
        },
      }),
    },
  } as unknown as Context;
  return {
    context,
    state,
    pauses,
    hint: (topics: WatchTopic[]) => hint(topics),
    endPause: () => endPause(),
    interrupt: () => ending.abort(),
  };
}

test("a query is asked for again with a hint, without any pause, and the stream ends with it", async () => {
  const { context, endPause, hint, pauses, state } = server({ givesHints: true });
  const ended = followQuery(context, BEGUN);
  await turn();
  // The pause began before the server said that it gives hints.
  endPause();
  await turn();
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(10_000);
  const { asked } = state;
  expect(await isPending(ended)).toBe(true);
  state.status = OfflineQueryStatus.COMPLETED;
  hint([WatchTopic.RUNS]);
  expect((await ended).status).toBe(OfflineQueryStatus.COMPLETED);
  expect([state.asked - asked, state.watched, state.closed]).toEqual([1, 1, 1]);
});

test("of a server that gives no hints a query is asked for after pauses that grow", async () => {
  const { context, endPause, pauses, state } = server({ givesHints: false });
  const ended = followQuery(context, BEGUN);
  for (let times = 0; times < 12; times++) {
    await turn();
    endPause();
  }
  state.status = OfflineQueryStatus.FAILED;
  await turn();
  endPause();
  expect((await ended).status).toBe(OfflineQueryStatus.FAILED);
  expect(pauses).toEqual(pauses.toSorted((one, other) => one - other));
  expect([pauses[0], pauses.at(-1)]).toEqual([100, 2_000]);
});

test("an interruption ends the waiting, and the stream", async () => {
  const { context, interrupt, state } = server({ givesHints: true });
  const ended = followQuery(context, BEGUN);
  await turn();
  interrupt();
  expect(ended).rejects.toThrow();
  await ended.catch(() => undefined);
  expect(state.closed).toBe(1);
});
