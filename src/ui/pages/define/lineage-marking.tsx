import { useMemo } from "preact/hooks";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { queried, scope, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Status } from "../../parts/status.tsx";
import { legendOf, MARKINGS, type Mark, type Marking, markExpression, marksOf } from "./lineage-marks.ts";

const NONE: ReadonlyMap<string, Mark> = new Map();

/** The marks that the address asks for. */
export function useMarks(): { readonly marking: Marking | undefined; readonly marks: ReadonlyMap<string, Mark>; readonly omitted: number } {
  const marking = MARKINGS.find((one) => one === queried("colour"));
  const request = marking && { expression: markExpression(marking, scope.value.branch) };
  const answer = useAnswer("MetricService/QueryMetric", request, environmentScope.value);
  useLive(["metrics"], answer.reload, marking !== undefined);
  const marks = useMemo(() => (marking && answer.data ? marksOf(marking, answer.data) : NONE), [marking, answer.data]);
  return { marking, marks, omitted: answer.data?.omittedSeries ?? 0 };
}

/** What nodes are coloured by. */
export function MarkingChoice() {
  return (
    <label>
      Colour by{" "}
      <select value={queried("colour")} onChange={(event) => setQueried({ colour: event.currentTarget.value })}>
        <option value="">kind</option>
        {MARKINGS.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}

/** What the colours mean. */
export function MarkLegend({ marking, omitted }: { readonly marking: Marking; readonly omitted: number }) {
  return (
    <p class="dim">
      In the last hour:{" "}
      {legendOf(marking).map(([level, words]) => (
        <span key={level}>
          <Status tone={level}>{words}</Status>{" "}
        </span>
      ))}
      Others have none, or were not asked for.
      {omitted > 0 && ` ${omitted.toLocaleString("en")} that were asked for least are not marked.`}
    </p>
  );
}
