import { type SeekStreamResponse, StreamStatus } from "../../../gen/svc/v1/stream_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, choice, int, list, timestamp } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { STREAM_FIELDS } from "./stream-view.ts";

export default defineCommand({
  summary: "Move a stream within its topic",
  description:
    "It goes on at an offset, at the first message of a time, or at the earliest or latest message. Messages that are read again are stored again, which changes " +
    "no row, and count again in windows that are kept; messages that are passed over are not stored. A stream that is not paused is moved after a question.",
  examples: [
    "svc streams seek on_payment --to latest",
    { run: "svc streams seek on_payment --time 2026-01-01T00:00:00Z --yes", does: "The messages since then again, without a question" },
    { run: "svc streams seek on_payment --offset 1200 --partition 0", does: "One partition" },
  ],
  needs: ["session"],
  args: { name: arg("name of the stream's resolver, or its last part") },
  flags: {
    to: choice("the oldest message that is kept, or after the newest", ["earliest", "latest"]),
    offset: int("offset of the next message"),
    time: timestamp("time of the next message, with a zone", { requireZone: true }),
    partition: list(int("number of a partition; may be repeated; default: all")),
    ...confirmFlags,
  },
  check({ offset, partition, time, to }) {
    if ([to, offset, time].filter((given) => given !== undefined).length !== 1)
      throw new UsageError("give one of --to, --offset and --time");
    if (offset !== undefined && offset < 0) throw new UsageError("--offset takes 0 or more");
    if (partition.some((number) => number < 0)) throw new UsageError("--partition takes the number of a partition, such as 0");
  },
  async run(context, { force, name, offset, partition, time, to }) {
    const service = await context.api.streams();
    const { stream } = await service.getStream({ name });
    if (stream?.status !== StreamStatus.PAUSED)
      await confirm(context, { force }, `Stream ${escapeControls(stream?.name ?? name)} is not paused. Move it all the same?`);
    return service.seekStream({
      name,
      partitions: partition,
      to:
        time !== undefined
          ? { case: "time", value: msToTimestamp(time) }
          : offset !== undefined
            ? { case: "offset", value: BigInt(offset) }
            : { case: to === "latest" ? "latest" : "earliest", value: true },
    });
  },
  view: resourceFields(({ stream }: SeekStreamResponse) => stream, STREAM_FIELDS),
});
