import type { Sandbox } from "../../../gen/svc/v1/sandbox_pb.ts";
import { defineCommand, type InputOf } from "../../cli/command.ts";
import { bool, int, keyValue, list, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { containerState } from "../container/container-view.ts";
import { imageFlags, variablesOfLists } from "../container-flags.ts";
import { checkExec, runExec } from "./exec-flags.ts";

/**
 * A sandbox that was made, or how the command ended that was run in it, which has shown its output.
 */
interface Created {
  readonly sandbox?: Sandbox;
  readonly exitCode: number;
}

const flags = {
  ...imageFlags,
  name: text("name, of a-z, 0-9 and -; left out: one is made", { aliases: ["-n"], placeholder: "<name>" }),
  env: list(keyValue("variable of all its commands: KEY=VALUE, several separated by commas", { aliases: ["-e"] })),
  exec: text("command that is run in it at once; its arguments follow --", { placeholder: "<program>" }),
  interactive: bool("with --exec: give it a terminal", { aliases: ["-t", "--tty"] }),
  workdir: text("with --exec: working directory, an absolute path", { placeholder: "<path>" }),
  execEnv: list(keyValue("with --exec: variable of this command alone")),
  timeout: int("with --exec: seconds after which it is killed, with exit code 124", { placeholder: "<seconds>" }),
};

export default defineCommand({
  summary: "Make a sandbox, and run a command in it",
  description:
    "A container without a network that waits for commands (`svc sandbox exec`) until it is terminated. The image has /bin/sh. With --exec its command is run at " +
    "once: the output is the program's, and so is the exit code; the sandbox stays. The permission is `containers.write`.",
  examples: [
    "svc sandbox create --image docker.io/library/busybox --name try --memory 128Mi",
    { run: "svc sandbox create --image docker.io/library/python:3.13 --exec python -- -c 'print(6 * 7)'", does: "With a command" },
  ],
  needs: ["session"],
  takesRest: "arguments of --exec",
  flags,
  check({ exec, interactive, workdir, execEnv, timeout, rest }, context) {
    if (exec === undefined) {
      if (interactive || workdir !== undefined || execEnv.length > 0 || timeout !== undefined || rest.length > 0)
        throw new UsageError("--interactive, --workdir, --exec-env, --timeout and words after -- need --exec");
    } else checkExec({ timeout, tty: interactive }, context);
  },
  run: (context, input) => run(context, input),
  exitCode: ({ exitCode }) => exitCode,
  view: resourceFields(({ sandbox }: Created) => sandbox, {
    id: "ID",
    name: "Name",
    status: { header: "Status", cell: containerState },
    message: { header: "Message", ifAny: true },
  }),
});

async function run(context: Context, input: InputOf<typeof flags> & { readonly rest: readonly string[] }): Promise<Created> {
  const { image, name = "", cpu = "", memory = "", env, exec, rest, workdir, execEnv, timeout, interactive } = input;
  const { sandbox, warnings } = await (await context.api.sandboxes()).createSandbox({
    ...{ image, name, cpu, memory, environment: variablesOfLists(env) },
  });
  for (const warning of warnings) context.progress.warn(warning);
  if (!sandbox) throw new CliError("the server made no sandbox", { code: "broken_answer" });
  if (exec === undefined) return { sandbox, exitCode: 0 };
  context.progress.note(`Sandbox ${sandbox.name} (${sandbox.id})`);
  const wanted = { sandbox: sandbox.id, command: [exec, ...rest], workdir, env: execEnv, timeout, tty: interactive };
  return { exitCode: await runExec(context, wanted) };
}
