import type { LogLineJson } from "../../../../gen/svc/v1/log_pb.ts";
import { addressOf } from "../../../domain/addresses.ts";
import { useAnswer } from "../../api/load.ts";
import { useLive } from "../../app/live.ts";
import { scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { rangeText } from "../../parts/time-range.ts";
import type { KeptLine } from "../observe/line-store.ts";
import { LogLines } from "../observe/log-lines.tsx";
import { withTerm } from "../observe/search-terms.ts";

const MOST = 200;
/** Time around a run in which its lines may have been written. */
const AROUND_MS = 60_000;
const DAY_MS = 86_400_000;

interface LinesParts {
  /** Of operations, at least one. */
  readonly ids: readonly string[];
  readonly createdAt: string | undefined;
  readonly endedAt: string | undefined;
}

/** The lines that operations wrote, as they come. */
export function RunLines({ ids, createdAt, endedAt }: LinesParts) {
  const search = ids.map((id) => withTerm("", "operation_id", id)).join(" OR ");
  const from = createdAt === undefined ? Date.now() - DAY_MS : Date.parse(createdAt) - AROUND_MS;
  const to = endedAt === undefined ? undefined : Date.parse(endedAt) + AROUND_MS;
  const times = { startTime: new Date(from).toISOString(), ...(to !== undefined && { endTime: new Date(to).toISOString() }) };
  const answer = useAnswer("LogService/SearchLogs", { search, ...times, pageSize: MOST }, environmentScope.value);
  useLive(["logs"], answer.reload, endedAt === undefined);
  const query = new URLSearchParams({ q: search, range: to === undefined ? "1d" : rangeText({ from, to }) });
  return (
    <>
      <h2>Lines</h2>
      <Loading of={answer}>
        {({ lines = [] }) =>
          lines.length === 0 ? (
            <p class="dim">It wrote no lines{endedAt === undefined && " yet"}.</p>
          ) : (
            <>
              <LogLines lines={keyed(lines)} />
              <p class="after-lines">
                <a class="button" href={addressOf("logs", {}, { ...scope.value, query })}>
                  Search and follow its lines
                </a>
              </p>
            </>
          )
        }
      </Loading>
    </>
  );
}

/**
 * Lines with keys that stay theirs when newer ones come: their times, numbered from the oldest of
 * each.
 */
function keyed(newestFirst: readonly LogLineJson[]): readonly KeptLine[] {
  const counts = new Map<string, number>();
  return newestFirst
    .toReversed()
    .map((line) => {
      const { time = "" } = line;
      const count = (counts.get(time) ?? 0) + 1;
      counts.set(time, count);
      return { key: `${time} ${count}`, line };
    })
    .toReversed();
}
