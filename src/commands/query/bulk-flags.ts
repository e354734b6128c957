/**
 * The request of `svc query --bulk`, from its flags: each value of a feature belongs to one row.
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { QueryBulkRequestSchema } from "../../../gen/svc/v1/query_pb.ts";
import type { Context } from "../../context/context.ts";
import { type QueryFlags, queryInput, queryRequest, unrooted } from "./flags.ts";

/**
 * The input values of one feature, in the order of the rows; a single value applies to all rows.
 */
export interface GivenColumn {
  readonly feature: string;
  readonly values: readonly string[];
}

/** The columns of inputs: the values of one feature, in the order given, are its column. */
export function givenColumns(given: QueryFlags["in"]): readonly GivenColumn[] {
  const columns = new Map<string, { readonly feature: string; readonly values: string[] }>();
  for (const [feature, text] of given) {
    const column = columns.get(unrooted(feature)) ?? { feature, values: [] };
    column.values.push(text);
    columns.set(unrooted(feature), column);
  }
  return [...columns.values()];
}

/** The request of a bulk query. */
export async function bulkRequest(
  context: Context,
  flags: QueryFlags,
  given: readonly GivenColumn[],
): Promise<MessageInitShape<typeof QueryBulkRequestSchema>> {
  return {
    query: await queryRequest(context, { ...flags, in: [] }),
    inputs: await Promise.all(
      given.map(async ({ feature, values }) => ({
        feature,
        values: await Promise.all(values.map((text) => queryInput(context, feature, text, flags.rawInputs))),
      })),
    ),
  };
}
