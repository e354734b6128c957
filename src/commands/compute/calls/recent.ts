import type { ListFunctionCallsResponse } from "../../../../gen/svc/v1/function_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { int, text } from "../../../cli/flag.ts";
import { messageTable } from "../../../output/message-view.ts";
import { CALL_COLUMNS } from "../compute-view.ts";

export default defineCommand({
  summary: "List recent async calls, newest first",
  description: "Calls that a client has submitted, of the last 30 days. The server brings --limit into the range from 1 to 1000.",
  examples: [
    "svc compute calls recent",
    { run: "svc compute calls recent --name fee --limit 100 --json", does: "Those of one function, with their errors" },
  ],
  needs: ["session"],
  flags: {
    name: text("only calls of this function", { aliases: ["-n"], placeholder: "<function>" }),
    limit: int("rows at most", { aliases: ["-L"], default: 10 }),
  },
  run: async ({ api }, { limit, name = "" }) => (await api.functions()).listFunctionCalls({ name, limit: limit === 0 ? 1 : limit }),
  view: messageTable<ListFunctionCallsResponse>("calls", CALL_COLUMNS),
});
