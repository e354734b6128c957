import type { CompareEvaluationRunsResponseJson, EvaluationRunJson } from "../../../../gen/svc/v1/evaluation_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Loading } from "../../parts/loading.tsx";
import { localText } from "../../parts/time-text.ts";
import { WindowTable } from "../../parts/window-table.tsx";
import { differenceText, scoreText } from "./evaluation-text.ts";

/** Rows of a comparison. */
const MOST_ROWS = 100;

/** What a run scored otherwise than another one of its evaluation, which is chosen here. */
export function EvaluationComparison({ run: { id = "", evaluationId = "" } }: { readonly run: EvaluationRunJson }) {
  const states = ["EVALUATION_RUN_STATE_SUCCEEDED"] as const;
  const answer = useAnswer(
    "EvaluationService/ListEvaluationRuns",
    { evaluation: evaluationId, states: [...states] },
    environmentScope.value,
  );
  const others = (answer.data?.runs ?? []).filter((run) => run.id !== id);
  const chosen = queried("with");
  if (others.length === 0 && chosen === "") return null;
  return (
    <>
      <h2>Comparison</h2>
      <label>
        With{" "}
        <select value={chosen} onChange={({ currentTarget }) => setQueried({ with: currentTarget.value })}>
          <option value="">no other run</option>
          {others.map((other) => (
            <option key={other.id} value={other.id}>
              {`${localText(Date.parse(other.createdAt ?? ""))}, ${scoreText(other.averageScore)}`}
            </option>
          ))}
        </select>
      </label>
      {chosen !== "" && <Compared base={chosen} other={id} />}
    </>
  );
}

function Compared({ base, other }: { readonly base: string; readonly other: string }) {
  const command = useCommand();
  const request = { baseId: base, otherId: other, limit: MOST_ROWS };
  const answer = useAnswer("EvaluationService/CompareEvaluationRuns", request, environmentScope.value);
  return (
    <>
      <Loading of={answer} lines={6}>
        {(compared) => <Differences compared={compared} />}
      </Loading>
      <Command line={command("eval", "compare", base, other)} />
    </>
  );
}

function Differences({ compared }: { readonly compared: CompareEvaluationRunsResponseJson }) {
  const { rows = [], rowsInBoth = 0, scorers = [], truncated } = compared;
  return (
    <>
      <WindowTable
        label="Differences by scorer"
        columns={[
          { name: "scorer", title: "Scorer", width: "14rem", cell: ({ scorer = "" }) => escapeControls(scorer) },
          {
            name: "mean",
            title: "On average",
            width: "8rem",
            isNumber: true,
            cell: ({ meanDifference }) => differenceText(meanDifference),
          },
          { name: "higher", title: "Rows higher", width: "8rem", isNumber: true, cell: ({ higher = 0 }) => higher },
          { name: "lower", title: "Rows lower", width: "8rem", isNumber: true, cell: ({ lower = 0 }) => lower },
          { name: "count", title: "Rows in both", width: "8rem", isNumber: true, cell: ({ count = 0 }) => count },
        ]}
        rows={scorers}
        keyOf={({ scorer = "" }) => scorer}
      />
      {rows.length === 0 ? (
        <p class="dim">{`No row of ${rowsInBoth} has another score.`}</p>
      ) : (
        <WindowTable
          label="Rows with another score"
          columns={[
            { name: "key", title: "Row", wraps: true, width: "9rem", cell: ({ key = "" }) => escapeControls(key) },
            { name: "scorer", title: "Scorer", wraps: true, width: "10rem", cell: ({ scorer = "" }) => escapeControls(scorer) },
            { name: "base", title: "Before", width: "6rem", isNumber: true, cell: ({ base }) => scoreText(base ?? 0) },
            { name: "other", title: "Here", width: "6rem", isNumber: true, cell: ({ other }) => scoreText(other ?? 0) },
            {
              name: "baseOutput",
              title: "Output before",
              wraps: true,
              width: "16rem",
              cell: ({ baseOutput = "" }) => escapeControls(baseOutput),
            },
            {
              name: "otherOutput",
              title: "Output here",
              wraps: true,
              width: "16rem",
              cell: ({ otherOutput = "" }) => escapeControls(otherOutput),
            },
          ]}
          rows={rows}
          keyOf={({ key = "", scorer = "" }) => JSON.stringify([key, scorer])}
        />
      )}
      {truncated && <p class="dim">{`More rows differ than the ${MOST_ROWS} here.`}</p>}
    </>
  );
}
