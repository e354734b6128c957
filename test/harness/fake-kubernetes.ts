/**
 * A fake of a Kubernetes API server with one node: it keeps pods, secrets, events and network
 * policies in memory, and says what it is told to say. Of programs it runs those that look at a
 * pod's network alone, with a `nc` that finds what the policies and the fake's `network` make of
 * it. What the real one does is tested where there is one (SVC_TEST_KUBERNETES).
 */

import { readFileSync } from "node:fs";
import type { ServerWebSocket } from "bun";
import { NETWORK_PROBE } from "../../src/server/engines/kubernetes/pod.ts";
import { Authority } from "./authority.ts";
import { FakeNetwork } from "./fake-network.ts";

/** An object of the API. */
export interface FakeObject {
  metadata: { name: string; uid?: string; resourceVersion?: string; [field: string]: unknown };
  spec?: {
    nodeName?: string;
    schedulingGates?: unknown;
    containers?: readonly FakeContainer[];
    initContainers?: readonly FakeContainer[];
    podSelector?: { matchLabels?: Readonly<Record<string, string>>; matchExpressions?: readonly unknown[] };
    egress?: readonly unknown[];
    [field: string]: unknown;
  };
  status?: Record<string, unknown>;
  [field: string]: unknown;
}

/** A container of a pod. */
interface FakeContainer {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
}

/** A call that came. */
export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | null;
}

interface Watcher {
  readonly kind: string;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

/** A command of an exec. */
interface FakeExec {
  readonly command: readonly string[];
}

/** The namespace of everything. */
export const NAMESPACE = "apart";
const BASES = [`/api/v1/namespaces/${NAMESPACE}/`, `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/`];
const encoder = new TextEncoder();

/** A running fake. Every pod runs as soon as its gate is opened, unless `begins` says otherwise. */
export class FakeKubernetes implements Disposable {
  /** Its authority's certificate. */
  readonly ca: string;
  readonly calls: FakeCall[] = [];
  readonly objects = new Map<string, FakeObject>();
  /** Tokens that count. */
  readonly tokens = new Set(["good"]);
  /** What a pod's status becomes when its gate is opened. */
  begins: (pod: FakeObject) => Record<string, unknown> = () => running();
  /** Answers a call in the place of the fake; undefined = the fake answers. */
  answers: (call: FakeCall) => Response | undefined = () => undefined;
  /** What a pod printed. */
  log = "";
  /** What pods reach. */
  readonly network = new FakeNetwork();
  /** Images that the node cannot fetch. */
  readonly missingImages = new Set<string>();
  /** What a command answers to what it is sent. */
  onExec: (socket: ServerWebSocket<FakeExec>, message: Uint8Array | undefined) => void = () => undefined;
  #version = 100;
  readonly #watchers = new Set<Watcher>();
  readonly #server: Bun.Server<FakeExec>;

