import { addressOf } from "../../../domain/addresses.ts";
import { useAnswer } from "../../api/load.ts";
import { scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { rangeText } from "../../parts/time-range.ts";
import { LogLines } from "../observe/log-lines.tsx";
import { withTerm } from "../observe/search-terms.ts";

const MOST = 200;
/** Time around a run in which its lines may have been written. */
const AROUND_MS = 60_000;
const DAY_MS = 86_400_000;

/** The lines that a run wrote. */
export function RunLines({
  id,
  createdAt,
  endedAt,
}: {
  readonly id: string;
  readonly createdAt: string | undefined;
  readonly endedAt: string | undefined;
}) {
  const search = withTerm("", "operation_id", id);
  const from = createdAt === undefined ? Date.now() - DAY_MS : Date.parse(createdAt) - AROUND_MS;
  const to = endedAt === undefined ? undefined : Date.parse(endedAt) + AROUND_MS;
  const times = { startTime: new Date(from).toISOString(), ...(to !== undefined && { endTime: new Date(to).toISOString() }) };
  const answer = useAnswer("LogService/SearchLogs", { search, ...times, pageSize: MOST }, environmentScope.value);
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
              <LogLines lines={lines.map((line, at) => ({ key: lines.length - at, line }))} />
              <p>
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
