import type { BenchmarkJson, BenchmarkResultJson } from "../../../../gen/svc/v1/benchmark_pb.ts";
import { latencyRows } from "../../../domain/load/latency-rows.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Histogram } from "../../parts/histogram.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { WindowTable } from "../../parts/window-table.tsx";
import type { PageProps } from "../../routes.ts";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { BenchmarkComparison } from "./benchmark-comparison.tsx";
import { askedText, inputsText, isOpen, latencyBars, loadText, msText } from "./benchmark-text.ts";
import { State } from "./state.tsx";

/** One benchmark: what it asks for, what it measured, and how another one differs from it. */
export default function Benchmark({ place }: PageProps<"benchmark">) {
  const command = useCommand();
  const { id } = place.params;
  const answer = useAnswer("BenchmarkService/GetBenchmark", { id }, environmentScope.value);
  const goesOn = answer.data?.benchmark !== undefined && isOpen(answer.data.benchmark);
  useLive(["runs"], answer.reload, goesOn);
  return (
    <Page title={`Benchmark ${id}`} command={command("benchmark", "get", id)} actions={goesOn && <Cancel id={id} onDone={answer.reload} />}>
      <Loading of={answer} lines={8}>
        {({ benchmark = {} }) => (
          <>
            <BenchmarkFacts benchmark={benchmark} />
            {(benchmark.warnings ?? []).map((warning) => (
              <p key={warning} class="dim">
                {visibleLines(warning)}
              </p>
            ))}
            {benchmark.result && (
              <>
                <Measured result={benchmark.result} />
                <h2>Results as files</h2>
                <Command line={command("benchmark", "download", ...(benchmark.resultFiles ?? []).flatMap((name) => ["--name", name]))} />
                <BenchmarkComparison of={benchmark} />
              </>
            )}
          </>
        )}
      </Loading>
    </Page>
  );
}

function BenchmarkFacts({ benchmark }: { readonly benchmark: BenchmarkJson }) {
  const { branch = "", createdAt, deploymentId = "", endedAt, error = "", id = "", plan = {}, progress = "", startedAt } = benchmark;
  const { duration, qps, queryHost = "", warmupDuration, warmupQps } = plan;
  return (
    <Facts
      facts={[
        ["State", <State key="" of={benchmark.state} prefix="BENCHMARK_STATE_" />],
        ["Progress", progress !== "" && visibleLines(progress)],
        ["Error", error !== "" && <span class="bad">{visibleLines(error)}</span>],
        ["Queries", <code key="">{escapeControls(askedText(plan))}</code>],
        ["Inputs", <code key="">{escapeControls(inputsText(benchmark))}</code>],
        ["Load", loadText(qps, duration)],
        ["Warm-up", loadText(warmupQps, warmupDuration)],
        ["Sent to", queryHost !== "" && <code>{escapeControls(queryHost)}</code>],
        ["Deployment", <DeploymentLink id={deploymentId} />],
        ["Branch", branch !== "" && escapeControls(branch)],
        [
          "Log",
          <a key="" href={href("queryRuns", {}, { query: new URLSearchParams({ q: `correlation_id:${id}` }) })}>
            its queries
          </a>,
        ],
        ["Asked for", <Time key="" at={createdAt} />],
        ["Begun", startedAt && <Time at={startedAt} />],
        ["Ended", endedAt && <Time at={endedAt} />],
      ]}
    />
  );
}

function Measured({ result }: { readonly result: BenchmarkResultJson }) {
  const { achievedQps = 0, answered = "0", due = "0", elapsedSeconds = 0, errors = [], failed = "0", unsent = "0" } = result;
  const { generatorCpuSeconds = 0, generatorMemoryBytes = "0", lateMs, serverCpuSeconds = 0 } = result;
  const percentiles = (result.percentiles ?? []).map(({ ms, percent }) => ({ percent: Number(percent ?? 0), ms: Number(ms ?? 0) }));
  const { maxMs = 0, meanMs = 0, minMs = 0 } = result;
  return (
    <>
      <h2>Latency</h2>
      <p>Each counts from the time when its query was due, not from when it could be sent.</p>
      <WindowTable
        label="Latencies"
        columns={[
          { name: "name", title: "Latency", width: "6rem", cell: ([name]) => name },
          { name: "ms", title: "ms", width: "7rem", isNumber: true, cell: ([, ms]) => msText(ms) },
        ]}
        rows={latencyRows({ minMs: Number(minMs), meanMs: Number(meanMs), maxMs: Number(maxMs), percentiles })}
        keyOf={([name]) => name}
      />
      <Histogram label="Queries by latency" buckets={latencyBars(result)} bound={(ms) => `${msText(ms)} ms`} />
      {errors.length > 0 && (
        <>
          <h2>Errors</h2>
          <WindowTable
            label="Errors"
            columns={[
              { name: "code", title: "Error", width: "16rem", cell: ({ code = "" }) => escapeControls(code) },
              { name: "count", title: "Queries", width: "7rem", isNumber: true, cell: ({ count = "0" }) => count },
            ]}
            rows={errors}
            keyOf={({ code = "" }) => code}
          />
        </>
      )}
      <h2>What it used</h2>
      <Facts
        facts={[
          ["Answered", `${answered} of ${due} in ${Number(elapsedSeconds).toFixed(1)} s, ${Number(achievedQps)} a second`],
          ["Failed", Number(failed) > 0 ? <span class="bad">{failed}</span> : "none"],
          ["Never sent", Number(unsent) > 0 && `${unsent}, which count with the time they waited`],
          ["Sent late", `${msText(lateMs)} ms by the load generator itself (p99)`],
          ["Load generator", `${Number(generatorCpuSeconds).toFixed(1)} s of processor time`],
          ["Its memory", <Bytes key="" count={Number(generatorMemoryBytes)} />],
          ["Server process", `${Number(serverCpuSeconds).toFixed(1)} s of processor time`],
        ]}
      />
    </>
  );
}

function Cancel({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const cancel = async () => {
    await call("BenchmarkService/CancelBenchmark", { id }, environmentScope.value);
    return `${id} is cancelled.`;
  };
  return (
    <Action verb="End it" question={`End ${id}?`} permission="deploy" words={["benchmark", "cancel", id]} act={cancel} onDone={onDone}>
      <p>It has no results then.</p>
    </Action>
  );
}
