/**
 * The services of the contract. Everything that depends on the list of services derives from these
 * rows: the calls of commands, the client, the message facts in the bundle, and the implementations
 * that the server loads.
 */

import type { DescService } from "@bufbuild/protobuf";

/** A service of the contract. */
export interface Service<S extends DescService = DescService> {
  /** Its name in the contract, for example `svc.v1.AuthService`. */
  readonly typeName: string;
  /**
   * The server that answers it: the API server at its address for calls, or the query server of the
   * environment.
   */
  readonly target: "grpc" | "query";
  /** Carries the type of its generated descriptor; never read. */
  readonly _type?: S;
}

function service<S extends DescService>(typeName: `svc.v1.${string}Service`, target: Service["target"] = "grpc"): Service<S> {
  return { typeName, target };
}

/** Every service, by its name in commands. */
export const SERVICES = {
  auth: service<typeof import("../../gen/svc/v1/auth_pb.ts").AuthService>("svc.v1.AuthService"),
  deployments: service<typeof import("../../gen/svc/v1/deployment_pb.ts").DeploymentService>("svc.v1.DeploymentService"),
  environments: service<typeof import("../../gen/svc/v1/environment_pb.ts").EnvironmentService>("svc.v1.EnvironmentService"),
  graph: service<typeof import("../../gen/svc/v1/graph_pb.ts").GraphService>("svc.v1.GraphService"),
  health: service<typeof import("../../gen/svc/v1/health_pb.ts").HealthService>("svc.v1.HealthService"),
  projects: service<typeof import("../../gen/svc/v1/project_pb.ts").ProjectService>("svc.v1.ProjectService"),
  query: service<typeof import("../../gen/svc/v1/query_pb.ts").QueryService>("svc.v1.QueryService", "query"),
  clusters: service<typeof import("../../gen/svc/v1/cluster_pb.ts").ClusterService>("svc.v1.ClusterService"),
  usage: service<typeof import("../../gen/svc/v1/usage_pb.ts").UsageService>("svc.v1.UsageService"),
  support: service<typeof import("../../gen/svc/v1/support_pb.ts").SupportService>("svc.v1.SupportService"),
  featureData: service<typeof import("../../gen/svc/v1/feature_data_pb.ts").FeatureDataService>("svc.v1.FeatureDataService"),
  webhooks: service<typeof import("../../gen/svc/v1/webhook_pb.ts").WebhookService>("svc.v1.WebhookService"),
  secrets: service<typeof import("../../gen/svc/v1/secret_pb.ts").SecretService>("svc.v1.SecretService"),
  integrations: service<typeof import("../../gen/svc/v1/integration_pb.ts").IntegrationService>("svc.v1.IntegrationService"),
  traffic: service<typeof import("../../gen/svc/v1/traffic_pb.ts").TrafficService>("svc.v1.TrafficService"),
  logs: service<typeof import("../../gen/svc/v1/log_pb.ts").LogService>("svc.v1.LogService"),
  audit: service<typeof import("../../gen/svc/v1/audit_pb.ts").AuditService>("svc.v1.AuditService"),
  serviceTokens: service<typeof import("../../gen/svc/v1/service_token_pb.ts").ServiceTokenService>("svc.v1.ServiceTokenService"),
  infra: service<typeof import("../../gen/svc/v1/infra_pb.ts").InfraService>("svc.v1.InfraService"),
  cloudAccounts: service<typeof import("../../gen/svc/v1/cloud_account_pb.ts").CloudAccountService>("svc.v1.CloudAccountService"),
  storageConfigs: service<typeof import("../../gen/svc/v1/storage_config_pb.ts").StorageConfigService>("svc.v1.StorageConfigService"),
  approvals: service<typeof import("../../gen/svc/v1/approval_pb.ts").ApprovalService>("svc.v1.ApprovalService"),
  jobs: service<typeof import("../../gen/svc/v1/job_pb.ts").JobService>("svc.v1.JobService"),
  offlineStores: service<typeof import("../../gen/svc/v1/offline_store_pb.ts").OfflineStoreService>("svc.v1.OfflineStoreService"),
  offlineQueries: service<typeof import("../../gen/svc/v1/offline_query_pb.ts").OfflineQueryService>("svc.v1.OfflineQueryService"),
  datasets: service<typeof import("../../gen/svc/v1/dataset_pb.ts").DatasetService>("svc.v1.DatasetService"),
  sql: service<typeof import("../../gen/svc/v1/sql_pb.ts").SqlService>("svc.v1.SqlService"),
  resolverRuns: service<typeof import("../../gen/svc/v1/resolver_run_pb.ts").ResolverRunService>("svc.v1.ResolverRunService"),
  tasks: service<typeof import("../../gen/svc/v1/task_pb.ts").TaskService>("svc.v1.TaskService"),
  aggregates: service<typeof import("../../gen/svc/v1/aggregate_pb.ts").AggregateService>("svc.v1.AggregateService"),
  evaluations: service<typeof import("../../gen/svc/v1/evaluation_pb.ts").EvaluationService>("svc.v1.EvaluationService"),
  functions: service<typeof import("../../gen/svc/v1/function_pb.ts").FunctionService>("svc.v1.FunctionService"),
  imageBuilds: service<typeof import("../../gen/svc/v1/image_build_pb.ts").ImageBuildService>("svc.v1.ImageBuildService"),
  benchmarks: service<typeof import("../../gen/svc/v1/benchmark_pb.ts").BenchmarkService>("svc.v1.BenchmarkService"),
  shells: service<typeof import("../../gen/svc/v1/shell_pb.ts").ShellService>("svc.v1.ShellService"),
  containers: service<typeof import("../../gen/svc/v1/container_pb.ts").ContainerService>("svc.v1.ContainerService"),
  sandboxes: service<typeof import("../../gen/svc/v1/sandbox_pb.ts").SandboxService>("svc.v1.SandboxService"),
  scalingGroups: service<typeof import("../../gen/svc/v1/scaling_group_pb.ts").ScalingGroupService>("svc.v1.ScalingGroupService"),
  volumes: service<typeof import("../../gen/svc/v1/volume_pb.ts").VolumeService>("svc.v1.VolumeService"),
  notebooks: service<typeof import("../../gen/svc/v1/notebook_pb.ts").NotebookService>("svc.v1.NotebookService"),
  scheduledQueries: service<typeof import("../../gen/svc/v1/scheduled_query_pb.ts").ScheduledQueryService>("svc.v1.ScheduledQueryService"),
  incremental: service<typeof import("../../gen/svc/v1/incremental_pb.ts").IncrementalService>("svc.v1.IncrementalService"),
  workflows: service<typeof import("../../gen/svc/v1/workflow_pb.ts").WorkflowService>("svc.v1.WorkflowService"),
  queryRuns: service<typeof import("../../gen/svc/v1/query_run_pb.ts").QueryRunService>("svc.v1.QueryRunService"),
  queryErrors: service<typeof import("../../gen/svc/v1/query_error_pb.ts").QueryErrorService>("svc.v1.QueryErrorService"),
  traces: service<typeof import("../../gen/svc/v1/trace_pb.ts").TraceService>("svc.v1.TraceService"),
  metrics: service<typeof import("../../gen/svc/v1/metric_pb.ts").MetricService>("svc.v1.MetricService"),
  watches: service<typeof import("../../gen/svc/v1/watch_pb.ts").WatchService>("svc.v1.WatchService"),
  topics: service<typeof import("../../gen/svc/v1/topic_pb.ts").TopicService>("svc.v1.TopicService"),
  monitors: service<typeof import("../../gen/svc/v1/monitor_pb.ts").MonitorService>("svc.v1.MonitorService"),
  streams: service<typeof import("../../gen/svc/v1/stream_pb.ts").StreamService>("svc.v1.StreamService"),
};

/** The services' names and the types of their descriptors. */
export type Services = { readonly [K in keyof typeof SERVICES]: (typeof SERVICES)[K] extends Service<infer S> ? S : never };

/**
 * The area that a service is named after, as words: `svc.v1.QueryHistoryService` is `["query",
 * "history"]`.
 */
function areaOf({ typeName }: Service): string[] {
  const name = typeName.slice(typeName.lastIndexOf(".") + 1).replace(/Service$/, "");
  return name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, " $&")
    .toLowerCase()
    .split(" ");
}

/** Path of a service's generated code relative to `gen`: `svc/v1/query_history_pb.ts`. */
export function generatedCodeOf(service: Service): string {
  const folder = service.typeName.split(".").slice(0, -1).join("/");
  return `${folder}/${areaOf(service).join("_")}_pb.ts`;
}

/**
 * Path of a service's implementation relative to `src`: `server/wire/services/query-history.ts`.
 */
export function implementationOf(service: Service): string {
  return `server/wire/services/${areaOf(service).join("-")}.ts`;
}
