/**
 * What pods use: by the kubelet's own sums where this account may read them, else by the metrics of
 * the cluster, whose rates are added up.
 */

import { quantityValue } from "../../../domain/quantity.ts";
import type { EngineUse } from "../container-engine.ts";
import { ApiRefusal, type KubernetesApi, unlessGone } from "./kubernetes-api.ts";
import type { Pod } from "./pod.ts";

/** How long a refusal of the kubelet's sums counts. */
const REFUSED_MS = 5 * 60_000;
/** How long what a kubelet said of all its pods is used: it measures every few seconds itself. */
const SHARED_MS = 1_000;

interface Summary {
  readonly pods?: readonly {
    readonly podRef?: { readonly uid?: string };
    readonly containers?: readonly {
      readonly cpu?: { readonly usageCoreNanoSeconds?: number };
      readonly memory?: { readonly workingSetBytes?: number };
    }[];
  }[];
}

interface PodMetrics {
  readonly timestamp?: string;
  readonly window?: string;
  readonly containers?: readonly { readonly usage?: { readonly cpu?: string; readonly memory?: string } }[];
}

/** Rates of a pod that were added up. */
interface Sum {
  readonly at: number;
  readonly use: EngineUse;
}

/** Measures of the pods of one namespace. */
export class PodUse {
  readonly #api: KubernetesApi;
  readonly #namespace: string;
  readonly #sums = new Map<string, Sum>();
  readonly #summaries = new Map<string, { readonly at: number; readonly summary: Promise<Summary> }>();
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(api: KubernetesApi, namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
  }

  /** What a running pod uses; undefined where nobody measures it, or has not yet. */
  async of({ metadata, spec }: Pod): Promise<EngineUse | undefined> {
    const { name = "", uid = "" } = metadata ?? {};
    if (Date.now() - this.#refusedAt > REFUSED_MS)
      try {
        return await this.#byKubelet(uid, spec?.nodeName ?? "");
      } catch (error) {
        if (!(error instanceof ApiRefusal)) throw error;
        this.#refusedAt = Date.now();
      }
    return this.#byMetrics(name, uid);
  }

  /** Forgets what was added up of a pod. */
  forget(uid: string): void {
    this.#sums.delete(uid);
  }

  async #byKubelet(uid: string, node: string): Promise<EngineUse | undefined> {
    const { pods = [] } = await this.#summaryOf(node);
    const { cpu, memory } = pods.find(({ podRef }) => podRef?.uid === uid)?.containers?.[0] ?? {};
    const nanos = cpu?.usageCoreNanoSeconds ?? 0;
    return nanos > 0 ? { cpuSeconds: nanos / 1e9, memoryBytes: memory?.workingSetBytes ?? 0 } : undefined;
  }

  /** What a kubelet sums up of all its pods, which those who ask at about the same time share. */
  #summaryOf(node: string): Promise<Summary> {
    const now = Date.now();
    for (const [other, { at }] of this.#summaries) if (at + SHARED_MS < now) this.#summaries.delete(other);
    const known = this.#summaries.get(node);
    if (known) return known.summary;
    const summary = this.#api.json<Summary>(`/api/v1/nodes/${encodeURIComponent(node)}/proxy/stats/summary`);
    this.#summaries.set(node, { at: now, summary });
    return summary;
  }

  async #byMetrics(name: string, uid: string): Promise<EngineUse | undefined> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${this.#namespace}/pods/${name}`;
    const found = await unlessGone(this.#api.json<PodMetrics>(path)).catch(unlessRefused);
    const at = Date.parse(found?.timestamp ?? "");
    const sum = this.#sums.get(uid);
    if (!found || Number.isNaN(at) || (sum && at <= sum.at)) return sum?.use;
    const { cpu = "0", memory = "0" } = found.containers?.[0]?.usage ?? {};
    const window = Number.parseFloat(found.window ?? "0");
    const seconds = sum ? (at - sum.at) / 1000 : window;
    const use = { cpuSeconds: (sum?.use.cpuSeconds ?? 0) + (quantityValue(cpu) ?? 0) * seconds, memoryBytes: quantityValue(memory) ?? 0 };
    this.#sums.set(uid, { at, use });
    return use;
  }
}

/** Nothing, where the metrics are not for this account, or nobody serves them. */
function unlessRefused(error: unknown): undefined {
  if (!(error instanceof ApiRefusal)) throw error;
}
