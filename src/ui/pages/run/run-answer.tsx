import type { QueryResponseJson } from "../../../../gen/svc/v1/query_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { Answer } from "./answer.tsx";
import { Plan } from "./plan.tsx";
import { Spans } from "./spans.tsx";
import { summaryText } from "./use-query-run.ts";

/** The answer to a query that was just run; `isOld` while the next one is under way. */
export function RunAnswer({ response, isOld }: { readonly response: QueryResponseJson; readonly isOld: boolean }) {
  const {
    data = [],
    errors = [],
    explainOutput = "",
    meta: { queryId = "", deploymentId = "", traceId = "", planStages = 0 } = {},
  } = response;
  return (
    <section aria-label="Answer" aria-busy={isOld} class={isOld ? "old" : ""}>
      <h2>Answer</h2>
      <p class="dim">
        {summaryText(response)}
        {queryId !== "" && (
          <>
            , as{" "}
            <a href={href("queryRun", { id: queryId })} class="name">
              {escapeControls(queryId)}
            </a>
          </>
        )}
        {deploymentId !== "" && (
          <>
            {" "}
            by <DeploymentLink id={deploymentId} />
          </>
        )}
        {planStages > 0 && queryId !== "" && (
          <>
            . <a href={`${href("queryRun", { id: queryId })}#stages`}>{planStages} stages were kept</a>
          </>
        )}
      </p>
      <Answer data={data} errors={errors} />
      {explainOutput !== "" && (
        <>
          <h2>Plan</h2>
          <Plan text={explainOutput} />
        </>
      )}
      {traceId !== "" && (
        <>
          <h2>Trace</h2>
          <Trace queryId={queryId} />
        </>
      )}
    </section>
  );
}

/** The spans of a query run. */
export function Trace({ queryId }: { readonly queryId: string }) {
  const trace = useAnswer("QueryService/GetTrace", { queryId }, environmentScope.value);
  return <Loading of={trace}>{({ spans = [] }) => <Spans spans={spans} />}</Loading>;
}
