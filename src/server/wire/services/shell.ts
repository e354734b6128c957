/** ShellService: tickets of shells, whose WebSocket is `http/shells.ts`. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { OpenShellResponseSchema, ShellService } from "../../../../gen/svc/v1/shell_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { visibleEnvironments } from "../../access/scope.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { checkCluster } from "./cluster.ts";

const PATH = "/v1/shells";
const EXEC_PATH = "/v1/sandboxes/exec";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  router.service(ShellService, {
    async openShell(request, context) {
      const caller = callerOf(context);
      if (request.clusterName !== "") checkCluster(request.clusterName);
      const { podName, namespace, containerName, command, terminal, columns, rows, terminalKind } = request;
      const opened = await (await platform.shells()).open(
        { pod: podName, container: containerName, namespace, command, terminalKind, terminal: terminal ? { columns, rows } : undefined },
        caller,
        await visibleEnvironments(platform.environments, caller),
      );
      const { deploymentId, expiresAt, isExec, ticket, withoutSecrets } = opened;
      const path = isExec ? EXEC_PATH : PATH;
      return create(OpenShellResponseSchema, { path, ticket, expiresAt: msToTimestamp(expiresAt), deploymentId, withoutSecrets });
    },
  });
}
