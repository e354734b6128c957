import type { SinkResolverJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { lineageId } from "../../../domain/lineage.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { Badge } from "../../parts/badge.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { durationMs } from "./feature-text.ts";
import { Neighbours } from "./neighbours.tsx";
import { ResolverVersions } from "./resolver-versions.tsx";
import { SourceText } from "./source-text.tsx";

interface SinkResolverParts {
  readonly resolver: SinkResolverJson;
  /** Id of its deployment. */
  readonly deployment: string;
}

/** One sink: which rows it is given and when, and its source. */
export function SinkResolver({ deployment, resolver }: SinkResolverParts) {
  const { bufferSize = 0, debounce, description = "", environments = [], fqn = "", maxDelay, owner = "" } = resolver;
  const { span, tags = [], timeout, venv = "" } = resolver;
  return (
    <>
      {description !== "" && <p class="description">{visibleLines(description)}</p>}
      <Facts
        facts={[
          ["Kind", "sink"],
          ["Rows of a call", `at most ${bufferSize}`],
          ["After the last row", debounce !== undefined && <Duration ms={durationMs(debounce)} />],
          ["At most after", maxDelay !== undefined && <Duration ms={durationMs(maxDelay)} />],
          ["Venv", venv !== "" && <Badge text={venv} />],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
          ["Only in", environments.length > 0 && environments.map((one) => <Badge key={one} text={one} />)],
          ["Timeout", timeout !== undefined && <Duration ms={durationMs(timeout)} />],
          ["Owner", owner !== "" && escapeControls(owner)],
          ["Defined", span?.file && <code>{`${escapeControls(span.file)}:${span.line}`}</code>],
        ]}
      />
      <Neighbours id={lineageId("resolver", fqn)} needs={["Inputs", "None: it takes nothing."]} neededBy={["Outputs", "None."]} />
      {span?.file && deployment !== "" && (
        <>
          <h2>Source</h2>
          <SourceText deployment={deployment} span={span} />
        </>
      )}
      <h2>Versions</h2>
      <ResolverVersions fqn={fqn} />
    </>
  );
}
