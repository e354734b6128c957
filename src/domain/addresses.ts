/**
 * The addresses of the dashboard. Every path is built and parsed here: by the server for its `url`
 * fields, by commands for the links they print, and by the pages themselves.
 *
 * A page of an environment is below `/environments/<name or id>`; the same path without that prefix
 * means the environment that the reader's credentials select, and the page completes it. `branch`
 * and `deployment` in the query choose the scope. Filters, tabs and ranges are in the query too, so
 * that a link shows what its sender saw.
 */

/** Paths of the pages of an environment; a part that begins with `:` is a parameter. */
const ENVIRONMENT_PATHS = {
  overview: "",
  // Define
  features: "features",
  feature: "features/:fqn",
  graph: "graph",
  resolvers: "resolvers",
  resolver: "resolvers/:fqn",
  namedQueries: "named-queries",
  namedQuery: "named-queries/:name",
  sources: "sources",
  source: "sources/:name",
  sql: "sql",
  // Run
  query: "query",
  queryRuns: "query-runs",
  queryRun: "query-runs/:id",
  queryRunStage: "query-runs/:id/stages/:stage",
  runs: "runs",
  run: "runs/:id",
  schedules: "schedules",
  schedule: "schedules/:name",
  datasets: "datasets",
  dataset: "datasets/:name",
  evals: "evals",
  eval: "evals/:name",
  evalRun: "evals/:name/runs/:id",
  benchmarks: "benchmarks",
  benchmark: "benchmarks/:id",
  notebooks: "notebooks",
  notebook: "notebooks/:id",
  // Deploy
  deployments: "deployments",
  deployment: "deployments/:id",
  branches: "branches",
  traffic: "traffic",
  streams: "streams",
  stream: "streams/:name",
  aggregates: "aggregates",
  // Compute
  containers: "compute/containers",
  container: "compute/containers/:name",
  scalingGroups: "compute/scaling-groups",
  scalingGroup: "compute/scaling-groups/:name",
  sandboxes: "compute/sandboxes",
  sandbox: "compute/sandboxes/:id",
  functions: "compute/functions",
  function: "compute/functions/:name",
  images: "compute/images",
  image: "compute/images/:name",
  volumes: "compute/volumes",
  volume: "compute/volumes/:name",
  clusters: "compute/clusters",
  cluster: "compute/clusters/:name",
  // Observe
  metrics: "metrics",
  logs: "logs",
  traces: "traces",
  trace: "traces/:id",
  errors: "errors",
  monitors: "monitors",
  monitor: "monitors/:name",
  audit: "audit",
  usage: "usage",
  // Settings
  settings: "settings",
  setting: "settings/:section",
} as const;

/** Paths of pages that belong to no environment. */
const SERVER_PATHS = {
  /** Logs a browser in with the code in its fragment. */
  entry: "enter",
  /** Confirms the login of a command line. */
  login: "cli/:id",
  /** All parts of pages in all their states. */
  gallery: "gallery",
} as const;

const PATHS = { ...ENVIRONMENT_PATHS, ...SERVER_PATHS };
const ENVIRONMENTS = "environments";

/** Name of a page. */
export type PageName = keyof typeof PATHS;

type ParameterOf<Path> = Path extends `${infer Head}/${infer Rest}`
  ? ParameterOf<Head> | ParameterOf<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : never;

/** The parameters of a page by name, decoded; none is empty. */
export type PageParameters<P extends PageName> = { readonly [Name in ParameterOf<(typeof PATHS)[P]>]: string };

/** The part of an address that pages of an environment share, and keep when one moves on. */
export interface AddressScope {
  /** Name or id; empty = the one that the reader's credentials select. */
  readonly environment?: string | undefined;
  /** Empty = the environment's own. */
  readonly branch?: string | undefined;
  /** Id; empty = what is live. */
  readonly deployment?: string | undefined;
}

/** The place that an address names. */
export type Place<P extends PageName = PageName> = P extends PageName
  ? {
      readonly page: P;
      readonly params: PageParameters<P>;
      /** All parts as text; empty = not given. */
      readonly scope: Required<{ readonly [Part in keyof AddressScope]: string }>;
      /** The rest of the query, in its order. */
      readonly query: URLSearchParams;
    }
  : never;

/** What an address has beside its page and parameters. */
export interface AddressParts extends AddressScope {
  readonly query?: URLSearchParams | undefined;
  /** Without its `#`. */
  readonly fragment?: string | undefined;
}

/** The names of all pages. */
export const PAGE_NAMES = Object.keys(PATHS) as readonly PageName[];

/** Whether a page belongs to an environment. */
export function isOfEnvironment(page: PageName): boolean {
  return Object.hasOwn(ENVIRONMENT_PATHS, page);
}

/**
 * The address of a page, as a path from the server's root. Throws RangeError for a parameter that
 * is empty, because the address would be that of another page.
 */
