import type { GetResolverResponse, Resolver, SinkResolver, StreamResolver } from "../../../gen/svc/v1/graph_pb.ts";
import { OutputShape, ResourceHint } from "../../../gen/svc/v1/graph_pb.ts";
import type { MetricExemplar } from "../../../gen/svc/v1/metric_pb.ts";
import type { ResolverRun } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, text } from "../../cli/flag.ts";
import { formatEnum } from "../../contract/contract.ts";
import { formatDuration } from "../../domain/duration.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { visibleLines } from "../../domain/visible.ts";
import { metricValueText } from "../../output/metric-value.ts";
import { timeText } from "../../output/time.ts";
import { type Style, textView } from "../../output/view.ts";
import { hoursLine, recentRequests } from "../../query-client/recent-requests.ts";
import { slowestCalls } from "../../query-client/slowest-calls.ts";
import { definitionFacts, placeText, sections, sourceLines, usedByLines } from "../definition-view.ts";
import { inputPaths, RESOLVER_JSON, resolverKind } from "./view.ts";

/** Runs, and slowest calls, that are shown. */
const RUNS = 5;
const SLOWEST = 5;

/** A resolver, its last runs by itself, and its slowest calls and calls by hour of the last day. */
interface Shown {
  readonly answer: GetResolverResponse;
  readonly runs: readonly ResolverRun[];
  readonly slowest: readonly MetricExemplar[];
  readonly calls: readonly (number | undefined)[];
}

export default defineCommand({
  summary: "Show one resolver: source, inputs, outputs, runs",
  description:
    "Runs are those by a schedule or by `svc trigger`, not the calls of queries. Slowest calls are those of the last day that were traced, " +
    "with their traces: `svc query --trace` asks for one, and a share of all queries has one.",
  examples: ["svc resolvers show get_email", "svc resolvers show get_email --json"],
  needs: ["session"],
  args: { resolver: arg("name of the resolver, or its last part") },
  flags: { deploymentId: text("deployment id; default: the live one", { aliases: ["--deployment"], placeholder: "<deployment>" }) },
  async run(context, { deploymentId = "", resolver: name }): Promise<Shown> {
    const { api } = context;
    const asked = recentRequests(context, "sum:resolver.count by {resolver}");
    const answer = await (await api.graph()).getResolver({ resolver: name.trim(), deploymentId });
    const resolver = (answer.resolver ?? answer.sinkResolver ?? answer.streamResolver)?.fqn ?? "";
    const { runs } = !answer.resolver ? { runs: [] } : await (await api.resolverRuns()).listResolverRuns({ resolver, pageSize: RUNS });
    const slowest = answer.streamResolver ? [] : await slowestCalls(context, resolver, SLOWEST);
    return { answer, runs, slowest, calls: (await asked).get(resolver) ?? [] };
  },
  view: textView(
    ({ answer, calls, runs, slowest }: Shown, style) => {
      const { resolver, sinkResolver, source, streamResolver } = answer;
      const line = hoursLine(calls, style);
      const lastDay = line === "" ? [] : [`Calls by hour  ${line}`];
      if (sinkResolver)
        return sections(
          sinkHead(sinkResolver, answer, style),
          { Source: sourceLines(source, style), "Last day": lastDay, "Slowest calls": slowest.map(callLine) },
          style,
        );
      if (streamResolver) return sections(streamHead(streamResolver, answer, style), { Source: sourceLines(source, style) }, style);
      if (!resolver) return "";
      const head = [
        style.bold(escapeControls(resolver.fqn)),
        ...(resolver.description === "" ? [] : [visibleLines(resolver.description)]),
        "",
        definitionFacts({
          Kind: kindText(resolver),
          Inputs: resolver.inputs.flatMap(inputPaths).map(readableName).join(", "),
          Outputs: resolver.outputs.map(readableName).join(", "),
          When: resolver.whenText,
          "Unique on": resolver.uniqueOn.map(readableName).join(", "),
          "Partitioned by": resolver.partitionedBy.map(readableName).join(", "),
          "Max staleness": resolver.maxStaleness && formatDuration(durationToMs(resolver.maxStaleness)),
          Calls: resolver.resourceHint === ResourceHint.IO ? "beside each other, on threads" : "",
          Venv: resolver.venv,
          Schedule: resolver.schedule,
          Timeout: resolver.timeout && formatDuration(durationToMs(resolver.timeout)),
          Environments: resolver.environments.join(", "),
          Tags: resolver.tags.join(", "),
          Owner: resolver.owner,
          "Without Python": translationText(resolver),
          "Defined in": placeText(source, resolver.span),
          Version: `${answer.version}`,
          Deployment: answer.deploymentId,
          Page: answer.url,
        }),
      ];
      return sections(
        head.join("\n"),
        {
          Source: sourceLines(source, style),
          "Used by": usedByLines(answer),
          "Last day": lastDay,
          "Slowest calls": slowest.map(callLine),
          "Last runs": runs.map(runLine),
        },
        style,
      );
    },
    async ({ answer, runs, slowest }) => {
      const { messageJson } = await import("../../contract/message-json.ts");
      const resolver = answer.resolver && messageJson(answer.resolver, RESOLVER_JSON);
      return {
        ...messageJson(answer, { resolver: () => resolver }),
        runs: runs.map((run) => messageJson(run)),
        slowest_calls: slowest.map((call) => messageJson(call)),
      };
    },
    { long: true },
  ),
});

