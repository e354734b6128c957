import type { EvaluationInfoJson } from "../../../../gen/svc/v1/evaluation_pb.ts";
import { datasetText } from "../../../domain/evaluation-text.ts";
import { escapeControls } from "../../../domain/name.ts";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { scoreText } from "./evaluation-text.ts";

/** An evaluation as the empty page shows it. */
const EXAMPLE = `from svc.evaluations import Evaluation, exact_match

Evaluation("answers", dataset="tickets", task=answer, scorers=[exact_match("expected")])`;

const COLUMNS: readonly Column<EvaluationInfoJson>[] = [
  {
    name: "name",
    title: "Evaluation",
    width: "16rem",
    cell: ({ evaluation: { name = "" } = {} }) => (
      <a class="name" href={href("eval", { name })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "dataset", title: "Dataset", width: "15rem", cell: ({ evaluation = {} }) => escapeControls(datasetText(evaluation)) },
  { name: "task", title: "Function", width: "15rem", cell: ({ evaluation = {} }) => <code>{escapeControls(evaluation.task ?? "")}</code> },
  {
    name: "score",
    title: "Average score",
    width: "8rem",
    isNumber: true,
    cell: ({ latestScored }) => scoreText(latestScored?.averageScore),
  },
  { name: "ran", title: "Scored", width: "9.5rem", cell: ({ latestScored }) => latestScored && <Time at={latestScored.createdAt} /> },
];

/** The evaluations of what is live, each with its latest score. */
export default function Evaluations() {
  const command = useCommand();
  const pages = usePages(
    "EvaluationService/ListEvaluations",
    {},
    environmentScope.value,
    ({ evaluations = [] }) => evaluations,
    ({ id = "" }) => id,
  );
  useLive(["runs", "deployments"], pages.first.reload);
  if (pages.first.error?.code === "failed_precondition")
    return (
      <Page title="Evaluations" command={command("eval", "list")}>
        <Empty command="svc apply">Nothing is deployed here yet. Evaluations are part of a project.</Empty>
      </Page>
    );
  return (
    <Page title="Evaluations" command={command("eval", "list")}>
      <Paged
        of={pages}
        things="evaluations"
        empty={
          <>
            <Empty command="svc apply">
              The live deployment has no evaluation. A file of the project defines one, and the next deployment has it:
            </Empty>
            <Code text={EXAMPLE} language="python" file="evaluations.py" />
          </>
        }
      >
        {(rows) => <WindowTable label="Evaluations" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />}
      </Paged>
    </Page>
  );
}
