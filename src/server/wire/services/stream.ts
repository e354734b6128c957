/** StreamService: resolvers of topics, and the messages that they put aside. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  type DeadLetterSchema,
  type SeekStreamRequest,
  StreamService,
  type StreamStandingSchema,
  StreamStatus,
} from "../../../../gen/svc/v1/stream_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import type { DeadLetter } from "../../stores/metadata/streams.ts";
import type { SeekTarget, StreamStanding, StreamState } from "../../streams/streams.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { placeToken, readPlace } from "./page-token.ts";

const STATUS: Readonly<Record<StreamState, StreamStatus>> = {
  running: StreamStatus.RUNNING,
  paused: StreamStatus.PAUSED,
  failed: StreamStatus.FAILED,
  retrying: StreamStatus.RETRYING,
  starting: StreamStatus.STARTING,
  inactive: StreamStatus.INACTIVE,
};
/** Dead letters of a page, and most bytes of their messages. */
const USUAL_LETTERS = 50;
const MOST_LETTERS = 200;
const MOST_BYTES = 4 * 1_048_576;
const MOST_CHOSEN = 500;
const MOST_PARTITIONS = 1_000;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, keys, streams } = platform;
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment;
  const standingOf = (standing: StreamStanding, environmentId: string, { requestHeader }: HandlerContext) => ({
    ...standingMessage(standing),
    url: pageAddress(platform, requestHeader, environmentId, "stream", { name: standing.record.name }),
  });

  router.service(StreamService, {
    async listStreams(_request, context) {
      const environment = await environmentOf(context);
      return { streams: (await (await streams()).list(environment)).map((one) => standingOf(one, environment.id, context)) };
    },

    async getStream({ name }, context) {
      const environment = await environmentOf(context);
      return { stream: standingOf(await (await streams()).find(environment, name), environment.id, context) };
    },

    async pauseStream({ name }, context) {
      const environment = await environmentOf(context);
      return { stream: standingOf(await (await streams()).pause(environment, name, true), environment.id, context) };
    },

    async resumeStream({ name }, context) {
      const environment = await environmentOf(context);
      return { stream: standingOf(await (await streams()).pause(environment, name, false), environment.id, context) };
    },

    async seekStream({ name, partitions, to }, context) {
      if (partitions.length > MOST_PARTITIONS)
        throw new Failure("invalid_argument", `At most ${MOST_PARTITIONS} partitions are moved at once; leave them out to move all.`);
      const environment = await environmentOf(context);
      return { stream: standingOf(await (await streams()).seek(environment, name, targetOf(to), partitions), environment.id, context) };
    },

    async listDeadLetters({ name, pageSize, pageToken }, context) {
      const environment = await environmentOf(context);
      const filter = JSON.stringify(["dead letters", environment.id, name]);
      const limit = Math.min(pageSize > 0 ? pageSize : USUAL_LETTERS, MOST_LETTERS);
      const before = readPlace(keys.objects, filter, pageToken);
      const found = await (await streams()).letters(environment, name, { before, limit: limit + 1 });
      const page = fitting(found.slice(0, limit));
      const last = page.length < found.length ? page.at(-1) : undefined;
      return { deadLetters: page.map(letterMessage), nextPageToken: placeToken(keys.objects, filter, last?.seq) };
    },

    async replayDeadLetters({ after, ids, name, until }, context) {
      if (ids.length > MOST_CHOSEN) throw new Failure("invalid_argument", `At most ${MOST_CHOSEN} dead letters are named at once.`);
      const choice = { among: ids.map(Number), after: Number(after), until: Number(until) };
      const done = await (await streams()).replay(await environmentOf(context), name, choice);
      return {
        stored: BigInt(done.stored),
        skipped: BigInt(done.skipped),
        failed: BigInt(done.failed),
        through: BigInt(done.through),
        until: BigInt(done.until),
        more: done.isMore,
      };
    },
  });
}

/** The letters from the first on whose messages are not too many bytes; at least one. */
function fitting(letters: readonly DeadLetter[]): readonly DeadLetter[] {
  let bytes = 0;
  return letters.filter(({ key, value }, place) => {
    bytes += (key?.byteLength ?? 0) + (value?.byteLength ?? 0);
    return place === 0 || bytes <= MOST_BYTES;
  });
}

function targetOf(to: SeekStreamRequest["to"]): SeekTarget {
  switch (to.case) {
    case "earliest":
    case "latest":
      if (to.value) return { to: to.case };
      break;
    case "time":
      return { to: "time", time: timestampToMs(to.value) };
    case "offset":
      return { to: "offset", offset: to.value };
  }
  throw new Failure("invalid_argument", "Nothing says where the stream is to go on.", {
    hint: "Name an offset, a time, the earliest or the latest message.",
  });
}

function standingMessage(standing: StreamStanding): MessageInitShape<typeof StreamStandingSchema> {
  const { deadLetters, live, partitions, problem, record, state, topic } = standing;
  const lags = partitions.flatMap(({ lag }) => (lag === undefined ? [] : [lag]));
  return {
    name: record.name,
    status: STATUS[state],
    ...{ problem, topic, source: live?.source.name ?? "", outputs: live?.resolver.outputs ?? [] },
    deadLetters: BigInt(deadLetters),
    ...(lags.length === partitions.length && lags.length > 0 && { lag: BigInt(lags.reduce((sum, lag) => sum + lag, 0)) }),
    partitions: partitions.map((one) => ({
      ...{ partition: one.partition, node: one.node, problem: one.problem },
      ...(one.offset !== undefined && { offset: one.offset }),
      ...(one.earliest !== undefined && { earliest: one.earliest }),
      ...(one.latest !== undefined && { latest: one.latest }),
      ...(one.lag !== undefined && { lag: BigInt(one.lag) }),
      ...(one.watermark !== undefined && { watermark: msToTimestamp(one.watermark / 1000) }),
    })),
  };
}

function letterMessage(letter: DeadLetter): MessageInitShape<typeof DeadLetterSchema> {
  const { failedAt, key, offset, partition, reason, seq, size, stage, timestamp, value } = letter;
  return {
    ...{ id: BigInt(seq), partition, offset, stage, reason, size: BigInt(size) },
    messageTime: msToTimestamp(timestamp),
    failedAt: msToTimestamp(failedAt),
    ...(key && { key: new Uint8Array(key) }),
    ...(value && { value: new Uint8Array(value) }),
  };
}
