import type { EvaluationRunJson } from "../../../../gen/svc/v1/evaluation_pb.ts";
import { rowFailureText } from "../../../domain/evaluation-text.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { WindowTable } from "../../parts/window-table.tsx";
import type { PageProps } from "../../routes.ts";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { DatasetPreview } from "./dataset-preview.tsx";
import { EvaluationComparison } from "./eval-comparison.tsx";
import { scoreText } from "./evaluation-text.ts";
import { RunLines } from "./run-lines.tsx";
import { enumWord, isGoingOn } from "./run-state.ts";
import { State } from "./state.tsx";

/** A run of an evaluation: its scores, its rows, and what another run scored otherwise. */
export default function EvaluationRun({ place }: PageProps<"evalRun">) {
  const command = useCommand();
  const { id } = place.params;
  const answer = useAnswer("EvaluationService/GetEvaluationRun", { id }, environmentScope.value);
  const isOpen = isGoingOn(enumWord(answer.data?.run?.state, "EVALUATION_RUN_STATE_"));
  useLive(["runs", "logs"], answer.reload, isOpen);
  return (
    <Page
      title={`Run ${id}`}
      command={command("eval", "runs", "get", id)}
      actions={answer.data && isOpen && <Cancel id={id} onDone={answer.reload} />}
    >
      <Loading of={answer} lines={8}>
        {({ run = {} }) => (
          <>
            <RunFacts run={run} />
            {run.resultRevisionId && (
              <>
                <Scores run={run} />
                <h2>Rows</h2>
                <DatasetPreview revision={run.resultRevisionId} />
                <EvaluationComparison run={run} />
              </>
            )}
            <RunLines ids={[id]} createdAt={run.createdAt} endedAt={run.endedAt} />
          </>
        )}
      </Loading>
    </Page>
  );
}

function RunFacts({ run }: { readonly run: EvaluationRunJson }) {
  const {
    attempts = 0,
    averageScore,
    branch = "",
    dataset = "",
    deploymentId = "",
    error = "",
    evaluationName: name = "",
    firstFailure,
  } = run;
  const { metadataJson = "", resultRevisionId = "", revisionId = "", rows = 0, rowsDone = 0, rowsFailed = 0 } = run;
  return (
    <Facts
      facts={[
        [
          "Evaluation",
          <a key="" class="name" href={href("eval", { name })}>
            {escapeControls(name)}
          </a>,
        ],
        ["State", <State key="" of={run.state} prefix="EVALUATION_RUN_STATE_" />],
        ["Error", error !== "" && <span class="bad">{visibleLines(error)}</span>],
        ["Average score", averageScore !== undefined && scoreText(averageScore)],
        ["Rows", `${rowsDone} of ${rows}`],
        ["Failed rows", Number(rowsFailed) > 0 && rowsFailed],
        ["First failure", firstFailure && <span class="bad">{visibleLines(rowFailureText(firstFailure))}</span>],
        [
          "Dataset",
          <a key="" class="name" href={href("dataset", { name: dataset || revisionId }, { deployment: "" })}>
            {escapeControls(dataset || revisionId)}
          </a>,
        ],
        ["Revision", <code key="">{escapeControls(revisionId)}</code>],
        ["Result", resultRevisionId !== "" && <code>{escapeControls(resultRevisionId)}</code>],
        ["Deployment", <DeploymentLink id={deploymentId} />],
        ["Branch", branch !== "" && escapeControls(branch)],
        ["Metadata", metadataJson !== "" && <code>{escapeControls(metadataJson)}</code>],
        ["Attempts", attempts > 1 && attempts],
        ["Begun", <Time key="" at={run.createdAt} />],
        ["Ended", run.endedAt && <Time at={run.endedAt} />],
      ]}
    />
  );
}

function Scores({ run: { scores = [] } }: { readonly run: EvaluationRunJson }) {
  return (
    <>
      <h2>Scores</h2>
      <WindowTable
        label="Scores"
        columns={[
          { name: "scorer", title: "Scorer", width: "14rem", cell: ({ scorer = "" }) => escapeControls(scorer) },
          { name: "mean", title: "Average", width: "7rem", isNumber: true, cell: ({ mean }) => scoreText(mean) },
          { name: "p50", title: "p50", width: "6rem", isNumber: true, cell: ({ p50 }) => scoreText(p50) },
          { name: "p90", title: "p90", width: "6rem", isNumber: true, cell: ({ p90 }) => scoreText(p90) },
          { name: "p99", title: "p99", width: "6rem", isNumber: true, cell: ({ p99 }) => scoreText(p99) },
          { name: "count", title: "Scored rows", width: "8rem", isNumber: true, cell: ({ count = 0 }) => count },
          { name: "errors", title: "Failed", width: "6rem", isNumber: true, cell: ({ errors = 0 }) => errors },
        ]}
        rows={scores}
        keyOf={({ scorer = "" }) => scorer}
      />
    </>
  );
}

function Cancel({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const cancel = async () => {
    await call("EvaluationService/CancelEvaluationRun", { id }, environmentScope.value);
    return `${id} is cancelled.`;
  };
  return (
    <Action
      verb="End it"
      question={`End ${id}?`}
      permission="query.offline"
      words={["eval", "runs", "cancel", id]}
      act={cancel}
      onDone={onDone}
    >
      <p>It is killed with everything that it started, and leaves no result.</p>
    </Action>
  );
}
