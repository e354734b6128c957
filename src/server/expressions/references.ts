/** References of an expression: the columns and relations that it reads. */

import type { TypedExpression } from "../../domain/expressions/typing.ts";
import type { References } from "./compiled.ts";
import { anyOf, type RowTest, rowTest } from "./row-test.ts";

interface Gathered {
  readonly columns: Set<string>;
  readonly relations: Map<string, { readonly namespace: string; readonly gathered: Gathered; readonly tests: (RowTest | undefined)[] }>;
}

const nothing = (): Gathered => ({ columns: new Set(), relations: new Map() });

/**
 * The paths that an evaluation needs, each once.
 * @param windowMicros length of the window that the expression is for
 */
export function referencesOf(typed: TypedExpression, windowMicros: bigint): References {
  const gathered = nothing();
  gather(typed, windowMicros, [gathered]);
  return finished(gathered);
}

/** @param scopes references to the innermost row, then to its enclosing rows */
function gather(typed: TypedExpression, windowMicros: bigint, scopes: readonly Gathered[]): void {
  const [own] = scopes as [Gathered];
  switch (typed.kind) {
    case "reference":
      scopes[typed.scope]?.columns.add(typed.column);
      return;
    case "call":
      for (const argument of typed.arguments) gather(argument, windowMicros, scopes);
      return;
    case "aggregation": {
      const relation = own.relations.get(typed.path) ?? { namespace: typed.namespace, gathered: nothing(), tests: [] };
      own.relations.set(typed.path, relation);
      relation.tests.push(rowTest(typed.filters, windowMicros));
      if (typed.order !== undefined) relation.gathered.columns.add(typed.order);
      for (const part of [
        ...typed.filters,
        typed.column,
        typed.key?.typed,
        ...(typed.grouping?.columns.map((column) => column.typed) ?? []),
      ])
        if (part) gather(part, windowMicros, [relation.gathered, ...scopes]);
      return;
    }
    default:
  }
}

function finished({ columns, relations }: Gathered): References {
  return {
    columns: [...columns],
    relations: [...relations].map(([path, { namespace, gathered, tests }]) => ({
      path,
      namespace,
      references: finished(gathered),
      test: anyOf(tests),
    })),
  };
}
