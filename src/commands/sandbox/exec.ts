import { defineCommand } from "../../cli/command.ts";
import { bool, int, keyValue, list, optionalArg, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { checkExec, runExec } from "./exec-flags.ts";

/** How a command ended. */
interface Ended {
  readonly exitCode: number;
}

export default defineCommand({
  summary: "Run a command in a sandbox",
  description:
    "Words after -- are the command. Input, output and errors are its own, and so is the exit code; 124 = it took longer than --timeout, and was killed. Files that " +
    "it leaves are there for the next command. With -t it has a terminal: every key is its own, and Enter ~ . ends it when nothing else does.",
  examples: [
    "svc sandbox exec try -- ls -l /",
    { run: "svc sandbox exec -it try -- /bin/sh", does: "A shell on this terminal" },
    { run: "svc sandbox exec try --timeout 10 --env MODE=fast -- python main.py < rows.csv", does: "Input, a variable and a limit" },
  ],
  needs: ["session"],
  takesRest: "the command",
  args: { sandbox: optionalArg("id or name of the sandbox") },
  flags: {
    workdir: text("working directory, an absolute path", { placeholder: "<path>" }),
    env: list(keyValue("variable: KEY=VALUE, several separated by commas", { aliases: ["-e"] })),
    timeout: int("seconds after which it is killed, with exit code 124", { placeholder: "<seconds>" }),
    tty: bool("give it a terminal", { aliases: ["-t", "--interactive"] }),
    stdin: bool("input is always passed on; kept for -it", { default: true, aliases: ["-i"] }),
    name: text("name of the sandbox, instead of the argument", { aliases: ["-n"], placeholder: "<name>" }),
    id: text("id of the sandbox, instead of the argument", { placeholder: "<id>" }),
  },
  check({ sandbox, name, id, rest, timeout, tty }, context) {
    if ([sandbox, name, id].filter((one) => one !== undefined).length !== 1)
      throw new UsageError("name one sandbox: as the argument, by --name or by --id");
    if (rest.length === 0) throw new UsageError("there is no command; it follows --", { hint: "For example svc sandbox exec try -- ls" });
    checkExec({ timeout, tty }, context);
  },
  run: async (context, { sandbox, name, id, rest, ...options }): Promise<Ended> => ({
    exitCode: await runExec(context, { ...options, sandbox: sandbox ?? name ?? id ?? "", command: rest }),
  }),
  exitCode: ({ exitCode }) => exitCode,
  view: textView(() => ""),
});
