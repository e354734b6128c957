import type { OfflineQueryJson } from "../../../../gen/svc/v1/offline_query_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { TraceLink } from "./job-content.tsx";
import { QueryAgain } from "./offline-query-again-action.tsx";
import { RunLines } from "./run-lines.tsx";
import { RunLink } from "./run-lists.tsx";
import { enumWord, isGoingOn } from "./run-state.ts";
import { State } from "./state.tsx";
import { WorkflowGraph } from "./workflow-content.tsx";

/** An offline query: its progress, its answer, and its operations. */
export function OfflineQueryContent({ id }: { readonly id: string }) {
  const answer = useAnswer("OfflineQueryService/GetOfflineQuery", { id }, environmentScope.value);
  // Its jobs are named after it; the first one knows the workflow.
  const job = useAnswer("JobService/GetJob", { id: `${id}.1` }, environmentScope.value);
  const isOpen = isGoingOn(enumWord(answer.data?.query?.status, "OFFLINE_QUERY_STATUS_"));
  useLive(["runs"], answer.reload, isOpen);
  const workflowId = job.data?.job?.workflowId ?? "";
  return (
    <Loading of={answer} lines={8}>
      {({ query = {} }) => (
        <>
          <p class="actions">
            {isOpen ? <Cancel id={id} onDone={answer.reload} /> : <QueryAgain id={id} options={query.options ?? {}} />}
            {query.datasetId && (
              <a class="button" href={href("dataset", { name: query.datasetName || query.datasetId }, { deployment: "" })}>
                Its dataset
              </a>
            )}
          </p>
          <QueryFacts query={query} />
          {workflowId !== "" && <WorkflowGraph id={workflowId} isOpen={isOpen} />}
          <RunLines ids={[id]} createdAt={query.createdAt} endedAt={query.endedAt} />
        </>
      )}
    </Loading>
  );
}

function QueryFacts({ query }: { readonly query: OfflineQueryJson }) {
  const {
    agentId = "",
    branch = "",
    createdAt,
    deploymentId = "",
    doneRows = "0",
    endedAt,
    error = "",
    failedRows = "0",
    kind = "",
  } = query;
  const {
    lateValues = "0",
    numShards = 0,
    outputs = [],
    queryName = "",
    recompute,
    recomputeFeatures = [],
    retryOf = "",
    rows = "0",
    tags = [],
    traceId = "",
  } = query;
  const total = Number(query.totalRows ?? 0);
  return (
    <Facts
      facts={[
        ["State", <State key="" of={query.status} prefix="OFFLINE_QUERY_STATUS_" />],
        ["Error", error !== "" && <span class="bad">{visibleLines(error)}</span>],
        [
          "Progress",
          total > 0 && (
            <>
              <progress max={total} value={Number(doneRows)} aria-label="Rows that were worked off" /> {doneRows} of {total} rows
            </>
          ),
        ],
        ["Rows of the answer", rows],
        ["Failed rows", failedRows !== "0" && <span class="bad">{failedRows}</span>],
        ["Late values", lateValues !== "0" && lateValues],
        ["Name", queryName !== "" && escapeControls(queryName)],
        ["Begun by", escapeControls(kind)],
        ["Client", agentId !== "" && <code>{escapeControls(agentId)}</code>],
        ["Branch", branch !== "" && escapeControls(branch)],
        ["Deployment", deploymentId !== "" && <DeploymentLink id={deploymentId} />],
        ["Outputs", outputs.length > 0 && <code>{outputs.map(escapeControls).join(", ")}</code>],
        ["Computed", recompute ? "all outputs" : recomputeFeatures.map(escapeControls).join(", ")],
        ["Parts", numShards > 1 && numShards],
        ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
        ["Again", retryOf !== "" && <RunLink id={retryOf} />],
        ["Trace", traceId !== "" && <TraceLink id={traceId} />],
        ["Begun", <Time key="" at={createdAt} />],
        ["Ended", endedAt && <Time at={endedAt} />],
      ]}
    />
  );
}

function Cancel({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const cancel = async () => {
    await call("OfflineQueryService/CancelOfflineQuery", { id }, environmentScope.value);
    return `${id} is asked to end.`;
  };
  return (
    <Action
      verb="End it"
      question={`End ${id}?`}
      permission="query.offline"
      words={["offline-query", "cancel", id]}
      act={cancel}
      onDone={onDone}
    >
      <p>Neither its files nor a revision stay.</p>
    </Action>
  );
}
