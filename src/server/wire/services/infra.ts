/** InfraService: the components of the server. */

import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { Component, InfraService } from "../../../../gen/svc/v1/infra_pb.ts";
import type { MetricFamily } from "../../../domain/openmetrics.ts";
import { requireWholeTeam } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { ComponentName, Namespace, SpecChange } from "../../infrastructure/infrastructure.ts";
import { metricFamilies } from "../../metrics/exposition.ts";
import { gatewaySuspended } from "../http/ingress.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

const NAMES: Readonly<Partial<Record<Component, ComponentName>>> = {
  [Component.METRICS]: "metrics",
  [Component.PERSISTENCE]: "persistence",
  [Component.GATEWAY]: "gateway",
  [Component.KAFKA_TOPICS]: "kafka-topics",
  [Component.VOLUMES]: "volumes",
  [Component.TELEMETRY]: "telemetry",
};

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { components, environments, infrastructure, metadata, metrics } = platform;
  const namespacesOf = (context: HandlerContext): Promise<readonly Namespace[]> | readonly Namespace[] =>
    environments.list(callerOf(context).teamId);

  router.service(InfraService, {
    async describeComponent({ component, namespace }, context) {
      const { spec, etag } = await (await infrastructure()).describe(nameOf(component), namespace, await namespacesOf(context));
      return { spec: JSON.stringify(spec), etag };
    },
    async compareComponent({ component, spec }, context) {
      const { changes, etag } = await (await infrastructure()).compare(nameOf(component), spec, await namespacesOf(context));
      return { changes: changes.map(changeMessage), etag };
    },
    async applyComponent({ component, spec, etag }, context) {
      const changes = await (await infrastructure()).apply(nameOf(component), spec, await namespacesOf(context), etag);
      return { changes: changes.map(changeMessage) };
    },
    async migrateMetrics() {
      const { from, to } = await (await infrastructure()).migrate();
      return { fromVersion: from, toVersion: to };
    },
    getStats: async ({ component }) => ({
      families: (await (await infrastructure()).stats(nameOf(component))).map(familyMessage),
    }),
    async exportMetrics(_request, context) {
      requireWholeTeam(callerOf(context), "the server's metrics");
      const names = new Map((await metadata.environments()).map(({ id, name }) => [id, name]));
      return { families: [...metricFamilies(metrics, (id) => names.get(id) ?? "")].map(familyMessage) };
    },
    suspendComponent: async ({ component }) => (await infrastructure()).setSuspended(nameOf(component), true),
    async resumeComponent({ component }) {
      if (component !== Component.GATEWAY && components.isSuspended("gateway")) throw gatewaySuspended();
      return (await infrastructure()).setSuspended(nameOf(component), false);
    },
  });
}

function familyMessage({ samples, ...family }: MetricFamily) {
  return { ...family, samples: samples.map(({ suffix, labels, value }) => ({ suffix, labels: { ...labels }, value })) };
}

function nameOf(component: Component): ComponentName {
  const name = NAMES[component];
  if (!name) throw new Failure("invalid_argument", "The call names no component.");
  return name;
}

function changeMessage({ path, before, after, applied }: SpecChange) {
  const text = (value: SpecChange["before"]): string => (value === undefined ? "" : JSON.stringify(value));
  return { path: JSON.stringify(path), before: text(before), after: text(after), applied };
}
