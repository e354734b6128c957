/** Resolvers as a table and as JSON. */

import { type ListResolversResponse, type Resolver, type ResolverInput, ResolverKind, ResourceHint } from "../../../gen/svc/v1/graph_pb.ts";
import type { JsonExceptions } from "../../contract/message-json.ts";
import { readableName } from "../../domain/name.ts";
import { exceptionsOf, type FieldViews, messageTable } from "../../output/message-view.ts";
import { sourceException } from "../../output/source-exception.ts";
import { choiceView } from "../../output/view.ts";
import { type HourlyValues, hoursColumn } from "../../query-client/recent-requests.ts";

/** `online` or `offline`. */
export function resolverKind({ kind }: Resolver): "online" | "offline" {
  return kind === ResolverKind.OFFLINE ? "offline" : "online";
}

/**
 * The inputs of a resolver's parameter, as paths from its root class: a feature, the columns of a
 * relation's rows or the relation itself, the columns of a table, or `now`.
 */
export function inputPaths({ kind }: ResolverInput): string[] {
  switch (kind.case) {
    case "feature":
      return [kind.value.path];
    case "rows": {
      const { path, columns } = kind.value;
      return columns.length === 0 ? [path] : columns.map((column) => `${path}.${column.slice(column.indexOf(".") + 1)}`);
    }
    case "table":
      return kind.value.columns;
    default:
      return ["now"];
  }
}

const allInputs = ({ inputs }: Resolver) => inputs.flatMap(inputPaths);

const HINTS = { [ResourceHint.UNSPECIFIED]: null, [ResourceHint.CPU]: "cpu", [ResourceHint.IO]: "io" } as const;

const RESOLVER_FIELDS: FieldViews<Resolver> = {
  fqn: "Resolver",
  kind: { header: "Kind", cell: resolverKind, json: resolverKind },
  inputs: { header: "Inputs", cell: (resolver) => allInputs(resolver).map(readableName).join(", "), json: allInputs },
  outputs: { header: "Outputs", cell: ({ outputs }) => outputs.map(readableName).join(", ") },
  owner: { json: null },
  description: { json: null },
  schedule: { json: null },
  span: { json: sourceException },
  body: { json: { key: "language", value: ({ body }) => body.case ?? null } },
  sourceSha256: { json: false },
  outputShape: { json: false },
  total: { json: false },
  relation: { json: false },
  translated: { json: false },
  untranslated: { json: false },
  resourceHint: { json: { key: "resource_hint", value: ({ resourceHint }) => HINTS[resourceHint] } },
  when: { json: false },
  maxStalenessSpan: { json: false },
  whenText: { json: { key: "when", value: ({ whenText }) => whenText || null } },
};

/** How the JSON of one resolver differs from the rule: it says why there is no translation. */
export const RESOLVER_JSON: JsonExceptions<Resolver> = { ...exceptionsOf(RESOLVER_FIELDS), untranslated: null };

/** The resolvers of a deployment, and their calls in the hours of the last day. */
export interface ListedResolvers extends ListResolversResponse {
  readonly calls: HourlyValues;
}

/**
 * The resolvers of a deployment. Of a body only the language is shown; translations are left out.
 */
export const resolversView = choiceView(({ calls, resolvers }: ListedResolvers) =>
  messageTable<ListResolversResponse, "resolvers">("resolvers", RESOLVER_FIELDS, {
    long: true,
    json: { deploymentId: false },
    after: ({ sinkResolvers, streamResolvers }) =>
      [
        ...(streamResolvers.length > 0
          ? [`Messages of topics run ${streamResolvers.map(({ fqn }) => fqn).join(", ")}: \`svc streams list\`.`]
          : []),
        ...(sinkResolvers.length > 0
          ? [`Rows are handed to ${sinkResolvers.map(({ fqn }) => fqn).join(", ")}: \`svc resolvers show ${sinkResolvers[0]?.fqn}\`.`]
          : []),
      ].join("\n"),
    more: hoursColumn("Calls by Hour", calls, resolvers, ({ fqn }) => fqn),
  }),
);