  constructor({ clientAuthority }: { readonly clientAuthority?: string } = {}) {
    const { ca, cert, key } = identity();
    this.ca = ca;
    this.#server = Bun.serve<FakeExec>({
      ...{ hostname: "localhost", port: 0, idleTimeout: 0 },
      tls: { cert, key, ...(clientAuthority !== undefined && { ca: clientAuthority, requestCert: true, rejectUnauthorized: true }) },
      fetch: (request, server) => this.#answer(request, server),
      websocket: {
        open: (socket) => this.onExec(socket, undefined),
        message: (socket, message) => this.onExec(socket, message as Uint8Array),
      },
    });
  }

  get url(): string {
    return `https://localhost:${this.#server.port}`;
  }

  /** The text of a kubeconfig for it. @param user YAML of the user, in one line */
  kubeconfig(user = "{token: good}"): string {
    const ca = Buffer.from(this.ca).toString("base64");
    return `apiVersion: v1
kind: Config
current-context: fake
contexts: [{name: fake, context: {cluster: c, user: u, namespace: ${NAMESPACE}}}]
clusters: [{name: c, cluster: {server: "${this.url}", certificate-authority-data: ${ca}}}]
users: [{name: u, user: ${user}}]
`;
  }

  /** Names of the objects of a kind, for example `pods`. */
  names(kind: string): readonly string[] {
    return [...this.objects.keys()].filter((path) => path.startsWith(`${kind}/`)).map((path) => path.slice(kind.length + 1));
  }

  pod(name: string): FakeObject {
    const pod = this.objects.get(`pods/${name}`);
    if (!pod) throw new Error(`there is no pod ${name}`);
    return pod;
  }

  /** Changes an object and tells those who watch, unless it is done in silence. */
  change(kind: string, object: FakeObject, { isSilent = false } = {}): FakeObject {
    const key = `${kind}/${object.metadata.name}`;
    const type = this.objects.has(key) ? "MODIFIED" : "ADDED";
    object.metadata.resourceVersion = String(++this.#version);
    this.objects.set(key, object);
    if (!isSilent) this.tell(kind, type, object);
    return object;
  }

  /** Sets the status of a pod. */
  become(name: string, status: Record<string, unknown>, options: { isSilent?: boolean } = {}): void {
    this.change("pods", { ...this.pod(name), status }, options);
  }

  /** Tells those who watch. */
  tell(kind: string, type: string, object: unknown): void {
    this.sayToWatchers(`${JSON.stringify({ type, object })}\n`, kind);
  }

  /** Sends text to those who watch. */
  sayToWatchers(text: string, kind = "pods"): void {
    for (const watcher of this.#watchers) if (watcher.kind === kind) watcher.controller.enqueue(encoder.encode(text));
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Ends all watches, as a server does from time to time. */
  endWatches(): void {
    for (const watcher of this.#watchers) {
      this.#watchers.delete(watcher);
      watcher.controller.close();
    }
  }

  /** Calls of a method and a path. */
  called(method: string, path: string): readonly FakeCall[] {
    return this.calls.filter((call) => call.method === method && call.path === path);
  }

  #answer(request: Request, server: Bun.Server<FakeExec>): Response | undefined | Promise<Response> {
    const { pathname: path, searchParams: query } = new URL(request.url);
    const call = { method: request.method, path, query, authorization: request.headers.get("authorization") };
    this.calls.push(call);
    if (!this.tokens.has(call.authorization?.slice("Bearer ".length) ?? "")) return refusal(401, "Unauthorized");
    const given = this.answers(call);
    if (given) return given;
    if (path === "/version") return Response.json({ gitVersion: "v1.34.0-fake" });
    if (path.startsWith("/apis/authorization.k8s.io/")) return Response.json({ status: { allowed: true } });
    if (path === "/api/v1/nodes") return Response.json({ metadata: {}, items: [NODE] });
    const base = BASES.find((one) => path.startsWith(one));
    if (base === undefined) return refusal(404, "the server could not find the requested resource");
    const [kind = "", name, part] = path.slice(base.length).split("/");
    if (part === "exec") {
      if (
        server.upgrade(request, { data: { command: query.getAll("command") }, headers: { "sec-websocket-protocol": "v5.channel.k8s.io" } })
      )
        return undefined;
      return refusal(400, "Upgrade request required");
    }
    if (part === "log") return this.objects.has(`pods/${name}`) ? new Response(this.log) : refusal(404, `pods "${name}" not found`);
    if (name === undefined && request.method === "GET")
      return query.get("watch") ? this.#watch(kind, Number(query.get("resourceVersion"))) : this.#list(kind, query);
    return this.#object(request, kind, name, query);
  }

  async #object(request: Request, kind: string, name: string | undefined, query: URLSearchParams): Promise<Response> {
    const body = (request.body ? await request.json() : {}) as FakeObject;
    if (request.method === "POST") {
      if (this.objects.has(`${kind}/${body.metadata.name}`)) return refusal(409, `${kind} "${body.metadata.name}" already exists`);
      const object = { ...body, metadata: { ...body.metadata, uid: crypto.randomUUID(), creationTimestamp: "2026-01-02T03:04:05Z" } };
      if (query.get("dryRun") === "All") return Response.json(object);
      const isFree = kind === "pods" && object.spec?.schedulingGates === undefined;
      const made = this.change(kind, isFree ? { ...object, spec: { ...object.spec, nodeName: NODE.metadata.name } } : object);
      if (isFree) void this.#probe(made, made.spec?.containers?.[0]).then((status) => this.#becomeIfThere(object, status));
      return Response.json(made);
    }
    const object = this.objects.get(`${kind}/${name}`);
    if (!object) return refusal(404, `${kind} "${name}" not found`);
    if (request.method === "PATCH") return Response.json(this.#patched(kind, object, body));
    if (request.method === "DELETE") {
      const isKept = ((object.metadata.finalizers as unknown[] | undefined) ?? []).length > 0;
      const ended = { phase: "Failed", containerStatuses: [{ state: { terminated: { exitCode: 137, reason: "Error" } } }] };
      if (isKept)
        this.change(kind, { ...object, status: ended, metadata: { ...object.metadata, deletionTimestamp: "2026-01-02T03:04:06Z" } });
      else {
        this.objects.delete(`${kind}/${name}`);
        this.tell(kind, "DELETED", object);
      }
    }
    return Response.json(object);
  }

  #patched(kind: string, object: FakeObject, patch: FakeObject): FakeObject {
    const isOpened = patch.spec && patch.spec.schedulingGates === null;
    const probe = isOpened && object.spec?.initContainers?.find(({ name }) => name === NETWORK_PROBE);
    const status = probe ? pending() : this.begins(object);
    const changed = this.change(kind, {
      ...object,
      metadata: { ...object.metadata, ...patch.metadata },
      ...(isOpened && { spec: { ...object.spec, schedulingGates: undefined, nodeName: NODE.metadata.name }, status }),
    });
    if (probe)
      void this.#probe(object, probe).then(({ containerStatuses: [own], phase }) => {
        const seen = { initContainerStatuses: [own] };
        this.#becomeIfThere(object, { ...(phase === "Succeeded" ? this.begins(object) : { ...pending(), phase }), ...seen });
      });
    return changed;
  }

  /** The status of a pod of which a container that looks at its network has ended. */
  async #probe({ metadata }: FakeObject, container: FakeContainer | undefined): Promise<ProbeStatus> {
    if (this.missingImages.has(container?.image ?? "")) return waiting("ErrImagePull", "pull access denied") as ProbeStatus;
    const policies = [...this.objects].filter(([key]) => key.startsWith("networkpolicies/")).map(([, object]) => object);
    const labels = (metadata.labels ?? {}) as Readonly<Record<string, string>>;
    return ended(await this.network.exitCode(container?.command ?? [], labels, policies)) as ProbeStatus;
  }

  #becomeIfThere({ metadata }: FakeObject, status: Record<string, unknown>): void {
    const now = this.objects.get(`pods/${metadata.name}`);
    if (now?.metadata.uid === metadata.uid && now) this.become(metadata.name, status);
  }

  #list(kind: string, query: URLSearchParams): Response {
    const wanted = (query.get("labelSelector") ?? "").split(",").filter((part) => part !== "");
    const items = [...this.objects]
      .filter(([key]) => key.startsWith(`${kind}/`))
      .map(([, object]) => object)
      .filter(({ metadata }) => wanted.every((part) => part === labelText(metadata, part.split("=")[0] ?? "")));
    // One to a page, so that pages are always tried; all are of the version of the first.
    const [at = 0, version = this.#version] = (query.get("continue") ?? "").split(" ").filter(Boolean).map(Number);
    const next = at + 1 < items.length ? `${at + 1} ${version}` : "";
    return Response.json({ metadata: { resourceVersion: String(version), continue: next }, items: items.slice(at, at + 1) });
  }

  /** Tells what came after a version, and what comes. */
  #watch(kind: string, version: number): Response {
    let watcher: Watcher | undefined;
    const leave = (): void => void (watcher && this.#watchers.delete(watcher));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        watcher = { kind, controller };
        this.#watchers.add(watcher);
        const missed = [...this.objects].filter(
          ([key, { metadata }]) => key.startsWith(`${kind}/`) && Number(metadata.resourceVersion) > version,
        );
        const lines = missed.map(([, object]) => `${JSON.stringify({ type: "MODIFIED", object })}\n`);
        controller.enqueue(encoder.encode(`\n${lines.join("")}`));
      },
      cancel: leave,
    });
    return new Response(body);
  }

  [Symbol.dispose](): void {
    this.endWatches();
    this.network[Symbol.dispose]();
    void this.#server.stop(true);
  }
}

