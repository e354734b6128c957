import { defineCommand } from "../cli/command.ts";
import { formatTimestamp } from "../domain/timestamp.ts";
import { textView } from "../output/view.ts";

/** An access token; the names are those of the token exchange. */
interface AccessToken {
  readonly access_token: string;
  /** RFC 3339; null for a token that was given, whose end only the server knows. */
  readonly expires_at: string | null;
  readonly token_type: "Bearer";
}

export default defineCommand({
  summary: "Print an access token",
  category: "Server and account",
  selfVerbs: ["get"],
  description: "The bare token and a newline, for programs that call the server themselves. It is a secret, and ends within the hour.",
  examples: [
    "svc token",
    { run: 'curl -H "Authorization: Bearer $(svc token)" http://127.0.0.1:8080/v1/who-am-i', does: "Call the server by hand" },
  ],
  needs: ["session"],
  async run(context): Promise<AccessToken> {
    const { accessToken } = await context.settings();
    if (accessToken.value !== undefined) return { access_token: accessToken.value, expires_at: null, token_type: "Bearer" };
    const session = await context.http.session();
    return { access_token: session.accessToken, expires_at: formatTimestamp(session.expiresAt), token_type: "Bearer" };
  },
  view: textView(({ access_token }: AccessToken) => access_token),
});
