/** Who is logged in, and the environments and branches that they can go to. */

import { computed } from "@preact/signals";
import type { BranchJson } from "../../../gen/svc/v1/deployment_pb.ts";
import type { EnvironmentJson } from "../../../gen/svc/v1/environment_pb.ts";
import { allows, type PermissionName } from "../../domain/permissions.ts";
import { type Loaded, useAnswer } from "../api/load.ts";
import { scope } from "./place.ts";

const NO_SCOPE = { environment: "", branch: "", deployment: "" };

/** The scope of a call about the environment as a whole. */
export const environmentScope = computed(() => ({ ...NO_SCOPE, environment: scope.value.environment }));

/** The caller, as the server answers it for this environment. */
export function useCaller() {
  return useAnswer("AuthService/WhoAmI", {}, environmentScope.value);
}

/** Whether the caller has a permission; true as long as that is not known. */
export function useMay(permission: PermissionName): boolean {
  const { data } = useCaller();
  return data === undefined || allows(data.permissions ?? [], permission);
}

/** The environments that the caller can see. */
export function useEnvironments(): Loaded<unknown> & { readonly environments: readonly EnvironmentJson[] } {
  const loaded = useAnswer("EnvironmentService/ListEnvironments", {}, NO_SCOPE);
  return { ...loaded, environments: loaded.data?.environments ?? [] };
}

/** The branches of the environment. */
export function useBranches(): readonly BranchJson[] {
  return useAnswer("DeploymentService/ListBranches", {}, environmentScope.value).data?.branches ?? [];
}
