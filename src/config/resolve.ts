/**
 * The sources of settings; the first that has a value wins: flags, environment variables, the
 * config file's entry of the project root, its `default` entry, the token exchange (filled in by
 * the client), built-in defaults. A profile that is named is the only entry that counts, and one
 * that `--profile` names wins over environment variables too.
 */

import type { GlobalFlags } from "../context/flags.ts";
import type { Surroundings } from "../context/machine.ts";
import { didYouMean } from "../domain/closest.ts";
import { escapeControls } from "../domain/name.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { normalizeAddress } from "./address.ts";
import { type ConfigEntry, DEFAULT_KEY, isExposed, readEntries } from "./file.ts";
import { secretOf } from "./keychain.ts";
import { locateConfig } from "./location.ts";
import type { NamedProfile, Setting, Settings, Source } from "./settings.ts";

/** The server used when no other is named: the embedded one. */
export const DEFAULT_API_SERVER = "http://127.0.0.1:5757";

/** Flags that settings are read from. */
export type SettingFlags = Pick<
  GlobalFlags,
  "environment" | "apiHost" | "grpcHost" | "clientId" | "clientSecret" | "accessToken" | "profile" | "authConfig"
>;

interface SettingPlaces {
  readonly flag?: readonly [name: string, value: string | undefined];
  readonly env?: string;
  readonly field?: keyof ConfigEntry;
}

const PROFILE_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** The precedence of sources; a smaller number wins. */
const RANK: Readonly<Record<Source["kind"], number>> = { flag: 0, env: 1, file: 2, keychain: 2, service: 3, default: 4, empty: 5 };

/**
 * The source of a value in words: `flag --api-host`, `environment variable SVC_API_SERVER`, a path,
 * `built-in default`.
 */
export function describeSource(source: Source): string {
  switch (source.kind) {
    case "flag":
      return `flag ${source.name}`;
    case "env":
      return `environment variable ${source.name}`;
    case "file":
      return source.path;
    case "keychain":
      return "the keychain of this system";
    case "service":
      return "the token exchange";
    case "default":
      return "built-in default";
    default:
      return "nowhere";
  }
}

/** Whether a text is the id of an environment, and not its name. */
export function isEnvironmentId(environment: string | undefined): boolean {
  return environment?.startsWith("env_") === true;
}

/**
 * The settings. Reads the config file, opens no connection.
 * @param projectRoot absolute path of the project folder above the working directory, if there is
 * one
 * @param warn called with a line when other users can read the config file's secrets
 * @throws CliError for a malformed config file or address
 */
