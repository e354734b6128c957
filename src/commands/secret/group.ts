import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Set, show and delete secrets, which resolvers read",
  category: "Server and account",
  aliases: ["secrets"],
  examples: ["svc secret list", { run: "svc secret set API_KEY", does: "Asks for the value, which no shell history keeps" }],
});
