import { defineCommand } from "../../cli/command.ts";
import { timestampToMicros } from "../../domain/proto-time.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import { tableView } from "../../output/view.ts";

/** One branch; the age is counted from the time of the listing. */
interface BranchRow {
  readonly name: string;
  readonly deploys: number;
  readonly last_deployed_at: string | null;
  readonly latest_deployment_id: string;
}

export default defineCommand({
  summary: "List branches",
  examples: ["svc branch list", "svc branch list --json"],
  needs: ["session"],
  async run({ api, clock }) {
    const { branches } = await (await api.deployments()).listBranches({});
    const rows = branches.map((branch): BranchRow => {
      const last = branch.lastDeployedAt && timestampToMicros(branch.lastDeployedAt);
      return {
        name: branch.name,
        deploys: branch.deploys,
        last_deployed_at: last === undefined ? null : formatMicros(last),
        latest_deployment_id: branch.latestDeploymentId,
      };
    });
    return { branches: rows, now: clock.now() };
  },
  view: tableView({
    things: "branches",
    rows: (data: { branches: BranchRow[]; now: number }) => data.branches.map((branch) => ({ ...branch, now: data.now })),
    columns: [
      { header: "Name", cell: (row: BranchRow & { now: number }) => row.name },
      { header: "Deploys", align: "right", cell: (row) => String(row.deploys) },
      { header: "Last", cell: (row) => (row.last_deployed_at === null ? "" : age(row.now - Date.parse(row.last_deployed_at))) },
    ],
    json: ({ branches }) => ({ branches }),
  }),
});

function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  for (const [size, unit] of [
    [86_400, "d"],
    [3_600, "h"],
    [60, "m"],
  ] as const) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit} ago`;
  }
  return `${seconds}s ago`;
}