export async function createSettings(
  flags: SettingFlags,
  surroundings: Pick<Surroundings, "env" | "homeDir" | "platform">,
  projectRoot: string | undefined,
  warn: (text: string) => void = () => undefined,
): Promise<Settings> {
  const location = locateConfig(flags, surroundings);
  const entries = location.read === undefined ? new Map<string, ConfigEntry>() : await readEntries(location.read);
  const { read } = location;
  if (read !== undefined && isExposed(read, entries))
    warn(`${read} holds a client secret, and other users of this machine may open it; close it with: chmod 600 ${read}`);
  const profile = namedProfile(flags, surroundings, entries, location.write);
  const env = profile?.source.kind === "flag" ? {} : surroundings.env;
  const ranked = profile
    ? [entries.get(profile.name)]
    : [projectRoot === undefined ? undefined : entries.get(projectRoot), entries.get(DEFAULT_KEY)];

  /**
   * In a project's folder an environment chosen outside of all folders is not meant: its id is that
   * of one project.
   */
  const isElsewhere = (value: string | undefined): boolean =>
    profile === undefined && projectRoot !== undefined && isEnvironmentId(value) && entries.get(projectRoot)?.activeEnvironment !== value;

  const find = (place: SettingPlaces): Setting => {
    if (place.flag?.[1]) return { value: place.flag[1], source: { kind: "flag", name: place.flag[0] } };
    const fromEnv = place.env === undefined ? undefined : env[place.env];
    if (place.env !== undefined && fromEnv) return { value: fromEnv, source: { kind: "env", name: place.env } };
    const { field } = place;
    const value =
      field === undefined
        ? undefined
        : ranked
            .map((entry) => entry?.[field])
            .find((found) => found !== undefined && !(field === "activeEnvironment" && isElsewhere(found)));
    if (value !== undefined && location.read !== undefined) return { value, source: { kind: "file", path: location.read } };
    return { value: undefined, source: { kind: "empty" } };
  };
  const address = (setting: Setting, instead?: string): Setting =>
    setting.value === undefined
      ? { value: instead, source: { kind: instead === undefined ? "empty" : "default" } }
      : { value: normalizeAddress(setting.value, describeSource(setting.source)), source: setting.source };

  const apiServer = address(find({ flag: ["--api-host", flags.apiHost], env: "SVC_API_SERVER", field: "apiServer" }), DEFAULT_API_SERVER);
  /**
   * A setting for the address of another service of the platform; empty when the API server comes
   * from a source of higher precedence, because the address belongs to the server that it replaced.
   */
  const besideApi = (setting: Setting): Setting =>
    RANK[setting.source.kind] > RANK[apiServer.source.kind] ? { value: undefined, source: { kind: "empty" } } : setting;

  /** The secret of the entry that has the client ID, where the keychain keeps it. */
  const inKeychain = async (found: Setting): Promise<Setting> => {
    const entry = ranked.find((candidate) => candidate?.clientSecret !== undefined || candidate?.clientSecretIn !== undefined);
    if (entry?.clientSecretIn === undefined || found.source.kind === "flag" || found.source.kind === "env") return found;
    const value = await secretOf(entry, surroundings, warn);
    return { value, source: { kind: value === undefined ? "empty" : "keychain" } };
  };
  const clientId = find({ flag: ["--client-id", flags.clientId], env: "SVC_CLIENT_ID", field: "clientId" });
  const clientSecret = await inKeychain(
    find({ flag: ["--client-secret", flags.clientSecret], env: "SVC_CLIENT_SECRET", field: "clientSecret" }),
  );
  const accessToken = find({ flag: ["--access-token", flags.accessToken], env: "SVC_ACCESS_TOKEN" });
  return {
    clientId,
    clientSecret,
    hasCredentials: accessToken.value !== undefined || (clientId.value !== undefined && clientSecret.value !== undefined),
    environment: find({ flag: ["--environment", flags.environment], env: "SVC_ENVIRONMENT", field: "activeEnvironment" }),
    apiServer,
    grpcServer: address(
      besideApi(find({ flag: ["--grpc-host", flags.grpcHost], env: "SVC_GRPC_API_SERVER", field: "grpcServer" })),
      apiServer.value,
    ),
    queryServer: address(besideApi(find({ env: "SVC_QUERY_SERVER", field: "queryServer" }))),
    accessToken,
    profile,
    configFile: location.write,
    configKey: profile?.name ?? projectRoot ?? DEFAULT_KEY,
  };
}

/** The profile that the flag or the variable names. Throws UsageError for a name that is none. */
function namedProfile(
  flags: Pick<GlobalFlags, "profile">,
  { env }: Pick<Surroundings, "env">,
  entries: ReadonlyMap<string, ConfigEntry>,
  configFile: string,
): NamedProfile | undefined {
  const name = flags.profile ?? (env.SVC_PROFILE || undefined);
  if (name === undefined) return undefined;
  const source: Source = flags.profile === undefined ? { kind: "env", name: "SVC_PROFILE" } : { kind: "flag", name: "--profile" };
  if (!isProfileName(name))
    throw new UsageError(`the ${describeSource(source)} has '${escapeControls(name)}', which is no name of a profile`, {
      hint: "A name has letters, digits, '-', '_' and '.', at most 64, and begins with a letter or digit.",
    });
  return {
    name,
    source,
    ...(entries.has(name) ? {} : { missing: noProfile(name, configFile, [...entries.keys()].filter(isProfileName)) }),
  };
}

function noProfile(name: string, configFile: string, names: readonly string[]): CliError {
  const close = didYouMean(name, names);
  return new CliError(`there is no profile '${name}' in ${configFile}${close && `; ${close}`}`, {
    code: "no_profile",
    hint: `\`svc login --profile ${name}\` makes it; \`svc config profiles\` lists those that there are.`,
  });
}

/**
 * Whether a key of the config file is the name of a profile; the others are folders of projects.
 */
export function isProfileName(key: string): boolean {
  return PROFILE_NAME.test(key);
}
