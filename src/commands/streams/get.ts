import { type GetStreamResponse, type StreamStanding, StreamStatus } from "../../../gen/svc/v1/stream_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, bool } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { STREAM_FIELDS } from "./stream-view.ts";

/** Milliseconds between two looks. */
const LOOK_MS = 250;
/** States in which a stream reads, or is about to. */
const READING: ReadonlySet<StreamStatus> = new Set([StreamStatus.RUNNING, StreamStatus.RETRYING, StreamStatus.STARTING]);

/** A stream, and whether what was waited for has come. */
type Shown = GetStreamResponse & { readonly isRead: boolean };

export default defineCommand({
  summary: "Show a stream, partition by partition",
  description:
    "What it does, how far it has read, and why it does not go on. With --wait the command ends once the messages that are there now are stored, or put aside; its " +
    "exit code is 1 when the stream stops before that.",
  examples: ["svc streams get on_payment", { run: "svc streams get on_payment --wait", does: "Once it has read what is there now" }],
  needs: ["session"],
  args: { name: arg("name of the stream's resolver, or its last part") },
  flags: { wait: bool("wait until it has read the messages that are there now") },
  async run({ api, clock, signal }, { name, wait }): Promise<Shown> {
    const service = await api.streams();
    const first = await service.getStream({ name });
    let answer = first;
    while (wait && !hasRead(answer.stream, first.stream) && READING.has(answer.stream?.status ?? StreamStatus.INACTIVE)) {
      await clock.sleep(LOOK_MS, signal);
      answer = await service.getStream({ name });
    }
    return { ...answer, isRead: !wait || hasRead(answer.stream, first.stream) };
  },
  exitCode: ({ isRead }) => (isRead ? 0 : 1),
  view: resourceFields(({ stream }: Shown) => stream, STREAM_FIELDS),
});

/** Whether a stream has read the messages that were there at a look. */
function hasRead(now: StreamStanding | undefined, then: StreamStanding | undefined): boolean {
  const offsets = new Map(now?.partitions.map(({ offset, partition }) => [partition, offset ?? 0n]));
  const partitions = then?.partitions ?? [];
  return (
    partitions.length > 0 &&
    partitions.every(({ earliest, latest, partition }) => latest === earliest || (offsets.get(partition) ?? 0n) >= (latest ?? 0n))
  );
}
