/** The setting of environments whose code runs in containers, as tests make it. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { EnvironmentService, WorkerContainerSchema } from "../../../gen/svc/v1/environment_pb.ts";
import type { TestServer } from "../../harness/running-server.ts";

/** Says in which containers the code of the test's environment runs. */
export async function configureWorkers(server: TestServer, container: MessageInitShape<typeof WorkerContainerSchema>): Promise<void> {
  const service = server.client(EnvironmentService);
  const { environment, config, etag } = await service.getEnvironmentConfig({});
  if (!config) throw new Error("the environment has no configuration");
  const changed = { ...config, additionalEnvVars: { COLOUR: "blue" }, workerContainer: create(WorkerContainerSchema, container) };
  await service.updateEnvironmentConfig({ environmentId: environment?.id ?? "", config: changed, etag });
}
