import type { GetQueryRunResponseJson } from "../../../../gen/svc/v1/query_run_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Duration } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { plainOf } from "../../parts/proto-value.ts";
import { Time } from "../../parts/time.tsx";
import { Value } from "../../parts/values.tsx";
import type { PageProps } from "../../routes.ts";
import { durationMs } from "../define/feature-text.ts";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { Answer } from "./answer.tsx";
import { writeForm } from "./query-form.ts";
import { formOf, inputText } from "./request-form.ts";
import { RunLog, RunPlan, RunStages, RunTrace } from "./run-parts.tsx";
import { RunStatus } from "./run-status.tsx";

/** One query that ran: what it was asked, what it answered, and how. */
export default function QueryRun({ place }: PageProps<"queryRun">) {
  const command = useCommand();
  const { id } = place.params;
  const answer = useAnswer("QueryRunService/GetQueryRun", { id }, environmentScope.value);
  return (
    <Page title={`Query run ${id}`} command={command("queries", "get", id)} actions={answer.data && <Actions response={answer.data} />}>
      {answer.error?.code === "not_found" ? (
        <Empty command={command("queries", "list")}>
          No such query run: it is of another server or environment, or older than the log. Those that there are:
        </Empty>
      ) : (
        <Loading of={answer} lines={10}>
          {(data) => <Content id={id} response={data} />}
        </Loading>
      )}
    </Page>
  );
}

/** The way to run it again, edited or not. */
function Actions({ response: { query, request } }: { readonly response: GetQueryRunResponseJson }) {
  const form = request && query?.kind !== "QUERY_RUN_KIND_BULK" ? writeForm(formOf(request)) : undefined;
  if (!form) return null;
  return (
    <a class="button" href={href("query", {}, { query: form })}>
      Edit and run
    </a>
  );
}

function Content({ id, response }: { readonly id: string; readonly response: GetQueryRunResponseJson }) {
  const { error = "", query = {}, request = {}, response: answer } = response;
  const { branch = "", correlationId = "", createdAt, deploymentId = "", latency, queryName = "", queryVersion = "", traceId = "" } = query;
  const isBulk = query.kind === "QUERY_RUN_KIND_BULK";
  return (
    <>
      <Facts
        facts={[
          ["Status", <RunStatus key="" run={query} />],
          ["Refused", error !== "" && <span class="bad">{visibleLines(error)}</span>],
          ["Started", <Time key="" at={createdAt} />],
          ["Took", <Duration key="" ms={durationMs(latency)} />],
          ["Deployment", deploymentId !== "" && <DeploymentLink id={deploymentId} />],
          ["Branch", branch !== "" && escapeControls(branch)],
          ["Query", queryName !== "" && escapeControls(`${queryName} ${queryVersion}`)],
          ["Correlation id", correlationId !== "" && escapeControls(correlationId)],
          ["Tags", (request.tags ?? []).map(escapeControls).join(", ")],
          ["As of", request.now && <Time at={request.now} />],
          [
            "Planner options",
            Object.entries(request.plannerOptions ?? {})
              .map(([name, text]) => escapeControls(`${name}=${text}`))
              .join(", "),
          ],
          ["Asked for", (request.outputs ?? []).map((name) => escapeControls(readableName(name))).join(", ")],
        ]}
      />
      <h2>Inputs</h2>
      {isBulk ? <p class="dim">Not kept: this was a bulk query, and the log holds no values of those.</p> : <Inputs request={request} />}
      <h2>Answer</h2>
      {answer ? <Answer data={answer.data ?? []} errors={answer.errors ?? []} /> : <p class="dim">None: the query was refused.</p>}
      {isBulk && <p class="dim">The log holds no values of bulk queries.</p>}
      <h2>Plan</h2>
      <RunPlan text={answer?.explainOutput ?? ""} planId={query.queryPlanId ?? ""} />
      <h2 id="trace">Trace</h2>
      <RunTrace id={id} isTraced={traceId !== ""} />
      <h2 id="stages">Stages</h2>
      <RunStages id={id} />
      <h2>Log</h2>
      <RunLog id={id} />
    </>
  );
}

function Inputs({ request: { inputs = [] } }: { readonly request: NonNullable<GetQueryRunResponseJson["request"]> }) {
  if (inputs.length === 0) return <p class="dim">None.</p>;
  return (
    <Facts
      facts={inputs.map((input) => [
        escapeControls(readableName(input.feature ?? "")),
        <Value key="" value={input.typed ? plainOf(input.typed) : inputText(input)} />,
      ])}
    />
  );
}
