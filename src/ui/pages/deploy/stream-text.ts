/** Streams in words. */

import type { StreamPartitionJson } from "../../../../gen/svc/v1/stream_pb.ts";

/** How far a partition was read. */
export function partitionText({ lag, latest, node = "", offset, partition = 0, problem = "" }: StreamPartitionJson): string {
  const place = offset === undefined ? "nothing was read yet" : `at ${offset}`;
  const end = latest === undefined ? "" : offset === undefined && latest === "0" ? ", nor pushed" : ` of ${latest}`;
  const behind = lag === undefined || lag === "0" ? "" : `, ${lag} to read`;
  const reader = node === "" ? ", read by no node" : "";
  return `Partition ${partition}: ${place}${end}${behind}${reader}${problem === "" ? "" : `: ${problem}`}`;
}

/** The beginning of a message, which is in base64, as text. */
export function messageText(base64 = "", shown = 2_000): string {
  const bytes = Uint8Array.from(atob(base64.slice(0, shown * 2)), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes).slice(0, shown);
}