/**
 * Runs commands as programs of this machine, with their input, output and exit codes: for what a
 * server makes of them. To be a fake's `onExec`.
 */
export function programs(): FakeKubernetes["onExec"] {
  const running = new WeakMap<ServerWebSocket<FakeExec>, Bun.Subprocess<"pipe", "pipe", "pipe">>();
  const frame = (channel: number, bytes: Uint8Array): Uint8Array => Buffer.concat([Buffer.from([channel]), bytes]);
  return (socket, message) => {
    const program = running.get(socket);
    if (message && program) {
      if (message[0] === 0) program.stdin.write(message.subarray(1));
      if (message[0] === 255) program.stdin.end();
      return void program.stdin.flush();
    }
    if (message) return;
    const started = Bun.spawn([...socket.data.command], { stdin: "pipe", stdout: "pipe", stderr: "pipe" });
    running.set(socket, started);
    const passed = [started.stdout, started.stderr].map(async (stream, at) => {
      for await (const bytes of stream) socket.send(frame(at + 1, bytes));
    });
    void Promise.all([started.exited, ...passed]).then(([code]) => {
      const causes = [{ reason: "ExitCode", message: String(code) }];
      socket.send(frame(3, Buffer.from(JSON.stringify(code === 0 ? { status: "Success" } : { status: "Failure", details: { causes } }))));
      socket.close();
    });
  };
}

