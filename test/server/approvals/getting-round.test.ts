/**
 * Every method of the contract that changes something is called on a protected environment by
 * somebody with all permissions, and what the environment runs and holds stays as it was.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DescFile, DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { CloudAccountService } from "../../../gen/svc/v1/cloud_account_pb.ts";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { FeatureDataService } from "../../../gen/svc/v1/feature_data_pb.ts";
import { IntegrationService } from "../../../gen/svc/v1/integration_pb.ts";
import { NotebookService } from "../../../gen/svc/v1/notebook_pb.ts";
import { OfflineStoreService } from "../../../gen/svc/v1/offline_store_pb.ts";
import { SecretService } from "../../../gen/svc/v1/secret_pb.ts";
import { StorageConfigService } from "../../../gen/svc/v1/storage_config_pb.ts";
import { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING, uploadProject } from "../deployments/deploying.ts";
import { configure, type Person, person, tokenOf } from "./persons.ts";

const GEN = join(import.meta.dir, "../../../gen/svc/v1");
const AWS = { region: "eu-west-1", access_key_id: "AKIA", secret_access_key: "k" };
const SNOWFLAKE = { account: "a", user: "u", password: "p", database: "d" };

/** Ids of what is there when the methods are called. */
interface There {
  readonly environment: string;
  readonly environmentName: string;
  readonly etag: string;
  readonly config: object;
  readonly upload: string;
  /** A file of values that was put. */
  readonly valueFile: string;
  /** A deployment that nobody approved, with a tag of its own. */
  readonly unapproved: string;
  readonly spare: { readonly client: string; readonly token: string; readonly other: string };
  readonly connection: string;
  readonly account: string;
  readonly storage: string;
  readonly webhook: string;
  /** A request for approval of the caller's own. */
  readonly request: string;
  /** A notebook, and a cell of it. */
  readonly notebookId: string;
  readonly cellId: string;
}

/**
 * What becomes of a call: it is a request for approval (`held`), refused with a code, or runs
 * because it changes nothing of what a protected environment runs and holds.
 */
type Rule =
  | { readonly is: "held"; readonly body: (there: There) => object }
  | { readonly is: "refused"; readonly code: string; readonly says: string; readonly body: (there: There) => object }
  | {
      readonly is: "free";
      readonly why: string;
      readonly body: (there: There) => object;
      /** Default: `ok`. */
      readonly code?: string;
    };

const held = (body: (there: There) => object): Rule => ({ is: "held", body });
const refused = (says: string, body: (there: There) => object, code = "failed_precondition"): Rule => ({ is: "refused", code, says, body });
const free = (why: string, body: (there: There) => object, code = "ok"): Rule => ({ is: "free", why, body, code });

const OWN = "another person has to decide it";
const PROTECTED = "is protected, so";
const UNAPPROVED = "was not approved";
const LOGIN = "is about credentials, which act for a person";
const TEAM = "belongs to the team, and no environment runs by it";
const TOLD = "tells others, and changes nothing that runs";
const SERVER = "is about the server, which those run who may change it";
const ASIDE = "is about datasets, which no deployment runs by";
const LOOK = "looks at something";
const BESIDE = "is beside what answers queries, with secrets only of who may see them";
const KEPT = "is kept, and run by nobody";

