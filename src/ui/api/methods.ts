/**
 * The methods that pages call, with the JSON forms of their requests and responses, by service. The
 * types come from the contract and cost the bundle nothing; a page that calls another service adds
 * its row.
 */

import type { AggregateService } from "../../../gen/svc/v1/aggregate_pb.ts";
import type { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import type { AuthService } from "../../../gen/svc/v1/auth_pb.ts";
import type { BenchmarkService } from "../../../gen/svc/v1/benchmark_pb.ts";
import type { CloudAccountService } from "../../../gen/svc/v1/cloud_account_pb.ts";
import type { ClusterService } from "../../../gen/svc/v1/cluster_pb.ts";
import type { ContainerService } from "../../../gen/svc/v1/container_pb.ts";
import type { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import type { DeploymentService } from "../../../gen/svc/v1/deployment_pb.ts";
import type { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import type { EvaluationService } from "../../../gen/svc/v1/evaluation_pb.ts";
import type { FunctionService } from "../../../gen/svc/v1/function_pb.ts";
import type { GraphService } from "../../../gen/svc/v1/graph_pb.ts";
import type { HealthService } from "../../../gen/svc/v1/health_pb.ts";
import type { ImageBuildService } from "../../../gen/svc/v1/image_build_pb.ts";
import type { IncrementalService } from "../../../gen/svc/v1/incremental_pb.ts";
import type { InfraService } from "../../../gen/svc/v1/infra_pb.ts";
import type { IntegrationService } from "../../../gen/svc/v1/integration_pb.ts";
import type { JobService } from "../../../gen/svc/v1/job_pb.ts";
import type { LogService } from "../../../gen/svc/v1/log_pb.ts";
import type { MetricService } from "../../../gen/svc/v1/metric_pb.ts";
import type { MonitorService } from "../../../gen/svc/v1/monitor_pb.ts";
import type { NotebookService } from "../../../gen/svc/v1/notebook_pb.ts";
import type { OfflineQueryService } from "../../../gen/svc/v1/offline_query_pb.ts";
import type { OfflineStoreService } from "../../../gen/svc/v1/offline_store_pb.ts";
import type { QueryErrorService } from "../../../gen/svc/v1/query_error_pb.ts";
import type { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import type { QueryRunService } from "../../../gen/svc/v1/query_run_pb.ts";
import type { ResolverRunService } from "../../../gen/svc/v1/resolver_run_pb.ts";
import type { SandboxService } from "../../../gen/svc/v1/sandbox_pb.ts";
import type { ScalingGroupService } from "../../../gen/svc/v1/scaling_group_pb.ts";
import type { ScheduledQueryService } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import type { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import type { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import type { StorageConfigService } from "../../../gen/svc/v1/storage_config_pb.ts";
import type { StreamService } from "../../../gen/svc/v1/stream_pb.ts";
import type { TaskService } from "../../../gen/svc/v1/task_pb.ts";
import type { TopicService } from "../../../gen/svc/v1/topic_pb.ts";
import type { TraceService } from "../../../gen/svc/v1/trace_pb.ts";
import type { TrafficService } from "../../../gen/svc/v1/traffic_pb.ts";
import type { UsageService } from "../../../gen/svc/v1/usage_pb.ts";
import type { VolumeService } from "../../../gen/svc/v1/volume_pb.ts";
import type { WatchService } from "../../../gen/svc/v1/watch_pb.ts";
import type { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import type { WorkflowService } from "../../../gen/svc/v1/workflow_pb.ts";
import type { StreamingMethods, UnaryMethods } from "./service-methods.ts";

interface Services {
  readonly AggregateService: typeof AggregateService;
  readonly AuditService: typeof AuditService;
  readonly AuthService: typeof AuthService;
  readonly BenchmarkService: typeof BenchmarkService;
  readonly CloudAccountService: typeof CloudAccountService;
  readonly ClusterService: typeof ClusterService;
  readonly DatasetService: typeof DatasetService;
  readonly DeploymentService: typeof DeploymentService;
  readonly EnvironmentService: typeof EnvironmentService;
  readonly EvaluationService: typeof EvaluationService;
  readonly FunctionService: typeof FunctionService;
  readonly GraphService: typeof GraphService;
  readonly HealthService: typeof HealthService;
  readonly ImageBuildService: typeof ImageBuildService;
  readonly IncrementalService: typeof IncrementalService;
  readonly InfraService: typeof InfraService;
  readonly IntegrationService: typeof IntegrationService;
  readonly JobService: typeof JobService;
  readonly LogService: typeof LogService;
  readonly MetricService: typeof MetricService;
  readonly MonitorService: typeof MonitorService;
  readonly ContainerService: typeof ContainerService;
  readonly NotebookService: typeof NotebookService;
  readonly SandboxService: typeof SandboxService;
  readonly VolumeService: typeof VolumeService;
  readonly OfflineQueryService: typeof OfflineQueryService;
  readonly OfflineStoreService: typeof OfflineStoreService;
  readonly QueryErrorService: typeof QueryErrorService;
  readonly QueryRunService: typeof QueryRunService;
  readonly QueryService: typeof QueryService;
  readonly ResolverRunService: typeof ResolverRunService;
  readonly ScalingGroupService: typeof ScalingGroupService;
  readonly ScheduledQueryService: typeof ScheduledQueryService;
  readonly SecretService: typeof SecretService;
  readonly ServiceTokenService: typeof ServiceTokenService;
  readonly StorageConfigService: typeof StorageConfigService;
  readonly StreamService: typeof StreamService;
  readonly TaskService: typeof TaskService;
  readonly TopicService: typeof TopicService;
  readonly TraceService: typeof TraceService;
  readonly TrafficService: typeof TrafficService;
  readonly UsageService: typeof UsageService;
  readonly WatchService: typeof WatchService;
  readonly WebhookService: typeof WebhookService;
  readonly WorkflowService: typeof WorkflowService;
}

/** Methods with one response: `Service/Method` to request and response. */
export type Methods = UnaryMethods<Services>;
/** Methods with a stream of responses. */
export type StreamMethods = StreamingMethods<Services>;

/** Name of a method with one response. */
export type Method = keyof Methods;
/** Name of a method with a stream of responses. */
export type StreamMethod = keyof StreamMethods;
