/**
 * How the API server of a cluster is reached: by the service account of the pod that the server
 * runs in, or by a kubeconfig, as kubectl reads it.
 */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { errorText } from "../../../domain/error-text.ts";
import { isJsonObject, type JsonObject } from "../../../domain/json-value.ts";
import { Failure } from "../../failure.ts";
import { askPlugin, type PluginAnswer } from "./credential-plugin.ts";

/** What the API server is shown, and checked by. */
export interface Credentials {
  /** Certificates of its authority; undefined = those of the system. */
  readonly ca: string | undefined;
  readonly token: string | undefined;
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
}

/** A cluster, as this server comes to it. */
export interface ClusterAccess {
  /** The context's name, or `in-cluster`. */
  readonly name: string;
  /** Address of its API server, without a slash at its end. */
  readonly server: string;
  readonly namespace: string;
  /**
   * Rejects with Failure. What is in files is read again after half a minute.
   * @param areRefused whether those that were given last were refused
   */
  credentials(areRefused?: boolean): Promise<Credentials>;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Folder of a pod's service account. */
export const ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Most bytes of a kubeconfig, or of a file that it names. */
const MAX_FILE = 1024 * 1024;
/**
 * Age at which files are read again: tokens of service accounts are replaced long before they end.
 */
const FILES_MS = 30_000;
/**
 * What a cluster or user of a kubeconfig may say that would change what is done, and is not done
 * here.
 */
const NOT_KEPT = {
  cluster: ["insecure-skip-tls-verify", "tls-server-name", "proxy-url"],
  user: ["auth-provider", "username", "password", "as", "as-uid", "as-groups", "as-user-extra"],
} as const;

const refuse = (what: string, hint: string): never => {
  throw new Failure("failed_precondition", what, { hint });
};

/** Whether this process runs in a pod that may have access to its cluster. */
export function isInCluster(env: Variables, folder = ACCOUNT_FOLDER): boolean {
  return (env.KUBERNETES_SERVICE_HOST ?? "") !== "" && existsSync(join(folder, "token"));
}

/** Access by the service account of the pod that this process runs in. Throws Failure. */
export function accountAccess(env: Variables, folder = ACCOUNT_FOLDER): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = env;
  const server = checkedServer(`https://${host.includes(":") ? `[${host}]` : host}:${port}`, "KUBERNETES_SERVICE_HOST");
  return {
    name: "in-cluster",
    server,
    namespace: text(join(folder, "namespace"), "the pod's service account").trim(),
    credentials: cached(() => ({
      until: Date.now() + FILES_MS,
      credentials: {
        ca: text(join(folder, "ca.crt"), "the pod's service account"),
        token: text(join(folder, "token"), "the pod's service account").trim(),
        certificate: undefined,
      },
    })),
  };
}

/** Files of the kubeconfig, as kubectl looks for them. @param home the user's folder */
export function kubeconfigFiles(env: Variables, home: string): readonly string[] {
  const named = (env.KUBECONFIG ?? "").split(process.platform === "win32" ? ";" : ":").filter((path) => path !== "");
  return (named.length > 0 ? named : [join(home, ".kube/config")]).filter((path) => existsSync(path));
}

/**
 * Access by a kubeconfig. Throws Failure.
 * @param context undefined = the one that it says is current
 */
export function kubeconfigAccess(files: readonly string[], env: Variables, context?: string): ClusterAccess {
  const { name, namespace, server } = chosenIn(files, context);
  return {
    ...{ name, server, namespace },
    // Who the user is may change in the file; where the cluster is does not, while this program
    // runs.
    credentials: cached(() => {
      const { cluster, user } = chosenIn(files, name);
      return credentialsOf(cluster, user, server, env);
    }),
  };
}

/** A context of a kubeconfig with what it names. */
interface Chosen extends Pick<ClusterAccess, "name" | "server" | "namespace"> {
  readonly cluster: Entry;
  readonly user: Entry;
}

/** The context of a name, or the one that is current. Throws Failure. */
function chosenIn(files: readonly string[], context: string | undefined): Chosen {
  if (files.length === 0)
    refuse(
      "There is no kubeconfig: neither KUBECONFIG names a file that is there, nor is there ~/.kube/config.",
      "Name one with KUBECONFIG.",
    );
  const config = readKubeconfig(files);
  const name = context ?? config.current;
  const known = [...config.contexts.keys()].slice(0, 20).join(", ");
  if (name === "")
    refuse(`No context of ${files.join(", ")} is current.`, `Name one: SVC_CONTAINER_ENGINE=kubernetes:CONTEXT. There are: ${known}.`);
  const chosen = config.contexts.get(name);
  if (!chosen)
    return refuse(
      `There is no context '${name.slice(0, 100)}' in ${files.join(", ")}.`,
      known === "" ? "It has none." : `There are: ${known}.`,
    );
  const cluster = config.clusters.get(string(chosen.value, "cluster"));
  if (!cluster)
    return refuse(
      `The context '${name}' names a cluster that is not there: '${string(chosen.value, "cluster")}'.`,
      "Correct the kubeconfig.",
    );
  const user = config.users.get(string(chosen.value, "user")) ?? { value: {}, folder: "" };
  for (const [kind, entry] of [
    ["cluster", cluster],
    ["user", user],
  ] as const)
    for (const field of NOT_KEPT[kind])
      if (entry.value[field] !== undefined && entry.value[field] !== false && entry.value[field] !== "")
        refuse(
          `The context '${name}' has a ${kind} with '${field}', which this server does not do.`,
          field === "insecure-skip-tls-verify"
            ? "Name the authority of the API server's certificate with certificate-authority."
            : "Use a context without it: a token, a file with one, a client certificate, or a plugin (exec).",
        );
  const server = checkedServer(string(cluster.value, "server"), `the context '${name}'`);
  return { name, server, cluster, user, namespace: string(chosen.value, "namespace") || "default" };
}