const RULES: Readonly<Record<string, Rule>> = {
  "ApprovalService/Approve": refused(OWN, ({ request }) => ({ id: request }), "permission_denied"),
  "ApprovalService/Reject": refused(OWN, ({ request }) => ({ id: request }), "permission_denied"),
  "ApprovalService/Withdraw": free("takes back what would change something", ({ request }) => ({ id: request })),
  "AuthService/CreateLoginSession": free(LOGIN, () => ({ deviceName: "d" })),
  "AuthService/GetLoginSession": free(LOGIN, () => ({ loginSessionId: "login_x", sessionSecret: "x" }), "not_found"),
  "AuthService/CreateEntry": free(LOGIN, () => ({})),
  "AuthService/RedeemEntry": free(LOGIN, () => ({ code: "x" }), "not_found"),
  "AuthService/EndSession": free(LOGIN, () => ({ id: "bs_x" }), "not_found"),
  "AuthService/EndSessions": free(LOGIN, () => ({})),
  "AuthService/DeleteClient": free(LOGIN, ({ spare }) => ({ id: spare.client })),
  "CloudAccountService/CreateCloudAccount": free(TEAM, () => ({ name: "new", kind: "aws", settings: AWS })),
  "CloudAccountService/TestCloudAccount": free(LOOK, () => ({ id: "none" }), "not_found"),
  "CloudAccountService/DeleteCloudAccount": free(TEAM, ({ account }) => ({ id: account })),
  "ClusterService/TestCluster": free(LOOK, () => ({ id: "none" }), "not_found"),
  "DatasetService/RenameDataset": free(ASIDE, () => ({ datasetName: "none", newName: "n" }), "not_found"),
  "DatasetService/ArchiveDatasetRevision": free(ASIDE, () => ({ revisionId: "rev_x" }), "not_found"),
  "DatasetService/CreateDatasetUpload": free(ASIDE, () => ({
    ...{ datasetName: "d", files: [{ name: "a.txt", bytes: 1, sha256: "0".repeat(64) }] },
  })),
  "DatasetService/FinalizeDatasetUpload": free(ASIDE, () => ({ uploadId: "dup_x" }), "not_found"),
  "DeploymentService/CreateUpload": free("is run by nobody", () => ({ sha256: "0".repeat(64), sizeBytes: 1 })),
  "DeploymentService/CreateDeployment": held(({ upload }) => ({ uploadId: upload })),
  "DeploymentService/PromoteDeployment": refused(UNAPPROVED, ({ unapproved }) => ({ deploymentId: unapproved })),
  "DeploymentService/RollBackDeployment": refused("There is no deployment to go back to", () => ({})),
  "DeploymentService/DeleteDeployment": free("never deletes what is live", ({ unapproved }) => ({ deploymentId: unapproved })),
  "DeploymentService/StartBranch": free("starts what answers queries already", () => ({ branch: "none" }), "not_found"),
  "DeploymentService/DeleteBranch": free("is about a branch", () => ({ branch: "none" }), "not_found"),
  "EnvironmentService/CreateEnvironment": free("is another environment", () => ({ name: "another" })),
  "EnvironmentService/DeleteEnvironment": refused(PROTECTED, ({ environment }) => ({ environmentId: environment })),
  "EnvironmentService/UpdateEnvironmentConfig": held(({ config, environment, etag }) => ({
    ...{ environmentId: environment, name: "renamed", etag },
    config: { ...config, additionalEnvVars: { A: "b" }, protected: false },
  })),
  "EnvironmentService/SuspendEnvironment": free("stops what was approved, in an emergency", () => ({})),
  "EnvironmentService/ResumeEnvironment": free("starts what was approved", () => ({})),
  "FeatureDataService/DeleteValues": held(() => ({ selection: { features: ["user.name"], keys: ["1"] } })),
  "FeatureDataService/MigrateTypes": held(() => ({ selection: { features: ["user.name"] } })),
  "FeatureDataService/DropVersions": held(() => ({ selection: { features: ["user.name"] } })),
  "FeatureDataService/UploadValues": held(() => ({
    columns: [
      { name: "user.id", values: [{ int64Value: "1" }] },
      { name: "user.name", values: [{ stringValue: "x" }] },
    ],
  })),
  "FeatureDataService/AnnounceValueFile": free("is run by nobody", () => ({ sha256: "0".repeat(64), sizeBytes: 1 })),
  "FeatureDataService/UploadValueFile": held(({ valueFile }) => ({ uploadId: valueFile, format: "VALUE_FILE_FORMAT_CSV" })),
  "IncrementalService/SetIncrementalProgress": free(
    "says from when approved code reads",
    () => ({ subject: { resolverName: "none" }, maxIngestedAt: "2026-01-01T00:00:00Z" }),
    "not_found",
  ),
  "IncrementalService/DropIncrementalProgress": free(
    "has approved code read all again",
    () => ({ subject: { resolverName: "none" } }),
    "not_found",
  ),
  "InfraService/ApplyComponent": free(SERVER, () => ({ component: "COMPONENT_VOLUMES", spec: "{}" }), "failed_precondition"),
  "InfraService/MigrateMetrics": free(SERVER, () => ({})),
  "InfraService/SuspendComponent": free(SERVER, () => ({ component: "COMPONENT_PERSISTENCE" })),
  "InfraService/ResumeComponent": free(SERVER, () => ({ component: "COMPONENT_PERSISTENCE" })),
  // To topics that its deployment names they are free, as queries are: they give approved code its input.
  "TopicService/PushMessages": refused("messages go only to topics that its deployment names", () => ({
    ...{ topicName: "t", integrationName: "any", messages: [{ value: "e30=" }] },
  })),
  "IntegrationService/RevealIntegrations": free(LOOK, () => ({})),
  "IntegrationService/ApplyIntegration": held(() => ({
    ...{ name: "pg", kind: "postgresql" },
    environmentVariables: { PGHOST: "elsewhere", PGDATABASE: "d", PGUSER: "u", PGPASSWORD: "p" },
  })),
  "IntegrationService/DeleteIntegrations": held(() => ({ names: ["pg"] })),
  "IntegrationService/TestIntegration": free(LOOK, () => ({ name: "none" }), "not_found"),
  "NotebookService/AddCell": free(KEPT, ({ notebookId }) => ({ notebookId, source: "1" })),
  "NotebookService/CreateNotebook": free(KEPT, () => ({ title: "new" })),
  "NotebookService/DeleteNotebook": free(KEPT, () => ({ id: "none" }), "not_found"),
  "NotebookService/EditCell": free(KEPT, ({ cellId, notebookId }) => ({ notebookId, cellId, source: "2" })),
  "NotebookService/ImportNotebook": free(KEPT, () => ({ title: "imported", ipynb: '{"nbformat": 4, "cells": []}' })),
  "NotebookService/InterruptKernel": free("ends what runs", ({ notebookId }) => ({ notebookId }), "failed_precondition"),
  "NotebookService/MoveCell": free(KEPT, ({ cellId, notebookId }) => ({ notebookId, cellId })),
  "NotebookService/RemoveCell": free(KEPT, ({ notebookId }) => ({ notebookId, cellId: "none" }), "not_found"),
  "NotebookService/RunCell": refused("is protected, so cells do not run there", ({ cellId, notebookId }) => ({ notebookId, cellId })),
  "NotebookService/StopKernel": free("ends what runs", ({ notebookId }) => ({ notebookId }), "failed_precondition"),
  "OfflineQueryService/StartOfflineQuery": refused("queries run in live deployments alone", ({ unapproved }) => ({
    ...{ deploymentId: unapproved, inputs: [{ feature: "user.id", values: [{ text: "1" }] }], outputs: ["user.name"], recompute: true },
  })),
  "OfflineQueryService/CreateOfflineQueryUpload": free("is read by queries alone", () => ({ sha256: "0".repeat(64), sizeBytes: 1 })),
  "OfflineQueryService/CancelOfflineQuery": free("ends what was approved", () => ({ id: "none" }), "not_found"),
  "OfflineQueryService/RetryOfflineQuery": free("runs what is live", () => ({ id: "none" }), "not_found"),
  "OfflineStoreService/CreateOfflineConnection": free(TEAM, () => ({
    connection: { name: "new", type: "snowflake", settings: SNOWFLAKE },
  })),
  "OfflineStoreService/UpdateOfflineConnection": free(TEAM, ({ connection }) => ({ id: connection, change: { name: "other" } })),
  "OfflineStoreService/ActivateOfflineConnection": refused(PROTECTED, ({ connection }) => ({ id: connection })),
  "OfflineStoreService/DeactivateOfflineConnection": refused(PROTECTED, () => ({})),
  "OfflineStoreService/TestOfflineConnection": free(LOOK, () => ({ id: "none" }), "not_found"),
  "OfflineStoreService/DeleteOfflineConnection": free(TEAM, ({ connection }) => ({ id: connection })),
  "ProjectService/CreateProject": free("is another project", () => ({ name: "another" })),
  "QueryService/Query": refused(UNAPPROVED, ({ unapproved }) => ({
    ...{ deploymentId: unapproved, inputs: [{ feature: "user.id", text: "1" }], outputs: ["user.name"] },
  })),
  "QueryService/QueryMulti": refused(UNAPPROVED, ({ unapproved }) => ({
    queries: [{ deploymentId: unapproved, inputs: [{ feature: "user.id", text: "1" }], outputs: ["user.name"] }],
  })),
  "QueryService/QueryBulk": refused(UNAPPROVED, ({ unapproved }) => ({
    query: { deploymentId: unapproved, outputs: ["user.name"] },
    inputs: [{ feature: "user.id", values: [{ text: "1" }] }],
  })),
  "JobService/SetJobPriority": free(SERVER, () => ({ id: "none" }), "not_found"),
  "MetricService/CreateChart": free(LOOK, () => ({ name: "new", series: [{ expression: "sum:query.count" }] })),
  "MetricService/DeleteChart": free(LOOK, () => ({ id: "none" }), "not_found"),
  "MonitorService/SilenceMonitor": free(TOLD, () => ({ name: "none", duration: "60s" }), "not_found"),
  "MonitorService/EndMonitorSilence": free(TOLD, () => ({ name: "none" }), "not_found"),
  "ScheduledQueryService/PauseScheduledQuery": free("runs nothing", () => ({ name: "none" }), "not_found"),
  "ScheduledQueryService/ResumeScheduledQuery": free("runs approved code", () => ({ name: "none" }), "not_found"),
  "ScheduledQueryService/TriggerScheduledQuery": free("runs approved code", () => ({ name: "none" }), "not_found"),
  "StreamService/PauseStream": free("runs nothing", () => ({ name: "none" }), "not_found"),
  "StreamService/ReplayDeadLetters": free("runs approved code", () => ({ name: "none" }), "not_found"),
  "StreamService/ResumeStream": free("runs approved code", () => ({ name: "none" }), "not_found"),
  "StreamService/SeekStream": free("runs approved code", () => ({ name: "none", latest: true }), "not_found"),
  "SecretService/RevealSecrets": free(LOOK, () => ({})),
  "SecretService/SetSecrets": held(() => ({ secrets: [{ name: "KEY", value: "changed" }] })),
  "SecretService/DeleteSecrets": held(() => ({ names: ["KEY"] })),
  "ServiceTokenService/CreateServiceToken": free(LOGIN, () => ({ name: "n", permissions: ["admin"] })),
  "ServiceTokenService/UpdateServiceToken": free(LOGIN, ({ spare }) => ({ id: spare.token, name: "m" })),
  "ServiceTokenService/DeleteServiceToken": free(LOGIN, ({ spare }) => ({ id: spare.other })),
  "StorageConfigService/CreateStorageConfig": free(TEAM, () => ({ config: { name: "new", kind: "aws", datasetBucket: "s3://bucket" } })),
  "StorageConfigService/TestStorageConfig": free(LOOK, () => ({ id: "none" }), "not_found"),
  "StorageConfigService/DeleteStorageConfig": free(TEAM, ({ storage }) => ({ id: storage })),
  "SupportService/CreateFlare": free("is run by nobody", ({ upload }) => ({ uploadId: upload, name: "f" })),
  "SupportService/SendFeedback": free(TOLD, () => ({ text: "fine" })),
  "ResolverRunService/PauseScheduledResolver": free("runs nothing", () => ({ resolver: "none" }), "not_found"),
  "ResolverRunService/ResumeScheduledResolver": free("runs approved code", () => ({ resolver: "none" }), "not_found"),
  "AggregateService/BackfillAggregates": free("reads by approved code", () => ({ backfill: { feature: "none.none" } }), "invalid_argument"),
  "ResolverRunService/TriggerResolver": refused("resolvers run in live deployments alone", ({ unapproved }) => ({
    resolver: "get_name",
    deploymentId: unapproved,
  })),
  "FunctionService/CallFunction": free("runs approved code", () => ({ name: "none" }), "not_found"),
  "FunctionService/SubmitFunctionCall": free("runs approved code", () => ({ name: "none" }), "not_found"),
  "FunctionService/CancelFunctionCall": free("ends what runs", () => ({ id: "none" }), "not_found"),
  "EvaluationService/TriggerEvaluation": free("runs approved code", () => ({ id: "none" }), "not_found"),
  "EvaluationService/CancelEvaluationRun": free("ends what runs", () => ({ id: "none" }), "not_found"),
  "BenchmarkService/RunBenchmark": free("asks queries of what is live", () => ({ plan: {} }), "invalid_argument"),
  "BenchmarkService/CancelBenchmark": free("ends what runs", () => ({ id: "none" }), "not_found"),
  "ShellService/OpenShell": free("nobody has a shell there", () => ({ podName: "none" }), "not_found"),
  "ContainerService/RunContainer": free(BESIDE, () => ({ spec: {} }), "invalid_argument"),
  "ContainerService/StopContainer": free(BESIDE, () => ({ container: "none" }), "not_found"),
  "SandboxService/CreateSandbox": free(BESIDE, () => ({}), "invalid_argument"),
  "SandboxService/OpenExec": free(BESIDE, () => ({ sandbox: "none", command: ["true"] }), "not_found"),
  "SandboxService/TerminateSandbox": free(BESIDE, () => ({ sandbox: "none" }), "not_found"),
  "ImageBuildService/BuildImage": free(BESIDE, () => ({}), "invalid_argument"),
  "ScalingGroupService/CreateScalingGroup": free(BESIDE, () => ({ spec: {} }), "invalid_argument"),
  "ScalingGroupService/DeleteScalingGroup": free(BESIDE, () => ({ group: "none" }), "not_found"),
  "ScalingGroupService/RestartScalingGroup": free(BESIDE, () => ({ group: "none" }), "not_found"),
  "ScalingGroupService/ScaleScalingGroup": free(BESIDE, () => ({ group: "none" }), "not_found"),
  "VolumeService/CreateVolume": free(BESIDE, () => ({ name: "v" })),
  "VolumeService/DeleteVolume": free(BESIDE, () => ({ name: "none" }), "not_found"),
  "TaskService/RunTasks": refused("tasks run in live deployments alone", ({ unapproved }) => ({
    ...{ target: { path: "features.py" }, arguments: [{}], deploymentId: unapproved },
  })),
  "TaskService/RerunTask": free("runs approved code", () => ({ id: "none" }), "not_found"),
  "TaskService/CancelTask": free("ends what runs", () => ({ id: "none" }), "not_found"),
  "TrafficService/SetTraffic": refused(UNAPPROVED, () => ({ weights: { unapproved: 100 } })),
  "TrafficService/PromoteTraffic": refused("this environment has none", () => ({})),
  "TrafficService/SuspendTraffic": free("takes queries away", () => ({ tag: "unapproved" })),
  "WebhookService/CreateWebhook": free(TOLD, () => ({ name: "new", url: "https://example.com", subscriptions: ["query.run"] })),
  "WebhookService/UpdateWebhook": free(TOLD, ({ webhook }) => ({ webhook, name: "other" })),
  "WebhookService/TestWebhook": free(TOLD, () => ({ webhook: "none" }), "not_found"),
  "WebhookService/RedeliverWebhookDelivery": free(TOLD, () => ({ id: "none" }), "not_found"),
  "WebhookService/DeleteWebhook": free(TOLD, ({ webhook }) => ({ webhook })),
};

