import type { TraceSpan } from "../../gen/svc/v1/query_pb.ts";
import { type ResolverRun, ResolverRunState } from "../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { bool, maybe, text, timestamp } from "../cli/flag.ts";
import { msToTimestamp } from "../domain/proto-time.ts";
import { sampledTraceparent } from "../domain/traceparent.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { resourceFields } from "../output/message-view.ts";
import { choiceView, type View } from "../output/view.ts";
import { followRun } from "../query-client/follow-run.ts";
import { spansOfRun } from "../query-client/spans.ts";
import { RUN_FIELDS, stateText } from "./scheduled-resolver/runs/run-view.ts";
import { spansJson, waterfall } from "./trace/waterfall-view.ts";

export default defineCommand({
  summary: "Run a resolver once",
  description:
    "The server computes the resolver's features for every row that it is for, and stores the values where the features' options say so. A resolver with " +
    "arguments runs for every row that the history knows, with the latest known values; one without that returns rows runs for its own. The filter and " +
    "the sample of a resolver's `Cron` hold here too. Without --await the command prints the run, which the server goes on with: " +
    "`svc scheduled-resolver runs get` shows how far it has got.",
  category: "Query and explore",
  examples: [
    "svc trigger --resolver get_fraud_score",
    { run: "svc trigger --resolver get_fraud_score --idempotency-key 2026-01-31", does: "Once, however often it is asked for" },
    { run: "svc trigger --resolver get_fraud_score --await --trace", does: "Where the time goes, once the run has ended" },
  ],
  needs: ["session"],
  flags: {
    resolver: text("resolver FQN, or its last part", { required: true, placeholder: "<resolver>" }),
    persistOnline: maybe("store values online where the features' options say so", { defaultText: "true" }),
    persistOffline: maybe("store values in the history where the features' options say so", { defaultText: "true, but on a branch" }),
    idempotencyKey: text("one run per key, however often it is asked for", { placeholder: "<key>" }),
    lowerBound: timestamp("only inputs at or after this instant"),
    upperBound: timestamp("only inputs before this instant"),
    deploymentId: text("deployment to run in, by id or tag", { aliases: ["--deployment"], placeholder: "<deployment>" }),
    await: bool("wait for the end", { aliases: ["--wait"] }),
    trace: bool("keep spans of the run, and print them once it has ended; with --await"),
  },
  check(flags) {
    if (flags.trace && !flags.await) throw new UsageError("--trace goes with --await: the spans are there once the run has ended");
  },
  async run(context, { lowerBound, upperBound, resolver, persistOnline, persistOffline, trace, ...flags }): Promise<Triggered> {
    const { idempotencyKey = "", deploymentId = "" } = flags;
    const { run } = await (await context.api.resolverRuns()).triggerResolver(
      {
        ...{ resolver, idempotencyKey, deploymentId },
        ...(persistOnline !== undefined && { persistOnline }),
        ...(persistOffline !== undefined && { persistOffline }),
        ...(lowerBound !== undefined && { lowerBound: msToTimestamp(lowerBound) }),
        ...(upperBound !== undefined && { upperBound: msToTimestamp(upperBound) }),
      },
      trace ? { headers: { traceparent: sampledTraceparent() } } : {},
    );
    if (!run) throw new CliError("the server began no run", { code: "broken_answer" });
    if (!flags.await) return { run, isAwaited: false, spans: [] };
    const ended = await followRun(context, run);
    return { run: ended, isAwaited: true, spans: trace ? await spansOfRun(context, await context.api.traces(), run.id) : [] };
  },
  exitCode: ({ run }) => (run.state === ResolverRunState.FAILED ? 1 : 0),
  view: choiceView(({ isAwaited }: Triggered) => (isAwaited ? endedView : begunView) as View<never>),
});

/** A run, once it was asked for or has ended. */
interface Triggered {
  readonly run: ResolverRun;
  readonly isAwaited: boolean;
  /** Empty unless it was traced. */
  readonly spans: readonly TraceSpan[];
}

const begunView = resourceFields(({ run }: Triggered) => run, {
  id: "ID",
  state: { header: "Status", cell: stateText },
  resolver: "Resolver",
  url: "URL",
});

const endedView = resourceFields(({ run }: Triggered) => run, RUN_FIELDS, {
  text: ({ spans }, style) => waterfall(spans, style),
  json: ({ spans: [first, ...others] }) => (first ? { trace_id: first.traceId, spans: spansJson([first, ...others]) } : {}),
});
