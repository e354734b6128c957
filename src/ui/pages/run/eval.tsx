import type { EvaluationRunJson, GetEvaluationResponseJson } from "../../../../gen/svc/v1/evaluation_pb.ts";
import { datasetText, inputsText } from "../../../domain/evaluation-text.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { usePages } from "../../api/pages.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { LineChart } from "../../parts/line-chart.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import type { PageProps } from "../../routes.ts";
import { scorerText, scoresOverRuns, scoreText } from "./evaluation-text.ts";
import { State } from "./state.tsx";

const COLUMNS: readonly Column<EvaluationRunJson>[] = [
  {
    name: "id",
    title: "Run",
    width: "19rem",
    cell: ({ id = "", evaluationName: name = "" }) => (
      <a class="name" href={href("evalRun", { name, id })}>
        {escapeControls(id)}
      </a>
    ),
  },
  { name: "state", title: "State", width: "8rem", cell: ({ state }) => <State of={state} prefix="EVALUATION_RUN_STATE_" /> },
  { name: "score", title: "Average score", width: "7.5rem", isNumber: true, cell: ({ averageScore }) => scoreText(averageScore) },
  { name: "rows", title: "Rows", width: "5.5rem", isNumber: true, cell: ({ rows = 0, rowsDone = 0 }) => `${rowsDone} of ${rows}` },
  { name: "failed", title: "Failed", width: "5rem", isNumber: true, cell: ({ rowsFailed = 0 }) => rowsFailed },
  { name: "begun", title: "Begun", width: "9.5rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { name: "revision", title: "Revision", width: "9rem", cell: ({ revisionId = "" }) => escapeControls(revisionId) },
];

/** One evaluation: what it does, and its scores over runs. */
export default function Evaluation({ place }: PageProps<"eval">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("EvaluationService/GetEvaluation", { id: name }, environmentScope.value);
  useLive(["runs", "deployments"], answer.reload);
  return (
    <Page title={`Evaluation ${name}`} command={command("eval", "get", name)} actions={answer.data && <Trigger name={name} />}>
      <Loading of={answer} lines={8}>
        {(found) => <Definition found={found} />}
      </Loading>
      <Runs name={name} />
    </Page>
  );
}

function Definition({ found: { evaluation: info = {}, revisionId = "" } }: { readonly found: GetEvaluationResponseJson }) {
  const { evaluation = {} } = info;
  const { description = "", key = "", owner = "", scorers = [], tags = [], task = "" } = evaluation;
  const dataset = datasetText(evaluation);
  return (
    <>
      <Facts
        facts={[
          ["Function", <code key="">{escapeControls(task)}</code>],
          ["Inputs", <code key="">{escapeControls(inputsText(evaluation.inputs))}</code>],
          [
            "Dataset",
            <a key="" class="name" href={href("dataset", { name: evaluation.dataset || dataset }, { deployment: "" })}>
              {escapeControls(dataset)}
            </a>,
          ],
          ["Revision", revisionId === "" ? "there is none yet" : <code>{escapeControls(revisionId)}</code>],
          ["Key", key !== "" && <code>{escapeControls(key)}</code>],
          ["Owner", escapeControls(owner)],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
        ]}
      />
      {description !== "" && <p>{visibleLines(description)}</p>}
      <h2>Scorers</h2>
      <WindowTable
        label="Scorers"
        columns={[
          { name: "name", title: "Scorer", width: "14rem", cell: (scorer) => escapeControls(scorer.name ?? "") },
          { name: "does", title: "What it does", width: "26rem", cell: (scorer) => escapeControls(scorerText(scorer)) },
        ]}
        rows={scorers}
        keyOf={(scorer) => scorer.name ?? ""}
      />
    </>
  );
}

function Runs({ name }: { readonly name: string }) {
  const command = useCommand();
  const pages = usePages(
    "EvaluationService/ListEvaluationRuns",
    { evaluation: name },
    environmentScope.value,
    ({ runs = [] }) => runs,
    ({ id = "" }) => id,
  );
  useLive(["runs"], pages.first.reload);
  const { times, series } = scoresOverRuns(pages.rows);
  return (
    <>
      <h2>Scores over runs</h2>
      {times.length < 2 ? (
        <p class="dim">Two runs with scores make a line.</p>
      ) : (
        <LineChart label={`Average scores of ${name}`} times={times} series={series} figure={scoreText} />
      )}
      <h2>Runs</h2>
      <Paged of={pages} things="runs" empty={<Empty command={command("eval", "trigger", name)}>It has not run yet. To begin a run:</Empty>}>
        {(rows) => <WindowTable label="Runs" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />}
      </Paged>
    </>
  );
}

function Trigger({ name }: { readonly name: string }) {
  const trigger = async () => {
    const { run } = await call("EvaluationService/TriggerEvaluation", { id: name }, environmentScope.value);
    if (run?.id) go(href("evalRun", { name, id: run.id }));
    return `Run ${run?.id ?? ""} was begun.`;
  };
  return (
    <Action verb="Run" question={`Run ${name}?`} permission="query.offline" words={["eval", "trigger", name]} act={trigger}>
      <p>Every row of the dataset is given to the function that is live, and scored. Judges may cost what their provider asks.</p>
    </Action>
  );
}
