/** VolumeService: folders that outlive the containers which have them. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type VolumeSchema, VolumeService } from "../../../../gen/svc/v1/volume_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import type { MeasuredVolume, Volume, Volumes } from "../../containers/volumes.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { named } from "./container.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment.id;
  const volumes = async (): Promise<Volumes> => (await platform.containers()).volumes;

  router.service(VolumeService, {
    async createVolume({ name }, context) {
      return { volume: volumeMessage(await (await volumes()).create(await environmentOf(context), named(name))) };
    },

    async getVolume({ name }, context) {
      return { volume: measuredMessage(await (await volumes()).get(await environmentOf(context), named(name))) };
    },

    async listVolumes(_request, context) {
      return { volumes: (await (await volumes()).list(await environmentOf(context))).map(volumeMessage) };
    },

    async deleteVolume({ name }, context) {
      return { volume: measuredMessage(await (await volumes()).delete(await environmentOf(context), named(name))) };
    },
  });
}

function volumeMessage({ id, name, createdAt, node }: Volume): MessageInitShape<typeof VolumeSchema> {
  return { id, name, createdAt: msToTimestamp(createdAt), node };
}

function measuredMessage({ sizeBytes, usedBy, ...volume }: MeasuredVolume): MessageInitShape<typeof VolumeSchema> {
  return { ...volumeMessage(volume), usedBy: [...usedBy], ...(sizeBytes !== undefined && { sizeBytes: BigInt(sizeBytes) }) };
}