export function addressOf<P extends PageName>(page: P, params: PageParameters<P>, parts: AddressParts = {}): string {
  const given: Readonly<Record<string, string>> = params;
  const segments = PATHS[page].split("/").map((part) => (part.startsWith(":") ? segment(page, part.slice(1), given) : part));
  const prefix = isOfEnvironment(page) && parts.environment ? [ENVIRONMENTS, encodeSegment(parts.environment)] : [];
  const path = [...prefix, ...segments].filter((one) => one !== "").join("/");
  const fragment = parts.fragment ? `#${encodeURIComponent(parts.fragment.toWellFormed())}` : "";
  return `/${path}${queryOf(page, parts)}${fragment}`;
}

/** The query with its `?`; empty when there is none. */
function queryOf(page: PageName, parts: AddressParts): string {
  if (!parts.query && !parts.branch && !parts.deployment) return "";
  const query = new URLSearchParams(parts.query);
  for (const part of ["branch", "deployment"] as const) {
    query.delete(part);
    if (isOfEnvironment(page) && parts[part]) query.append(part, parts[part]);
  }
  return query.size > 0 ? `?${query}` : "";
}

/**
 * The place of an address, given as a path with its query; undefined when there is no such page. A
 * slash at the end means the same page.
 */
export function placeOf(address: string): Place | undefined {
  const [path = "", search = ""] = address.split("#", 1)[0]?.split(/\?(.*)/s) ?? [];
  const encoded = path.replace(/^\//, "").replace(/\/$/, "").split("/");
  const inEnvironment = encoded[0] === ENVIRONMENTS && encoded.length > 1;
  const segments = encoded.map(decodeSegment);
  if (!path.startsWith("/") || segments.includes(undefined)) return undefined;
  const environment = inEnvironment ? (segments[1] ?? "") : "";
  const own = (inEnvironment ? segments.slice(2) : segments) as string[];
  if (inEnvironment && environment === "") return undefined;
  const found = pageAt(own, inEnvironment ? ENVIRONMENT_PATTERNS : ALL_PATTERNS);
  if (!found) return undefined;
  const query = new URLSearchParams(search);
  const isScoped = isOfEnvironment(found.page);
  const scope = {
    environment,
    branch: isScoped ? (query.get("branch") ?? "") : "",
    deployment: isScoped ? (query.get("deployment") ?? "") : "",
  };
  for (const part of ["branch", "deployment"]) query.delete(part);
  return { ...found, scope, query } as Place;
}

/**
 * An address with the environment, where it is of a page of one and names none; any other as it is.
 */
export function inEnvironment(address: string, environment: string): string {
  const place = placeOf(address);
  if (!place || !isOfEnvironment(place.page) || place.scope.environment !== "" || environment === "") return address;
  const { page, params, query, scope } = place;
  const [, fragment = ""] = address.split(/(#.*)/s);
  return addressOf(page, params as never, { ...scope, environment, query }) + fragment;
}

/** The address that logs a browser in: the code is in the fragment, which browsers send nowhere. */
export function entryAddress(code: string, to: string): string {
  return `${addressOf("entry", {})}#code=${code}&to=${encodeURIComponent(to)}`;
}

/**
 * An address as a path of this server, normalized; undefined when it leads to another host, as
 * `//host` does, and `/.//host` once it is normalized.
 */
export function ownPath(given: string, origin = "http://server.invalid"): string | undefined {
  const url = URL.parse(given, origin);
  if (!given.startsWith("/") || url?.origin !== new URL(origin).origin || url.pathname.startsWith("//")) return undefined;
  return url.pathname + url.search + url.hash;
}

interface Pattern {
  readonly page: PageName;
  readonly parts: readonly string[];
}

const patternsOf = (paths: Readonly<Record<string, string>>): Pattern[] =>
  Object.entries(paths).map(([page, path]) => ({ page: page as PageName, parts: path === "" ? [] : path.split("/") }));
const ENVIRONMENT_PATTERNS = patternsOf(ENVIRONMENT_PATHS);
const ALL_PATTERNS = patternsOf(PATHS);

function pageAt(segments: readonly string[], patterns: readonly Pattern[]): (Pick<Place, "page"> & { params: object }) | undefined {
  const own = segments.length === 1 && segments[0] === "" ? [] : segments;
  const fits = ({ parts }: Pattern) =>
    parts.length === own.length && parts.every((part, at) => (part.startsWith(":") ? own[at] !== "" : part === own[at]));
  const found = patterns.find(fits);
  if (!found) return undefined;
  const params = found.parts.flatMap((part, at) => (part.startsWith(":") ? [[part.slice(1), own[at]] as const] : []));
  return { page: found.page, params: Object.fromEntries(params) };
}

function segment(page: PageName, name: string, params: Readonly<Record<string, string>>): string {
  const value = params[name] ?? "";
  if (value === "") throw new RangeError(`the address of ${page} needs its ${name}`);
  return encodeSegment(value);
}

/** A segment of only dots would be taken for a step up, however it is encoded. */
const STEP = /^~*\.{1,2}$/;

function encodeSegment(text: string): string {
  return encodeURIComponent(STEP.test(text) ? `~${text}` : text.toWellFormed());
}

function decodeSegment(encoded: string): string | undefined {
  try {
    const text = decodeURIComponent(encoded);
    return text.startsWith("~") && STEP.test(text) ? text.slice(1) : text;
  } catch {
    return undefined;
  }
}
