/** The container engine of this machine: where its operator says, or at a usual socket. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Failure, StartError } from "../failure.ts";
import type { ContainerEngine } from "./container-engine.ts";
import { createDockerEngine } from "./docker/docker-engine.ts";

/** The variable that names the engine's socket. */
export const ENGINE_VARIABLE = "SVC_CONTAINER_ENGINE";

type Variables = Readonly<Record<string, string | undefined>>;

const SOCKET = /^unix:\/\/(\/.+)$/;

/**
 * The path of the engine's socket; undefined when there is none, or none is wanted. Throws
 * StartError for a setting that is no address of one.
 */
export function engineSocket(env: Variables, home: string): string | undefined {
  const given = env[ENGINE_VARIABLE] ?? "";
  if (given === "off") return undefined;
  if (given !== "") {
    const path = SOCKET.exec(given)?.[1];
    if (path !== undefined) return path;
    throw new StartError(
      "setting_invalid",
      `${ENGINE_VARIABLE} is '${given.slice(0, 200)}', which is no address of a container engine.`,
      `For example ${ENGINE_VARIABLE}=unix:///run/podman/podman.sock, or off.`,
    );
  }
  const usual = [
    SOCKET.exec(env.DOCKER_HOST ?? "")?.[1],
    ...(env.XDG_RUNTIME_DIR ? [join(env.XDG_RUNTIME_DIR, "podman/podman.sock")] : []),
    "/run/podman/podman.sock",
    "/var/run/docker.sock",
    join(home, ".docker/run/docker.sock"),
  ];
  return usual.find((path) => path !== undefined && existsSync(path));
}

/** The engine. Throws Failure failed_precondition when there is none, with what to install. */
export function findEngine(env: Variables, home: string): ContainerEngine {
  const path = engineSocket(env, home);
  if (path !== undefined) return createDockerEngine(path);
  const isOff = env[ENGINE_VARIABLE] === "off";
  throw new Failure("failed_precondition", `This server has no container engine${isOff ? `: ${ENGINE_VARIABLE} is off` : ""}.`, {
    hint:
      "On its machine, install Podman and start its socket (`systemctl enable --now podman.socket`), or Docker; a socket elsewhere is named by " +
      `${ENGINE_VARIABLE}=unix:///path/to/socket.`,
  });
}
