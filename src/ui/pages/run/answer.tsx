import type { ErrorDetailJson } from "../../../../gen/svc/v1/error_pb.ts";
import type { FeatureResultJson } from "../../../../gen/svc/v1/query_pb.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { href } from "../../app/place.ts";
import { plainOf } from "../../parts/proto-value.ts";
import { Time } from "../../parts/time.tsx";
import { Value } from "../../parts/values.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { routeOf } from "../../routes.ts";
import { shownErrors } from "./query-errors.ts";
import { rowsOf } from "./value-json.ts";

interface AnswerParts {
  readonly data: readonly FeatureResultJson[];
  readonly errors: readonly ErrorDetailJson[];
}

/** The errors of an answer, its values with their origin, and rows of relations as tables. */
export function Answer({ data, errors }: AnswerParts) {
  const relations = data.flatMap(({ field = "", value }) => {
    const rows = rowsOf(value);
    return rows ? [{ field, rows }] : [];
  });
  return (
    <>
      <Errors data={data} errors={errors} />
      {data.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reachable by keyboard
        <section class="table answer" tabIndex={0} aria-label="Values">
          <table aria-label="Values">
            <thead>
              <tr>
                {["Name", "Value", "Hit", "Observed", "Provider"].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.map((result) => (
                <ResultRow key={result.field} result={result} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {relations.map(({ field, rows }) => (
        <Rows key={field} field={field} rows={rows} />
      ))}
    </>
  );
}

function ResultRow({ result: { field = "", value, error, ts, meta } }: { readonly result: FeatureResultJson }) {
  const rows = rowsOf(value);
  return (
    <tr>
      <th scope="row" class="name">
        {escapeControls(readableName(field))}
      </th>
      <td>
        {error ? (
          <span class="bad">failed</span>
        ) : rows ? (
          <span class="dim">{rows.length} rows, below</span>
        ) : (
          <Value value={plainOf(value)} />
        )}
      </td>
      <td>{meta?.cacheHit ? "hit" : ""}</td>
      <td>{ts && <Time at={ts} />}</td>
      <td>
        <ResolverLink fqn={meta?.chosenResolverFqn ?? ""} />
      </td>
    </tr>
  );
}

/** A resolver's name, which leads to its page. */
export function ResolverLink({ fqn }: { readonly fqn: string }) {
  const name = escapeControls(fqn);
  if (fqn === "" || !routeOf("resolver")) return <span class="name">{name}</span>;
  return (
    <a class="name" href={href("resolver", { fqn })}>
      {name}
    </a>
  );
}

/** Rows of a relation, or any other rows of one form. */
function Rows({ field, rows }: { readonly field: string; readonly rows: readonly Readonly<Record<string, unknown>>[] }) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const title = escapeControls(readableName(field));
  const columns = names.map(
    (name): Column<number> => ({
      name,
      title: escapeControls(readableName(name)),
      cell: (at) => <Value value={rows[at]?.[name]} />,
    }),
  );
  return (
    <>
      <h3>
        <span class="name">{title}</span>: {rows.length} rows
      </h3>
      <WindowTable label={title} columns={columns} rows={rows.map((_, at) => at)} keyOf={String} />
    </>
  );
}

/** The errors of an answer, with their places and stacks. */
export function Errors({ data, errors }: AnswerParts) {
  const all = shownErrors(data, errors);
  if (all.length === 0) return null;
  return (
    <ul class="query-errors">
      {all.map(({ features, message, raised, code, resolver, place, stack, hint }, at) => (
        <li key={at} class="query-error">
          <p>
            <strong class="bad">{code}</strong> {features.length > 0 && <span class="name">{features.map(escapeControls).join(", ")}</span>}
          </p>
          <p>
            {visibleLines(message)} {visibleLines(raised)}
          </p>
          {(resolver !== "" || place !== "") && (
            <p class="dim">
              {resolver !== "" && <ResolverLink fqn={resolver} />} {place !== "" && <code>{visibleLines(place)}</code>}
            </p>
          )}
          {hint !== "" && <p>{visibleLines(hint)}</p>}
          {stack !== "" && (
            <details>
              <summary>Stack</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
              <pre class="block" tabIndex={0}>
                {visibleLines(stack)}
              </pre>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}
