import { defineCommand } from "../../../cli/command.ts";
import { arg, int, list } from "../../../cli/flag.ts";
import { UsageError } from "../../../errors/cli-error.ts";
import { factLines } from "../../../output/facts.ts";
import { textView } from "../../../output/view.ts";

/** What came of all calls. */
interface Replayed {
  readonly stored: number;
  readonly skipped: number;
  readonly failed: number;
}

export default defineCommand({
  summary: "Compute a stream's dead letters again",
  description:
    "The live deployment computes those that are there now, or those of some numbers. What can be stored is stored and counts once, however often it is asked for; " +
    "messages that fail again stay, with the new reason.",
  examples: [
    "svc streams dead-letters replay on_payment",
    { run: "svc streams dead-letters replay on_payment --letter 17 --letter 18", does: "Two of them" },
  ],
  needs: ["session"],
  args: { name: arg("name of the stream's resolver, or its last part") },
  flags: { letter: list(int("number of a dead letter; may be repeated; default: all")) },
  check({ letter }) {
    if (letter.some((number) => number < 1)) throw new UsageError("--letter takes the number of a dead letter, such as 17");
  },
  async run({ api, progress }, { letter, name }): Promise<Replayed> {
    const service = await api.streams();
    const sum = { stored: 0, skipped: 0, failed: 0 };
    let [after, until] = [0n, 0n];
    for (let isMore = true; isMore; ) {
      const answer = await service.replayDeadLetters({ name, ids: letter.map((number) => BigInt(number)), after, until });
      sum.stored += Number(answer.stored);
      sum.skipped += Number(answer.skipped);
      sum.failed += Number(answer.failed);
      ({ more: isMore, through: after, until } = answer);
      if (isMore) progress.note(`${sum.stored} stored, ${sum.failed} failed again`);
    }
    return sum;
  },
  exitCode: ({ failed }) => (failed > 0 ? 1 : 0),
  view: textView(({ failed, skipped, stored }: Replayed) =>
    factLines([
      ["Stored", String(stored)],
      ["Left out", String(skipped)],
      ["Failed again", String(failed)],
    ]),
  ),
});
