import type { ListServiceTokensResponse } from "../../../gen/svc/v1/service_token_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { SERVICE_TOKEN_FIELDS } from "./view.ts";

export default defineCommand({
  summary: "List service tokens",
  examples: ["svc service-token list", { run: "svc service-token list --json", does: "With limits, ends and last uses" }],
  needs: ["session"],
  run: async ({ api }) => (await api.serviceTokens()).listServiceTokens({}),
  view: messageTable<ListServiceTokensResponse>("serviceTokens", SERVICE_TOKEN_FIELDS, { things: "service tokens" }),
});
