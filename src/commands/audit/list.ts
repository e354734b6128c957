import type { AuditLog, ListAuditLogsResponse } from "../../../gen/svc/v1/audit_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { int, text, timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";

const MOST = 500;

export default defineCommand({
  summary: "List audit logs",
  description:
    "Newest first: calls that change something or give out secrets, and refusals. Refusals of one kind in a minute share a row, whose count --json shows. " +
    "The details of a row (ids and names in the request, address, browser session, environment, trace id, hash) are in --json.",
  examples: [
    "svc audit list",
    { run: "svc audit list --code permission_denied --since 24h", does: "What was refused for a day" },
    { run: "svc audit list --agent ci --endpoint Deployment --json", does: "What the client `ci` deployed" },
  ],
  needs: ["session"],
  flags: {
    agent: text("id or name of the client that called", { aliases: ["--client"], placeholder: "<client>" }),
    endpoint: text("part of the endpoint's name", { placeholder: "<text>" }),
    code: text("how the calls ended: ok, or an error such as permission_denied", { placeholder: "<code>" }),
    environmentId: text("environment that the calls selected", {
      placeholder: "<environment>",
      names: "environment",
    }),
    address: text("address that the calls came from", { placeholder: "<ip>" }),
    since: timestamp("earliest time", { aliases: ["--start", "--start-time"] }),
    until: timestamp("latest time", { aliases: ["--end", "--end-time"] }),
    limit: int("most rows", { default: 50, aliases: ["-n", "--page-size"] }),
    pageToken: text("continue where an earlier list ended", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check({ limit }) {
    if (limit < 1 || limit > MOST) throw new UsageError(`--limit is between 1 and ${MOST}`);
  },
  async run({ api, progress }, { address, agent, code, endpoint, environmentId, limit, pageToken, since, until }) {
    const answer = await (await api.audit()).listAuditLogs({
      client: agent ?? "",
      endpoint: endpoint ?? "",
      code: code ?? "",
      environment: environmentId ?? "",
      address: address ?? "",
      ...(since !== undefined && { since: msToTimestamp(since) }),
      ...(until !== undefined && { until: msToTimestamp(until) }),
      pageSize: limit,
      pageToken: pageToken ?? "",
    });
    if (answer.nextPageToken !== "") progress.note(`There are more: --page-token ${answer.nextPageToken}`);
    return answer;
  },
  view: messageTable<ListAuditLogsResponse>(
    "logs",
    {
      time: "Time",
      clientName: { header: "Agent", cell: agentOf },
      endpoint: { header: "Endpoint", flexible: true },
      code: "Code",
    },
    { things: "audit logs" },
  ),
});

/** Who called, for people: the client's name; `-` when nobody is known. */
function agentOf({ clientId, clientName, sessionId }: AuditLog): string {
  const name = clientName || clientId || "unknown";
  return sessionId === "" ? name : `${name} (browser)`;
}
