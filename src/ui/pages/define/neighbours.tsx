import { useMemo } from "preact/hooks";
import { useAnswer } from "../../api/load.ts";
import { scope } from "../../app/place.ts";
import { Loading } from "../../parts/loading.tsx";
import { neighboursIn } from "./lineage-nodes.ts";
import { NodeList } from "./node-links.tsx";

interface NeighbourParts {
  /** Id of the node in the lineage. */
  readonly id: string;
  /** The headings, and what stands below one without nodes. */
  readonly needs: readonly [title: string, none: string];
  readonly neededBy: readonly [title: string, none: string];
}

/** What a definition needs and what needs it, in one step of the lineage. */
export function Neighbours({ id, needs, neededBy }: NeighbourParts) {
  const request = { on: id, depth: 1, direction: "LINEAGE_DIRECTION_BOTH" } as const;
  const answer = useAnswer("GraphService/GetLineage", request, scope.value);
  const found = useMemo(() => neighboursIn(answer.data ?? {}, id), [answer.data, id]);
  return (
    <Loading of={answer} lines={4}>
      {() => (
        <>
          <div class="columns">
            {([[...needs, found.needs] as const, [...neededBy, found.neededBy] as const] as const).map(([title, none, nodes]) => (
              <section key={title} aria-label={title}>
                <h2>{title}</h2>
                <NodeList nodes={nodes} none={none} />
              </section>
            ))}
          </div>
          {found.leftOff > 0 && <p class="dim">{found.leftOff} more are not shown: the page Lineage has them.</p>}
        </>
      )}
    </Loading>
  );
}
