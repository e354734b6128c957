import { defineCommand } from "../cli/command.ts";
import { textView } from "../output/view.ts";

export default defineCommand({
  summary: "Remove cached JWTs",
  description: "The next request exchanges the client ID and secret again. Use it when the config file changed or a token went stale.",
  examples: ["svc doctor"],
  async run({ http }) {
    return { removed: await http.forgetTokens() };
  },
  view: textView(({ removed }: { removed: number }) => `Removed ${removed} cached ${removed === 1 ? "token" : "tokens"}.`),
});
