import type { QueryRunJson } from "../../../../gen/svc/v1/query_run_pb.ts";
import { Status } from "../../parts/status.tsx";

/** How a query ended: `ok`, `partial`, `failed`. */
export function RunStatus({ run: { status = "QUERY_RUN_STATUS_UNSPECIFIED" } }: { readonly run: QueryRunJson }) {
  const word = status.replace("QUERY_RUN_STATUS_", "").toLowerCase();
  return <Status tone={word === "ok" ? "good" : word === "partial" ? "warn" : word === "failed" ? "bad" : "dim"}>{word}</Status>;
}
