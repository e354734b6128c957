import type { CountFunctionCallsResponse } from "../../../../gen/svc/v1/function_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { text } from "../../../cli/flag.ts";
import { textView } from "../../../output/view.ts";

export default defineCommand({
  summary: "Count async calls submitted in the past hour",
  examples: ["svc compute calls count", "svc compute calls count --name fee"],
  needs: ["session"],
  flags: { name: text("only calls of this function", { aliases: ["-n"], placeholder: "<function>" }) },
  run: async ({ api }, { name = "" }) => (await api.functions()).countFunctionCalls({ name }),
  view: textView(
    ({ count }: CountFunctionCallsResponse) => String(count),
    ({ count }) => ({ count: Number(count) }),
  ),
});
