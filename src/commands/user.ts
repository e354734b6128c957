import type { WhoAmIResponse } from "../../gen/svc/v1/auth_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { messageFields } from "../output/message-view.ts";
import { timeText } from "../output/time.ts";

export default defineCommand({
  summary: "Print who you are: ids of user, environment and team",
  category: "Server and account",
  aliases: ["whoami"],
  description: "It also shows that the CLI can talk to the server with the stored credentials.",
  examples: ["svc user", "svc user --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.auth()).whoAmI({}),
  view: messageFields<WhoAmIResponse>({
    userId: { header: "User", json: { key: "user" } },
    name: "Name",
    environmentId: { header: "Environment", json: { key: "environment" } },
    teamId: { header: "Team", json: { key: "team" } },
    environmentName: { json: false },
    projectId: { json: false },
    dashboardUrl: { json: false },
    grpcServer: { json: false },
    gateway: { json: false },
    permissions: { json: false },
    expiresAt: { header: "Expires", cell: ({ expiresAt }) => timeText(expiresAt) || "never" },
  }),
});
