/**
 * The methods that pages call, with the JSON forms of their requests and responses. The types come
 * from the contract and cost the bundle nothing; a page that calls another method adds its row.
 */

import type {
  EndSessionRequestJson,
  EndSessionResponseJson,
  ListSessionsRequestJson,
  ListSessionsResponseJson,
  WhoAmIRequestJson,
  WhoAmIResponseJson,
} from "../../../gen/svc/v1/auth_pb.ts";
import type {
  DiffDeploymentRequestJson,
  DiffDeploymentResponseJson,
  GetDeploymentRequestJson,
  GetDeploymentResponseJson,
  GetSourceRequestJson,
  GetSourceResponseJson,
  ListBranchesRequestJson,
  ListBranchesResponseJson,
  ListDeploymentsRequestJson,
  ListDeploymentsResponseJson,
  PromoteDeploymentRequestJson,
  PromoteDeploymentResponseJson,
  RollBackDeploymentRequestJson,
  RollBackDeploymentResponseJson,
  WatchDeploymentRequestJson,
  WatchDeploymentResponseJson,
} from "../../../gen/svc/v1/deployment_pb.ts";
import type {
  GetGraphRequestJson,
  GetGraphResponseJson,
  ListFeaturesRequestJson,
  ListFeaturesResponseJson,
  ListNamedQueriesRequestJson,
  ListNamedQueriesResponseJson,
  ListResolversRequestJson,
  ListResolversResponseJson,
} from "../../../gen/svc/v1/graph_pb.ts";
import type { CheckHealthRequestJson, CheckHealthResponseJson } from "../../../gen/svc/v1/health_pb.ts";
import type { QueryMetricRequestJson, QueryMetricResponseJson } from "../../../gen/svc/v1/metric_pb.ts";
import type {
  AggregateQueryErrorsRequestJson,
  AggregateQueryErrorsResponseJson,
  ListQueryErrorsRequestJson,
  ListQueryErrorsResponseJson,
} from "../../../gen/svc/v1/query_error_pb.ts";
import type {
  GetQueryRunLogRequestJson,
  GetQueryRunLogResponseJson,
  GetQueryRunStageRowsRequestJson,
  GetQueryRunStageRowsResponseJson,
  GetQueryRunStagesRequestJson,
  GetQueryRunStagesResponseJson,
  GetTraceRequestJson,
  GetTraceResponseJson,
  QueryRequestJson,
  QueryResponseJson,
} from "../../../gen/svc/v1/query_pb.ts";
import type {
  GetQueryPlanRequestJson,
  GetQueryPlanResponseJson,
  GetQueryRunRequestJson,
  GetQueryRunResponseJson,
  ListQueryRunsRequestJson,
  ListQueryRunsResponseJson,
} from "../../../gen/svc/v1/query_run_pb.ts";
import type {
  ListTracesRequestJson,
  ListTracesResponseJson,
  TraceServiceGetTraceRequestJson,
  TraceServiceGetTraceResponseJson,
} from "../../../gen/svc/v1/trace_pb.ts";
import type { OperationMethods, OperationStreams } from "./operation-methods.ts";

/** Methods with one response: `Service/Method` to request and response. */
export interface Methods extends OperationMethods {
  "AuthService/EndSession": [EndSessionRequestJson, EndSessionResponseJson];
  "AuthService/ListSessions": [ListSessionsRequestJson, ListSessionsResponseJson];
  "AuthService/WhoAmI": [WhoAmIRequestJson, WhoAmIResponseJson];
  "DeploymentService/DiffDeployment": [DiffDeploymentRequestJson, DiffDeploymentResponseJson];
  "DeploymentService/GetDeployment": [GetDeploymentRequestJson, GetDeploymentResponseJson];
  "DeploymentService/GetSource": [GetSourceRequestJson, GetSourceResponseJson];
  "DeploymentService/ListBranches": [ListBranchesRequestJson, ListBranchesResponseJson];
  "DeploymentService/ListDeployments": [ListDeploymentsRequestJson, ListDeploymentsResponseJson];
  "DeploymentService/PromoteDeployment": [PromoteDeploymentRequestJson, PromoteDeploymentResponseJson];
  "DeploymentService/RollBackDeployment": [RollBackDeploymentRequestJson, RollBackDeploymentResponseJson];
  "GraphService/GetGraph": [GetGraphRequestJson, GetGraphResponseJson];
  "GraphService/ListFeatures": [ListFeaturesRequestJson, ListFeaturesResponseJson];
  "GraphService/ListNamedQueries": [ListNamedQueriesRequestJson, ListNamedQueriesResponseJson];
  "GraphService/ListResolvers": [ListResolversRequestJson, ListResolversResponseJson];
  "HealthService/CheckHealth": [CheckHealthRequestJson, CheckHealthResponseJson];
  "MetricService/QueryMetric": [QueryMetricRequestJson, QueryMetricResponseJson];
  "QueryErrorService/AggregateQueryErrors": [AggregateQueryErrorsRequestJson, AggregateQueryErrorsResponseJson];
  "QueryErrorService/ListQueryErrors": [ListQueryErrorsRequestJson, ListQueryErrorsResponseJson];
  "QueryRunService/GetQueryPlan": [GetQueryPlanRequestJson, GetQueryPlanResponseJson];
  "QueryRunService/GetQueryRun": [GetQueryRunRequestJson, GetQueryRunResponseJson];
  "QueryRunService/ListQueryRuns": [ListQueryRunsRequestJson, ListQueryRunsResponseJson];
  "QueryService/GetQueryRunLog": [GetQueryRunLogRequestJson, GetQueryRunLogResponseJson];
  "QueryService/GetQueryRunStageRows": [GetQueryRunStageRowsRequestJson, GetQueryRunStageRowsResponseJson];
  "QueryService/GetQueryRunStages": [GetQueryRunStagesRequestJson, GetQueryRunStagesResponseJson];
  "QueryService/GetTrace": [GetTraceRequestJson, GetTraceResponseJson];
  "TraceService/GetTrace": [TraceServiceGetTraceRequestJson, TraceServiceGetTraceResponseJson];
  "TraceService/ListTraces": [ListTracesRequestJson, ListTracesResponseJson];
  "QueryService/Query": [QueryRequestJson, QueryResponseJson];
}

/** Methods with a stream of responses. */
export interface StreamMethods extends OperationStreams {
  "DeploymentService/WatchDeployment": [WatchDeploymentRequestJson, WatchDeploymentResponseJson];
}

/** Name of a method with one response. */
export type Method = keyof Methods;
/** Name of a method with a stream of responses. */
export type StreamMethod = keyof StreamMethods;
