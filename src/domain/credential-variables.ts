/** Environment variables with the credentials of the command line. */

const CREDENTIALS: ReadonlySet<string> = new Set(["SVC_CLIENT_SECRET", "SVC_ACCESS_TOKEN"]);

/** The variables without credentials, for programs that need none. */
export function withoutCredentials(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !CREDENTIALS.has(name.toUpperCase())));
}
