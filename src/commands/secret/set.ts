import type { SetSecretsResponse } from "../../../gen/svc/v1/secret_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { args } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { secretNameProblem, secretValueProblem } from "../../domain/secret-name.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { orRequestView } from "../approval/approval-view.ts";
import { orRequest } from "../approval/flags.ts";
import { readPairs, readStdin } from "./pairs-flags.ts";
import { changedView } from "./secret-view.ts";

type Pair = readonly [name: string, value: string];

export default defineCommand({
  summary: "Set secrets",
  description:
    "A name alone takes its value from stdin, or asks for it without echo. Without arguments, stdin has KEY=VALUE lines, or name and value are asked for. " +
    "NAME=value works too, but a shell keeps it in its history. Resolvers read the values as environment variables from the next moment on; a secret wins over " +
    "a variable of the server's own environment (SVC_WORKER_ENV) and of an integration.",
  examples: [
    { run: "cat key.txt | svc secret set API_KEY", does: "The value is what stdin has" },
    { run: "cat .env | svc secret set", does: "KEY=VALUE lines" },
    "svc secret set MODE=fast REGION=eu",
  ],
  needs: ["session"],
  args: { "NAME[=value]": args("names, or names with values") },
  check({ "NAME[=value]": words }) {
    const alone = words.filter((word) => !word.includes("="));
    if (alone.length > 1) throw new UsageError("one stdin has the value of one name; give several as KEY=VALUE lines on stdin");
  },
  async run(context, { "NAME[=value]": words }) {
    const pairs = words.length > 0 ? await pairsOf(context, words) : await pairsGiven(context);
    const seen = new Set<string>();
    for (const [name, value] of pairs) {
      const problem = secretNameProblem(name) ?? secretValueProblem(value) ?? (seen.has(name) ? "is given twice" : undefined);
      if (problem !== undefined) throw new UsageError(`the secret '${name.slice(0, 130)}' ${problem}`);
      seen.add(name);
    }
    const secrets = pairs.map(([name, value]) => ({ name, value }));
    return orRequest(context, await (await context.api.secrets()).setSecrets({ secrets }));
  },
  view: orRequestView(changedView<SetSecretsResponse>("Set")),
});

async function pairsOf(context: Context, words: readonly string[]): Promise<Pair[]> {
  const { io, progress } = context;
  if (io.stderrIsTTY && words.some((word) => word.includes("=")))
    progress.warn("values on the command line stay in the history of the shell; a name alone asks for its value, or takes it from stdin");
  const pairs: Pair[] = [];
  for (const word of words) {
    const at = word.indexOf("=");
    pairs.push(at < 0 ? [word, await secretValue(context, word)] : [word.slice(0, at), word.slice(at + 1)]);
  }
  return pairs;
}

/** A value, typed without echo, or all of stdin without the newline at its end. */
async function secretValue({ io, prompt }: Context, name: string): Promise<string> {
  const problem = secretNameProblem(name);
  if (problem !== undefined) throw new UsageError(`the secret '${name.slice(0, 130)}' ${problem}`);
  return io.stdinIsTTY ? prompt.secret(`value of ${name}`) : (await readStdin({ io })).replace(/\r?\n$/, "");
}

async function pairsGiven(context: Context): Promise<Pair[]> {
  const { io, prompt } = context;
  if (io.stdinIsTTY) {
    const name = (await prompt.text("Name of the secret", "NAME")).trim();
    return [[name, await secretValue(context, name)]];
  }
  const pairs = readPairs(await readStdin(context));
  if (pairs.length === 0) throw new UsageError("nothing to set: give NAME, NAME=value, or KEY=VALUE lines on stdin");
  return pairs;
}
