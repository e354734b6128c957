import type { StreamResolverJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { lineageId } from "../../../domain/lineage.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { href } from "../../app/place.ts";
import { Badge } from "../../parts/badge.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Facts } from "../../parts/facts.tsx";
import { durationMs } from "./feature-text.ts";
import { Neighbours } from "./neighbours.tsx";
import { ResolverVersions } from "./resolver-versions.tsx";
import { SourceText } from "./source-text.tsx";

interface StreamResolverParts {
  readonly resolver: StreamResolverJson;
  /** Id of its deployment. */
  readonly deployment: string;
}

/** One resolver of a topic's messages: what it makes of which, and its source. */
export function StreamResolver({ deployment, resolver }: StreamResolverParts) {
  const { description = "", environments = [], expressions, fqn = "", lateness, messageType = "", owner = "", parse = "" } = resolver;
  const { resourceGroup = "", source = "", span, statement, tags = [], timeout } = resolver;
  return (
    <>
      {description !== "" && <p class="description">{visibleLines(description)}</p>}
      <Facts
        facts={[
          ["Kind", "stream"],
          ["Stands at", <StreamLink key="" fqn={fqn} />],
          ["Source", escapeControls(source)],
          ["Messages", <code key="">{escapeControls(messageType)}</code>],
          ["Parsed by", parse !== "" && <code>{escapeControls(parse)}</code>],
          ["Computed", expressions || statement ? "without Python" : "in Python"],
          ["Resource group", resourceGroup !== "" && <Badge text={resourceGroup} />],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
          ["Only in", environments.length > 0 && environments.map((one) => <Badge key={one} text={one} />)],
          ["Timeout", timeout !== undefined && <Duration ms={durationMs(timeout)} />],
          ["Lateness", lateness !== undefined && <Duration ms={durationMs(lateness)} />],
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

/** A link to how far a stream is. */
export function StreamLink({ fqn }: { readonly fqn: string }) {
  return (
    <a class="name" href={href("stream", { name: fqn }, { deployment: "" })}>
      {escapeControls(fqn)}
    </a>
  );
}
