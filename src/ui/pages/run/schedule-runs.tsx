import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { environmentScope } from "../../app/who.ts";
import { type Outcome, OutcomeBars } from "../../parts/outcome-bars.tsx";
import { localText } from "../../parts/time-text.ts";
import { enumWord, stateTone } from "./run-state.ts";

/** Runs that are shown of each schedule. */
const RUNS = 30;

/** The last runs of a resolver, also those that somebody asked for. */
export function ResolverOutcomes({ resolver }: { readonly resolver: string }) {
  const { data } = useAnswer("ResolverRunService/ListResolverRuns", { resolver, pageSize: RUNS }, environmentScope.value);
  return (
    <OutcomeBars
      label={`Last runs of ${escapeControls(resolver)}`}
      outcomes={(data?.runs ?? []).map(({ state, ...run }) => outcomeOf(run, enumWord(state, "RESOLVER_RUN_STATE_"))).reverse()}
    />
  );
}

/** The last runs of a scheduled query. */
export function QueryOutcomes({ name }: { readonly name: string }) {
  const request = { kind: "scheduled_query", queryName: name, pageSize: RUNS };
  const { data } = useAnswer("OfflineQueryService/ListOfflineQueries", request, environmentScope.value);
  return (
    <OutcomeBars
      label={`Last runs of ${escapeControls(name)}`}
      outcomes={(data?.queries ?? []).map(({ status, ...run }) => outcomeOf(run, enumWord(status, "OFFLINE_QUERY_STATUS_"))).reverse()}
    />
  );
}

interface Run {
  readonly id?: string;
  readonly createdAt?: string;
  readonly failedRows?: string;
}

/** How a run ended. One that succeeded but for some of its rows is none of the good ones. */
function outcomeOf({ createdAt = "", failedRows = "0", id = "" }: Run, state: string): Outcome {
  const isPartial = stateTone(state) === "good" && failedRows !== "0";
  return {
    key: id,
    tone: isPartial ? "warn" : stateTone(state),
    text: `${localText(Date.parse(createdAt))}: ${state}${isPartial ? `, but for ${failedRows} rows` : ""}`,
  };
}
