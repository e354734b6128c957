/** Pods without a network in Kubernetes: the policy, its trial, and what is refused. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEngine, NewContainer } from "../../../src/server/engines/container-engine.ts";
import { kubeconfigAccess } from "../../../src/server/engines/kubernetes/cluster-access.ts";
import { createKubernetesEngine } from "../../../src/server/engines/kubernetes/kubernetes-engine.ts";
import { POLICY } from "../../../src/server/engines/kubernetes/network-policy.ts";
import { CONTROL, foundBy, HELD, probeCommand, TRIED } from "../../../src/server/engines/kubernetes/network-probe.ts";
import { eventually } from "../../harness/eventually.ts";
import { failureOf } from "../../harness/failure-of.ts";
import { ended, FakeKubernetes, NAMESPACE, refusal, waiting } from "../../harness/fake-kubernetes.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { TempFolder } from "../../harness/running-server.ts";

const { signal } = new AbortController();
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const POLICIES = `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies`;
const MINUTE = 60_000;

describe.skipIf(lacksProgram("openssl"))("a pod without a network", () => {
  let fake: FakeKubernetes;
  let folder: TempFolder;
  let now = 0;
  beforeEach(() => {
    fake = new FakeKubernetes();
    folder = new TempFolder();
    now = 0;
  });
  afterEach(() => {
    fake[Symbol.dispose]();
    folder[Symbol.dispose]();
  });

  const engineOf = (probeImage?: string): ContainerEngine => {
    const path = join(folder.path, "config");
    writeFileSync(path, fake.kubeconfig());
    return createKubernetesEngine(kubeconfigAccess([path], {}), { pauseMs: 1, now: () => now, ...(probeImage && { probeImage }) });
  };
  let made = 0;
  const wanted = (more: Partial<NewContainer> = {}): NewContainer => ({
    ...{ name: `box-${++made}`, image: "img:1", entrypoint: ["/bin/sh"], arguments: [], env: {}, labels: { "svc.kind": "sandbox" } },
    ...{ cpus: undefined, memoryBytes: undefined, hasNetwork: false, port: undefined, mounts: [], isRestricted: false },
    ...more,
  });
  const begun = async (engine: ContainerEngine): Promise<string> => {
    const id = await engine.create(wanted(), signal);
    await engine.start(id);
    return id;
  };
  /** Pods of trials that were made. */
  const trials = (): number => fake.calls.filter(({ method, path }) => method === "DELETE" && path.startsWith(`${PODS}/svc-probe-`)).length;
  const policy = (name: string, spec: object) =>
    fake.change("networkpolicies", { metadata: { name, uid: crypto.randomUUID() }, spec } as Parameters<FakeKubernetes["change"]>[1]);

  test("runs where the plugin keeps the policy, which is made once, and of whose trial nothing stays", async () => {
    const engine = engineOf();
    const [one, two] = await Promise.all([begun(engine), begun(engine)]);
    expect(fake.names("pods").toSorted()).toEqual([one, two].toSorted());
    expect(fake.objects.get(`networkpolicies/${POLICY}`)).toMatchObject({
      metadata: { labels: { "app.kubernetes.io/managed-by": "svc" } },
      spec: { podSelector: { matchLabels: { "svc.dev/network": "none" } }, policyTypes: ["Ingress", "Egress"] },
    });
    expect([trials(), fake.names("networkpolicies")]).toEqual([2, [POLICY]]);
    expect(fake.pod(one).metadata.labels).toMatchObject({ "svc.dev/network": "none", "svc.kind": "sandbox" });
    expect((await engine.inspect(one))?.state).toBe("running");
    const open = await engine.create(wanted({ hasNetwork: true }), signal);
    expect(fake.pod(open).metadata.labels).not.toHaveProperty("svc.dev/network");
    expect(fake.pod(open).spec?.initContainers).toBeUndefined();
  });

  test("is refused where the plugin keeps no policies, in words that say what was reached", async () => {
    fake.network.enforcement = "ignored";
    const engine = engineOf();
    const { kind, message, detail } = await failureOf(engine.create(wanted(), signal));
    expect([kind, message, detail.hint]).toEqual([
      "failed_precondition",
      expect.stringMatching(/does not keep network policies: .* reached the cluster's API at its service address and its name server\.$/),
      expect.stringContaining("Calico"),
    ]);
    expect(fake.names("pods")).toEqual([]);
    fake.network.enforcement = "kept";
    await failureOf(engine.create(wanted(), signal));
    now = MINUTE;
    await begun(engine);
  });

  test("is refused where nobody reaches what is tried, since that tells nothing of the policy", async () => {
    fake.network.isUp = false;
    const { kind, message } = await failureOf(engineOf().create(wanted(), signal));
    expect([kind, message]).toEqual(["failed_precondition", expect.stringContaining("a pod that may connect anywhere did not reach")]);
    expect(fake.names("pods")).toEqual([]);
  });

  test("waits where the plugin keeps a policy late, and its program begins after that", async () => {
    fake.network.enforcement = { after: 7 };
    const engine = engineOf();
    const id = await begun(engine);
    expect([(await engine.inspect(id))?.state, fake.pod(id).status?.initContainerStatuses]).toEqual([
      "running",
      [{ state: { terminated: expect.objectContaining({ exitCode: 0 }) } }],
    ]);
  });

  test("of a node whose plugin stops keeping it does not begin, and the policy is tried anew", async () => {
    const engine = engineOf();
    await begun(engine);
    fake.network.enforcement = "ignored";
    const id = await engine.create(wanted(), signal);
    expect((await engine.inspect(id))?.state).toBe("created");
    const failed = await failureOf(engine.start(id));
    expect([failed.kind, failed.message]).toEqual([
      "failed_precondition",
      "The pod was not seen to have no network: the last that it reached was the cluster's API at its service address and its name server.",
    ]);
    await engine.remove(id);
    expect((await failureOf(engine.create(wanted(), signal))).message).toContain("does not keep network policies");
  });

  test("has the policy tried again after ten minutes, and when the policy is another one", async () => {
    const engine = engineOf();
    await begun(engine);
    now = 10 * MINUTE - 1;
    await begun(engine);
    expect(trials()).toBe(2);
    now = 10 * MINUTE;
    await begun(engine);
    expect(trials()).toBe(4);
    fake.objects.delete(`networkpolicies/${POLICY}`);
    await begun(engine);
    expect([trials(), fake.names("networkpolicies")]).toEqual([6, [POLICY]]);
    const { spec } = fake.objects.get(`networkpolicies/${POLICY}`) ?? {};
    policy(POLICY, spec ?? {});
    await begun(engine);
    expect(trials()).toBe(8);
  });

  test.each([
    ["allows something", { podSelector: { matchLabels: { "svc.dev/network": "none" } }, policyTypes: ["Ingress", "Egress"], egress: [{}] }],
    ["is about one direction", { podSelector: { matchLabels: { "svc.dev/network": "none" } }, policyTypes: ["Ingress"] }],
    ["is about other pods", { podSelector: { matchLabels: { app: "x" } }, policyTypes: ["Ingress", "Egress"] }],
  ])("is refused where a policy of the name %s", async (_what, spec) => {
    policy(POLICY, spec);
    const { kind, message, detail } = await failureOf(engineOf().create(wanted(), signal));
    expect([kind, message, detail.hint]).toEqual([
      "failed_precondition",
      expect.stringContaining("is not as this server made it"),
      expect.stringContaining(`kubectl delete networkpolicy ${POLICY} --namespace ${NAMESPACE}`),
    ]);
    expect([trials(), fake.names("pods")]).toEqual([0, []]);
  });

  const OPEN = { policyTypes: ["Egress"], egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }] };
  const labelled = (operator: string, key: string, values?: readonly string[]) => ({ matchExpressions: [{ key, operator, values }] });
  test.each([
    ["all pods", {}, true],
    ["pods of a label that it has", { matchLabels: { "svc.kind": "sandbox" } }, true],
    ["pods of a label that it lacks", { matchLabels: { "svc.kind": "container" } }, false],
    ["one of several values", labelled("In", "svc.kind", ["x", "sandbox"]), true],
    ["none of its values", labelled("NotIn", "svc.kind", ["sandbox"]), false],
    ["pods without a label", labelled("DoesNotExist", "svc.dev/network"), false],
    ["pods with a label", labelled("Exists", "svc.dev/network"), true],
    ["what is not known here", labelled("Near", "svc.dev/network"), true],
  ])("is refused where another policy opens %s", async (_what, podSelector, opens) => {
    policy("open", { podSelector, ...OPEN });
    const engine = engineOf();
    if (!opens) return void (await begun(engine));
    expect((await failureOf(engine.create(wanted(), signal))).message).toContain("The network policy 'open'");
    fake.objects.delete("networkpolicies/open");
    await begun(engine);
  });

  test("is refused where the image of the trial is not there or lacks its tools, which is named", async () => {
    fake.missingImages.add("registry.example.com/tools:1");
    const missing = await failureOf(engineOf("registry.example.com/tools:1").create(wanted(), signal));
    expect([missing.message, missing.detail.hint]).toEqual([
      "There is no image 'registry.example.com/tools:1', by which the network of sandboxes is tried, and it could not be fetched: pull access denied.",
      expect.stringContaining("SVC_KUBERNETES_PROBE_IMAGE"),
    ]);
    fake.network.hasTools = false;
    expect((await failureOf(engineOf().create(wanted(), signal))).message).toContain("has no sh and nc as busybox has them");
    fake.network.hasTools = true;
    const engine = engineOf();
    await begun(engine);
    fake.missingImages.add("docker.io/library/busybox:1.36");
    expect((await failureOf(begun(engine))).message).toContain("There is no image 'docker.io/library/busybox:1.36', by which");
  });

  test("is refused in the words of the cluster where it may not look at policies", async () => {
    fake.answers = ({ path }) => (path === POLICIES ? refusal(403, "networkpolicies is forbidden") : undefined);
    expect((await failureOf(engineOf().create(wanted(), signal))).message).toBe("Kubernetes refused: networkpolicies is forbidden.");
    expect(fake.names("pods")).toEqual([]);
  });

  test("that is not wanted any more leaves the trial to the others", async () => {
    const engine = engineOf();
    const leaving = new AbortController();
    const reason = new Error("left");
    const first = engine.create(wanted(), leaving.signal);
    await eventually(() => fake.names("pods").length > 0, "a trial");
    const second = begun(engine);
    leaving.abort(reason);
    expect(await first.catch((error: unknown) => error)).toBe(reason);
    const id = await second;
    expect(fake.names("pods")).toEqual([id]);
  });

  test("removes what a server that was killed left of a trial, and nothing younger", async () => {
    const labels = { "app.kubernetes.io/managed-by": "svc", "svc.dev/probe": "true" };
    const times = { old: "2026-01-02T03:04:05Z", young: new Date(Date.now()).toISOString() };
    for (const [name, creationTimestamp] of Object.entries(times))
      fake.change("pods", { metadata: { name, labels, creationTimestamp }, status: ended(10) });
    const id = await begun(engineOf());
    expect(fake.names("pods").toSorted()).toEqual([id, "young"].toSorted());
  });

  test("whose image is not there is told apart from that of the trial", async () => {
    fake.begins = () => waiting("ErrImagePull", "no such image");
    expect((await failureOf(begun(engineOf()))).message).toBe("There is no image 'img:1', and it could not be fetched: no such image.");
  });
});