/** What is said of a sink above its source. */
function sinkHead(sink: SinkResolver, { deploymentId, source, url, version }: GetResolverResponse, style: Style): string {
  const { bufferSize, debounce, maxDelay, timeout } = sink;
  const time = (duration: typeof debounce): string => (duration ? formatDuration(durationToMs(duration)) : "");
  return [
    style.bold(escapeControls(sink.fqn)),
    ...(sink.description === "" ? [] : [visibleLines(sink.description)]),
    "",
    definitionFacts({
      Kind: "sink, Python",
      Rows: sink.columns.map(readableName).join(", "),
      Calls: `of at most ${bufferSize} rows, ${time(debounce)} after the last one, and after ${time(maxDelay)} at most`,
      Venv: sink.venv,
      Timeout: timeout && time(timeout),
      Environments: sink.environments.join(", "),
      Tags: sink.tags.join(", "),
      Owner: sink.owner,
      "Defined in": placeText(source, sink.span),
      Version: `${version}`,
      Deployment: deploymentId,
      Page: url,
    }),
  ].join("\n");
}

/** What is said of a resolver of a topic's messages above its source. */
function streamHead(stream: StreamResolver, { deploymentId, source, url, version }: GetResolverResponse, style: Style): string {
  const { body, lateness, timeout } = stream;
  return [
    style.bold(escapeControls(stream.fqn)),
    ...(stream.description === "" ? [] : [visibleLines(stream.description)]),
    "",
    definitionFacts({
      Kind: `stream, ${body.case === "python" ? "Python" : "computed without Python"}`,
      Source: stream.source,
      Messages: stream.messageType,
      "Parsed by": stream.parse,
      Outputs: stream.outputs.map(readableName).join(", "),
      Venv: stream.venv,
      Timeout: timeout && formatDuration(durationToMs(timeout)),
      Lateness: lateness && formatDuration(durationToMs(lateness)),
      Environments: stream.environments.join(", "),
      Tags: stream.tags.join(", "),
      Owner: stream.owner,
      "Defined in": placeText(source, stream.span),
      Version: `${version}`,
      Deployment: deploymentId,
      Page: url,
    }),
  ].join("\n");
}

function kindText(resolver: Resolver): string {
  const { body, outputShape, total } = resolver;
  const language = body.case === "sql" ? `SQL on ${body.value.source}` : "Python";
  const shape =
    outputShape === OutputShape.ROWS ? ", gives rows" : outputShape === OutputShape.RELATION ? ", gives the rows of a relation" : "";
  return `${resolverKind(resolver)}, ${language}${shape}${total ? ", all of them" : ""}`;
}

/** Whether a Python resolver was understood, and why not. */
function translationText({ body, translated, untranslated }: Resolver): string {
  if (body.case !== "python") return "";
  if (Object.keys(translated).length > 0) return "yes: its body was understood";
  return untranslated === "" ? "" : `no: ${untranslated}`;
}

function callLine({ time, traceId, value }: MetricExemplar): string {
  return escapeControls(`${timeText(time)}  ${metricValueText(value, "seconds").padStart(7)}  trace ${traceId}`);
}

function runLine({ createdAt, error, failedRows, id, rows, state }: ResolverRun): string {
  const failed = failedRows > 0n ? `, ${failedRows} failed` : "";
  const why = error === "" ? "" : `: ${error.split("\n", 1)[0]}`;
  return escapeControls(`${timeText(createdAt)}  ${formatEnum("svc.v1.ResolverRunState", state)}  ${rows} rows${failed}  ${id}${why}`);
}
