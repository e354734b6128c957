/** What an expression reads. */

import type { TypedExpression } from "../../domain/expressions/typing.ts";
import type { References } from "./compiled.ts";

interface Gathered {
  readonly columns: Set<string>;
  readonly relations: Map<string, { readonly namespace: string; readonly gathered: Gathered }>;
}

const nothing = (): Gathered => ({ columns: new Set(), relations: new Map() });

/** The paths that must be given, each once. */
export function referencesOf(typed: TypedExpression): References {
  const gathered = nothing();
  gather(typed, [gathered]);
  return finished(gathered);
}

/** @param scopes what is read of the innermost row, then of the rows around it */
function gather(typed: TypedExpression, scopes: readonly Gathered[]): void {
  const [own] = scopes as [Gathered];
  switch (typed.kind) {
    case "reference":
      scopes[typed.scope]?.columns.add(typed.column);
      return;
    case "call":
      for (const argument of typed.arguments) gather(argument, scopes);
      return;
    case "aggregation": {
      const relation = own.relations.get(typed.path) ?? { namespace: typed.namespace, gathered: nothing() };
      own.relations.set(typed.path, relation);
      if (typed.order !== undefined) relation.gathered.columns.add(typed.order);
      for (const part of typed.column ? [...typed.filters, typed.column] : typed.filters) gather(part, [relation.gathered, ...scopes]);
      return;
    }
    default:
  }
}

function finished({ columns, relations }: Gathered): References {
  return {
    columns: [...columns],
    relations: [...relations].map(([path, { namespace, gathered }]) => ({ path, namespace, references: finished(gathered) })),
  };
}
