import { defineCommand } from "../../cli/command.ts";
import { type ConfigEntry, DEFAULT_KEY, readEntries } from "../../config/file.ts";
import { IN_KEYCHAIN } from "../../config/keychain.ts";
import { locateConfig } from "../../config/location.ts";
import { isProfileName } from "../../config/resolve.ts";
import { escapeControls } from "../../domain/name.ts";
import { tableView } from "../../output/view.ts";

/** An entry of the config file, as people see it. */
interface Profile {
  /** The profile's name, or the folder of the project that the entry is of. */
  readonly name: string;
  readonly api_server: string | null;
  readonly environment: string | null;
  readonly client_id: string | null;
  /** Where the client secret is: the file, or the keychain of the system. */
  readonly secret_in: "file" | "keychain" | null;
  /** Whether commands here take their settings from it. */
  readonly used: boolean;
}

export default defineCommand({
  summary: "List the stored logins and addresses",
  category: "Set up",
  description:
    "A profile is an entry of the config file. --profile and SVC_PROFILE choose one; else a project's folder uses its own entry, and `default` where that says " +
    "nothing. `svc login --profile <name>` makes one, `svc environment <env> --profile <name>` sets its environment, `svc logout` removes it.",
  examples: ["svc config profiles"],
  async run({ flags, settings, surroundings }): Promise<{ readonly profiles: readonly Profile[] }> {
    const { configKey, profile } = await settings();
    const { read } = locateConfig(flags, surroundings);
    const entries = read === undefined ? new Map<string, ConfigEntry>() : await readEntries(read);
    const used = profile || entries.has(configKey) ? configKey : DEFAULT_KEY;
    const rank = (key: string) => [key !== DEFAULT_KEY, !isProfileName(key), key].join();
    const keys = [...entries.keys()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    return { profiles: keys.map((key) => profileOf(key, entries.get(key) ?? {}, key === used)) };
  },
  view: tableView({
    things: "profiles",
    rows: (data: { readonly profiles: readonly Profile[] }) => data.profiles,
    columns: [
      { header: "Name", cell: ({ name }) => escapeControls(name) },
      { header: "API Server", cell: ({ api_server }) => api_server ?? "" },
      { header: "Environment", cell: ({ environment }) => environment ?? "" },
      { header: "Client ID", cell: ({ client_id }) => client_id ?? "" },
      { header: "Secret", cell: ({ secret_in }) => secret_in ?? "" },
      { header: "Used", cell: ({ used }) => (used ? "\u2713" : ""), style: (text, style) => style.green(text) },
    ],
  }),
});

function profileOf(name: string, entry: ConfigEntry, used: boolean): Profile {
  const { apiServer, activeEnvironment, clientId } = entry;
  const secretIn = entry.clientSecret !== undefined ? "file" : entry.clientSecretIn === IN_KEYCHAIN ? "keychain" : null;
  return {
    name,
    api_server: apiServer ?? null,
    environment: activeEnvironment ?? null,
    client_id: clientId ?? null,
    secret_in: secretIn,
    used,
  };
}