/** The status of a pod with one container that has ended or waits. */
interface ProbeStatus extends Record<string, unknown> {
  readonly phase: string;
  readonly containerStatuses: readonly [unknown];
}

/** The status of a pod whose program waits for what runs before it. */
function pending(): Record<string, unknown> {
  return waiting("PodInitializing", "");
}

/** The status of a pod whose program runs. */
export function running(): Record<string, unknown> {
  const state = { running: { startedAt: "2026-01-02T03:04:05Z" } };
  return { phase: "Running", podIP: "10.0.0.7", containerStatuses: [{ state, restartCount: 0 }] };
}

/** The status of a pod whose program has ended. */
export function ended(exitCode: number, reason = exitCode === 0 ? "Completed" : "Error", message = ""): Record<string, unknown> {
  const times = { startedAt: "2026-01-02T03:04:05Z", finishedAt: "2026-01-02T03:04:06Z" };
  return {
    phase: exitCode === 0 ? "Succeeded" : "Failed",
    containerStatuses: [{ state: { terminated: { exitCode, reason, message, ...times } } }],
  };
}

/** The status of a pod that waits. */
export function waiting(reason: string, message: string): Record<string, unknown> {
  return { phase: "Pending", containerStatuses: [{ state: { waiting: { reason, message } } }] };
}

/** A refusal as the API server words it. */
export function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ kind: "Status", status: "Failure", code: status, message }, { status, headers });
}

let kept: { readonly ca: string; readonly cert: string; readonly key: string } | undefined;

/**
 * The certificate of every fake of this process, and of its authority: keys take long to be made.
 */
function identity(): { readonly ca: string; readonly cert: string; readonly key: string } {
  if (kept) return kept;
  using authority = new Authority();
  kept = { ca: readFileSync(authority.certificate, "utf8"), ...authority.sign("localhost") };
  return kept;
}

const NODE = {
  metadata: { name: "machine-1", uid: "0f", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: {},
  status: {
    capacity: { cpu: "8", memory: "16Gi" },
    conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-02T00:00:00Z" }],
    nodeInfo: { kubeletVersion: "v1.34.0-fake", operatingSystem: "linux", architecture: "amd64" },
  },
};

function labelText({ labels }: FakeObject["metadata"], key: string): string {
  return `${key}=${(labels as Record<string, string> | undefined)?.[key] ?? ""}`;
}
