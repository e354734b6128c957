/**
 * A real Kubernetes cluster for tests, where the run was given one: `SVC_TEST_KUBERNETES` names a
 * kubeconfig, whose account may do in its namespace what `docs/containers.md` lists, and besides
 * list secrets and get `nodes/proxy`. Pods have to be reached from here by their addresses.
 */

import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ENGINE_VARIABLE, findEngine, VOLUMES_VARIABLE } from "../../src/server/engines/find-engine.ts";
import { kubeconfigAccess } from "../../src/server/engines/kubernetes/cluster-access.ts";
import { createKubernetesApi } from "../../src/server/engines/kubernetes/kubernetes-api.ts";
import { PROBE_VARIABLE } from "../../src/server/engines/kubernetes/network-trial.ts";
import type { Pod } from "../../src/server/engines/kubernetes/pod.ts";
import type { EngineUnderTest, Refusals } from "../server/engines/engine.conformance.ts";
import { lacks } from "./needs.ts";

const config = process.env.SVC_TEST_KUBERNETES ?? "";
/** An image with busybox's programs, which the nodes have or can fetch. */
const IMAGE = process.env.SVC_TEST_KUBERNETES_IMAGE ?? "docker.io/library/busybox:1.36";
/**
 * `CLAIM:/folder`, where this machine has the claim's files; without it, folders have to be
 * refused.
 */
const VOLUMES = process.env.SVC_TEST_KUBERNETES_VOLUMES ?? "";

/** `ignored` where the cluster's plugin keeps no network policies, which has to be noticed. */
const POLICIES = process.env.SVC_TEST_KUBERNETES_POLICIES ?? "kept";

/** Whether there is no cluster: see `lacks`. */
export const lacksKubernetes = (): boolean => lacks("kubernetes", config !== "" && existsSync(config));

/** What a cluster cannot keep, or cannot be seen to keep. */
export const KUBERNETES_REFUSALS: Refusals = {
  ...(POLICIES === "ignored" && { "no network": "does not keep network policies" }),
  images: "builds no images",
  ...(VOLUMES === "" && { volumes: "A volume is a folder" }),
};

/** The engine of the cluster. */
export async function kubernetesUnderTest(): Promise<EngineUnderTest> {
  const env = {
    PATH: process.env.PATH,
    KUBECONFIG: config,
    [ENGINE_VARIABLE]: "kubernetes",
    [VOLUMES_VARIABLE]: VOLUMES,
    [PROBE_VARIABLE]: IMAGE,
  };
  const access = kubeconfigAccess([config], env);
  const api = createKubernetesApi(access);
  const listed = (kind: string) =>
    api.list<Pod>(`/api/v1/namespaces/${access.namespace}/${kind}`, { labelSelector: "app.kubernetes.io/managed-by=svc" });
  const names = async (): Promise<string[]> =>
    (await Promise.all(["pods", "secrets"].map(listed))).flatMap(({ items }) => items.map(({ metadata }) => metadata?.name ?? ""));
  const before = await names();
  const folder = VOLUMES === "" ? undefined : mkdtempSync(join(VOLUMES.slice(VOLUMES.indexOf(":") + 1), "suite-"));
  if (folder !== undefined) chmodSync(folder, 0o777);
  return {
    engine: findEngine(env, "/"),
    image: IMAGE,
    containers: names,
    builds: () => [],
    network: { script: "nc -w 3 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT -e true; echo $?", without: "1", with: "0" },
    ...{ splitsOutput: false, hosts: /^[\d.]+$|:/, folder },
    missing: { image: "localhost/none:none", words: "There is no image 'localhost/none:none'" },
    async close() {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      const left = (await names()).filter((name) => !before.includes(name));
      if (left.length > 0) throw new Error(`pods or secrets were left behind: ${left.join(", ")}`);
    },
  };
}
