import { CallError } from "../../api/call.ts";
import { Badge } from "../../parts/badge.tsx";
import { Bytes } from "../../parts/bytes.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Findings } from "../../parts/findings.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { Status, type Tone } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import type { Example } from "./example.ts";

const TONES: readonly (readonly [tone: Tone, word: string])[] = [
  ["good", "live"],
  ["busy", "building"],
  ["warn", "waiting for approval"],
  ["bad", "failed"],
  ["dim", "ready"],
];

/** What says how things are. */
export const STATES: readonly Example[] = [
  [
    "Status",
    () => (
      <p>
        {TONES.map(([tone, word]) => (
          <span key={tone}>
            <Status tone={tone}>{word}</Status>{" "}
          </span>
        ))}
      </p>
    ),
  ],
  [
    "Badge",
    () => (
      <p>
        <Badge text="blue" />
        <Badge text="fresh" tone="good" />
        <Badge text="deprecated" tone="warn" />
        <Badge text="broken" tone="bad" />
        <Badge text={`<b>${"long ".repeat(30)}`} />
      </p>
    ),
  ],
  [
    "Facts, times, durations, bytes",
    () => (
      <Facts
        facts={[
          ["Now", <Time key="" at={new Date().toISOString()} />],
          ["Long ago", <Time key="" at="2024-05-01T12:00:00Z" />],
          ["Never", <Time key="" at={undefined} />],
          ["Took", <Duration key="" ms={1.2345} />],
          ["Kept for", <Duration key="" ms={93_784_000} />],
          ["Size", <Bytes key="" count={42_700_000} />],
          ["Left out", ""],
        ]}
      />
    ),
  ],
  ["Empty", () => <Empty command="svc apply">Nothing is deployed here yet. Deploy a project:</Empty>],
  ["Skeleton", () => <Skeleton lines={3} />],
  [
    "Failed",
    () => (
      <Failed
        error={new CallError("unreachable", "The server does not answer.", "See whether it runs: `svc server status`.")}
        onRetry={() => undefined}
      />
    ),
  ],
  [
    "Findings",
    () => (
      <Findings
        findings={[
          {
            code: 102,
            severity: "SEVERITY_ERROR",
            message: "resolvers.py cannot be imported",
            span: { file: "resolvers.py", line: 3, column: 1 },
          },
          { code: 31, severity: "SEVERITY_WARNING", message: "The feature has no owner", hint: "Write `# :owner: name` above it." },
        ]}
      />
    ),
  ],
];