describe.skipIf(lacksProgram("busybox"))("what looks at a network, by busybox itself", () => {
  /** The exit code of a probe to a port of this machine. */
  const probe = async (kind: typeof CONTROL, port: number): Promise<number> => {
    using folder = new TempFolder();
    writeFileSync(join(folder.path, "resolv.conf"), "");
    const words = probeCommand({ ...kind, inRow: 2, most: 3 }).map((word) =>
      word.replace("/etc/resolv.conf", join(folder.path, "resolv.conf")),
    );
    const env = { PATH: process.env.PATH, KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
    return Bun.spawn(["busybox", "sh", ...words.slice(1)], { env, stdout: "ignore", stderr: "ignore" }).exited;
  };

  test("tells a server that is reached from one that is not", async () => {
    using listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const open = { [Symbol.dispose]: () => listener.stop(true), port: listener.port };
    const kinds = [CONTROL, TRIED, HELD];
    expect(await Promise.all(kinds.map((kind) => probe(kind, open.port)))).toEqual([11, 11, 11]);
    listener.stop(true);
    expect(await Promise.all(kinds.map((kind) => probe(kind, open.port)))).toEqual([10, 10, 0]);
    expect([foundBy(10), foundBy(11)?.api, foundBy(14), foundBy(137), foundBy(undefined)]).toEqual([
      { api: false, words: "" },
      ...[true, undefined, undefined, undefined],
    ]);
  });
});
