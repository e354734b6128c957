import { HealthCheckStatus } from "../../gen/svc/v1/health_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { escapeControls } from "../domain/name.ts";
import { tableView } from "../output/view.ts";

/** One part of the server; the status is spelled as the API spells it. */
interface Check {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly latency_ms: number;
}

/** Written out, because only the numbers of an enum come without the descriptors of the contract, which take longer to load than the call. */
const SPELLED: Readonly<Record<HealthCheckStatus, string>> = {
  [HealthCheckStatus.UNSPECIFIED]: "HEALTH_CHECK_STATUS_UNSPECIFIED",
  [HealthCheckStatus.OK]: "HEALTH_CHECK_STATUS_OK",
  [HealthCheckStatus.FAILING]: "HEALTH_CHECK_STATUS_FAILING",
  [HealthCheckStatus.NOT_CONFIGURED]: "HEALTH_CHECK_STATUS_NOT_CONFIGURED",
};
const spelled = (status: HealthCheckStatus) => SPELLED[status] ?? SPELLED[HealthCheckStatus.UNSPECIFIED];
const passes = (check: Check) => /_(OK|NOT_CONFIGURED)$/.test(check.status);

export default defineCommand({
  summary: "Check the API server's components",
  description: "Every part is probed with a real read or write. Exit code 1 when one fails; a part that is not configured does not count.",
  examples: ["svc healthcheck", "svc healthcheck --json"],
  needs: ["session"],
  async run({ api, progress }) {
    const { checks } = await (await api.health()).checkHealth({});
    const result = {
      checks: checks.map(
        (check): Check => ({ name: check.name, status: spelled(check.status), message: check.message, latency_ms: check.latencyMs }),
      ),
    };
    for (const check of result.checks)
      if (!passes(check) && check.message) progress.warn(escapeControls(`${check.name}: ${check.message}`));
    return result;
  },
  view: tableView({
    things: "components",
    rows: (data: { checks: Check[] }) => data.checks,
    columns: [
      { header: "Name", cell: (check: Check) => check.name },
      {
        header: "Status",
        cell: (check) => check.status,
        style: (text, style, check) => (passes(check) ? style.green(text) : style.red(text)),
      },
    ],
  }),
  exitCode: ({ checks }) => (checks.every(passes) ? 0 : 1),
});
