import { defineCommand, type InputOf } from "../cli/command.ts";
import { bool, text } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { TICKET_HEADER } from "../domain/shell-frames.ts";
import { UsageError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";
import { givenOrPicked } from "./pick-flags.ts";

/** How a shell ended. */
interface Ended {
  readonly exitCode: number;
}

const flags = {
  pod: text("pod, as `svc pods` shows it; left out: pick one on a terminal", { aliases: ["-p"], placeholder: "<name>" }),
  cluster: text("cluster; there is one, local", { aliases: ["-c"], placeholder: "<name>" }),
  namespace: text("namespace: the environment that the pod belongs to", { aliases: ["-n"], placeholder: "<name>" }),
  container: text("container (default: the first)", { placeholder: "<name>" }),
  command: text("what /bin/sh -c runs (default: /bin/sh)", { placeholder: "<command>" }),
  debugLog: bool("write the events of the connection to a file, without what was typed and shown"),
};

export default defineCommand({
  summary: "Interactive shell in a pod",
  category: "Server and account",
  description:
    "A shell in the environment of a worker: its packages, a copy of its deployment's source, its environment's variables, and its limit of memory. It is a process " +
    "of its own on the server, or a container where workers are containers, so that nothing it does disturbs the worker; its folder goes when it ends, with all " +
    "that it started. In a container, a replica of a scaling group or a sandbox it is a command beside the program that runs there. Values of secrets are there " +
    "only for those who may see them (secrets.read), and nobody opens one in a protected environment. The permission is `shell`, and `containers.write` too for a " +
    "container that runs. On a terminal every key is the " +
    "program's; Enter ~ . ends the shell, also when nothing else does. In a pipe it has no terminal: input, output and errors are the program's, and so is the exit code.",
  examples: [
    "svc shell --pod worker-dpl_0198c0de-1",
    { run: "svc shell -p worker-dpl_0198c0de-1 --command python", does: "Python with the deployment's packages" },
    { run: "svc shell -p worker-dpl_0198c0de-1 --command 'pip list' > packages.txt", does: "A command, without a terminal" },
    { run: "svc shell -p site-x1 -n production", does: "A shell in a container, of several with this name" },
  ],
  needs: ["session"],
  flags,
  check({ command }, { flags: { json } }) {
    if (command === "") throw new UsageError("--command is empty");
    if (json) throw new UsageError("--json is not for a shell: its output is the program's");
  },
  run: (context, input): Promise<Ended> => run(context, input),
  exitCode: ({ exitCode }) => exitCode,
  view: textView(() => ""),
});

async function run(context: Context, input: InputOf<typeof flags>): Promise<Ended> {
  const { api, http, io, progress, signal, surroundings } = context;
  const podName = await pickedPod(context, input.pod);
  const [shells, { runShell }] = [await api.shells(), await import("../shell-client/run-shell.ts")];
  const terminal = io.stdinIsTTY && io.stdoutIsTTY;
  const log = await debugLog(context, input.debugLog);
  try {
    const { path, ticket, withoutSecrets } = await shells.openShell({
      ...{ podName, clusterName: input.cluster, namespace: input.namespace, containerName: input.container, command: input.command },
      ...(terminal && { terminal, columns: io.width, rows: io.height, terminalKind: surroundings.env.TERM }),
    });
    if (withoutSecrets) progress.note("Secrets are left out: the credentials lack `secrets.read`.");
    const socket = await http.openSocket(path, { [TICKET_HEADER]: ticket });
    return { exitCode: await context.attach((attached) => runShell(socket, attached, log, signal)) };
  } finally {
    await log.close();
  }
}

/** The log that was asked for, whose path is told. */
async function debugLog({ clock, machine, progress }: Context, isWanted: boolean) {
  const { NO_LOG, openDebugLog } = await import("../shell-client/debug-log.ts");
  if (!isWanted) return NO_LOG;
  const path = `${await machine.makeTempDir("svc-shell-")}/debug.log`;
  progress.note(`Events are written to ${path}`);
  return openDebugLog(path, () => clock.now());
}

/** The pod that was given, or one of a deployment or a container that is picked on a terminal. */
function pickedPod(context: Context, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which pod?",
    flag: "--pod <name>",
    list: async () =>
      (await (await context.api.clusters()).listPods({})).pods
        .filter(({ deploymentId, kind }) => deploymentId !== "" || kind === "container" || kind === "sandbox")
        .map(({ kind, name }) => ({ id: name, name: kind })),
  });
}
