import type { Client } from "@connectrpc/connect";
import { ErrorCode } from "../../gen/svc/v1/error_pb.ts";
import type { QueryMeta, QueryResponse, QueryService, TraceSpan } from "../../gen/svc/v1/query_pb.ts";
import { defineCommand } from "../cli/command.ts";
import type { Context } from "../context/context.ts";
import { escapeControls, readableName } from "../domain/name.ts";
import { plannerOptionLines } from "../domain/planner-options.ts";
import { visibleLines } from "../domain/visible.ts";
import { CliError } from "../errors/cli-error.ts";
import { choiceView, tableView, type View } from "../output/view.ts";
import { type BenchmarkReport, benchmarkExitCode, runBenchmark } from "../query-client/benchmark.ts";
import { showRunLog } from "../query-client/run-log.ts";
import { spansOf } from "../query-client/spans.ts";
import { createQueryFigures, type QueryFigures } from "../query-client/statsd.ts";
import { answerJson, type FailureStyle, failureLines, runLine, valueText } from "./query/answer-view.ts";
import { benchmarkView } from "./query/benchmark-view.ts";
import { bulkRequest, givenColumns } from "./query/bulk-flags.ts";
import { type BulkAnswer, bulkFailureLines, bulkView } from "./query/bulk-view.ts";
import { checkQueryFlags, type QueryFlags, queryFlags, queryRequest } from "./query/flags.ts";
import { countText, isRows, relationTables } from "./query/relation-view.ts";
import { waterfall } from "./trace/waterfall-view.ts";

/** An answer, and how to show it. */
interface Answer {
  readonly kind: "answer";
  readonly response: QueryResponse;
  readonly translate: boolean;
  readonly includeMeta: boolean;
  /** Empty unless the query was traced. */
  readonly spans: readonly TraceSpan[];
}

type Shown = Answer | BulkAnswer | BenchmarkReport;

export default defineCommand({
  summary: "Query features online and print their values",
  category: "Query and explore",
  description:
    "Features are named in full (`user.email`), from the root of the inputs (`email`), or, with a leading dot, in full for certain (`.user.email`). " +
    "Values of --in are JSON; text need not be quoted. A feature that fails does not stop the others; the exit code is 1 then. With -v what resolvers print " +
    "is shown below the answer; the page of the run keeps it.\n\n" +
    `Planner options:\n${plannerOptionLines().join("\n")}`,
  examples: [
    { run: "svc query --in user.id=1 --out user", does: "All features of a user" },
    "svc query --in user.id=1 --out user.email --staleness user.email=1h",
    { run: "svc query --in document.id=1 --in 'document.text=@file(note.txt)' --out document.length", does: "Read a value from a file" },
    "svc query --in user.id=1 --out user --repeat 5s --json",
    { run: "svc query --in user.id=1 --out user --trace", does: "Where the time goes: every step with its milliseconds" },
    { run: "svc query --bulk --in user.id=1 --in user.id=2 --out user.email", does: "Several rows at once" },
    {
      run: "svc query --in user.id=1 --out user --benchmark --qps 200 --duration 30s",
      does: "Load at a fixed rate, latencies as percentiles",
    },
  ],
  needs: ["session"],
  flags: queryFlags,
  check: checkQueryFlags,
  run(context, input): Promise<Shown> | AsyncIterable<Shown> {
    if (input.benchmark) return benchmark(context, input);
    return context.flags.json && input.repeat === undefined ? answerOnce(context, input) : answers(context, input);
  },
  view: choiceView((shown: Shown) =>
    shown.kind === "answer"
      ? (answerView as View<never>)
      : shown.kind === "bulk"
        ? (bulkView as View<never>)
        : (benchmarkView as View<never>),
  ),
  exitCode: (shown) => (shown.kind === "benchmark" ? benchmarkExitCode(shown) : failed(shown) ? 1 : 0),
});

const answerView = tableView({
  things: "features",
  rows: ({ response }: Answer) => response.data,
  columns: [
    { header: "Name", cell: ({ field }) => readableName(field) },
    { header: "Hit?", cell: ({ meta }) => (meta?.cacheHit ? "✓" : ""), style: (cell, style) => style.green(cell) },
    {
      header: "Value",
      flexible: true,
      cell: ({ error, value }, { isTTY }) => (error ? "(failed)" : isTTY && isRows(value) ? countText(value) : valueText(value)),
      style: (cell, style, { error }) => (error ? style.red(cell) : cell),
    },
  ],
  after: ({ response, spans }, style) =>
    relationTables(response.data, style) + runLine(response.meta, style) + visibleLines(response.explainOutput) + waterfall(spans, style),
  json: ({ response, translate, includeMeta, spans }) => {
    for (const result of response.data) if (!includeMeta) result.meta = undefined;
    return answerJson(response, translate ? readableName : (name) => name, spans);
  },
});

type SendQuery = () => Promise<Answer | BulkAnswer>;

/**
 * The function that sends the query; the request is built once and can be sent any number of times.
 */
async function prepareQuery(context: Context, input: QueryFlags, service: Client<typeof QueryService>): Promise<SendQuery> {
  const shown = { translate: input.translateFqns, includeMeta: input.includeMeta, spans: [] };
  if (input.bulk) {
    const given = givenColumns(input.in);
    const request = await bulkRequest(context, input, given);
    return async () => ({ kind: "bulk", given, response: await service.queryBulk(request), ...shown });
  }
  const request = await queryRequest(context, input);
  return async () => ({ kind: "answer", response: await service.query(request), ...shown });
}

