/**
 * Deploying small projects to a test's server, the way the command line does: bundle, upload,
 * create, watch.
 */

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type CreateDeploymentRequestSchema,
  type Deployment,
  DeploymentSchema,
  DeploymentService,
  DeploymentStatus,
} from "../../../gen/svc/v1/deployment_pb.ts";
import { GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import type { TestServer } from "../../harness/running-server.ts";

/** Files of a project by path. */
export type ProjectFiles = Readonly<Record<string, string>>;

/** Files that may be no text. */
type BundledFiles = Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>;

/** A class with a Python resolver that can tell two versions of itself apart. */
export const GREETING: ProjectFiles = {
  "features.py": `from svc.features import features

@features(max_staleness="1h")
class User:
    id: int
    name: str
    greeting: str
`,
  "resolvers.py": `from svc import online
from features import User

@online
def get_name(id: User.id) -> User.name:
    return f"user {id}"

@online
def greet(name: User.name) -> User.greeting:
    return "hello " + name
`,
};

/** A gzip-compressed tar of the files. */
export async function bundleOf(files: BundledFiles): Promise<Uint8Array<ArrayBuffer>> {
  const archive = new Bun.Archive({ ...files }, { compress: "gzip" });
  return new Uint8Array(await archive.bytes());
}

/** A graph as a validation is given it. */
export function graphBytes(graph: MessageInitShape<typeof GraphSchema> = {}): Uint8Array<ArrayBuffer> {
  return toBinary(GraphSchema, create(GraphSchema, graph)) as Uint8Array<ArrayBuffer>;
}

/** Uploads a project and gives the upload's id. */
export async function uploadProject(server: TestServer, files: BundledFiles): Promise<string> {
  const bytes = await bundleOf(files);
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const { uploadId, url, complete } = await server.client(DeploymentService).createUpload({ sha256, sizeBytes: BigInt(bytes.length) });
  if (!complete) {
    const response = await fetch(new URL(url, server.url), { method: "PUT", body: bytes });
    if (response.status !== 201) throw new Error(`the upload was refused: ${response.status} ${await response.text()}`);
  }
  return uploadId;
}

/** Deploys a project and follows it to its end. */
export async function deploy(
  server: TestServer,
  files: BundledFiles,
  request: MessageInitShape<typeof CreateDeploymentRequestSchema> = {},
): Promise<Deployment> {
  const uploadId = await uploadProject(server, files);
  const client = server.client(DeploymentService);
  const { deployment } = await client.createDeployment({ ...request, uploadId });
  return follow(server, deployment?.id ?? "");
}

/** Follows a deployment to its end. */
export async function follow(server: TestServer, deploymentId: string): Promise<Deployment> {
  let last = create(DeploymentSchema);
  for await (const { deployment } of server.client(DeploymentService).watchDeployment({ deploymentId })) if (deployment) last = deployment;
  return last;
}

/** The deployment is live, or the test fails with what it said. */
export function expectLive(deployment: Deployment): void {
  if (deployment.status === DeploymentStatus.LIVE) return;
  const findings = deployment.diagnostics.map(({ code, message, span }) => `[${code}] ${message} (${span?.file}:${span?.line})`);
  throw new Error(`the deployment is ${DeploymentStatus[deployment.status]}: ${deployment.error}\n${findings.join("\n")}`);
}

/** The value of a feature of a user, or the message of its error. */
export async function featureValue(server: TestServer, output: string, id = 1): Promise<unknown> {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify({ inputs: { "user.id": id }, outputs: [output] }),
  });
  const body = (await response.json()) as { data?: { value: unknown; error?: { message: string } }[] };
  return body.data?.[0]?.error?.message ?? body.data?.[0]?.value;
}
