import { defineCommand } from "../cli/command.ts";
import { visibleLines } from "../domain/visible.ts";
import { textView } from "../output/view.ts";

/** Ids of who calls and where. */
interface User {
  readonly user: string;
  readonly environment: string;
  readonly team: string;
}

export default defineCommand({
  summary: "Print ids of user, environment and team",
  category: "Server and account",
  aliases: ["whoami"],
  description: "It also shows that the CLI can talk to the server with the stored credentials.",
  examples: ["svc user", "svc user --json"],
  needs: ["session"],
  async run({ api }): Promise<User> {
    const me = await (await api.auth()).whoAmI({});
    return { user: me.userId, environment: me.environmentId, team: me.teamId };
  },
  view: textView((user: User) => visibleLines(`User:        ${user.user}\nEnvironment: ${user.environment}\nTeam:        ${user.team}`)),
});
