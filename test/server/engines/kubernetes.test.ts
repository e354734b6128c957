/** The engine of Kubernetes, over a fake of its API server. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEngine, EngineOutput, NewContainer } from "../../../src/server/engines/container-engine.ts";
import { accountAccess, kubeconfigAccess, kubeconfigFiles } from "../../../src/server/engines/kubernetes/cluster-access.ts";
import { createKubernetesEngine } from "../../../src/server/engines/kubernetes/kubernetes-engine.ts";
import { exitCode } from "../../../src/server/engines/kubernetes/kubernetes-exec.ts";
import { containerOf, type Pod, startFault } from "../../../src/server/engines/kubernetes/pod.ts";
import { labelKey, labelValue, podName } from "../../../src/server/engines/kubernetes/pod-manifest.ts";
import { Authority } from "../../harness/authority.ts";
import { eventually } from "../../harness/eventually.ts";
import { failureOf } from "../../harness/failure-of.ts";
import { ended, FakeKubernetes, NAMESPACE, refusal, running, waiting } from "../../harness/fake-kubernetes.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { TempFolder } from "../../harness/running-server.ts";

const { signal } = new AbortController();
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;

describe.skipIf(lacksProgram("openssl"))("Kubernetes, of which a fake is asked", () => {
  let fake: FakeKubernetes;
  let folder: TempFolder;
  beforeEach(() => {
    fake = new FakeKubernetes();
    folder = new TempFolder();
  });
  afterEach(() => {
    fake[Symbol.dispose]();
    folder[Symbol.dispose]();
  });

  /** Writes a kubeconfig; gives its path. */
  const config = (text: string, name = "config"): string => {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    return path;
  };
  const engineBy = (text: string): ContainerEngine => createKubernetesEngine(kubeconfigAccess([config(text)], {}), { pauseMs: 1 });
  const engineOf = (more: { volumes?: { claim: string; folder: string } } = {}): ContainerEngine =>
    createKubernetesEngine(kubeconfigAccess([config(fake.kubeconfig())], {}), { pauseMs: 1, ...more });
  const wanted = (more: Partial<NewContainer> = {}): NewContainer => ({
    ...{ name: "one", image: "img:1", entrypoint: [], arguments: [], env: {}, labels: {}, cpus: undefined, memoryBytes: undefined },
    ...{ hasNetwork: true, port: undefined, mounts: [], isRestricted: false },
    ...more,
  });
  const begun = async (engine: ContainerEngine, more: Partial<NewContainer> = {}): Promise<string> => {
    const id = await engine.create(wanted(more), signal);
    await engine.start(id);
    return id;
  };

  describe("a kubeconfig", () => {
    const file = (context: string, cluster: string, user: string): string => `current-context: a
contexts: [{name: a, context: ${context}}]
clusters: [{name: c, cluster: ${cluster}}]
users: [{name: u, user: ${user}}]
`;
    const usual = ["{cluster: c, user: u}", '{server: "https://h:6443"}', "{token: t}"] as const;

    test("is read as kubectl reads it: the first word of several files counts, paths begin at the file, and what is left out has its default", async () => {
      writeFileSync(join(folder.path, "ca.pem"), "authority");
      writeFileSync(join(folder.path, "token"), " from a file \n");
      const first = config(
        file("{cluster: c, user: u}", '{server: "https://h:6443/", certificate-authority: ca.pem}', "{tokenFile: token}"),
        "1",
      );
      const second = config(
        `${file("{cluster: c, user: u, namespace: n}", '{server: "https://other"}', "{token: t}").replace("name: a", "name: b")}`,
        "2",
      );
      const env = { KUBECONFIG: [first, join(folder.path, "absent"), second].join(":") };
      const access = kubeconfigAccess(kubeconfigFiles(env, "/"), env);
      expect([access.name, access.server, access.namespace]).toEqual(["a", "https://h:6443", "default"]);
      expect(await access.credentials()).toEqual({ ca: "authority", token: "from a file", certificate: undefined });
      const named = kubeconfigAccess(kubeconfigFiles(env, "/"), env, "b");
      expect([named.server, named.namespace]).toEqual(["https://h:6443", "n"]);
    });

    test.each([
      ["no contexts", "- 1", "has no contexts"],
      ["no YAML", "a: [", "is no YAML"],
      ["no such context", file(...usual).replace("current-context: a", "current-context: z"), "There is no context 'z'"],
      ["none that is current", file(...usual).replace("current-context: a", ""), "No context of"],
      ["no such cluster", file("{cluster: z}", usual[1], usual[2]), "names a cluster that is not there: 'z'"],
      [
        "no check of certificates",
        file(usual[0], '{server: "https://h", insecure-skip-tls-verify: true}', usual[2]),
        "'insecure-skip-tls-verify', which this server does not do",
      ],
      ["another name", file(usual[0], '{server: "https://h", tls-server-name: x}', usual[2]), "'tls-server-name'"],
      ["a proxy", file(usual[0], '{server: "https://h", proxy-url: "http://p"}', usual[2]), "'proxy-url'"],
      ["somebody else", file(usual[0], usual[1], "{token: t, as: root}"), "'as'"],
      ["a password", file(usual[0], usual[1], "{username: a, password: b}"), "'username'"],
      ["no encryption", file(usual[0], '{server: "http://h"}', usual[2]), "'http://h', of the context 'a', is no address"],
      ["a file", file(usual[0], '{server: "file:///etc/passwd"}', usual[2]), "is no address of an API server"],
    ])("with %s is refused in words", (_what, text, words) => {
      expect(() => kubeconfigAccess([config(text)], {})).toThrow(words);
    });

    test("that is not there is told, and a certificate without its key", async () => {
      expect(() => kubeconfigAccess(kubeconfigFiles({}, folder.path), {})).toThrow("There is no kubeconfig");
      const access = kubeconfigAccess([config(file(usual[0], usual[1], "{client-certificate-data: eA==}"))], {});
      expect((await failureOf(access.credentials())).message).toContain("without its key");
    });
  });

  describe("who the server is", () => {
    test("an API server with a certificate of another authority is told nothing", async () => {
      using other = new Authority();
      const ca = Buffer.from(readFileSync(other.certificate)).toString("base64");
      const engine = engineBy(fake.kubeconfig().replace(/certificate-authority-data: [^}]+}/, `certificate-authority-data: ${ca}}`));
      const { kind, message } = await failureOf(engine.describe(signal));
      expect([kind, message]).toEqual(["unavailable", expect.stringMatching(/does not answer: .*certificate/i)]);
      const system = engineBy(fake.kubeconfig().replace(/, certificate-authority-data: [^}]+}/, "}"));
      expect((await failureOf(system.describe(signal))).kind).toBe("unavailable");
      expect(fake.calls).toEqual([]);
    });

    test("is shown by a client certificate", async () => {
      using clients = new Authority();
      const { cert, key } = clients.sign("svc");
      using strict = new FakeKubernetes({ clientAuthority: readFileSync(clients.certificate, "utf8") });
      const [one, two] = [cert, key].map((text) => Buffer.from(text).toString("base64"));
      const user = (more: string) => strict.kubeconfig(`{token: good${more}}`);
      expect((await engineBy(user(`, client-certificate-data: ${one}, client-key-data: ${two}`)).describe(signal)).version).toBe(
        "v1.34.0-fake",
      );
      expect((await failureOf(engineBy(user("")).describe(signal))).kind).toBe("unavailable");
    });

    test("a token that was replaced is read again when the old one is refused", async () => {
      writeFileSync(join(folder.path, "token"), "good");
      writeFileSync(join(folder.path, "ca.crt"), fake.ca);
      writeFileSync(join(folder.path, "namespace"), NAMESPACE);
      const { hostname, port } = new URL(fake.url);
      const access = accountAccess({ KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port }, folder.path);
      const engine = createKubernetesEngine(access);
      expect([access.namespace, (await engine.describe(signal)).kind]).toEqual([NAMESPACE, "kubernetes"]);
      fake.tokens.clear();
      fake.tokens.add("newer");
      writeFileSync(join(folder.path, "token"), "newer\n");
      expect((await engine.describe(signal)).kind).toBe("kubernetes");
      expect(fake.calls.map(({ authorization }) => authorization)).toEqual(["Bearer good", "Bearer good", "Bearer newer"]);
      fake.tokens.clear();
      expect([(await failureOf(engine.describe(signal))).kind, fake.calls.length]).toEqual(["failed_precondition", 5]);
    });

    test("a token of the kubeconfig that was replaced there is read again", async () => {
      const engine = engineOf();
      await engine.describe(signal);
      fake.tokens.clear();
      fake.tokens.add("newer");
      config(fake.kubeconfig("{token: newer}"));
      expect((await engine.describe(signal)).kind).toBe("kubernetes");
    });

    test("a plugin is asked once while its token holds, and again when that is refused; what it complains of is not passed on", async () => {
      const plugin = join(folder.path, "plugin");
      const counter = join(folder.path, "asked");
      writeFileSync(
        plugin,
        `#!/bin/sh
echo "$KUBERNETES_EXEC_INFO $GIVEN $1" >> ${counter}
cat ${folder.path}/answer || { echo "the secret is x" >&2; exit 3; }
`,
      );
      chmodSync(plugin, 0o755);
      const answer = (token: string): void =>
        writeFileSync(join(folder.path, "answer"), JSON.stringify({ status: { token, expirationTimestamp: "2999-01-01T00:00:00Z" } }));
      const user = `{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [word], env: [{name: GIVEN, value: v}], provideClusterInfo: true}}`;
      const access = kubeconfigAccess([config(fake.kubeconfig(user))], { PATH: process.env.PATH });
      const engine = createKubernetesEngine(access);
      const { message } = await failureOf(engine.describe(signal));
      expect([message.includes("ended with code 3"), message.includes("secret")]).toEqual([true, false]);
      answer("good");
      await engine.describe(signal);
      await engine.describe(signal);
      const asked = readFileSync(counter, "utf8").trim().split("\n");
      expect([asked.length, asked[1]]).toEqual([2, expect.stringMatching(/ExecCredential.*certificate-authority-data.* v word$/)]);
      fake.tokens.clear();
      fake.tokens.add("newer");
      answer("newer");
      await engine.describe(signal);
      expect(readFileSync(counter, "utf8").trim().split("\n").length).toBe(3);
    });
  });

  describe("waiting for an end", () => {
    const waits = async (): Promise<{ engine: ContainerEngine; id: string; over: Promise<void>; isOver: () => boolean }> => {
      const engine = engineOf();
      const id = await begun(engine);
      let isOver = false;
      const over = engine.waitForEnd(id, signal).then(() => {
        isOver = true;
      });
      await eventually(() => fake.watchers === 1, "a watch");
      return { engine, id, over, isOver: () => isOver };
    };
    const lists = (): number => fake.called("GET", PODS).filter(({ query }) => !query.has("watch") && !query.has("continue")).length;

    test("ends with a change that the watch tells, and the watch ends with it", async () => {
      const { id, over, isOver } = await waits();
      fake.become(id, running());
      expect(isOver()).toBe(false);
      fake.become(id, ended(3));
      await over;
      await eventually(() => fake.watchers === 0, "the end of the watch");
    });

    test("a watch that the server ends goes on after the version of its last bookmark, without a list", async () => {
      const { id, over } = await waits();
      const before = lists();
      fake.tell("pods", "BOOKMARK", { kind: "Pod", metadata: { resourceVersion: "4711" } });
      fake.endWatches();
      await eventually(() => fake.watchers === 1, "another watch");
      expect(fake.calls.at(-1)?.query.get("resourceVersion")).toBe("4711");
      fake.become(id, ended(0));
      await over;
      expect(lists()).toBe(before);
    });

    test.each([
      ["an event", () => fake.tell("pods", "ERROR", { kind: "Status", code: 410, message: "too old resource version" })],
      [
        "a status",
        () => {
          fake.answers = ({ query }) => {
            if (!query.has("watch")) return undefined;
            fake.answers = () => undefined;
            return refusal(410, "too old resource version");
          };
          fake.endWatches();
        },
      ],
    ])("a version that the server has forgotten, told by %s, has all listed anew", async (_how, forget) => {
      const { id, over } = await waits();
      const before = lists();
      fake.become(id, ended(0), { isSilent: true });
      forget();
      await over;
      expect(lists()).toBe(before + 1);
    });

    test("a watch that is cut off in the middle of a line, or breaks, is begun anew", async () => {
      const first = await waits();
      fake.become(first.id, ended(0), { isSilent: true });
      fake.sayToWatchers('{"type":"MODIFIED","object":{"metadata":{"na');
      fake.endWatches();
      await first.over;
      const before = lists();
      await first.engine.remove(first.id);
      const { id, over } = await waits();
      fake.become(id, ended(0), { isSilent: true });
      fake.sayToWatchers("what is no event\n");
      await over;
      expect(lists()).toBeGreaterThan(before + 1);
    });

    test("a pod that is gone has ended, also where nobody told", async () => {
      const { id, over } = await waits();
      fake.objects.delete(`pods/${id}`);
      fake.tell("pods", "ERROR", { kind: "Status", code: 410 });
      await over;
    });

    test("a server that refuses is told to all who wait", async () => {
      const { over } = await waits();
      const failed = failureOf(over);
      fake.answers = ({ path }) => (path === PODS ? refusal(403, "pods is forbidden") : undefined);
      fake.endWatches();
      expect(await failed).toMatchObject({ kind: "failed_precondition", message: "Kubernetes refused: pods is forbidden." });
    });
  });

  describe("a container", () => {
    test("is a pod that waits until it is started, with what it is given, and nothing that it does not need", async () => {
      const engine = engineOf({ volumes: { claim: "shared", folder: "/srv/volumes" } });
      const id = await engine.create(
        wanted({
          ...{
            name: "svc-ctr_01",
            entrypoint: ["/bin/sh", "-c"],
            arguments: ["echo $HOME $(A) $$"],
            port: 8080,
            cpus: 0.25,
            memoryBytes: 67_108_864,
          },
          ...{ labels: { "svc.id": "ctr_01" }, mounts: [{ source: "/srv/volumes/env/vol_1", path: "/data" }] },
        }),
        signal,
      );
      const before = fake.pod(id);
      expect(before.spec).toMatchObject({
        ...{ restartPolicy: "Never", automountServiceAccountToken: false, enableServiceLinks: false, schedulingGates: [{}] },
        securityContext: { seccompProfile: { type: "RuntimeDefault" } },
        volumes: [{ persistentVolumeClaim: { claimName: "shared" } }],
        containers: [
          {
            ...{ image: "img:1", imagePullPolicy: "IfNotPresent", command: ["/bin/sh", "-c"], args: ["echo $$HOME $$(A) $$$$"] },
            ...{ ports: [{ containerPort: 8080 }], resources: { limits: { cpu: "250m", memory: "67108864" } } },
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["NET_RAW", "MKNOD", "AUDIT_WRITE"] } },
            volumeMounts: [{ mountPath: "/data", subPath: "env/vol_1" }],
          },
        ],
      });
      expect((await engine.inspect(id))?.state).toBe("created");
      await engine.start(id);
      expect(await engine.inspect(id)).toMatchObject({ name: "svc-ctr_01", state: "running", address: { host: "10.0.0.7", port: 8080 } });
    });

    test("has its variables in a secret that its pod owns, and leaves neither", async () => {
      const engine = engineOf();
      const id = await begun(engine, { env: { KEY: "hidden words" } });
      const text = JSON.stringify(fake.pod(id));
      const secret = fake.objects.get(`secrets/${id}`);
      expect([text.includes("hidden words"), text.includes('"envFrom":[{"secretRef"')]).toEqual([false, true]);
      expect(secret).toMatchObject({
        data: { KEY: Buffer.from("hidden words").toString("base64") },
        metadata: { ownerReferences: [{ kind: "Pod", name: id, uid: fake.pod(id).metadata.uid }] },
      });
      await engine.remove(id);
      expect([fake.names("pods"), fake.names("secrets")]).toEqual([[], []]);
      await engine.remove(id);
    });

    test("leaves nothing when its secret or its pod is refused", async () => {
      const engine = engineOf();
      fake.answers = ({ method, path }) => (method === "POST" && path.endsWith("/secrets") ? refusal(403, "exceeded quota") : undefined);
      expect((await failureOf(engine.create(wanted({ env: { A: "b" } }), signal))).message).toContain("exceeded quota");
      expect([fake.names("pods"), fake.names("secrets")]).toEqual([[], []]);
      fake.answers = ({ method, path }) => (method === "POST" && path.endsWith("/pods") ? refusal(422, "is invalid") : undefined);
      expect((await failureOf(engine.create(wanted({ env: { A: "b" } }), signal))).kind).toBe("invalid_argument");
      expect([fake.names("pods"), fake.names("secrets")]).toEqual([[], []]);
    });

    test("of a name that is taken leaves the other one alone", async () => {
      const engine = engineOf();
      const id = await begun(engine, { env: { A: "b" } });
      expect((await failureOf(engine.create(wanted({ env: { A: "c" } }), signal))).kind).toBe("already_exists");
      expect([fake.names("pods"), fake.names("secrets")]).toEqual([[id], [id]]);
    });

    test("is refused in words, with nothing made, where its bounds could not be kept", async () => {
      const engine = engineOf();
      const words = async (more: Partial<NewContainer>, by = engine) => (await failureOf(by.create(wanted(more), signal))).message;
      expect(await words({ mounts: [{ source: "/a", path: "/b" }] })).toContain("A volume is a folder of this server's machine");
      const elsewhere = engineOf({ volumes: { claim: "c", folder: "/srv/a" } });
      expect(await words({ mounts: [{ source: "/srv/ab/c", path: "/b" }] }, elsewhere)).toContain("are not in /srv/a");
      expect(await words({ isRestricted: true })).toContain("no container a kernel of its own");
      expect(await words({ isOnHost: true })).toContain("does not share the network");
      expect(await words({ user: "nobody" })).toContain("'nobody' is none");
      expect((await failureOf(engine.fetchImage("i", signal))).message).toContain("builds no images");
      expect(fake.names("pods")).toEqual([]);
      fake.answers = ({ path }) => (path === "/apis/node.k8s.io/v1/runtimeclasses/gvisor" ? Response.json({}) : undefined);
      await engine.create(wanted({ isRestricted: true, user: "7:8" }), signal);
      expect(fake.pod("one").spec).toMatchObject({
        ...{ runtimeClassName: "gvisor", containers: [{ securityContext: { runAsUser: 7, runAsGroup: 8 } }] },
      });
    });

    test("whose start fails is told in the words of the kubelet", async () => {
      const engine = engineOf();
      const starting = async (status: Record<string, unknown>) => {
        fake.begins = () => status;
        const failure = await failureOf(begun(engine));
        await engine.remove("one");
        return [failure.kind, failure.message];
      };
      expect(await starting(waiting("ErrImagePull", "pull access denied"))).toEqual([
        "not_found",
        "There is no image 'img:1', and it could not be fetched: pull access denied.",
      ]);
      expect(await starting(ended(128, "StartError", "exec: /x: no such file"))).toEqual([
        "invalid_argument",
        "Kubernetes could not start the program: exec: /x: no such file.",
      ]);
      expect(await starting({ phase: "Failed", reason: "OutOfcpu", message: "Node didn't have enough cpu" })).toEqual([
        "invalid_argument",
        "Kubernetes could not start the program: Node didn't have enough cpu.",
      ]);
    });

    test("is stopped with its grace, and kept until it is removed", async () => {
      const engine = engineOf();
      const id = await begun(engine);
      await engine.stop(id, 4_500);
      expect([(await engine.inspect(id))?.exitCode, fake.called("DELETE", `${PODS}/${id}`).length]).toEqual([137, 1]);
      await engine.stop(id, 0);
      await engine.remove(id);
      expect([await engine.inspect(id), fake.names("pods")]).toEqual([undefined, []]);
      await engine.stop(id, 0);
    });

    test("a call that the server has no room for is made again when it says", async () => {
      let left = 2;
      fake.answers = () => (left-- > 0 ? refusal(429, "too many requests", { "retry-after": "0" }) : undefined);
      expect((await engineOf().describe(signal)).version).toBe("v1.34.0-fake");
      fake.answers = () => refusal(429, "too many requests");
      expect((await failureOf(engineOf().describe(signal))).kind).toBe("unavailable");
    });
  });

  describe("names and labels", () => {
    test("are legal whatever they were, and not those of others", () => {
      const long = "a".repeat(100);
      const names = ["svc-ctr_01A", "Ä", "", long, `${long}b`, "-x-", "a.b"].map(podName);
      expect(names.filter((name) => !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
      expect(podName("c-1")).toBe("c-1");
      const values = ["a b", "ä", long, "-x", "a/b", "x\n"].map(labelValue);
      expect(values.filter((value) => !/^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(value))).toEqual([]);
      expect([labelValue("node_01.A-b"), labelValue(""), labelKey("svc.id")]).toEqual(["node_01.A-b", "", "svc.id"]);
    });

    test("are given back as they were, and found by what they were alone", async () => {
      const engine = engineOf();
      const strange = "nöde 1/β";
      const labels = { "svc.node": strange, "a key": "x" };
      await engine.create(wanted({ name: "one", labels }), signal);
      await engine.create(wanted({ name: "two", labels: { "svc.node": labelValue(strange) } }), signal);
      await engine.create(wanted({ name: "three", labels: { "svc.node": "other" } }), signal);
      expect((await engine.list("svc.node", strange)).map(({ id, labels: given }) => [id, given])).toEqual([["one", labels]]);
      expect((await engine.list("svc.node", labelValue(strange))).map(({ id }) => id)).toEqual(["two"]);
      expect((await engine.list("a key", "x")).length).toBe(1);
    });
  });

  describe("what a pod says", () => {
    const of = (status: Record<string, unknown>, more: Partial<Pod> = {}): Pod => ({
      metadata: { name: "one" },
      spec: { nodeName: "n", containers: [{ ports: [{ containerPort: 80 }] }] },
      status: status as Pod["status"] & object,
      ...more,
    });

    test("is the state of its container", () => {
      expect(containerOf(of({ phase: "Pending" })).state).toBe("created");
      expect(containerOf(of(running()))).toMatchObject({ state: "running", exitCode: undefined, startedAt: Date.UTC(2026, 0, 2, 3, 4, 5) });
      expect(containerOf(of(ended(0)))).toMatchObject({
        state: "exited",
        exitCode: 0,
        isOutOfMemory: false,
        error: "",
        address: undefined,
      });
      expect(containerOf(of(ended(137, "OOMKilled")))).toMatchObject({ exitCode: 137, isOutOfMemory: true });
      expect(containerOf(of({ ...ended(137), reason: "Evicted", message: "The node was low on memory." }))).toMatchObject({
        ...{ state: "exited", exitCode: 137, error: "The node was low on memory" },
      });
      expect(containerOf(of(waiting("ImagePullBackOff", "Back-off pulling image")))).toMatchObject({
        state: "created",
        error: "Back-off pulling image",
      });
      expect(startFault(of(waiting("ContainerCreating", "")))).toBeUndefined();
    });

    test("is no address of this machine or its link", () => {
      const host = (podIP: string) => containerOf(of({ ...running(), podIP })).address?.host;
      expect(["10.1.2.3", "fd00::1", "2001:db8::1"].map(host)).toEqual(["10.1.2.3", "fd00::1", "2001:db8::1"]);
      expect(
        ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1", "0.0.0.0", "localhost", "", "224.0.0.1"].map(host),
      ).toEqual(Array<undefined>(9).fill(undefined));
    });
  });

  describe("output", () => {
    const read = (engine: ContainerEngine, id: string, from = 0): Promise<EngineOutput[]> =>
      Array.fromAsync(engine.output(id, from, signal));

    test("has its times to the microsecond, and goes on from one", async () => {
      const engine = engineOf();
      const id = await begun(engine);
      fake.become(id, ended(0));
      fake.log = "2026-01-02T03:04:05.123456789Z one\n2026-01-02T03:04:05.123457Z two\n2026-01-02T03:04:06Z no end";
      const at = Date.UTC(2026, 0, 2, 3, 4, 5) * 1_000 + 123_456;
      expect((await read(engine, id)).map((line) => [line.at, line.line])).toEqual([
        [at, "one"],
        [at + 1, "two"],
        [at + 876_544, "no end"],
      ]);
      expect((await read(engine, id, at + 1)).map(({ line }) => line)).toEqual(["two", "no end"]);
      expect(fake.calls.findLast(({ path }) => path.endsWith("/log"))?.query.get("sinceTime")).toBe("2026-01-02T03:04:05.000Z");
      expect(await read(engine, "none")).toEqual([]);
    });

    test("that is cut off while its program runs is no end", async () => {
      const engine = engineOf();
      const id = await begun(engine);
      fake.log = "2026-01-02T03:04:05Z one\n";
      expect((await failureOf(read(engine, id))).message).toBe("The output was cut off.");
    });
  });

  describe("a command", () => {
    const frame = (channel: number, text: string): Uint8Array => Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);

    test("has its streams apart, is told of its end of input, and has the exit code of the status frame", async () => {
      const engine = engineOf();
      const id = await begun(engine);
      let input = "";
      fake.onExec = (socket, message) => {
        if (message?.[0] === 0) input += Buffer.from(message.subarray(1)).toString();
        if (message?.[0] !== 255) return;
        expect([...message]).toEqual([255, 0]);
        socket.send(frame(1, `read ${input}`));
        socket.send(frame(2, "err"));
        socket.send(
          frame(
            3,
            JSON.stringify({ status: "Failure", reason: "NonZeroExitCode", details: { causes: [{ reason: "ExitCode", message: "7" }] } }),
          ),
        );
        socket.close();
      };
      const said = { stdout: "", stderr: "" };
      let taken = 0;
      const program = await engine.exec(id, {
        ...{ argv: ["cat"], workdir: "/w", env: { B: "x y" }, terminal: undefined },
        onOutput: (stream, bytes) => {
          said[stream] += Buffer.from(bytes).toString();
        },
        onTaken: (bytes) => {
          taken += bytes;
        },
      });
      program.write(Buffer.from("typed"));
      program.endInput();
      expect([await program.ended, said, taken]).toEqual([7, { stdout: "read typed", stderr: "err" }, 5]);
      const command = fake.calls.findLast(({ path }) => path.endsWith("/exec"))?.query.getAll("command") ?? [];
      expect([command.slice(0, 2), command.slice(4, 7), command.at(-1)]).toEqual([["/bin/sh", "-c"], ["/w", "2", "B=x y"], "cat"]);
    });

    test("that is refused is told in the server's words", async () => {
      const engine = engineOf();
      const id = await begun(engine);
      fake.answers = ({ path }) => (path.endsWith("/exec") ? refusal(403, "pods/exec is forbidden") : undefined);
      const exec = { argv: ["x"], workdir: "", env: {}, terminal: undefined, onOutput: () => undefined, onTaken: () => undefined };
      expect((await failureOf(engine.exec(id, exec))).message).toBe("Kubernetes refused: pods/exec is forbidden.");
      expect((await failureOf(engine.exec("none", exec))).kind).toBe("not_found");
    });

    test.each([
      ['{"status":"Success"}', 0],
      ['{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"255"}]}}', 255],
      ['{"status":"Failure","message":"container not found"}', 137],
      ['{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"-1"}]}}', 137],
      ["[]", 137],
      ["no JSON", 137],
    ])("whose status is %s ended with %d", (text, code) => {
      expect(exitCode(text)).toBe(code);
    });
  });

  describe("use", () => {
    test("is the kubelet's where this account may read it, else the sum of the cluster's rates, else not known", async () => {
      const engine = engineOf();
      const id = await begun(engine);
      const { uid } = fake.pod(id).metadata;
      const cpu = { usageCoreNanoSeconds: 2_500_000_000 };
      fake.answers = ({ path }) =>
        path === "/api/v1/nodes/machine-1/proxy/stats/summary"
          ? Response.json({ pods: [{ podRef: { uid }, containers: [{ cpu, memory: { workingSetBytes: 4_096 } }] }] })
          : undefined;
      expect(await engine.use(id)).toEqual({ cpuSeconds: 2.5, memoryBytes: 4_096 });
      fake.change("pods", { ...fake.pod(id), spec: { ...fake.pod(id).spec, nodeName: "machine-2" } });
      let timestamp = "2026-01-02T03:04:05Z";
      fake.answers = ({ path }) => {
        if (path.includes("/proxy/")) return refusal(403, "nodes/proxy is forbidden");
        if (!path.startsWith("/apis/metrics.k8s.io/")) return undefined;
        return Response.json({ timestamp, window: "10s", containers: [{ usage: { cpu: "500m", memory: "1Ki" } }] });
      };
      expect(await engine.use(id)).toEqual({ cpuSeconds: 5, memoryBytes: 1_024 });
      expect((await engine.use(id))?.cpuSeconds).toBe(5);
      timestamp = "2026-01-02T03:04:25Z";
      expect((await engine.use(id))?.cpuSeconds).toBe(15);
      const other = await begun(engine, { name: "two" });
      fake.answers = () => undefined;
      expect(await engine.use(other)).toBeUndefined();
      fake.become(id, ended(0));
      expect(await engine.use(id)).toBeUndefined();
    });
  });

  describe("the cluster", () => {
    test("shows its nodes, the platform's pods, and what it says of them", async () => {
      const engine = engineOf();
      const { cluster } = engine;
      const name = "svc-ctr_1";
      const id = await begun(engine, { name, labels: { "svc.id": "ctr_1" } });
      fake.change("pods", { metadata: { name: "anothers" }, status: running() });
      expect([cluster?.id, cluster?.name, cluster?.kind]).toEqual([expect.stringMatching(/^clstr_[0-9a-f]{16}$/), "fake", "kubernetes"]);
      expect(await cluster?.nodes()).toEqual([
        {
          ...{
            id: "node_0f",
            name: "machine-1",
            version: "v1.34.0-fake",
            isDraining: false,
            platform: "linux-amd64",
            cpus: 8,
            memoryBytes: 16 * 2 ** 30,
          },
          ...{ joinedAt: Date.UTC(2026, 0, 1), seenAt: Date.UTC(2026, 0, 2) },
        },
      ]);
      expect(await cluster?.pods()).toEqual([{ labels: { "svc.id": "ctr_1" }, node: "machine-1", status: "Running", restarts: 0 }]);
      const event = { type: "Warning", reason: "BackOff", message: "Back-off\n pulling.", lastTimestamp: "2026-01-02T03:04:05Z" };
      fake.change("events", { metadata: { name: "e1" }, involvedObject: { name: id }, ...event });
      fake.change("events", { metadata: { name: "e2" }, involvedObject: { name: "anothers" }, ...event });
      expect(await cluster?.events([name])).toEqual([
        { at: Date.UTC(2026, 0, 2, 3, 4, 5), type: "Warning", reason: "BackOff", container: name, message: "Back-off pulling" },
      ]);
    });

    test("is tried without a change, right by right", async () => {
      const checks = engineOf().cluster?.checks(signal) ?? {};
      for (const check of Object.values(checks)) await check();
      expect([fake.names("pods"), Object.keys(checks)]).toEqual([
        [],
        expect.arrayContaining(["Kubernetes API", "create pods", "create pods/exec"]),
      ]);
      fake.answers = ({ path }) => (path.includes("selfsubject") ? Response.json({ status: { allowed: false } }) : undefined);
      expect((await failureOf(checks["create secrets"]?.() ?? Promise.resolve())).message).toBe(
        `this server's account may not create secrets in the namespace '${NAMESPACE}'`,
      );
    });

    test("that this account may not look at is not there", async () => {
      const { cluster } = engineOf();
      fake.answers = () => refusal(403, "forbidden");
      expect([await cluster?.nodes(), await cluster?.createdAt()]).toEqual([[], undefined]);
    });
  });
});
