import { useMemo } from "preact/hooks";
import type { LogLineJson } from "../../../../gen/svc/v1/log_pb.ts";
import { useAnswer } from "../../api/load.ts";
import { usePages } from "../../api/pages.ts";
import { useSteady } from "../../api/steady.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Paged } from "../../parts/paged.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { saveText } from "../../parts/save-text.ts";
import { rangeText, type TimeRange } from "../../parts/time-range.ts";
import { jsonLines } from "./line-fields.ts";
import { LogBars } from "./log-bars.tsx";
import { LogLines } from "./log-lines.tsx";

const PAGE_SIZE = 200;

/** The lines of a range that fit a search, below their numbers over time. */
export function FoundLines({ search, range }: { readonly search: string; readonly range: TimeRange }) {
  const times = rangeTimes(range);
  const request = { search, ...times };
  const counts = useSteady(useAnswer("LogService/AggregateLogs", request, environmentScope.value));
  const pages = usePages(
    "LogService/SearchLogs",
    { ...request, pageSize: PAGE_SIZE },
    environmentScope.value,
    ({ lines = [] }) => lines,
    keyOf,
    `${search} ${rangeText(range)}`,
  );
  const rows = useMemo(() => numbered(pages.rows), [pages.rows.length, pages.rows[0], pages.rows.at(-1)]);
  return (
    <>
      <Loading of={counts} lines={2}>
        {(answer) => <LogBars answer={answer} />}
      </Loading>
      <Paged of={pages} things="lines" empty={<Empty command="svc logs --follow">No line of this time fits. Lines as they come:</Empty>}>
        {(lines, { dropped = "0" }) => (
          <>
            {dropped !== "0" && <p class="warn">{`The server has dropped ${dropped} lines since it started: too many came at once.`}</p>}
            <LogLines lines={rows} />
            <button type="button" class="quiet" onClick={() => saveText("logs.jsonl", "application/jsonl", jsonLines(lines))}>
              {`Save ${lines.length} lines as JSON lines`}
            </button>
          </>
        )}
      </Paged>
    </>
  );
}

const keyOf = (line: LogLineJson): string => JSON.stringify(line);

/** Lines with keys of their own, those that are equal too. */
function numbered(lines: readonly LogLineJson[]): { readonly key: string; readonly line: LogLineJson }[] {
  const seen = new Map<string, number>();
  return lines.map((line) => {
    const text = keyOf(line);
    const nth = (seen.get(text) ?? 0) + 1;
    seen.set(text, nth);
    return { key: `${nth} ${text}`, line };
  });
}
