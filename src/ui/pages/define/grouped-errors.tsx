import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useSteady } from "../../api/steady.ts";
import { now } from "../../app/clock.ts";
import { href, queried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Loading } from "../../parts/loading.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { Time } from "../../parts/time.tsx";
import { rangeText, readRange } from "../../parts/time-range.ts";
import { withTerm } from "../observe/search-terms.ts";

/** Groups that are shown; the page of errors has all. */
const MOST_GROUPS = 5;

/** The errors of a feature or a resolver in the range of the page, grouped by what they say. */
export function GroupedErrors({ of, fqn }: { readonly of: "feature" | "resolver"; readonly fqn: string }) {
  const range = readRange(queried("range"), now.value);
  const request = { filter: { [of]: fqn, ...rangeTimes(range) }, pageSize: MOST_GROUPS };
  const answer = useSteady(useAnswer("QueryErrorService/AggregateQueryErrors", request, environmentScope.value));
  const query = new URLSearchParams({ q: withTerm("", of, fqn), range: rangeText(range) });
  return (
    <Loading of={answer} lines={3}>
      {({ groups = [] }) =>
        groups.length === 0 ? (
          <p class="dim">None in this range.</p>
        ) : (
          <>
            <ul class="plain-list">
              {groups.map(({ count = "0", lastSeenAt, pattern = "" }) => (
                <li key={pattern}>
                  <span class="bad">{visibleLines(pattern)}</span>{" "}
                  <span class="dim">
                    {count} times, last <Time at={lastSeenAt} />
                  </span>
                </li>
              ))}
            </ul>
            <a href={href("errors", {}, { deployment: "", query })}>All of them</a>
          </>
        )
      }
    </Loading>
  );
}
