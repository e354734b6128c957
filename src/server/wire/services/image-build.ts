/** ImageBuildService: builds of virtual environments and images, and images that are asked for. */

import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  GetImageBuildResponseSchema,
  type ImageBuild,
  ImageBuildKind,
  ImageBuildPhase,
  ImageBuildSchema,
  ImageBuildService,
  ListImageBuildsResponseSchema,
} from "../../../../gen/svc/v1/image_build_pb.ts";
import { DEFAULT_PAGE, MAX_PAGE } from "../../../domain/pages.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { buildRequested } from "../../images/requested-image.ts";
import type { ImageBuildRecord, ImageBuildPhase as StoredPhase } from "../../stores/metadata/image-builds.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";

const PHASES = {
  pending: ImageBuildPhase.PENDING,
  running: ImageBuildPhase.RUNNING,
  succeeded: ImageBuildPhase.SUCCEEDED,
  failed: ImageBuildPhase.FAILED,
  error: ImageBuildPhase.ERROR,
  skipped: ImageBuildPhase.SKIPPED,
  omitted: ImageBuildPhase.OMITTED,
} as const satisfies Record<StoredPhase, ImageBuildPhase>;
const KINDS = { venv: ImageBuildKind.VENV, image: ImageBuildKind.IMAGE } as const;
/** Most builds that are skipped. */
const MAX_OFFSET = 1_000_000;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { imageBuilds } = platform.metadata;
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment.id;
  const shown = (build: ImageBuildRecord, { requestHeader }: HandlerContext): ImageBuild => {
    const { createdAt, deploymentId, endedAt, environmentId, error, imageDestinations, kind, name, phase, runtime, startedAt, venv } =
      build;
    return create(ImageBuildSchema, {
      ...{ name, phase: PHASES[phase], kind: KINDS[kind], imageDestinations: [...imageDestinations], deploymentId, venv, runtime, error },
      createdAt: msToTimestamp(createdAt),
      ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
      ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
      url: pageAddress(platform, requestHeader, environmentId, "image", { name }),
    });
  };

  router.service(ImageBuildService, {
    async buildImage({ base, files, packages, workdir }, context) {
      const requested = { environmentId: await environmentOf(context), base, packages, workdir, files };
      const folder = join(platform.dataDir, "tmp", "images");
      return { image: await buildRequested(await platform.images(), folder, requested, context.signal) };
    },

    async listImageBuilds({ phases, limit, offset }, context) {
      const environmentId = await environmentOf(context);
      if (offset < 0 || offset > MAX_OFFSET)
        throw new Failure("invalid_argument", `From 0 to ${MAX_OFFSET} builds are skipped, not ${offset}.`);
      const wanted = (Object.keys(PHASES) as StoredPhase[]).filter((phase) => phases.includes(PHASES[phase]));
      if (wanted.length < new Set(phases).size)
        throw new Failure("invalid_argument", "The list is asked for by a phase that there is not.");
      const most = Math.min(limit > 0 ? limit : DEFAULT_PAGE, MAX_PAGE);
      const found = await imageBuilds.list({ environmentId, limit: most + 1, offset, ...(wanted.length > 0 && { phases: wanted }) });
      return create(ListImageBuildsResponseSchema, {
        builds: found.slice(0, most).map((build) => shown(build, context)),
        more: found.length > most,
      });
    },

    async getImageBuild({ name }, context) {
      const environmentId = await environmentOf(context);
      const build = await imageBuilds.build(environmentId, name);
      if (!build)
        throw new Failure("not_found", `There is no build '${name.slice(0, 200)}' in this environment.`, {
          hint: "`svc imgbuild list` shows what there is.",
        });
      return create(GetImageBuildResponseSchema, { build: shown(build, context), log: await imageBuilds.lines(environmentId, name) });
    },
  });
}
