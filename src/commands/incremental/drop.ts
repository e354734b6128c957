import type { DropIncrementalProgressResponse } from "../../../gen/svc/v1/incremental_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { checkSubject, subjectFlags, subjectOf, subjectText } from "./subject-flags.ts";

export default defineCommand({
  summary: "Clear progress so that the next run ingests all history",
  description: "What is stored stays; a run that is going on ends as it began, and its progress does not count.",
  examples: [
    "svc incremental drop --resolver recent_transactions",
    { run: "svc incremental drop --scheduled-query nightly --yes", does: "Without a question" },
  ],
  needs: ["session"],
  flags: { ...subjectFlags, ...confirmFlags },
  check: checkSubject,
  async run(context, { force, ...given }) {
    await confirm(context, { force }, `Clear the progress of ${escapeControls(subjectText(given))}? Its next run reads everything.`);
    return (await context.api.incremental()).dropIncrementalProgress({ subject: subjectOf(given) });
  },
  view: textView(
    ({ progress, dropped }: DropIncrementalProgressResponse) => {
      const name = progress?.resolver || progress?.scheduledQuery || "";
      return dropped ? `Cleared the progress of ${name}: its next run reads everything.` : `${name} had no progress.`;
    },
    async (answer) => (await import("../../contract/message-json.ts")).messageJson(answer),
  ),
});
