import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ApiClient, BrowserSession } from "../../gen/svc/v1/auth_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { bool, text } from "../cli/flag.ts";
import { normalizeAddress } from "../config/address.ts";
import { type ConfigEntry, removeEntriesOf } from "../config/file.ts";
import { removeSecret } from "../config/keychain.ts";
import type { Context } from "../context/context.ts";
import { messageJson } from "../contract/message-json.ts";
import { escapeControls } from "../domain/name.ts";
import { AuthError, CliError, isUnanswered, UsageError } from "../errors/cli-error.ts";
import { timeText } from "../output/time.ts";
import { choiceView, tableView, textView } from "../output/view.ts";

/** The result of a logout: what was revoked on the server, and what was removed locally. */
interface LoggedOut {
  /** Client whose credentials were revoked or forgotten; null when only sessions ended. */
  readonly client_id: string | null;
  /**
   * Whether the server deleted the client; false when the server did not know it, or was not asked.
   */
  readonly deleted: boolean;
  readonly ended_sessions: number;
  readonly config_file: string;
  /** Entries that were removed from that file. */
  readonly config_keys: readonly string[];
}

/** A logged-in client or browser session. */
interface LoggedIn {
  readonly clients: readonly ApiClient[];
  readonly sessions: readonly BrowserSession[];
}

export default defineCommand({
  summary: "Take credentials back, on the server and on this machine",
  category: "Set up",
  description:
    "Deletes the client of the active login on the server, so that its secret, its tokens and its browser sessions are refused from the next request on, and removes " +
    "it from the config file. Other clients need the permission admin. When the server cannot be reached nothing is removed, because it would still take the " +
    "credentials; --local forgets them all the same.",
  examples: [
    "svc logout",
    { run: "svc logout --list", does: "Clients and browsers that are logged in" },
    { run: "svc logout --sessions", does: "Log the browsers out, keep the command line's login" },
    { run: "svc logout --client client_0123", does: "Take another client's credentials back, or a person's" },
  ],
  needs: ["session"],
  flags: {
    list: bool("show who is logged in: your client and its browser sessions, or everybody's with the permission admin"),
    sessions: bool("end this client's browser sessions only"),
    client: text("id of another client to take back", { placeholder: "<id>" }),
    local: bool("forget the credentials on this machine only"),
  },
  check({ client, list, local, sessions }) {
    const given = [list && "--list", sessions && "--sessions", client !== undefined && "--client", local && "--local"].filter(Boolean);
    if (given.length > 1) throw new UsageError(`${given.join(" and ")} do not go together`);
  },
  async run(context, { client, list, local, sessions }): Promise<LoggedOut | LoggedIn> {
    if (list) return whoIsLoggedIn(context);
    if (sessions) return endSessions(context);
    if (local) return forgetHere(context);
    return client === undefined ? logOut(context) : deleteOther(context, client);
  },
  view: choiceView((data: LoggedOut | LoggedIn) => ("clients" in data ? LIST : DONE)),
});

const DONE = textView(({ client_id, config_file, config_keys, deleted, ended_sessions }: LoggedOut) => {
  const lines: string[] = [];
  if (client_id !== null) lines.push(`${deleted ? "Took back the credentials of" : "Forgot"} ${escapeControls(client_id)}.`);
  if (ended_sessions > 0 || client_id === null)
    lines.push(`Ended ${ended_sessions} browser ${ended_sessions === 1 ? "session" : "sessions"}.`);
  if (config_keys.length > 0) lines.push(`Removed ${config_keys.join(", ")} from ${config_file}.`);
  return lines.join("\n");
});

/** A client or a browser session, in one table. */
interface Row {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly since: Timestamp | undefined;
  readonly used: Timestamp | undefined;
  readonly may: string;
}

