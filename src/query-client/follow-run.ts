/** Following the run of a resolver to its end. */

import { type ResolverRun, ResolverRunState } from "../../gen/svc/v1/resolver_run_pb.ts";
import type { Context } from "../context/context.ts";
import { followToEnd } from "./following.ts";

/** The run once it has ended. */
export async function followRun(context: Context, begun: ResolverRun): Promise<ResolverRun> {
  const service = await context.api.resolverRuns();
  context.progress.note(`Run ${begun.id}`);
  return followToEnd(context, begun, {
    title: `Running ${begun.resolver}`,
    goesOn: `The run goes on. \`svc scheduled-resolver runs get ${begun.id}\` shows it.`,
    ask: async () => (await service.getResolverRun({ id: begun.id })).run,
    hasEnded: ({ state }) => state === ResolverRunState.SUCCEEDED || hasFailed({ state }),
    hasFailed,
    progressText: ({ rows, state }) =>
      state === ResolverRunState.RECEIVED ? "waits for its turn" : `${Number(rows).toLocaleString("en")} rows`,
  });
}

function hasFailed({ state }: Pick<ResolverRun, "state">): boolean {
  return state === ResolverRunState.FAILED;
}
