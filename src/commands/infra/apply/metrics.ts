import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { int, quantity, text } from "../../../cli/flag.ts";
import { UsageError } from "../../../errors/cli-error.ts";
import { confirmFlags } from "../../confirm-flags.ts";
import { optionalDocumentFlags, readDocument } from "../../document-flags.ts";
import { appliedView, applySpec } from "../apply-flags.ts";

export default defineCommand({
  summary: "Create or update the metrics database",
  description:
    "Keys of the file replace those of the spec, null removes one, and flags win over the file. On this server these act at once: retention and storage, the age and " +
    "the size above which the oldest runs are removed from the log of queries; log_retention and log_storage for lines, trace_retention and trace_storage for spans, " +
    "metric_retention and metric_storage for metrics; trace_sample_rate and trace_sample_limit. All else is recorded, not applied.",
  examples: [
    { run: "svc infra apply metrics --storage 1Gi --yes", does: "Keep more telemetry, without a question" },
    "svc infra apply metrics --file metrics.yaml",
  ],
  needs: ["session"],
  flags: {
    ...optionalDocumentFlags("the metrics database's spec"),
    replicas: int("database replicas"),
    storage: quantity("storage size", { aliases: ["--storage-size"] }),
    poolSize: text("connection pool size", { aliases: ["--connection-pool-size"] }),
    poolMaxConnections: text("connection pool maximum connections", { aliases: ["--connection-pool-max-connections"] }),
    poolReplicas: int("connection pool replicas", { aliases: ["--connection-pool-replicas"] }),
    ...confirmFlags,
  },
  check({ file, poolMaxConnections, poolReplicas, poolSize, replicas, storage }) {
    if ([file, replicas, storage, poolSize, poolMaxConnections, poolReplicas].every((given) => given === undefined))
      throw new UsageError(
        "give --file, or what is to be changed: --replicas, --storage, --pool-size, --pool-max-connections, --pool-replicas",
      );
    if (replicas !== undefined && replicas < 1) throw new UsageError("--replicas is at least 1");
    if (poolReplicas !== undefined && poolReplicas < 1) throw new UsageError("--pool-replicas is at least 1");
  },
  async run(context, { file, force, poolMaxConnections, poolReplicas, poolSize, replicas, storage }) {
    const { place, value } = file === undefined ? { place: "the flags", value: {} } : await readDocument(context, file);
    const flags = {
      database_replicas: replicas,
      storage,
      connection_pool_size: poolSize,
      connection_pool_max_connections: poolMaxConnections,
      connection_pool_replicas: poolReplicas,
    };
    const given = Object.entries(flags).filter(([, flag]) => flag !== undefined);
    const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    const replaced = new Set(given.map(([name]) => camel(name)));
    const kept = Object.entries(value).filter(([name]) => !replaced.has(name));
    const spec = { ...Object.fromEntries(kept), ...Object.fromEntries(given) };
    const warning =
      "some changes of a metrics database cause downtime; on this server none does, and less storage removes the oldest records";
    return applySpec(context, Component.METRICS, { place, value: spec }, { force, warning });
  },
  view: appliedView(),
});
