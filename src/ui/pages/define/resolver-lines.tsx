import { useAnswer } from "../../api/load.ts";
import { useSteady } from "../../api/steady.ts";
import { now } from "../../app/clock.ts";
import { href, queried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { LogLines } from "../observe/log-lines.tsx";
import { withTerm } from "../observe/search-terms.ts";

/** Lines that are shown; the page of logs has all. */
const MOST = 20;

/** The latest lines that a resolver wrote in the page's range. */
export function ResolverLines({ fqn }: { readonly fqn: string }) {
  const range = readRange(queried("range"), now.value);
  const search = withTerm("", "resolver", fqn);
  const answer = useSteady(useAnswer("LogService/SearchLogs", { search, ...rangeTimes(range), pageSize: MOST }, environmentScope.value));
  return (
    <Loading of={answer}>
      {({ lines = [] }) =>
        lines.length === 0 ? (
          <p class="dim">It wrote none in this range.</p>
        ) : (
          <>
            <LogLines lines={lines.map((line, at) => ({ key: lines.length - at, line }))} />
            <p class="after-lines">
              <a
                class="button"
                href={href("logs", {}, { deployment: "", query: new URLSearchParams({ q: search, range: rangeText(range) }) })}
              >
                Search and follow its lines
              </a>
            </p>
          </>
        )
      }
    </Loading>
  );
}
