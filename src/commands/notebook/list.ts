import type { ListNotebooksResponse } from "../../../gen/svc/v1/notebook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { NOTEBOOK_COLUMNS } from "./notebook-view.ts";

export default defineCommand({
  summary: "List notebooks, newest first",
  examples: ["svc notebook list", "svc notebook list --limit 10 --json"],
  needs: ["session"],
  flags: pageFlags,
  check: checkPage,
  async run(context, { limit, pageToken = "" }) {
    const answer = await (await context.api.notebooks()).listNotebooks({ pageSize: limit, pageToken });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListNotebooksResponse>("notebooks", NOTEBOOK_COLUMNS),
});
