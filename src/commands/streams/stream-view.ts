/** Streams as people see them. */

import { type StreamStanding, StreamStatus } from "../../../gen/svc/v1/stream_pb.ts";
import { readableName } from "../../domain/name.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";

const STATUS: Readonly<Record<StreamStatus, string>> = {
  [StreamStatus.UNSPECIFIED]: "",
  [StreamStatus.RUNNING]: "Running",
  [StreamStatus.PAUSED]: "Paused",
  [StreamStatus.FAILED]: "Failed",
  [StreamStatus.RETRYING]: "Retrying",
  [StreamStatus.STARTING]: "Starting",
  [StreamStatus.INACTIVE]: "Inactive",
};

const oneLine = (text: string): string => text.replace(/\s+/g, " ");

/** A row of the list. */
export const STREAM_COLUMNS: FieldViews<StreamStanding> = {
  name: "Stream",
  status: { header: "Status", cell: ({ status }) => STATUS[status] },
  topic: "Topic",
  lag: { header: "Lag", align: "right" },
  deadLetters: { header: "Dead Letters", align: "right" },
  problem: { header: "Problem", cell: ({ problem }) => oneLine(problem), flexible: true, ifAny: true },
};

/** All of a stream. */
export const STREAM_FIELDS: FieldViews<StreamStanding> = {
  ...STREAM_COLUMNS,
  source: "Source",
  outputs: { header: "Features", cell: ({ outputs }) => outputs.map(readableName).join(", ") },
  partitions: {
    header: "Partitions",
    cell: ({ partitions }) =>
      partitions
        .map(({ latest, node, offset, partition, problem, watermark }) => {
          const place = `${partition}: at ${offset ?? "the beginning"}${latest === undefined ? "" : ` of ${latest}`}`;
          const time = watermark ? `, rows up to ${timeText(watermark)}` : "";
          return `${place}${time}${node === "" ? ", read by no node" : ""}${problem === "" ? "" : `: ${oneLine(problem)}`}`;
        })
        .join("; "),
  },
  url: "Page",
};
