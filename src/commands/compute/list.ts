import type { FunctionVersion, ListFunctionsResponse } from "../../../gen/svc/v1/function_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { VERSION_COLUMNS } from "./compute-view.ts";

export default defineCommand({
  summary: "List function versions in the catalog",
  description:
    "Newest first, those that were deployed to the environment, or with --branch to that branch. A deployment that changes the code or the types of a function makes its next version.",
  examples: ["svc compute list", { run: "svc compute list --name fee --limit 3", does: "The last versions of one function" }],
  needs: ["session"],
  flags: {
    name: text("only versions of this function", { aliases: ["-n"], placeholder: "<function>" }),
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { limit, name = "", pageToken = "" }) {
    const answer = await (await context.api.functions()).listFunctions({ name, pageSize: limit, pageToken });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListFunctionsResponse>("functions", VERSION_COLUMNS, {
    more: [{ header: "Signature", cell: ({ signature }: FunctionVersion) => signature, flexible: true, dispensable: true }],
  }),
});
