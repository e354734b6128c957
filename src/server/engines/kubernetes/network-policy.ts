/**
 * The network policy of pods that are to have no network, and whether anything else of its
 * namespace gives them one: what policies allow is added up.
 */

import { Failure } from "../../failure.ts";
import { ApiRefusal, type Described, type KubernetesApi } from "./kubernetes-api.ts";
import { MANAGED, MANAGER, NETWORK, NO_NETWORK } from "./pod-manifest.ts";

/** Name of the policy. */
export const POLICY = "svc-no-network";

/** Which pods something is about. */
interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
}

interface NetworkPolicy extends Described {
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly resourceVersion?: string };
  readonly spec?: {
    readonly podSelector?: Selector;
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly unknown[] | null;
    readonly egress?: readonly unknown[] | null;
  };
}

/** Labels of a pod. */
type Labels = Readonly<Record<string, string>>;

/**
 * Sees to it that the policy is there as it was made, and that no other one opens pods with these
 * labels. Rejects with Failure.
 * @returns its version, which changes with it
 */
export async function keepPolicy(api: KubernetesApi, labels: Labels, signal?: AbortSignal): Promise<string> {
  const { namespace } = api.access;
  const path = `/apis/networking.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/networkpolicies`;
  const all = async () => (await api.list<NetworkPolicy>(path, {}, signal)).items;
  const isOurs = ({ metadata }: NetworkPolicy): boolean => metadata?.name === POLICY;
  let policies = await all();
  if (!policies.some(isOurs)) {
    await api.json(path, { method: "POST", json: policy(), ...(signal && { signal }) }).catch((error: unknown) => {
      // Another server of the namespace has just made it.
      if (!(error instanceof ApiRefusal && error.kind === "already_exists")) throw error;
    });
    policies = await all();
  }
  const ours = policies.find(isOurs);
  if (!ours || !isClosed(ours))
    throw new Failure(
      "failed_precondition",
      `The network policy '${POLICY}' of the namespace '${namespace}' is not as this server made it: it does not cut pods off.`,
      { hint: `\`kubectl delete networkpolicy ${POLICY} --namespace ${namespace}\` removes it, and the next sandbox makes it anew.` },
    );
  const open = policies.find((one) => !isOurs(one) && opens(one, labels));
  if (open)
    throw new Failure(
      "failed_precondition",
      `The network policy '${open.metadata?.name ?? ""}' of the namespace '${namespace}' gives sandboxes a network: what policies allow is added up.`,
      { hint: `Leave pods with the label ${NETWORK}=${NO_NETWORK} out of its podSelector, or give the server a namespace of its own.` },
    );
  return `${ours.metadata?.uid ?? ""} ${ours.metadata?.resourceVersion ?? ""}`;
}

function policy(): object {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: POLICY, labels: { [MANAGED]: MANAGER } },
    spec: { podSelector: { matchLabels: { [NETWORK]: NO_NETWORK } }, policyTypes: ["Ingress", "Egress"] },
  };
}

/** Whether a policy selects all pods without a network, and allows nothing. */
function isClosed({ spec }: NetworkPolicy): boolean {
  const { matchExpressions = [], matchLabels = {} } = spec?.podSelector ?? {};
  const selects = Object.entries(matchLabels).every(([key, value]) => key === NETWORK && value === NO_NETWORK);
  const isBoth = ["Ingress", "Egress"].every((type) => spec?.policyTypes?.includes(type));
  return selects && matchExpressions.length === 0 && isBoth && !allowsAny(spec);
}

function opens({ spec }: NetworkPolicy, labels: Labels): boolean {
  return allowsAny(spec) && isSelected(spec?.podSelector ?? {}, labels);
}

function allowsAny(spec: NetworkPolicy["spec"]): boolean {
  return (spec?.ingress ?? []).length > 0 || (spec?.egress ?? []).length > 0;
}

/** Whether a selector chooses a pod; an operator that is not known here counts as one that does. */
function isSelected({ matchExpressions = [], matchLabels = {} }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
        default:
          return true;
      }
    })
  );
}
