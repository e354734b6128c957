import { type Benchmark, BenchmarkState } from "../../../gen/svc/v1/benchmark_pb.ts";
import { defineCommand, type InputOf } from "../../cli/command.ts";
import { bool, choice, duration, float, keyValue, list, optionalValue, quantity, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { formatDuration } from "../../domain/duration.ts";
import { escapeControls } from "../../domain/name.ts";
import { msToDuration } from "../../domain/proto-time.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { type Style, textView } from "../../output/view.ts";
import { confirm } from "../confirm-flags.ts";
import { figuresText, hasEnded } from "./benchmark-view.ts";

const RESOURCES = "Resources of the load generator";
const PERCENTILES = { "50": 50, "95": 95, "99": 99, "999": 99.9 } as const;
const DEFAULT_MS = 60_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

const recorded = "; recorded only";

const flags = {
  in: list(keyValue("input of every query", { placeholder: "<feature=value>", names: "feature" })),
  inFile: text("uploaded file whose rows are the inputs, one after the other", { aliases: ["--input-file"], placeholder: "<name>" }),
  out: list(text("output feature; comma list accepted", { placeholder: "<feature>", names: "output" }), { split: true }),
  queryName: text("named query instead of outputs", { placeholder: "<name>" }),
  queryNameVersion: text("its version (default: the latest)", { placeholder: "<version>" }),
  qps: float("queries per second", { default: 1 }),
  duration: duration("measured time", { default: DEFAULT_MS }),
  warmupQps: float("queries per second of the warm-up", { default: 1 }),
  warmupDuration: duration("time before it, which is not counted; 0s = none", { default: DEFAULT_MS }),
  percentile: list(choice("percentile to report; 999 is p99.9 (default: all)", Object.keys(PERCENTILES) as (keyof typeof PERCENTILES)[])),
  traceSampleRate: float("share of the queries whose spans are kept, 0.0 to 1.0"),
  dataSampleRate: optionalValue(float("share of the queries whose requests and answers are in the results, 0.0 to 1.0; bare = 1.0")),
  queryHost: text("address that the queries are sent to, in place of the server's own", { placeholder: "<address>" }),
  insecure: bool("do not verify the certificate of --query-host"),
  imageOverride: text(`image${recorded}`, { aliases: ["--image"], placeholder: "<image>", group: RESOURCES }),
  nodepool: text(`node pool${recorded}`, { aliases: ["--node-pool"], placeholder: "<name>", group: RESOURCES }),
  memoryRequest: quantity(`memory request${recorded}`, { group: RESOURCES }),
  memoryLimit: quantity("memory limit, 256Mi to 2Gi; beyond it the load ends", { group: RESOURCES }),
  cpuRequest: quantity(`processor request${recorded}`, { group: RESOURCES }),
  cpuLimit: quantity("processor limit, from 100m; recorded only without a container engine", { group: RESOURCES }),
  warmupMemoryRequest: quantity(`memory request of the warm-up${recorded}`, { group: RESOURCES }),
  warmupMemoryLimit: quantity(`memory limit of the warm-up${recorded}`, { group: RESOURCES }),
  warmupCpuRequest: quantity(`processor request of the warm-up${recorded}`, { group: RESOURCES }),
  warmupCpuLimit: quantity(`processor limit of the warm-up${recorded}`, { group: RESOURCES }),
  watch: bool("follow it until it ends, and show what it measured"),
  yes: bool("skip the question", { aliases: ["-y", "--force"] }),
};

export default defineCommand({
  summary: "Start a benchmark run (alpha)",
  description:
    "Queries are due at a fixed rate whatever the server does, and a latency counts from the time when its query was due. A process of the server sends them to " +
    "its query endpoint, with your permission to query; one benchmark runs at a time. Results are a file of JSON and a page: `svc benchmark download`. Values of " +
    "personal features are never part of them. Where the server has a container engine, limits of processors and memory put it into a container " +
    "that keeps them; elsewhere a limit of memory is applied to the process. Other resources are recorded, of which you are warned.",
  examples: [
    "svc benchmark run --in user.id=1 --out user.score --qps 50 --duration 30s",
    {
      run: "svc benchmark run --in-file users.parquet --query-name score --qps 200 --warmup-qps 50 --yes",
      does: "A row of a file for each query",
    },
    {
      run: "svc benchmark run --in user.id=1 --out user.score --qps 20 --warmup-duration 0s --watch --yes",
      does: "Followed until it ends",
    },
  ],
  needs: ["session"],
  flags,
  check(input) {
    const { dataSampleRate, inFile, out, qps, queryName, queryNameVersion, traceSampleRate, warmupQps } = input;
    if (input.in.length > 0 && inFile !== undefined) throw new UsageError("--in and --in-file do not go together");
    if (input.in.length === 0 && inFile === undefined)
      throw new UsageError("say what to query with: --in <feature>=<value> or --in-file <name>");
    const repeated = input.in.find(([name], at) => input.in.findIndex(([other]) => other === name) < at);
    if (repeated)
      throw new UsageError(`--in gives '${escapeControls(repeated[0])}' more than one value`, { hint: "Rows come from --in-file." });
    if (queryName !== undefined && out.length > 0) throw new UsageError("--query-name and --out do not go together");
    if (queryName === undefined && out.length === 0) throw new UsageError("say what to ask for: --out <feature> or --query-name <name>");
    if (queryNameVersion !== undefined && queryName === undefined) throw new UsageError("--query-name-version needs --query-name");
    for (const [name, rate] of [
      ["--qps", qps],
      ["--warmup-qps", warmupQps],
    ] as const)
      if (!(rate > 0)) throw new UsageError(`${name} is a rate above 0`);
    for (const [name, share] of [
      ["--trace-sample-rate", traceSampleRate],
      ["--data-sample-rate", dataSampleRate],
    ] as const)
      if (typeof share === "number" && !(share >= 0 && share <= 1)) throw new UsageError(`${name} is a share from 0.0 to 1.0`);
    if (!(input.duration > 0 && Number.isFinite(input.duration))) throw new UsageError("--duration needs a length above zero");
    if (!Number.isFinite(input.warmupDuration)) throw new UsageError("--warmup-duration needs an end");
    if (input.insecure && input.queryHost === undefined)
      throw new UsageError("--insecure needs --query-host: the server's own is not verified");
  },
  run: (context, input): Promise<Benchmark> => started(context, input),
  exitCode: ({ result, state }) => (state === BenchmarkState.SUCCEEDED && (result?.failed ?? 0n) + (result?.unsent ?? 0n) > 0n ? 1 : 0),
  view: textView(asText, async (benchmark) => (await import("../../contract/message-json.ts")).messageJson(benchmark)),
});

async function started(context: Context, input: InputOf<typeof flags>): Promise<Benchmark> {
  const { api, progress } = context;
  const load = `${input.qps} queries a second for ${formatDuration(input.duration)}`;
  await confirm(context, { force: input.yes }, `Send ${load} to ${escapeControls(input.queryHost ?? "the server's query endpoint")}?`);
  const benchmarks = await api.benchmarks();
  const { benchmark } = await benchmarks.runBenchmark({
    inputs: Object.fromEntries(input.in),
    plan: {
      ...{ outputs: [...input.out], queryName: input.queryName, queryNameVersion: input.queryNameVersion, inputFile: input.inFile },
      ...{ qps: input.qps, warmupQps: input.warmupQps, queryHost: input.queryHost, insecure: input.insecure },
      duration: msToDuration(input.duration),
      warmupDuration: msToDuration(input.warmupDuration),
      percentiles: input.percentile.map((name) => PERCENTILES[name]),
      traceSampleRate: input.traceSampleRate,
      dataSampleRate: input.dataSampleRate === true ? 1 : input.dataSampleRate,
      image: input.imageOverride,
      nodePool: input.nodepool,
      resources: {
        ...{ memoryRequest: input.memoryRequest, memoryLimit: input.memoryLimit },
        ...{ cpuRequest: input.cpuRequest, cpuLimit: input.cpuLimit },
      },
      warmupResources: {
        ...{ memoryRequest: input.warmupMemoryRequest, memoryLimit: input.warmupMemoryLimit },
        ...{ cpuRequest: input.warmupCpuRequest, cpuLimit: input.warmupCpuLimit },
      },
    },
  });
  if (!benchmark) throw new CliError("the server gave no benchmark", { code: "broken_answer" });
  for (const warning of benchmark.warnings) progress.warn(warning);
  return input.watch ? followed(context, benchmark) : benchmark;
}

/** A benchmark once it has ended. Rejects when it has no results. */
async function followed({ api, clock, progress, signal }: Context, { id }: Benchmark): Promise<Benchmark> {
  const onInterrupt = (): void => progress.note(`\nThe benchmark goes on. \`svc benchmark cancel ${id}\` ends it.`);
  signal.addEventListener("abort", onInterrupt, { once: true });
  try {
    return await progress.step(`Running ${id}`, async (say) => {
      const benchmarks = await api.benchmarks();
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
        const { benchmark } = await benchmarks.getBenchmark({ id });
        if (benchmark && hasEnded(benchmark)) {
          if (benchmark.state === BenchmarkState.SUCCEEDED) return benchmark;
          const how = benchmark.state === BenchmarkState.CANCELLED ? "was cancelled" : `failed: ${escapeControls(benchmark.error)}`;
          throw new CliError(`Benchmark ${id} ${how}`, { code: "benchmark_failed" });
        }
        say(escapeControls(benchmark?.progress ?? ""));
        await clock.sleep(pauseMs, signal);
      }
    });
  } finally {
    signal.removeEventListener("abort", onInterrupt);
  }
}

function asText(benchmark: Benchmark, style: Style): string {
  const { id, resultFiles, state, url } = benchmark;
  const files = resultFiles.length > 0 ? resultFiles : [`${id}.json`, `${id}.html`];
  const told = [`Benchmark  ${id}`, `Results    ${files.join(", ")}`, ...(url === "" ? [] : [`Page       ${url}`])];
  if (state === BenchmarkState.SUCCEEDED) return [figuresText({ ...benchmark, warnings: [] }, style), "", ...told].join("\n");
  return [...told, style.dim(`\`svc benchmark get ${id}\` shows how it stands.`)].join("\n");
}
