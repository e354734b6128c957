/** VolumeService: folders that outlive the containers which have them. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { type VolumeSchema, VolumeService } from "../../../../gen/svc/v1/volume_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import type { MeasuredVolume, Volume, Volumes } from "../../containers/volumes.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { named } from "./container.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment.id;
  const volumes = async (): Promise<Volumes> => (await platform.containers()).volumes;
  const urlOf = ({ name }: Pick<Volume, "name">, environmentId: string, { requestHeader }: HandlerContext) => ({
    url: pageAddress(platform, requestHeader, environmentId, "volume", { name }),
  });

  router.service(VolumeService, {
    async createVolume({ name }, context) {
      const environmentId = await environmentOf(context);
      const volume = await (await volumes()).create(environmentId, named(name));
      return { volume: { ...volumeMessage(volume), ...urlOf(volume, environmentId, context) } };
    },

    async getVolume({ name }, context) {
      const environmentId = await environmentOf(context);
      const volume = await (await volumes()).get(environmentId, named(name));
      return { volume: { ...measuredMessage(volume), ...urlOf(volume, environmentId, context) } };
    },

    async listVolumes(_request, context) {
      const environmentId = await environmentOf(context);
      const all = await (await volumes()).list(environmentId);
      return { volumes: all.map((volume) => ({ ...volumeMessage(volume), ...urlOf(volume, environmentId, context) })) };
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
