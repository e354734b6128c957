import type { Container, RunContainerResponse } from "../../../gen/svc/v1/container_pb.ts";
import { defineCommand, type InputOf } from "../../cli/command.ts";
import { bool, choice, duration, int, keyValue, list, maybe, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { msToDuration } from "../../domain/proto-time.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { type FieldViews, resourceFields } from "../../output/message-view.ts";
import { checkPort, imageFlags, routeFlags, variablesOf, volumesOf } from "../container-flags.ts";
import { containerState, isAlive } from "./container-view.ts";

const flags = {
  ...imageFlags,
  name: text("name, of a-z, 0-9 and -; left out: one is made", { aliases: ["-n"], placeholder: "<name>" }),
  entrypoint: text("program that is run instead of the image's; its arguments follow --", { aliases: ["-e"], placeholder: "<program>" }),
  lifetime: duration("how long it runs at most, such as 1h or 30m; 0 = without end", { default: 0 }),
  cluster: text("cluster that containers run in; there is one", { aliases: ["--cluster-id"], placeholder: "<name>" }),
  kernelPolicy: choice("restricted: a kernel of its own (gVisor), where the engine has that", ["restricted", "open"] as const),
  route: list(text("where it may connect to; refused by servers that cannot filter", { placeholder: "<CIDR[=PORTS]>" })),
  port: int("port of the container that answers HTTP, for a route to it", { aliases: ["--https-port"], placeholder: "<port>" }),
  enableSsh: bool("SSH to the container; refused by this version"),
  env: list(keyValue("variable: KEY=VALUE")),
  ...routeFlags,
  volume: list(text("volume in it: <name>:/path", { placeholder: "<name:/path>" })),
  awaitRunning: maybe("wait until it runs, or has ended"),
  awaitTimeout: duration("how long --await-running waits at most", { defaultText: "1m" }),
};

const AWAIT_MS = 60_000;
const LOOK_MS = 200;

/** What is shown at once. */
const RUN_FIELDS: FieldViews<Container> = {
  id: "ID",
  name: "Name",
  status: { header: "Status", cell: containerState },
  message: { header: "Message", ifAny: true },
  url: { header: "URL", ifAny: true },
};

export default defineCommand({
  summary: "Create and run a container",
  description:
    "The server's container engine (Podman or Docker) runs the image, and fetches it first when it does not have it; without an engine it is refused. The image " +
    "host: (or host:/folder) is the server's own machine, where its operator allows that: the program is not isolated. Words after -- are the " +
    "arguments. What the container prints is in `svc logs --query operation_id:<id>`. It goes on when the server stops, and is found again when that starts; what " +
    "has ended is shown for a week. Values of variables are given to the container and shown to nobody; secrets are given by name, by who may see " +
    "them. The permission is `containers.write`.",
  examples: [
    { run: "svc container run --image docker.io/library/busybox -- echo hello", does: "A program that ends" },
    {
      run: "svc container run --image docker.io/library/redis:7 --name cache --memory 256Mi --volume cache:/data --lifetime 8h",
      does: "A name, a limit, a volume and an end",
    },
    {
      run: "svc container run --image registry.example.com/score:3 --env-file score.env --secret API_KEY --await-running",
      does: "Variables and secrets",
    },
  ],
  needs: ["session"],
  takesRest: "arguments of the program",
  flags,
  check({ port, grpc, authenticated, awaitRunning, awaitTimeout, volume, private: isPrivate }) {
    checkPort(port);
    volumesOf(volume);
    if (port === undefined && (grpc || authenticated || isPrivate))
      throw new UsageError("--grpc, --private and --authenticated need --port");
    if (awaitTimeout !== undefined && awaitRunning !== true) throw new UsageError("--await-timeout needs --await-running");
  },
  run: (context, input) => run(context, input),
  view: resourceFields(({ container }: Pick<RunContainerResponse, "container">) => container, RUN_FIELDS),
});

type Input = InputOf<typeof flags> & { readonly rest: readonly string[] };

async function run(context: Context, input: Input): Promise<Pick<RunContainerResponse, "container">> {
  const { api, progress } = context;
  const { image, cpu = "", memory = "", gpu = "", port = 0, grpc, authenticated, entrypoint, kernelPolicy = "", route, enableSsh } = input;
  const containers = await api.containers();
  const environment = await variablesOf(context, input);
  const { container, warnings } = await containers.runContainer({
    spec: {
      ...{ image, entrypoint: entrypoint === undefined ? [] : [entrypoint], arguments: [...input.rest], environment },
      ...{ resources: { cpu, memory, gpu }, volumes: volumesOf(input.volume), port, grpc, private: input.private, authenticated },
      ...{ kernelPolicy, routes: route, ssh: enableSsh },
    },
    ...{
      name: input.name ?? "",
      tags: Object.fromEntries(input.tags),
      lifetime: msToDuration(input.lifetime),
      cluster: input.cluster ?? "",
    },
  });
  for (const warning of warnings) progress.warn(warning);
  if (!container) throw new CliError("the server made no container", { code: "broken_answer" });
  return input.awaitRunning === true ? { container: await awaited(context, container, input.awaitTimeout ?? AWAIT_MS) } : { container };
}

/** The container once it runs or has ended. Rejects with CliError when it does neither in time. */
async function awaited({ api, clock, signal }: Context, container: Container, timeoutMs: number): Promise<Container> {
  const end = clock.now() + timeoutMs;
  for (let last = container; ; ) {
    if (last.startedAt !== undefined || !isAlive(last)) return last;
    if (clock.now() >= end)
      throw new CliError(`the container '${last.name}' does not run after ${timeoutMs / 1000} s: it is ${containerState(last)}`, {
        ...{ code: "timeout", hint: `It goes on: \`svc container get --id ${last.id}\`.` },
      });
    await clock.sleep(LOOK_MS, signal);
    last = (await (await api.containers()).getContainer({ container: last.id })).container ?? last;
  }
}
