import type { CheckHealthResponse, HealthCheck } from "../../gen/svc/v1/health_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { formatEnum } from "../contract/contract.ts";
import { escapeControls } from "../domain/name.ts";
import { isSound } from "../domain/server-part.ts";
import { messageTable } from "../output/message-view.ts";

/** The status in the API's notation, which the specification requires here. */
const apiStatus = ({ status }: HealthCheck) =>
  `HEALTH_CHECK_STATUS_${String(formatEnum("svc.v1.HealthCheckStatus", status) ?? "unspecified").toUpperCase()}`;

export default defineCommand({
  summary: "Check the API server's components",
  category: "Server and account",
  description: "Every part is probed with a real read or write. Exit code 1 when one fails; a part that is not configured does not count.",
  examples: ["svc healthcheck", "svc healthcheck --json"],
  needs: ["session"],
  async run({ api, progress }) {
    const answer = await (await api.health()).checkHealth({});
    for (const check of answer.checks)
      if (!isSound(check) && check.message) progress.warn(escapeControls(`${check.name}: ${check.message}`));
    return answer;
  },
  view: messageTable<CheckHealthResponse>(
    "checks",
    {
      name: "Name",
      status: {
        header: "Status",
        cell: apiStatus,
        json: apiStatus,
        style: (text, style, check) => (isSound(check) ? style.green(text) : style.red(text)),
      },
    },
    { things: "components", json: { status: false, version: false, droppedRecords: false } },
  ),
  exitCode: ({ checks }) => (checks.every(isSound) ? 0 : 1),
});
