/** The methods of the services about what runs, what was recorded, and what can be set. */

import type { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import type { AuthService } from "../../../gen/svc/v1/auth_pb.ts";
import type { CloudAccountService } from "../../../gen/svc/v1/cloud_account_pb.ts";
import type { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import type { DeploymentService } from "../../../gen/svc/v1/deployment_pb.ts";
import type { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import type { IncrementalService } from "../../../gen/svc/v1/incremental_pb.ts";
import type { InfraService } from "../../../gen/svc/v1/infra_pb.ts";
import type { JobService } from "../../../gen/svc/v1/job_pb.ts";
import type { LogService } from "../../../gen/svc/v1/log_pb.ts";
import type { MetricService } from "../../../gen/svc/v1/metric_pb.ts";
import type { MonitorService } from "../../../gen/svc/v1/monitor_pb.ts";
import type { OfflineQueryService } from "../../../gen/svc/v1/offline_query_pb.ts";
import type { OfflineStoreService } from "../../../gen/svc/v1/offline_store_pb.ts";
import type { ResolverRunService } from "../../../gen/svc/v1/resolver_run_pb.ts";
import type { ScheduledQueryService } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import type { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import type { ServiceTokenService } from "../../../gen/svc/v1/service_token_pb.ts";
import type { StorageConfigService } from "../../../gen/svc/v1/storage_config_pb.ts";
import type { TrafficService } from "../../../gen/svc/v1/traffic_pb.ts";
import type { UsageService } from "../../../gen/svc/v1/usage_pb.ts";
import type { WatchService } from "../../../gen/svc/v1/watch_pb.ts";
import type { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import type { WorkflowService } from "../../../gen/svc/v1/workflow_pb.ts";
import type { StreamingMethods, UnaryMethods } from "./service-methods.ts";

/** Those with one response. */
export interface OperationMethods
  extends UnaryMethods<"AuditService", typeof AuditService>,
    UnaryMethods<"AuthService", typeof AuthService>,
    UnaryMethods<"CloudAccountService", typeof CloudAccountService>,
    UnaryMethods<"DatasetService", typeof DatasetService>,
    UnaryMethods<"DeploymentService", typeof DeploymentService>,
    UnaryMethods<"EnvironmentService", typeof EnvironmentService>,
    UnaryMethods<"IncrementalService", typeof IncrementalService>,
    UnaryMethods<"InfraService", typeof InfraService>,
    UnaryMethods<"JobService", typeof JobService>,
    UnaryMethods<"LogService", typeof LogService>,
    UnaryMethods<"MetricService", typeof MetricService>,
    UnaryMethods<"MonitorService", typeof MonitorService>,
    UnaryMethods<"OfflineQueryService", typeof OfflineQueryService>,
    UnaryMethods<"OfflineStoreService", typeof OfflineStoreService>,
    UnaryMethods<"ResolverRunService", typeof ResolverRunService>,
    UnaryMethods<"ScheduledQueryService", typeof ScheduledQueryService>,
    UnaryMethods<"SecretService", typeof SecretService>,
    UnaryMethods<"ServiceTokenService", typeof ServiceTokenService>,
    UnaryMethods<"StorageConfigService", typeof StorageConfigService>,
    UnaryMethods<"TrafficService", typeof TrafficService>,
    UnaryMethods<"UsageService", typeof UsageService>,
    UnaryMethods<"WebhookService", typeof WebhookService>,
    UnaryMethods<"WorkflowService", typeof WorkflowService> {}

/** Those with a stream of responses. */
export interface OperationStreams
  extends StreamingMethods<"DatasetService", typeof DatasetService>,
    StreamingMethods<"LogService", typeof LogService>,
    StreamingMethods<"WatchService", typeof WatchService> {}