/** Sends the query and reports its latency and outcome to StatsD. */
async function timed(send: SendQuery, figures: QueryFigures): Promise<Answer | BulkAnswer> {
  const started = performance.now();
  try {
    const answer = await send();
    figures.record(performance.now() - started, firstError(answer));
    return answer;
  } catch (error) {
    figures.record(performance.now() - started, errorCode(error));
    throw error;
  }
}

/**
 * The answer with its spans, which are fetched after it so that tracing does not slow the query.
 */
async function withSpans<A extends Answer | BulkAnswer>(
  context: Context,
  service: Client<typeof QueryService>,
  answer: A,
  isWanted: boolean,
): Promise<A> {
  return { ...answer, spans: await spansOf(context, service, answer.response.meta, isWanted) };
}

async function answerOnce(context: Context, input: QueryFlags): Promise<Answer | BulkAnswer> {
  const figures = await createQueryFigures(context, input.statsdHost, input.statsdPort);
  try {
    const service = await context.api.query();
    return await withSpans(context, service, await timed(await prepareQuery(context, input, service), figures), input.trace);
  } finally {
    await figures.close();
  }
}

/**
 * The answers, one or repeated. The generator resumes after its item is shown, so failures come
 * below the table.
 */
async function* answers(context: Context, input: QueryFlags): AsyncIterable<Answer | BulkAnswer> {
  const { clock, flags, progress, signal } = context;
  const figures = await createQueryFigures(context, input.statsdHost, input.statsdPort);
  try {
    const service = await context.api.query();
    const send = await prepareQuery(context, input, service);
    for (;;) {
      const started = clock.now();
      const answer = await withSpans(context, service, await timed(send, figures), input.trace);
      for (const namespace of answer.response.inferredOutputs) progress.note(`Using '--out=${escapeControls(namespace)}'`);
      for (const warning of answer.response.meta?.warnings ?? []) progress.warn(warning);
      yield answer;
      for (const line of linesOf(answer, { stacks: flags.verbose })) progress.note(line);
      if (flags.verbose && !flags.json) await showRunLog(context, service, answer.response.meta);
      if (input.storePlanStages) progress.note(stagesNote(answer.response.meta));
      if (input.repeat === undefined && (await isOnlyLabel(context, input)))
        progress.note(
          `There is no named query '${escapeControls(input.queryName ?? "")}': the name is kept in the log, and does nothing else.`,
        );
      if (input.repeat === undefined) {
        if (failed(answer)) throw new CliError(failureCount(answer), { code: "query_failed" });
        return;
      }
      await clock.sleep(Math.max(0, input.repeat - (clock.now() - started)), signal);
    }
  } finally {
    await figures.close();
  }
}

/**
 * Whether a query that names its outputs has a name that no named query has; false when the list of
 * named queries may not be read.
 */
async function isOnlyLabel({ api, flags }: Context, { deployment, out, queryName }: QueryFlags): Promise<boolean> {
  if (queryName === undefined || out.length === 0 || flags.json) return false;
  const listed = await (await api.graph()).listNamedQueries({ deploymentId: deployment ?? "" }).catch(() => undefined);
  return listed !== undefined && !listed.namedQueries.some(({ name }) => name === queryName);
}

async function benchmark(context: Context, input: QueryFlags): Promise<BenchmarkReport> {
  const figures = await createQueryFigures(context, input.statsdHost, input.statsdPort);
  try {
    const send = await prepareQuery(context, input, await context.api.query());
    await send();
    return await runBenchmark(
      context,
      input,
      () => send().then(firstError, errorCode),
      ({ error, latencyMs, measured }) => measured && figures.record(latencyMs, error),
    );
  } finally {
    await figures.close();
  }
}

/** A note on where the stages of a query can be read. */
function stagesNote(meta: QueryMeta | undefined): string {
  if (!meta || meta.planStages === 0) return "No stages were kept: no step gave anything, or the server's log says what failed";
  const count = meta.planStages === 1 ? "1 stage is kept" : `${meta.planStages} stages are kept`;
  if (meta.url) return `${count}: ${escapeControls(meta.url)}#stages`;
  return `${count}: ask QueryService.GetQueryRunStages for the query ${escapeControls(meta.queryId)}`;
}

function linesOf(answer: Answer | BulkAnswer, style: FailureStyle): string[] {
  return answer.kind === "bulk" ? bulkFailureLines(answer.response, style) : failureLines(answer.response, style);
}

function failureCount(answer: Answer | BulkAnswer): string {
  if (answer.kind === "bulk") {
    const rows = new Set(answer.response.errors.map(({ row }) => row));
    return `${rows.size} of ${answer.response.rows} rows could not be answered in full`;
  }
  const { data } = answer.response;
  const wrong = data.filter(({ error }) => error !== undefined).length;
  return `${wrong || "some"} of ${data.length} features could not be answered`;
}

/** Code of the first error of an answer; undefined when there is none. */
function firstError({ kind, response }: Answer | BulkAnswer): string | undefined {
  const errors =
    kind === "bulk" ? response.errors.map(({ error }) => error) : [...response.errors, ...response.data.map(({ error }) => error)];
  const first = errors.find((error) => error !== undefined);
  return first && ErrorCode[first.code];
}

function errorCode(error: unknown): string {
  return error instanceof CliError ? error.code : error instanceof Error ? error.name : "failed";
}

function failed(answer: Answer | BulkAnswer): boolean {
  return answer.response.errors.length > 0 || (answer.kind === "answer" && answer.response.data.some(({ error }) => error !== undefined));
}
