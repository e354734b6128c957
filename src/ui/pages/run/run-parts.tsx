import type { PlanStageJson } from "../../../../gen/svc/v1/query_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { LogView } from "../../parts/log-view.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { levelTone } from "../observe/log-levels.ts";
import { ResolverLink } from "./answer.tsx";
import { Plan } from "./plan.tsx";
import { Spans } from "./spans.tsx";

/** Lines of a run's log that are shown, the newest. */
const LOG_LINES = 200;

/** The plan of a run with its figures, or else the plan of its shape. */
export function RunPlan({ text, planId }: { readonly text: string; readonly planId: string }) {
  const isOfShape = text === "" && planId !== "";
  const plan = useAnswer("QueryRunService/GetQueryPlan", isOfShape ? { id: planId } : undefined, environmentScope.value);
  if (text !== "") return <Plan text={text} />;
  const own = plan.data?.queryPlan?.explain ?? "";
  return (
    <>
      <p class="dim">
        The plan with the figures of a run is kept when a query asks for it: <code>svc query --explain</code>.
      </p>
      {own !== "" && <Plan text={own} />}
    </>
  );
}

/** The spans of a run; without spans, how to get some. */
export function RunTrace({ id, isTraced }: { readonly id: string; readonly isTraced: boolean }) {
  const trace = useAnswer("QueryService/GetTrace", isTraced ? { queryId: id } : undefined, environmentScope.value);
  if (!isTraced || trace.error?.code === "not_found")
    return (
      <p class="dim">
        Spans are kept when a query asks for it: <code>svc query --trace</code>.
      </p>
    );
  return <Loading of={trace}>{({ spans = [] }) => <Spans spans={spans} />}</Loading>;
}

const STAGE_COLUMNS = (id: string): readonly Column<PlanStageJson>[] => [
  {
    name: "stage",
    title: "Stage",
    width: "5rem",
    cell: ({ omitted = "", stage = 0 }) =>
      omitted === "" ? <a href={href("queryRunStage", { id, stage: String(stage) })}>{stage}</a> : String(stage),
  },
  { name: "kind", title: "Step", width: "7rem", cell: ({ kind = "" }) => escapeControls(kind) },
  { name: "provider", title: "Provider", width: "15rem", cell: (stage) => <StageProvider stage={stage} /> },
  { name: "path", title: "Rows of", width: "10rem", cell: ({ path = "" }) => escapeControls(path) },
  { name: "rows", title: "Rows", width: "5rem", isNumber: true, cell: ({ rows = 0 }) => rows },
  {
    name: "columns",
    title: "Columns",
    cell: ({ columns = [], omitted = "" }) =>
      omitted === "" ? (
        columns.map((one) => escapeControls(readableName(one))).join(", ")
      ) : (
        <span class="warn">not kept: {escapeControls(omitted)}</span>
      ),
  },
];

/** Kinds of steps whose provider is no resolver. */
const WITHOUT_RESOLVER: ReadonlySet<string> = new Set(["stored", "expression", "join"]);

/** What gave a stage's values: a resolver with its page, or the store, or an expression. */
export function StageProvider({ stage: { kind = "", provider = "" } }: { readonly stage: PlanStageJson }) {
  if (WITHOUT_RESOLVER.has(kind)) return <span class="name">{escapeControls(readableName(provider))}</span>;
  return <ResolverLink fqn={provider} />;
}

/** What the steps of a run gave; without stages, how to get some. */
export function RunStages({ id }: { readonly id: string }) {
  const answer = useAnswer("QueryService/GetQueryRunStages", { queryId: id }, environmentScope.value);
  if (answer.error?.code === "not_found")
    return (
      <p class="dim">
        What every step gave is kept when a query asks for it: <code>svc query --store-plan-stages</code>.
      </p>
    );
  return (
    <Loading of={answer}>
      {({ stages = [] }) => (
        <WindowTable label="Stages" columns={STAGE_COLUMNS(id)} rows={stages} keyOf={({ stage = 0 }) => String(stage)} />
      )}
    </Loading>
  );
}

/** What the resolvers of a run printed and logged. */
export function RunLog({ id }: { readonly id: string }) {
  const answer = useAnswer("QueryService/GetQueryRunLog", { queryId: id, limit: LOG_LINES }, environmentScope.value);
  return (
    <Loading of={answer}>
      {({ lines = [] }) =>
        lines.length === 0 ? (
          <p class="dim">Its resolvers printed and logged nothing.</p>
        ) : (
          <LogView
            label="Log"
            lines={lines.map(({ level = "", logger = "", resolver = "", text = "", time = "" }, at) => ({
              ...{ key: String(at), time: Date.parse(time), level, tone: levelTone(level), source: resolver || logger, text },
            }))}
          />
        )
      }
    </Loading>
  );
}