/** Comes last: others are about the deployment that it deletes. */
const LAST = "DeploymentService/DeleteDeployment";

const folder = new TempFolder();
let server: TestServer;
let mallory: Person;
let there: There;
const methods: DescMethod[] = [];

beforeAll(async () => {
  for (const name of readdirSync(GEN)) {
    const module = (await import(join(GEN, name))) as Record<string, DescFile>;
    const file = module[`file_svc_v1_${name.replace("_pb.ts", "")}`];
    for (const service of file?.services ?? []) methods.push(...service.methods);
  }
  server = await TestServer.start(folder.path);
  await server.server.ready;
  mallory = await person(server, folder.path, "mallory", ["admin"]);
  expectLive(await deploy(server, GREETING));
  const unapproved = await deploy(server, { ...GREETING, "more.py": "" }, { noPromote: true, tags: ["unapproved"] });
  const secrets = server.client(SecretService);
  await secrets.setSecrets({ secrets: [{ name: "KEY", value: "as it was" }] });
  const environmentVariables = { PGHOST: "here", PGDATABASE: "d", PGUSER: "u", PGPASSWORD: "p" };
  await server.client(IntegrationService).applyIntegration({ name: "pg", kind: "postgresql", environmentVariables });
  const { connection } = await server.client(OfflineStoreService).createOfflineConnection({
    connection: { name: "c", type: "snowflake", settings: SNOWFLAKE },
  });
  const { account } = await server.client(CloudAccountService).createCloudAccount({ name: "a", kind: "aws", settings: AWS });
  const { config: storage } = await server.client(StorageConfigService).createStorageConfig({
    config: { name: "s", kind: "aws", datasetBucket: "s3://bucket" },
  });
  const { webhook } = await server.client(WebhookService).createWebhook({
    ...{ name: "w", url: "https://example.com", subscriptions: ["query.run"] },
  });
  const notebooks = server.client(NotebookService);
  const { notebook } = await notebooks.createNotebook({});
  const { cell } = await notebooks.addCell({ notebookId: notebook?.id ?? "", source: "1" });
  const spare = await Promise.all(["one", "two", "three"].map((name) => tokenOf(server, undefined, name, ["read"])));
  await configure(server, { protected: true });
  const asked = await mallory.client(SecretService).setSecrets({ secrets: [{ name: "KEY", value: "mine" }] });
  const csv = "user.id,user.name\n1,x\n";
  const sha256 = new Bun.CryptoHasher("sha256").update(csv).digest("hex");
  const { uploadId: valueFile, url } = await mallory
    .client(FeatureDataService)
    .announceValueFile({ sha256, sizeBytes: BigInt(csv.length) });
  expect((await fetch(new URL(url, server.url), { method: "PUT", body: csv })).status).toBe(201);
  const { config, environment, etag } = await server.client(EnvironmentService).getEnvironmentConfig({});
  there = {
    environment: environment?.id ?? "",
    environmentName: environment?.name ?? "",
    etag,
    config: { additionalEnvVars: config?.additionalEnvVars ?? {} },
    valueFile,
    upload: await uploadProject(server, { ...GREETING, "yet-more.py": "" }),
    unapproved: unapproved.id,
    spare: { client: spare[0]?.clientId ?? "", token: spare[1]?.clientId ?? "", other: spare[2]?.clientId ?? "" },
    connection: connection?.id ?? "",
    account: account?.id ?? "",
    storage: storage?.id ?? "",
    webhook: webhook?.id ?? "",
    request: asked.approvalId,
    ...{ notebookId: notebook?.id ?? "", cellId: cell?.id ?? "" },
  };
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** What the environment runs and holds, as it is stored. */
function effective(): unknown {
  using db = new Database(join(folder.path, "data/meta.db"), { readonly: true });
  const all = (sql: string, ...values: string[]) => db.query<object, string[]>(sql).all(...values);
  const kinds = JSON.stringify(["secret", "integration", "environment-config", "offline-binding"]);
  const tags = all("select content from document where kind = 'traffic' and scope = ?", there.environment) as { content: string }[];
  const warm = tags
    .flatMap(({ content }) => (JSON.parse(content) as { tags: { weight: number | null; mirrorWeight: number }[] }).tags)
    .filter(({ mirrorWeight, weight }) => weight !== null || mirrorWeight > 0);
  return {
    environment: all("select id, name, project_id, deleted_at from environment where id = ?", there.environment),
    live: all("select * from live where environment_id = ?", there.environment),
    documents: all("select * from document where scope = ?1 and kind in (select value from json_each(?2))", there.environment, kinds),
    approved: all("select id from deployment where environment_id = ? and approved = 1", there.environment),
    warm,
    deletions: all("select id from deletion"),
    uploads: all("select id from value_upload"),
  };
}

const keyOf = ({ parent, name }: DescMethod): string => `${parent.typeName.replace("svc.v1.", "")}/${name}`;
const changing = () => methods.filter(({ idempotency }) => idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS);

interface Answer {
  readonly code: string;
  readonly text: string;
}

async function call(key: string, body: object): Promise<Answer> {
  const headers = {
    ...{ "content-type": "application/json", authorization: `Bearer ${mallory.token}` },
    "svc-environment": there.environment,
  };
  const response = await fetch(`${server.url}/svc.v1.${key}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { code: response.ok ? "ok" : (/"code":"(\w+)"/.exec(text)?.[1] ?? text), text };
}

test("every method that changes something has a rule here, and nothing else has", () => {
  expect(Object.keys(RULES).sort()).toEqual(changing().map(keyOf).sort());
});

test("none changes a protected environment without approval", async () => {
  const before = effective();
  expect(before).toMatchObject({ live: [expect.anything()], documents: { length: 3 }, warm: [] });
  for (const [key, rule] of Object.entries(RULES)) {
    if (key === LAST) continue;
    const { code, text } = await call(key, rule.body(there));
    if (rule.is === "held") expect([key, code, /"approvalId":"apr_\w+"/.test(text)]).toEqual([key, "ok", true]);
    else expect([key, code, text]).toEqual([key, rule.code ?? "ok", expect.stringContaining(rule.is === "refused" ? rule.says : "")]);
    expect([key, effective()]).toEqual([key, before]);
  }
  expect(await call(LAST, RULES[LAST]?.body(there) ?? {})).toMatchObject({ code: "ok" });
  expect(effective()).toEqual(before);
}, 300_000);
