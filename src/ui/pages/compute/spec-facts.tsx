import type { ContainerSpecJson, ContainerVariableJson } from "../../../../gen/svc/v1/container_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { href } from "../../app/place.ts";
import { Badge } from "../../parts/badge.tsx";
import type { Fact } from "../../parts/facts.tsx";

/** What a container or a replica runs, without the values of its variables. */
export function specFacts(spec: ContainerSpecJson): readonly Fact[] {
  const { arguments: words = [], entrypoint = [], environment = [], image = "", kernelPolicy = "", port = 0, resources = {} } = spec;
  const line = [...entrypoint, ...words].join(" ");
  const { cpu = "", gpu = "", memory = "" } = resources;
  return [
    ["Image", <code key="">{escapeControls(image)}</code>],
    ["Command", line !== "" && <code>{escapeControls(line)}</code>],
    ["Processors", cpu !== "" && `at most ${cpu}`],
    ["Memory", memory !== "" && `at most ${memory}`],
    ["Accelerators", gpu],
    ["Port", port !== 0 && portText(spec)],
    ["Kernel", kernelPolicy !== "" && kernelPolicy !== "open" && kernelPolicy],
    ["Volumes", spec.volumes && spec.volumes.length > 0 && <Mounts volumes={spec.volumes} />],
    ["Variables", environment.length > 0 && environment.map((one) => <Variable key={one.name} variable={one} />)],
  ];
}

function portText({ authenticated = false, grpc = false, port = 0, private: isPrivate = false }: ContainerSpecJson): string {
  return [String(port), grpc && "gRPC", isPrivate && "from the server's machine alone", authenticated && "with a token alone"]
    .filter((part) => part !== false)
    .join(", ");
}

function Mounts({ volumes }: { readonly volumes: NonNullable<ContainerSpecJson["volumes"]> }) {
  return (
    <ul class="plain-list">
      {volumes.map(({ path = "", volume = "" }) => (
        <li key={path}>
          <a class="name" href={href("volume", { name: volume })}>
            {escapeControls(volume)}
          </a>{" "}
          at <code>{escapeControls(path)}</code>
        </li>
      ))}
    </ul>
  );
}

function Variable({ variable: { name = "", secret } }: { readonly variable: ContainerVariableJson }) {
  return <Badge text={secret === undefined ? name : `${name}, a secret`} />;
}

/** Tags as badges; false for none. */
export function tagBadges(tags: Readonly<Record<string, string>>) {
  const all = Object.entries(tags);
  return all.length > 0 && all.map(([key, value]) => <Badge key={key} text={`${key}=${value}`} />);
}
