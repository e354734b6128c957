import type { JobAttemptJson, JobJson } from "../../../../gen/svc/v1/job_pb.ts";
import type { ResolverRunJson } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { now } from "../../app/clock.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { JobPriority } from "./job-priority.tsx";
import { RunAgain } from "./run-again-action.tsx";
import { RunLines } from "./run-lines.tsx";
import { RunLink } from "./run-lists.tsx";
import { enumWord, isGoingOn, tookMs } from "./run-state.ts";
import { State } from "./state.tsx";

/** A job: what it waits for, its attempts, and what the run of a resolver did in it. */
export function JobContent({ id }: { readonly id: string }) {
  const job = useAnswer("JobService/GetJob", { id }, environmentScope.value);
  const run = useAnswer(
    "ResolverRunService/GetResolverRun",
    job.data?.job?.id ? { id: job.data.job.id } : undefined,
    environmentScope.value,
  );
  const isOpen = isGoingOn(enumWord(job.data?.job?.state, "JOB_STATE_"));
  const look = () => {
    job.reload();
    run.reload();
  };
  useLive(["runs"], look, isOpen);
  return (
    <Loading of={job} lines={8}>
      {({ job: found = {} }) => (
        <>
          <JobFacts job={found} />
          <JobPriority job={found} onDone={look} />
          {run.data?.run && <ResolverRun run={run.data.run} />}
          <h2>Attempts</h2>
          <Attempts attempts={found.attemptsMade ?? []} />
          <RunLines ids={[found.id ?? id]} createdAt={found.createdAt} endedAt={found.endedAt} />
        </>
      )}
    </Loading>
  );
}

function JobFacts({ job }: { readonly job: JobJson }) {
  const {
    attempts = 0,
    createdAt,
    endedAt,
    error = "",
    kind = "",
    maxAttempts = 0,
    name = "",
    node = "",
    priority = 0,
    progress = "",
    resourceGroup = "",
  } = job;
  const { runAt, subject = "", traceId = "", waitsFor, workflowId = "" } = job;
  return (
    <Facts
      facts={[
        ["State", <State key="" of={job.state} prefix="JOB_STATE_" />],
        ["Waits for", waitsFor && <WaitsFor wait={waitsFor} />],
        ["Progress", progress !== "" && visibleLines(progress)],
        ["Error", error !== "" && <span class="bad">{visibleLines(error)}</span>],
        ["Cancel", job.cancelRequested && "was asked to end"],
        ["Kind", escapeControls(name === "" ? kind : `${kind}, ${name}`)],
        ["About", subject !== job.id && <Subject key="" subject={subject} />],
        ["Workflow", workflowId !== "" && <RunLink id={workflowId} />],
        ["Priority", priority !== 0 && priority],
        ["Attempts", `${attempts} of ${maxAttempts}`],
        ["Node", node !== "" && <code>{escapeControls(node)}</code>],
        ["Resource group", resourceGroup !== "" && <code>{escapeControls(resourceGroup)}</code>],
        ["Trace", traceId !== "" && <TraceLink id={traceId} />],
        ["Begun", <Time key="" at={createdAt} />],
        ["Due", runAt && <Time at={runAt} />],
        ["Ended", endedAt && <Time at={endedAt} />],
      ]}
    />
  );
}

/** What a run is about: a deployment, another run, or a name. */
export function Subject({ subject }: { readonly subject: string }) {
  if (subject.startsWith("dpl_")) return <DeploymentLink id={subject} />;
  if (subject.startsWith("bench_"))
    return (
      <a href={href("benchmark", { id: subject }, { deployment: "" })} class="name">
        {escapeControls(subject)}
      </a>
    );
  return /^(ofq|wf|job)_/.test(subject) ? <RunLink id={subject} /> : <code>{escapeControls(subject)}</code>;
}

/** A link to the page of a trace. */
export function TraceLink({ id }: { readonly id: string }) {
  return (
    <a class="name" href={href("trace", { id }, { deployment: "" })}>
      {escapeControls(id)}
    </a>
  );
}

function WaitsFor({ wait: { behind = [], reason, until } }: { readonly wait: NonNullable<JobJson["waitsFor"]> }) {
  return (
    <>
      {enumWord(reason, "JOB_WAIT_REASON_")} {until && <Time at={until} />}{" "}
      {behind.map((number) => (
        <a key={number} href={href("run", { id: number }, { deployment: "" })}>
          job {number}{" "}
        </a>
      ))}
    </>
  );
}

const ATTEMPTS: readonly Column<JobAttemptJson>[] = [
  { name: "number", title: "Attempt", width: "5rem", isNumber: true, cell: ({ number }) => number },
  { name: "state", title: "State", width: "8rem", cell: ({ state }) => <State of={state} prefix="JOB_ATTEMPT_STATE_" /> },
  { name: "node", title: "Node", wraps: true, width: "18.5rem", cell: ({ node = "" }) => <code>{escapeControls(node)}</code> },
  { name: "started", title: "Began", width: "10rem", cell: ({ startedAt }) => <Time at={startedAt} /> },
  {
    name: "took",
    title: "Took",
    width: "6rem",
    isNumber: true,
    cell: ({ endedAt, startedAt }) => <Duration ms={tookMs(startedAt, endedAt, now.value) ?? 0} />,
  },
  {
    name: "error",
    title: "Error",
    wraps: true,
    width: "16rem",
    cell: ({ error = "" }) => visibleLines(error),
  },
];

function Attempts({ attempts }: { readonly attempts: readonly JobAttemptJson[] }) {
  if (attempts.length === 0) return <p class="dim">None has begun.</p>;
  return <WindowTable label="Attempts" columns={ATTEMPTS} rows={attempts} keyOf={({ number }) => String(number)} />;
}

function ResolverRun({ run }: { readonly run: ResolverRunJson }) {
  const {
    cause,
    error = "",
    failedRows = "0",
    lowerBound,
    persistOffline = false,
    persistOnline = false,
    resolver = "",
    rows = "0",
    upperBound,
  } = run;
  return (
    <>
      <h2>Run of {escapeControls(resolver)}</h2>
      <Facts
        facts={[
          ["Rows", rows],
          ["Failed rows", failedRows !== "0" && <span class="bad">{failedRows}</span>],
          ["First error", error !== "" && <span class="bad">{visibleLines(error)}</span>],
          ["Cause", enumWord(cause, "RESOLVER_RUN_CAUSE_")],
          ["Stored", [persistOnline && "online", persistOffline && "offline"].filter(Boolean).join(", ") || "nowhere"],
          ["From", lowerBound && <Time at={lowerBound} />],
          ["To", upperBound && <Time at={upperBound} />],
        ]}
      />
      <RunAgain run={run} />
    </>
  );
}
