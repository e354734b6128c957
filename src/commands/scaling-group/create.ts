import type { CreateScalingGroupResponse } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { int, keyValue, list, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkPort, imageFlags, routeFlags, variablesOf, volumesOf } from "../container-flags.ts";
import { GROUP_SUMMARY } from "./scaling-group-view.ts";

const MOST_REPLICAS = 100;

export default defineCommand({
  summary: "Create a scaling group, or replace the one of the name",
  description:
    "Its replicas are containers of one image behind one address, which is printed: requests go to the replica with the fewest. A replica is given requests once it " +
    "answers on its port (any status but 503; for gRPC, HTTP/2), and another takes its place when it ends or answers no more. More are started when they use more than " +
    "--target-cpu of their processors, fewer are kept when that was too many for five minutes.\n\n" +
    "With --min-replicas 0 there are none after a minute without a request, and the next request waits until one has started. Created again under its name, a group " +
    "is replaced: new replicas answer before the old ones go, and those that cannot be started change nothing.\n\n" +
    "Who makes a group with secrets may see them: later replicas are given them too. The permission is `containers.write`.",
  examples: [
    "svc scaling-group create --image registry.example.com/score:3 --name score --port 8080",
    {
      run: "svc scaling-group create --image registry.example.com/score:3 --name score --port 8080 --min-replicas 0 --max-replicas 4 --cpu 1",
      does: "None while nobody asks, four at most",
    },
    {
      run: "svc scaling-group create --image registry.example.com/rpc:1 --name rpc --port 50051 --grpc --authenticated --secret API_KEY",
      does: "gRPC, for who has a token",
    },
  ],
  needs: ["session"],
  flags: {
    ...imageFlags,
    name: text("name, of a-z, 0-9 and -; left out: one is made", { aliases: ["-n"], placeholder: "<name>" }),
    entrypoint: text("program and arguments instead of the image's, separated by commas", { aliases: ["-e"], placeholder: "<words>" }),
    port: int("port of the replicas that answers HTTP", { placeholder: "<port>" }),
    minReplicas: int("fewest replicas; 0 = none while nobody asks", { default: 1 }),
    maxReplicas: int("most replicas, up to 100", { defaultText: "--min-replicas, at least 1" }),
    targetCpu: int("percent of a replica's processors at which another is started", { default: 80 }),
    env: list(keyValue("variable: KEY=VALUE")),
    ...routeFlags,
    volume: list(text("volume in each replica: <name>:/path", { placeholder: "<name:/path>" })),
  },
  check({ port, grpc, authenticated, maxReplicas, minReplicas, targetCpu, volume, private: isPrivate }) {
    checkPort(port);
    volumesOf(volume);
    if (port === undefined && (grpc || authenticated || isPrivate))
      throw new UsageError("--grpc, --private and --authenticated need --port");
    if (minReplicas < 0) throw new UsageError("--min-replicas is not below 0");
    if (minReplicas === 0 && port === undefined) throw new UsageError("--min-replicas 0 needs --port: a request to it starts a replica");
    if (maxReplicas !== undefined && maxReplicas < 1) throw new UsageError("--max-replicas is at least 1");
    if (mostOf(minReplicas, maxReplicas) > MOST_REPLICAS) throw new UsageError(`a group has at most ${MOST_REPLICAS} replicas`);
    if (minReplicas > mostOf(minReplicas, maxReplicas)) throw new UsageError("--min-replicas is more than --max-replicas");
    if (targetCpu < 1 || targetCpu > 100) throw new UsageError("--target-cpu is from 1 to 100");
  },
  async run(context, input): Promise<Pick<CreateScalingGroupResponse, "group">> {
    const {
      authenticated,
      cpu = "",
      entrypoint,
      gpu = "",
      grpc,
      image,
      maxReplicas,
      memory = "",
      minReplicas,
      port = 0,
      targetCpu,
    } = input;
    const groups = await context.api.scalingGroups();
    const { group, warnings } = await groups.createScalingGroup({
      spec: {
        ...{
          image,
          entrypoint: entrypoint?.split(",") ?? [],
          environment: await variablesOf(context, input),
          resources: { cpu, memory, gpu },
        },
        ...{ volumes: volumesOf(input.volume), port, grpc, private: input.private, authenticated },
      },
      ...{ name: input.name ?? "", tags: Object.fromEntries(input.tags) },
      bounds: { minReplicas, maxReplicas: mostOf(minReplicas, maxReplicas), targetCpu },
    });
    for (const warning of warnings) context.progress.warn(warning);
    return group ? { group } : {};
  },
  view: resourceFields(({ group }: Pick<CreateScalingGroupResponse, "group">) => group, GROUP_SUMMARY),
});

function mostOf(fewest: number, most: number | undefined): number {
  return most ?? Math.max(fewest, 1);
}
