/**
 * The sources of an environment: those declared in code and those that the server's environment
 * variables define.
 */

import { type DataSource, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { environmentPrefix } from "../../domain/integrations.ts";
import { SqlError, type SqlSource, type SqlSources } from "./source.ts";
import type { ReadSetting } from "./source-driver.ts";
import { SOURCE_DRIVERS } from "./source-drivers.ts";

/** Options from which the sources of an environment are created. */
export interface SqlSourcesOptions {
  /** `Graph.sources`. */
  readonly declared: readonly DataSource[];
  /**
   * Environment variables of the server. Those that begin with a source's name in capitals
   * (everything but letters and digits becomes `_`) override the settings in code:
   * `<NAME>_SQLITE_PATH`, `<NAME>_PGHOST` and so on, `<NAME>_MYSQL_HOST` and so on. They also
   * define sources that are not declared.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Integrations of the environment. A source with the name of one takes its variables in place of
   * the server's environment; one that is not declared is a source too, when a driver reads it.
   */
  readonly integrations?: readonly IntegrationSettings[];
  /**
   * Folder to which SQLite paths are relative: the deployment's source. Without it, a relative path
   * is an error.
   */
  readonly sourceRoot?: string;
  /** The server's own folder; default: a temporary one. */
  readonly home?: string;
}

/** An integration, as far as sources need it. */
export interface IntegrationSettings {
  readonly name: string;
  /** The kind, for example `postgresql`. */
  readonly kind: string;
  /** Values by variable, without the integration's name in front. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Kinds of sources that are no databases. */
const TOPICS: ReadonlySet<SourceKind> = new Set([SourceKind.KAFKA, SourceKind.TOPIC]);

/** The kind as users write it. */
export function kindName(kind: SourceKind): string {
  return SOURCE_DRIVERS.find((driver) => driver.kind === kind)?.names[0] ?? "unknown";
}

/** The sources of an environment. Nothing is connected until a source is used. */
export function createSqlSources(options: SqlSourcesOptions): SqlSources {
  const { env, integrations = [], sourceRoot, home } = options;
  const integrationOf = (name: string): IntegrationSettings | undefined =>
    integrations.find((one) => environmentPrefix(one.name) === environmentPrefix(name));
  const databases = options.declared.filter(({ kind }) => !TOPICS.has(kind));
  const known = [...databases.map(({ name, kind, settings }) => ({ name, kind, settings })), ...undeclared(options)];
  const open = new Map<string, SqlSource>();

  const listing = (): string => {
    if (known.length === 0) return "there are no sources";
    return `there ${known.length === 1 ? "is" : "are"} ${known.map(({ name, kind }) => `${name} (${kindName(kind)})`).join(", ")}`;
  };

  const find = (wanted: string): (typeof known)[number] => {
    const named = known.find(({ name }) => name === wanted);
    if (named) return named;
    if (options.declared.some(({ name, kind }) => name === wanted && TOPICS.has(kind)))
      throw new SqlError(`source '${wanted}' is a topic of messages, which SQL does not read; ${listing()}`);
    const kind = SOURCE_DRIVERS.find(({ names }) => names.includes(wanted.toLowerCase()))?.kind;
    const ofKind = known.filter((source) => source.kind === kind);
    const [only, another] = ofKind;
    if (only && !another) return only;
    if (only) throw new SqlError(`source '${wanted}' is not the only one of its kind: ${listing()}; name one of them`);
    throw new SqlError(`there is no source '${wanted}'; ${listing()}`);
  };

  const connect = ({ name, kind, settings }: (typeof known)[number]): SqlSource => {
    const prefix = environmentPrefix(name);
    const driver = SOURCE_DRIVERS.find((one) => one.kind === kind);
    if (!driver) throw new SqlError(`source '${name}' is of a kind that this version does not know`);
    const integration = integrationOf(name);
    if (integration && !driver.names.includes(integration.kind))
      throw new SqlError(`source '${name}' is ${kindName(kind)} in the project, and the integration of that name is ${integration.kind}`);
    const given = (variable: string) => (integration ? integration.variables[variable] : env[`${prefix}_${variable}`]);
    const read: ReadSetting = (variable, key) => given(variable) || settings[key] || undefined;
    return driver.open({ name, prefix, read, declared: settings, sourceRoot, home });
  };

  return {
    get(wanted) {
      const source = find(wanted);
      const running = open.get(source.name);
      if (running) return running;
      const made = connect(source);
      open.set(source.name, made);
      return made;
    },
    list: () => known.map(({ name, kind }) => ({ name, kind })),
    async close() {
      const sources = [...open.values()];
      open.clear();
      await Promise.all(sources.map((source) => source.close()));
    },
  };
}

/** A source that is not declared. */
interface Undeclared {
  readonly name: string;
  readonly kind: SourceKind;
  readonly settings: Record<string, string>;
}

/**
 * Sources that only integrations or environment variables define; the names of the latter are in
 * lower case.
 */
function undeclared({ declared, env, integrations = [] }: SqlSourcesOptions): Undeclared[] {
  const taken = new Set(declared.map(({ name }) => environmentPrefix(name)));
  const found: Undeclared[] = [];
  for (const { name, kind } of integrations) {
    const driver = SOURCE_DRIVERS.find(({ names }) => names.includes(kind));
    if (!driver || taken.has(environmentPrefix(name))) continue;
    taken.add(environmentPrefix(name));
    found.push({ name, kind: driver.kind, settings: {} });
  }
  for (const variable of Object.keys(env).sort()) {
    for (const { variable: end, kind } of SOURCE_DRIVERS) {
      const suffix = `_${end}`;
      const prefix = variable.endsWith(suffix) && env[variable] ? variable.slice(0, -suffix.length) : "";
      if (prefix === "" || taken.has(prefix)) continue;
      taken.add(prefix);
      found.push({ name: prefix.toLowerCase(), kind, settings: {} });
    }
  }
  return found;
}
