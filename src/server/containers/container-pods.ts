/** Containers and sandboxes as pods, in which shells are opened: commands in what runs already. */

import { allows } from "../../domain/permissions.ts";
import type { Caller } from "../access/tokens.ts";
import { isHostImage } from "../engines/host/host-image.ts";
import { Failure } from "../failure.ts";
import type { ContainerPod, ContainerPods } from "../shells/shells.ts";
import { hasEnded, type StoredContainer } from "./container-records.ts";
import type { Containers } from "./containers.ts";
import type { ExecPlace, Execs } from "./execs.ts";

/** A place whose containers can be listed. */
interface ListedPlace extends ExecPlace {
  readonly all: Pick<Containers, "engineId" | "get" | "list">;
}

/** Makes the pods of some places. */
export function createContainerPods(places: readonly ListedPlace[], execs: Pick<Execs, "open">): ContainerPods {
  return {
    async list(environmentIds) {
      const podsOf = async ({ all, kind }: ListedPlace): Promise<ContainerPod[]> => {
        const found = (await Promise.all(environmentIds.map((id) => all.list(id)))).flat();
        return found.filter((one) => !hasEnded(one)).map(({ environmentId, id, name }) => ({ environmentId, id, kind, name }));
      };
      return (await Promise.all(places.map(podsOf))).flat();
    },

    async open({ environmentId, id, kind }, { argv, terminal, terminalKind }, caller) {
      if (!allows(caller.permissions, "containers.write"))
        throw new Failure("permission_denied", `A shell in a ${kind} is opened only by who may run containers.`, {
          hint: "The permission is `containers.write`, beside `shell`.",
        });
      const place = places.find((one) => one.kind === kind);
      const container = await place?.all.get(environmentId, id);
      if (!place || !container) throw new Failure("not_found", `The ${kind} does not run any more.`);
      refuseHost(container, caller);
      refuseSecrets(container, kind, caller);
      const env: Readonly<Record<string, string>> = terminal ? { TERM: terminalKind } : {};
      return execs.open(place, container, { command: argv, workdir: "", env, timeoutMs: 0, terminal }, caller);
    },
  };
}

/** Throws Failure for who may not run programs of the server's own machine, in one of those. */
function refuseHost({ name, spec }: StoredContainer, { permissions }: Caller): void {
  if (!isHostImage(spec.image) || allows(permissions, "deploy")) return;
  throw new Failure("permission_denied", `'${name}' is a program of the server's own machine, and so would its shell be.`, {
    hint: "The permission is `deploy`, beside `containers.write` and `shell`.",
  });
}

/** Throws Failure for who may not see the secrets that a container was given. */
function refuseSecrets({ name, spec }: StoredContainer, kind: string, { permissions }: Caller): void {
  if (allows(permissions, "secrets.read") || !spec.environment.some(({ source }) => source.case === "secret")) return;
  throw new Failure("permission_denied", `The ${kind} '${name}' has secrets among its variables, which its shell would show.`, {
    hint: "The permission is `secrets.read`.",
  });
}
