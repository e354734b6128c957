import { Status } from "../../parts/status.tsx";
import { localText } from "../../parts/time-text.ts";

interface NextParts {
  readonly paused: boolean | undefined;
  readonly times: readonly string[] | undefined;
}

/** The next runs of a schedule, in the reader's own time or in UTC. */
export function NextRuns({ isUtc, of: { paused, times = [] } }: { readonly of: NextParts; readonly isUtc?: boolean }) {
  if (paused) return isUtc ? null : <Status tone="warn">paused</Status>;
  if (times.length === 0) return <span class="dim">none</span>;
  const zone = isUtc ? "UTC" : undefined;
  return (
    <ol class="plain-list">
      {times.map((time) => (
        <li key={time}>
          <time dateTime={time}>{localText(Date.parse(time), zone)}</time>
        </li>
      ))}
    </ol>
  );
}