const LIST = tableView({
  things: "clients",
  rows: ({ clients, sessions }: LoggedIn): Row[] => [
    ...clients.map(({ id, name, createdAt, lastUsedAt, permissions, current, isPerson }) => ({
      kind: isPerson ? "person" : current ? "client (this one)" : "client",
      id,
      name,
      since: createdAt,
      used: lastUsedAt,
      may: permissions.join(", "),
    })),
    ...sessions.map(({ id, clientName, userAgent, createdAt, lastUsedAt, readOnly }) => ({
      kind: "browser",
      id,
      name: `${clientName}: ${userAgent}`,
      since: createdAt,
      used: lastUsedAt,
      may: readOnly ? "read" : "what its client may",
    })),
  ],
  columns: [
    { header: "Kind", cell: (row: Row) => row.kind },
    { header: "ID", cell: (row) => row.id },
    { header: "Name", flexible: true, cell: (row) => row.name },
    { header: "Since", cell: (row) => timeText(row.since) },
    { header: "Last used", cell: (row) => timeText(row.used) || "never" },
    { header: "May", cell: (row) => row.may },
  ],
  json: ({ clients, sessions }) => ({
    clients: clients.map((client) => messageJson(client)),
    sessions: sessions.map((session) => messageJson(session, { current: false })),
  }),
});

async function whoIsLoggedIn({ api }: Context): Promise<LoggedIn> {
  const auth = await api.auth();
  const [{ clients }, { sessions }] = await Promise.all([auth.listClients({}), auth.listSessions({})]);
  return { clients, sessions };
}

async function endSessions(context: Context): Promise<LoggedOut> {
  const { ended } = await (await context.api.auth()).endSessions({});
  return { client_id: null, deleted: false, ended_sessions: ended, config_file: (await context.settings()).configFile, config_keys: [] };
}

async function logOut(context: Context): Promise<LoggedOut> {
  const auth = await context.api.auth();
  try {
    const { userId } = await auth.whoAmI({}, { headers: { "svc-environment": "", "svc-project": "" } });
    const { endedSessions } = await auth.deleteClient({ id: userId });
    return await forget(context, userId, { deleted: true, ended_sessions: endedSessions });
  } catch (error) {
    if (error instanceof AuthError) {
      const id = await ownClientId(context);
      context.progress.note(`The server takes the credentials of ${escapeControls(id)} no longer.`);
      return forget(context, id, { deleted: false, ended_sessions: 0 });
    }
    if (!isUnanswered(error)) throw error;
    const holds = error.code === "unreachable" ? "still holds" : "may still hold";
    throw new CliError(`${error.message}; the server ${holds} the client, and nothing was removed here`, {
      code: error.code,
      hint: "Try again when it runs, or forget the credentials on this machine only: `svc logout --local`.",
      cause: error,
    });
  }
}

async function forgetHere(context: Context): Promise<LoggedOut> {
  const id = await ownClientId(context);
  context.progress.note(`The server still holds ${escapeControls(id)}: whoever has its secret can use it.`);
  return forget(context, id, { deleted: false, ended_sessions: 0 });
}

async function deleteOther(context: Context, id: string): Promise<LoggedOut> {
  const { endedSessions } = await (await context.api.auth()).deleteClient({ id });
  return forget(context, id, { deleted: true, ended_sessions: endedSessions });
}

async function ownClientId(context: Context): Promise<string> {
  const { accessToken, clientId } = await context.settings();
  if (clientId.value === undefined || accessToken.value !== undefined)
    throw new AuthError("the login is an access token, which is stored nowhere and ends by itself within the hour");
  return clientId.value;
}

/**
 * Removes this machine's data of a client: its entries in the config file, and its cached token.
 */
async function forget(context: Context, clientId: string, done: Pick<LoggedOut, "deleted" | "ended_sessions">): Promise<LoggedOut> {
  const { flags, http, progress, surroundings } = context;
  const { apiServer, clientId: active } = await context.settings();
  const isOf = (entry: ConfigEntry) =>
    entry.clientId === clientId &&
    (entry.apiServer === undefined || normalizeAddress(entry.apiServer, "the config file") === apiServer.value);
  const { path, removed } = await removeEntriesOf(flags, surroundings, isOf);
  for (const entry of removed.values()) await removeSecret(entry, surroundings);
  await http.forgetToken(clientId);
  if (active.value === clientId && active.source.kind === "env")
    progress.warn(`the environment variable ${active.source.name} still names the client`);
  return { client_id: clientId, ...done, config_file: path, config_keys: [...removed.keys()] };
}
