/** ProjectService: the team's projects. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  CreateProjectResponseSchema,
  ListProjectsResponseSchema,
  type Project,
  ProjectSchema,
  ProjectService,
} from "../../../../gen/svc/v1/project_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { requireWholeTeam, visibleEnvironments } from "../../access/scope.ts";
import type { ProjectRecord } from "../../stores/metadata/projects.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

function projectMessage({ id, name, environments, createdAt }: ProjectRecord): Project {
  return create(ProjectSchema, { id, name, environments: [...environments], createdAt: msToTimestamp(createdAt) });
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, { environments, log, projects }: Platform): void {
  router.service(ProjectService, {
    async listProjects(_request, context) {
      const caller = callerOf(context);
      const seen = new Set((await visibleEnvironments(environments, caller)).map(({ projectId, name }) => `${projectId}/${name}`));
      const listed = (await (await projects()).list(caller.teamId)).map((project) => ({
        ...project,
        environments: project.environments.filter((name) => seen.has(`${project.id}/${name}`)),
      }));
      const visible = caller.environments ? listed.filter((project) => project.environments.length > 0) : listed;
      return create(ListProjectsResponseSchema, { projects: visible.map(projectMessage) });
    },

    async createProject({ name, environments }, context) {
      requireWholeTeam(callerOf(context), "new projects");
      const { teamId, clientId } = callerOf(context);
      const project = await (await projects()).create(teamId, name, environments);
      log.info("project created", { project: project.id, name, by: clientId });
      return create(CreateProjectResponseSchema, { project: projectMessage(project) });
    },
  });
}