/** An entry of a kubeconfig, and the folder that its paths begin at. */
interface Entry {
  readonly value: JsonObject;
  readonly folder: string;
}

interface Kubeconfig {
  readonly current: string;
  readonly contexts: ReadonlyMap<string, Entry>;
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
}

/** Reads files as one: of what is said twice, the first word counts. Throws Failure. */
function readKubeconfig(files: readonly string[]): Kubeconfig {
  const all = { context: new Map<string, Entry>(), cluster: new Map<string, Entry>(), user: new Map<string, Entry>() };
  let current = "";
  for (const file of files) {
    let config: unknown;
    try {
      config = Bun.YAML.parse(text(file, "the kubeconfig"));
    } catch (error) {
      if (error instanceof Failure) throw error;
      refuse(`The kubeconfig ${file} is no YAML: ${errorText(error).slice(0, 200)}.`, "`kubectl config view` says more.");
    }
    if (!isJsonObject(config)) return refuse(`The kubeconfig ${file} has no contexts.`, "`kubectl config view` shows what kubectl reads.");
    current ||= string(config, "current-context");
    for (const kind of ["context", "cluster", "user"] as const) {
      const listed = config[`${kind}s`];
      for (const entry of Array.isArray(listed) ? listed : []) {
        const name = isJsonObject(entry) ? string(entry, "name") : "";
        const value = isJsonObject(entry) ? entry[kind] : undefined;
        if (name !== "" && isJsonObject(value) && !all[kind].has(name)) all[kind].set(name, { value, folder: dirname(resolve(file)) });
      }
    }
  }
  return { current, contexts: all.context, clusters: all.cluster, users: all.user };
}

/** What is given out, and until when (epoch milliseconds). */
interface Kept {
  readonly until: number;
  readonly credentials: Credentials;
}

/** Credentials that are kept while they may be; those who ask at once share one answer. */
function cached(read: () => Kept | Promise<Kept>): ClusterAccess["credentials"] {
  let kept: Kept | undefined;
  let reading: Promise<Kept> | undefined;
  return async (areRefused = false) => {
    if (kept && !areRefused && kept.until > Date.now()) return kept.credentials;
    reading ??= (async () => read())().finally(() => {
      reading = undefined;
    });
    kept = await reading;
    return kept.credentials;
  };
}

async function credentialsOf(cluster: Entry, user: Entry, server: string, env: Variables): Promise<Kept> {
  const ca = content(cluster, "certificate-authority");
  const file = string(user.value, "tokenFile");
  const token = file === "" ? string(user.value, "token") || undefined : text(pathIn(user, file), "the kubeconfig").trim();
  const cert = content(user, "client-certificate");
  const key = content(user, "client-key");
  if ((cert === undefined) !== (key === undefined))
    refuse("The kubeconfig has a client certificate without its key, or a key without it.", "Give client-certificate and client-key.");
  const own: Credentials = { ca, token, certificate: cert !== undefined && key !== undefined ? { cert, key } : undefined };
  const { exec } = user.value;
  if (!isJsonObject(exec)) return { until: Date.now() + FILES_MS, credentials: own };
  const answer: PluginAnswer = await askPlugin(exec, { folder: user.folder, env, server, ca });
  return {
    until: answer.until,
    credentials: { ca, token: answer.token ?? own.token, certificate: answer.certificate ?? own.certificate },
  };
}

/** What stands in a field `NAME-data` in base64, or in the file that `NAME` names. */
function content(entry: Entry, name: string): string | undefined {
  const data = string(entry.value, `${name}-data`);
  if (data !== "") return Buffer.from(data, "base64").toString();
  const file = string(entry.value, name);
  return file === "" ? undefined : text(pathIn(entry, file), "the kubeconfig");
}

function pathIn({ folder }: Entry, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

function string(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === "string" ? value : "";
}

/** The text of a file of a bounded size. Throws Failure. @param whose what names it */
function text(file: string, whose: string): string {
  try {
    const { size } = statSync(file);
    if (size > MAX_FILE) refuse(`${file}, of ${whose}, has more than ${MAX_FILE} bytes.`, "Name the right file.");
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Failure) throw error;
    return refuse(`${file}, of ${whose}, cannot be read: ${errorText(error)}.`, "Let the user who runs the server read it.");
  }
}

/** The address of an API server. Throws Failure for one to which nothing can be told in secret. */
function checkedServer(server: string, whose: string): string {
  const url = URL.parse(server);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname));
  if (!url || !isSafe || url.username !== "" || url.search !== "" || url.hash !== "")
    return refuse(
      `'${server.slice(0, 200)}', of ${whose}, is no address of an API server.`,
      "It begins with https://; with http:// only on this machine, where `kubectl proxy` serves it.",
    );
  return url.href.replace(/\/+$/, "");
}

/** An id of a cluster and namespace, which stays the same. */
export function clusterId({ server, namespace }: Pick<ClusterAccess, "server" | "namespace">): string {
  return `clstr_${createHash("sha256").update(`${server} ${namespace}`).digest("hex").slice(0, 16)}`;
}
