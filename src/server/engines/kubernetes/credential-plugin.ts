/** Programs that kubeconfigs name to be asked for credentials (`client.authentication.k8s.io`). */

import { join } from "node:path";
import { errorText } from "../../../domain/error-text.ts";
import { isJsonObject, type JsonObject } from "../../../domain/json-value.ts";
import { Failure } from "../../failure.ts";

/** What a plugin gives. */
export interface PluginAnswer {
  readonly token: string | undefined;
  readonly certificate: { readonly cert: string; readonly key: string } | undefined;
  /** When it is asked again, in epoch milliseconds. */
  readonly until: number;
}

const VERSION = /^client\.authentication\.k8s\.io\/v1(?:beta1)?$/;
/** Longest wait for a plugin, and most bytes of what it says. */
const PLUGIN_MS = 60_000;
const MAX_ANSWER = 1024 * 1024;
/** How long before their end credentials are asked for again. */
const EARLY_MS = 60_000;
/** How long those are kept that do not say when they end. */
const WITHOUT_END_MS = 15 * 60_000;

/**
 * Asks a plugin. Rejects with Failure in its own words.
 * @param exec what the kubeconfig says of it
 */
export async function askPlugin(
  exec: JsonObject,
  {
    ca,
    env,
    folder,
    server,
  }: {
    /** Folder of the kubeconfig. */
    readonly folder: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly server: string;
    readonly ca: string | undefined;
  },
): Promise<PluginAnswer> {
  const { apiVersion, command, interactiveMode, installHint, provideClusterInfo } = exec;
  const refuse = (what: string, hint = "Run it by hand, as the user who runs the server, to see what it says."): never => {
    throw new Failure("failed_precondition", `The kubeconfig's plugin '${String(command).slice(0, 100)}' ${what}.`, { hint });
  };
  if (typeof command !== "string" || command === "") return refuse("is no command", "Name its program in the kubeconfig.");
  if (!VERSION.test(String(apiVersion)))
    refuse(`speaks '${String(apiVersion).slice(0, 100)}'`, "This server speaks client.authentication.k8s.io/v1.");
  if (interactiveMode === "Always") refuse("wants to ask a person", "A server has nobody to ask; use a plugin that needs none.");
  const program = command.includes("/") && !command.startsWith("/") ? join(folder, command) : command;
  const info = {
    apiVersion,
    kind: "ExecCredential",
    spec: {
      interactive: false,
      ...(provideClusterInfo === true && {
        cluster: { server, ...(ca !== undefined && { "certificate-authority-data": Buffer.from(ca).toString("base64") }) },
      }),
    },
  };
  const variables = Object.fromEntries(pairsOf(exec.env).map(({ name, value }) => [String(name), String(value)]));
  let child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  try {
    child = Bun.spawn([program, ...wordsIn(exec.args)], {
      env: { ...env, ...variables, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      ...{ stdin: "ignore", stdout: "pipe", stderr: "ignore", timeout: PLUGIN_MS, killSignal: "SIGKILL", maxBuffer: MAX_ANSWER },
    });
  } catch (error) {
    return refuse(
      `does not start: ${errorText(error)}`,
      typeof installHint === "string" && installHint !== "" ? installHint.slice(0, 1_000) : undefined,
    );
  }
  // What it complains of may be secret, and callers would read it.
  const [said, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) refuse(`ended with code ${code}`);
  const status = statusOf(said);
  const token = typeof status?.token === "string" && status.token !== "" ? status.token : undefined;
  const { clientCertificateData: cert, clientKeyData: key } = status ?? {};
  const certificate = typeof cert === "string" && typeof key === "string" ? { cert, key } : undefined;
  if (token === undefined && certificate === undefined) return refuse("gave neither a token nor a certificate with its key");
  const end = Date.parse(String(status?.expirationTimestamp ?? ""));
  return { token, certificate, until: Number.isNaN(end) ? Date.now() + WITHOUT_END_MS : end - EARLY_MS };
}

function statusOf(said: string): JsonObject | undefined {
  try {
    const answer: unknown = JSON.parse(said);
    return isJsonObject(answer) && isJsonObject(answer.status) ? answer.status : undefined;
  } catch {
    return undefined;
  }
}

function pairsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function wordsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
