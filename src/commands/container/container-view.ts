/** Containers as tables and lines. */

import { type Container, type ContainerSpec, ContainerStatus, type ContainerUse } from "../../../gen/svc/v1/container_pb.ts";
import { formatDuration } from "../../domain/duration.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { sizeText } from "../../domain/size.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

const WORDS: Readonly<Record<ContainerStatus, string>> = {
  [ContainerStatus.UNSPECIFIED]: "",
  [ContainerStatus.PENDING]: "Pending",
  [ContainerStatus.RUNNING]: "Running",
  [ContainerStatus.SUCCEEDED]: "Succeeded",
  [ContainerStatus.FAILED]: "Failed",
  [ContainerStatus.STOPPED]: "Stopped",
  [ContainerStatus.LOST]: "Lost",
  [ContainerStatus.UNREACHABLE]: "Unreachable",
};

/** The state of a container in a word. */
export function containerState({ status }: { readonly status: ContainerStatus }): string {
  return WORDS[status] ?? "";
}

/** Whether a container is about to run, or runs. */
export function isAlive({ status }: { readonly status: ContainerStatus }): boolean {
  return status === ContainerStatus.PENDING || status === ContainerStatus.RUNNING;
}

/** What a container runs, beside its image, in one line. */
export function specText(spec: ContainerSpec | undefined): string {
  if (!spec) return "";
  const { resources, port, volumes, environment, entrypoint, arguments: words } = spec;
  const command = [...entrypoint, ...words].join(" ");
  return [
    command === "" ? "" : `command: ${command}`,
    resources?.cpu ? `cpu: ${resources.cpu}` : "",
    resources?.memory ? `memory: ${resources.memory}` : "",
    port === 0 ? "" : `port: ${port}`,
    ...volumes.map(({ path, volume }) => `volume: ${volume}:${path}`),
    environment.length === 0 ? "" : `variables: ${environment.map(({ name }) => name).join(", ")}`,
  ]
    .filter((part) => part !== "")
    .join("; ");
}

/** What a container uses, in words; empty before it was measured. */
export function useText({ use }: { readonly use?: ContainerUse | undefined }): string {
  if (!use) return "";
  const memory = `${sizeText(Number(use.memoryBytes))} of memory`;
  return use.processors === undefined ? memory : `${use.processors.toFixed(2)} processors, ${memory}`;
}

/** Columns of a list. */
export const CONTAINER_COLUMNS: FieldViews<Container> = {
  id: "ID",
  name: "Name",
  status: { header: "Status", cell: containerState },
  spec: { header: "Image", cell: ({ spec }) => spec?.image ?? "", flexible: true },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
export const CONTAINER_FIELDS: FieldViews<Container> = {
  id: "ID",
  name: "Name",
  status: { header: "Status", cell: containerState },
  message: { header: "Message", ifAny: true },
  exitCode: { header: "Exit code", cell: ({ exitCode }) => (exitCode === undefined ? "" : String(exitCode)), ifAny: true },
  url: { header: "URL", ifAny: true },
  cluster: { header: "Image", cell: ({ spec }) => spec?.image ?? "" },
  spec: { header: "Spec", cell: ({ spec }) => specText(spec) },
  use: { header: "Uses", cell: useText, ifAny: true },
  tags: {
    header: "Tags",
    cell: ({ tags }) =>
      Object.entries(tags)
        .map(([key, value]) => `${key}=${value}`)
        .join(", "),
    ifAny: true,
  },
  lifetime: {
    header: "Lifetime",
    cell: ({ lifetime }) => (lifetime && durationToMs(lifetime) > 0 ? formatDuration(durationToMs(lifetime)) : ""),
    ifAny: true,
  },
  createdAt: "Created",
  startedAt: { header: "Started", ifAny: true },
  endedAt: { header: "Ended", ifAny: true },
  node: "Node",
  pageUrl: { header: "Page", ifAny: true },
};
