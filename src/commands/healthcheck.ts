import { defineCommand } from "../cli/command.ts";
import { type Part, passes, probeParts } from "../doctor/server-parts.ts";
import { escapeControls } from "../domain/name.ts";
import { tableView } from "../output/view.ts";

export default defineCommand({
  summary: "Check the API server's components",
  category: "Server and account",
  description: "Every part is probed with a real read or write. Exit code 1 when one fails; a part that is not configured does not count.",
  examples: ["svc healthcheck", "svc healthcheck --json"],
  needs: ["session"],
  async run(context) {
    const result = { checks: await probeParts(context) };
    for (const check of result.checks)
      if (!passes(check) && check.message) context.progress.warn(escapeControls(`${check.name}: ${check.message}`));
    return result;
  },
  view: tableView({
    things: "components",
    rows: (data: { checks: Part[] }) => data.checks,
    columns: [
      { header: "Name", cell: (check: Part) => check.name },
      {
        header: "Status",
        cell: (check) => check.status,
        style: (text, style, check) => (passes(check) ? style.green(text) : style.red(text)),
      },
    ],
  }),
  exitCode: ({ checks }) => (checks.every(passes) ? 0 : 1),
});
