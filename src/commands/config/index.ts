import { defineCommand } from "../../cli/command.ts";
import { choice } from "../../cli/flag.ts";
import type { Setting, Source } from "../../config/settings.ts";
import type { Context } from "../../context/context.ts";
import { errorText } from "../../domain/error-text.ts";
import { escapeControls } from "../../domain/name.ts";
import { maskedSecret } from "../../domain/secret-name.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { TableLayout } from "../../output/table.ts";
import { textView } from "../../output/view.ts";

const FORMATS = ["table", "json", "env", "shell", "svcpy"] as const;

/** One row: a setting, its label for people and its key in JSON. */
interface Row {
  readonly key: string;
  readonly name: string;
  readonly setting: Setting;
}

/** The settings and the requested format. */
interface Shown {
  readonly format: (typeof FORMATS)[number];
  readonly rows: readonly Row[];
  /** Folder that holds the Python package, for the format that needs it. */
  readonly sdkRoot: string | undefined;
}

export default defineCommand({
  summary: "Print credentials and addresses with their sources",
  category: "Set up",
  description:
    "Shows what the CLI uses here, with the active environment and the project around the working directory. Source is a flag, an environment " +
    "variable, the path of the config file, `default`, or `service` for what the token exchange told. The table hides the client secret; the other " +
    "formats show it in full.",
  examples: ["svc config", { run: 'eval "$(svc config --format shell)"', does: "Hand the credentials to other programs" }],
  flags: {
    format: choice("output format", FORMATS, { defaultText: "table" }),
  },
  check({ format }, { flags }) {
    if (flags.json && format !== undefined && format !== "json") throw new UsageError(`--json and --format ${format} exclude each other`);
  },
  async run(context, { format }): Promise<Shown> {
    const settings = await context.settings();
    if (settings.profile?.missing) throw settings.profile.missing;
    const learned = await fetchServerFacts(context);
    const environment = settings.environment.value === undefined ? service(learned.environment) : settings.environment;
    return {
      format: format ?? (context.flags.json ? "json" : "table"),
      sdkRoot: format === "svcpy" ? await context.python().sdkRoot() : undefined,
      rows: [
        { key: "client_id", name: "Client ID", setting: settings.clientId },
        { key: "client_secret", name: "Client Secret", setting: settings.clientSecret },
        { key: "environment", name: "Environment", setting: environment },
        { key: "environment_name", name: "Environment Name", setting: service(learned.environmentName) },
        { key: "api_server", name: "API Server", setting: settings.apiServer },
        {
          key: "grpc_api_server",
          name: "GRPC API Server",
          setting: settings.grpcServer.source.kind === "default" && learned.grpcServer ? service(learned.grpcServer) : settings.grpcServer,
        },
        { key: "gateway", name: "Gateway", setting: service(learned.gateway) },
        {
          key: "query_server",
          name: "Query Server",
          setting:
            settings.queryServer.value === undefined
              ? service(learned.engines[environment.value ?? ""] ?? learned.onlyEngine)
              : settings.queryServer,
        },
      ],
    };
  },
  view: textView(
    ({ format, rows, sdkRoot }: Shown, style) => {
      const value = (key: string) => rows.find((row) => row.key === key)?.setting.value ?? "";
      switch (format) {
        case "json":
          return JSON.stringify(document(rows), null, 2);
        case "env":
        case "shell":
          return VARIABLES.map(([name, key]) => `${format === "shell" ? "export " : ""}${name}=${shellQuoted(value(key))}`).join("\n");
        case "svcpy":
          return pythonCall(
            sdkRoot ?? "",
            ["client_id", "client_secret", "environment", "api_server"].map((key) => [key, value(key)]),
          );
        default:
          return new TableLayout<Row>(
            [
              { header: "Name", cell: (row) => row.name },
              { header: "Value", cell: (row) => shownValue(row) },
              { header: "Source", cell: (row) => sourceName(row.setting.source), style: (text) => style.dim(text) },
            ],
            style,
          ).rows(rows);
      }
    },
    ({ rows }) => document(rows),
  ),
});

const VARIABLES = [
  ["SVC_CLIENT_ID", "client_id"],
  ["SVC_CLIENT_SECRET", "client_secret"],
  ["SVC_ENVIRONMENT", "environment"],
  ["SVC_API_SERVER", "api_server"],
] as const;

interface ServerFacts {
  readonly environment: string | undefined;
  readonly environmentName: string | undefined;
  readonly grpcServer: string | undefined;
  readonly gateway: string | undefined;
  readonly engines: Readonly<Record<string, string>>;
  readonly onlyEngine: string | undefined;
}

/**
 * The facts that only the server knows; empty, with a warning, when there are no credentials or the
 * server does not answer.
 */
async function fetchServerFacts({ api, http, progress, settings }: Context): Promise<ServerFacts> {
  const nothing: ServerFacts = {
    environment: undefined,
    environmentName: undefined,
    grpcServer: undefined,
    gateway: undefined,
    engines: {},
    onlyEngine: undefined,
  };
  const { accessToken, clientId, clientSecret } = await settings();
  if (accessToken.value === undefined && (clientId.value === undefined || clientSecret.value === undefined)) return nothing;
  try {
    const session = accessToken.value === undefined ? await http.session() : undefined;
    const me = await (await api.auth()).whoAmI({});
    const engines = session?.engines ?? {};
    const addresses = Object.values(engines);
    return {
      environment: me.environmentId,
      environmentName: me.environmentName,
      grpcServer: me.grpcServer,
      gateway: me.gateway,
      engines: { ...engines, [me.environmentName]: engines[me.environmentId] ?? "" },
      onlyEngine: addresses.length === 1 ? addresses[0] : undefined,
    };
  } catch (error) {
    progress.warn(`the server was not asked for the rest: ${errorText(error)}`);
    return nothing;
  }
}

function service(value: string | undefined): Setting {
  return value ? { value, source: { kind: "service" } } : { value: undefined, source: { kind: "empty" } };
}

function sourceName(source: Source): string {
  switch (source.kind) {
    case "flag":
    case "env":
      return source.name;
    case "file":
      return source.path;
    default:
      return source.kind;
  }
}

function shownValue({ key, setting }: Row): string {
  if (setting.value === undefined) return "";
  return key === "client_secret" ? maskedSecret(setting.value) : setting.value;
}

function document(rows: readonly Row[]): Record<string, unknown> {
  return Object.fromEntries(rows.map(({ key, setting }) => [key, { value: setting.value ?? null, source: sourceName(setting.source) }]));
}

/**
 * A value as one word of a shell command: unchanged when the shell would not interpret it, else in
 * single quotes.
 */
function shellQuoted(value: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]*$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/**
 * Python code that makes a client with the settings that were given; the client finds the others as
 * it does without arguments.
 */
function pythonCall(sdkRoot: string, given: readonly (readonly [name: string, value: string])[]): string {
  const lines = given.filter(([, value]) => value !== "").map(([name, value]) => `    ${name}=${pythonText(value)},\n`);
  const place = `# The package svc: PYTHONPATH=${escapeControls(shellQuoted(sdkRoot))}\n`;
  return `${place}from svc.client import SvcClient\n\nclient = SvcClient(\n${lines.join("")})`;
}

/**
 * A Python string literal. JSON's escapes mean the same in Python, except for surrogate pairs,
 * which JSON text does not escape.
 */
function pythonText(value: string): string {
  return escapeControls(JSON.stringify(value));
}
