import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Run the feature platform on this machine",
  category: "Server and account",
  examples: [
    { run: "svc server start --detach", does: "In the background; logs you in to it" },
    "svc server status",
    "svc server logs --follow",
    "svc server stop",
  ],
});
