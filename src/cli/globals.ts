/** The flags that every command takes, before or after its path. */

import type { GlobalFlags } from "../context/flags.ts";
import { UsageError } from "../errors/cli-error.ts";
import { colorChoice } from "../output/style.ts";
import type { FlagSpecs } from "./command.ts";
import { bool, joinedValue, optionalValue, path, text } from "./flag.ts";

/** Declarations of the global flags. */
export const globalFlags = {
  branch: optionalValue(text("target a branch deployment; bare = the git branch", { placeholder: "<name>", names: "branch" })),
  environment: text("environment id or name instead of the active one", { placeholder: "<env>", names: "environment" }),
  apiHost: text("API server URL; https:// is added if it has no scheme", { aliases: ["--api-server"], placeholder: "<url>" }),
  grpcHost: text("gRPC server URL", { aliases: ["--grpc-api-server", "--grpc-server"], placeholder: "<url>" }),
  clientId: text("client ID", { placeholder: "<id>" }),
  clientSecret: text("client secret; - reads it from stdin", {
    placeholder: "<secret>",
    secret: "`svc login` alone, --client-secret - or SVC_CLIENT_SECRET",
  }),
  accessToken: text("bearer token; no token exchange takes place; - reads it from stdin", {
    aliases: ["--token"],
    placeholder: "<token>",
    secret: "--access-token - or SVC_ACCESS_TOKEN",
  }),
  profile: text("name of the credentials and addresses to use, as `svc config profiles` lists them", { placeholder: "<name>" }),
  authConfig: path("auth config file; else $XDG_CONFIG_HOME/svc.yml, ~/.config/svc.yml, ~/.svc.yml"),
  json: joinedValue(text("print JSON instead of tables or text; with =<fields> these alone", { placeholder: "<fields>" })),
  jq: text("print what a filter of jq makes of the JSON", { placeholder: "<filter>" }),
  template: text("print the JSON by a template of Mustache; @<path> reads it from a file", { placeholder: "<template>" }),
  noSpinners: bool("no spinners or progress animation", { aliases: ["--no-spinner"] }),
  verbose: bool("log steps to stderr", { aliases: ["-v"] }),
  debug: bool("log requests and responses too, secrets redacted", { aliases: ["-vv", "--extra-verbose"] }),
  noUpdateCheck: bool("no automatic check for a newer CLI", { aliases: ["--disable-update-check"] }),
  dir: path("start looking for svc.yaml from this directory", { aliases: ["-C", "--cwd"] }),
  help: bool("help for the command", { aliases: ["-h"] }),
  noColor: bool("no ANSI colour; NO_COLOR does the same"),
  noPager: bool("print long output instead of opening it in $SVC_PAGER, $PAGER or less"),
} satisfies FlagSpecs;

/**
 * The global flags whose value is a secret, each with its name in a sentence. `-` as the value
 * reads the secret from stdin.
 */
export const SECRETS = { clientSecret: "client secret", accessToken: "access token" } as const;

/** Whether the process runs in a CI job. */
export function isCi(env: Readonly<Record<string, string | undefined>>): boolean {
  return env.CI !== undefined && !/^(|0|false)$/i.test(env.CI);
}

/** Whether JSON is printed, and what of it. Throws UsageError. */
function jsonFlags(given: Readonly<Record<string, unknown>>): Pick<GlobalFlags, "json" | "shape"> {
  const { json, jq, template } = given as { readonly json?: string | boolean; readonly jq?: string; readonly template?: string };
  const off = json === undefined || json === false || isWord(json, "false");
  if (off && jq === undefined && template === undefined) return { json: false };
  if (json !== undefined && off) throw new UsageError("--json=false does not go with --jq or --template");
  if (jq !== undefined && template !== undefined) throw new UsageError("--jq and --template exclude each other");
  const fields = typeof json === "string" && !isWord(json, "true") ? json.split(",").map((field) => field.trim()) : undefined;
  if (fields?.includes("")) throw new UsageError("--json= needs names of fields, such as --json=id,name; --json alone prints all");
  const shape = { fields, jq, template };
  return { json: true, ...(fields || jq !== undefined || template !== undefined ? { shape } : {}) };
}

function isWord(value: string | boolean, word: string): boolean {
  return typeof value === "string" && value.toLowerCase() === word;
}

/**
 * The global flags in the form that commands get. `given` holds values by key of `globalFlags`;
 * `dir` is absolute.
 */
export function toGlobalFlags(
  given: Readonly<Record<string, unknown>>,
  surroundings: { readonly env: Readonly<Record<string, string | undefined>>; readonly dir: string },
): GlobalFlags {
  const { env } = surroundings;
  const word = (key: string) => given[key] as string | undefined;
  const debug = given.debug === true;
  return {
    branch: given.branch as string | true | undefined,
    environment: word("environment"),
    apiHost: word("apiHost"),
    grpcHost: word("grpcHost"),
    clientId: word("clientId"),
    clientSecret: word("clientSecret"),
    accessToken: word("accessToken"),
    profile: word("profile"),
    authConfig: word("authConfig"),
    ...jsonFlags(given),
    spinners: given.noSpinners === undefined ? !isCi(env) : given.noSpinners === false,
    verbose: given.verbose === true || debug,
    debug,
    updateCheck: given.noUpdateCheck !== true && !jsonFlags(given).json && !env.SVC_NO_UPDATE_CHECK && !isCi(env),
    dir: surroundings.dir,
    color: colorChoice(env, given.noColor as boolean | undefined),
    pager: given.noPager !== true,
  };
}
