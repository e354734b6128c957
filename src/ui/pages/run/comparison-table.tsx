import type { FeatureResultJson } from "../../../../gen/svc/v1/query_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { Status } from "../../parts/status.tsx";
import { Value } from "../../parts/values.tsx";
import { type ComparedCell, compared } from "./comparison.ts";

interface ComparisonParts {
  readonly left: readonly FeatureResultJson[];
  readonly right: readonly FeatureResultJson[];
  /** What the right answer is of. */
  readonly title: string;
}

/** Two answers to one query in one table, with a mark at what differs. */
export function ComparisonTable({ left, right, title }: ComparisonParts) {
  const rows = compared(left, right);
  const different = rows.filter(({ differs }) => differs).length;
  return (
    <section aria-label="Comparison">
      <h2>Comparison</h2>
      <p>
        <Status tone={different > 0 ? "warn" : "good"}>
          {different === 0 ? `All ${rows.length} features are the same` : `${different} of ${rows.length} features differ`}
        </Status>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reachable by keyboard */}
      <section class="table comparison" tabIndex={0} aria-label="Both answers">
        <table aria-label="Both answers">
          <thead>
            <tr>
              {["Feature", "This answer", escapeControls(title), "Differs"].map((heading) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ differs, field, left: one, right: other }) => (
              <tr key={field} class={differs ? "differs" : ""}>
                <th scope="row" class="name">
                  {escapeControls(readableName(field))}
                </th>
                <td>
                  <Cell of={one} />
                </td>
                <td>
                  <Cell of={other} />
                </td>
                <td>{differs && <Status tone="warn">differs</Status>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  );
}

function Cell({ of }: { readonly of: ComparedCell }) {
  if ("isAbsent" in of) return <span class="dim">not in it</span>;
  return "failed" in of ? <span class="bad">{visibleLines(of.failed)}</span> : <Value value={of.value} />;
}
