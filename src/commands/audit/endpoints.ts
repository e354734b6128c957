import type { ListAuditEndpointsResponse } from "../../../gen/svc/v1/audit_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { csvText } from "../../output/csv.ts";
import { messageTable } from "../../output/message-view.ts";
import { choiceView, textView } from "../../output/view.ts";

export default defineCommand({
  summary: "List audited endpoints with types and audited fields",
  description:
    "Endpoints whose calls have rows in the audit log, and the fields of requests that a row tells. Refusals have rows everywhere.",
  examples: ["svc audit endpoints", { run: "svc audit endpoints --csv", does: "The same for a spreadsheet" }],
  needs: ["session"],
  flags: { csv: bool("CSV output") },
  check({ csv }, { flags }) {
    if (csv && flags.json) throw new UsageError("--csv and --json do not go together");
  },
  async run({ api }, { csv }): Promise<ListAuditEndpointsResponse | string> {
    const answer = await (await api.audit()).listAuditEndpoints({});
    return csv ? csvOf(answer) : answer;
  },
  view: choiceView((data: ListAuditEndpointsResponse | string) => (typeof data === "string" ? CSV : TABLE)),
});

const HEADERS = { endpoint: "Endpoint", requestType: "Request Type", responseType: "Response Type", auditedFields: "Audited Fields" };

const CSV = textView((text: string) => text.trimEnd());
const TABLE = messageTable<ListAuditEndpointsResponse>("endpoints", HEADERS);

function csvOf({ endpoints }: ListAuditEndpointsResponse): string {
  const rows = endpoints.map(({ endpoint, requestType, responseType, auditedFields }) => [
    endpoint,
    requestType,
    responseType,
    auditedFields.join(" "),
  ]);
  return csvText(Object.values(HEADERS), rows);
}
