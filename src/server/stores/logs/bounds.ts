/** Bounds of a record: nothing that is logged takes more room than this. */

import type { LogRecord, NewRecord } from "./store.ts";

/** Most characters of a message. */
export const MAX_MESSAGE = 8_192;
/** Most attributes of a record, and characters of their names, of a value, and of all together. */
const MAX_ATTRIBUTES = 32;
const MAX_NAME = 100;
const MAX_VALUE = 1_000;
const MAX_ATTRIBUTES_TEXT = 8_192;
/** Most characters of an id or a name. */
const MAX_ID = 300;

/** A record as it is written: bounded, without NUL, with its attributes as JSON. */
export function boundRecord(given: NewRecord): Omit<LogRecord, "attributes"> & { readonly attributes: string } {
  return {
    at: Math.round(given.at),
    level: given.level,
    component: given.component,
    environmentId: boundId(given.environmentId),
    deploymentId: boundId(given.deploymentId),
    branch: boundId(given.branch),
    resolver: boundId(given.resolver),
    queryName: boundId(given.queryName),
    resourceGroup: boundId(given.resourceGroup),
    podName: boundId(given.podName),
    app: boundId(given.app),
    logger: boundId(given.logger),
    operationId: boundId(given.operationId),
    correlationId: boundId(given.correlationId),
    traceId: boundId(given.traceId),
    spanId: boundId(given.spanId),
    message: plain(given.message),
    attributes: boundAttributes(given.attributes ?? {}),
  };
}

/** An id or a name; most records have few of them. */
function boundId(text: string | undefined): string {
  return text === undefined || text === "" ? "" : plain(text).slice(0, MAX_ID);
}

/** A message of bounded length, which says what was cut. */
export function cut(message: string): string {
  if (message.length <= MAX_MESSAGE) return message;
  const said = ` [${message.length - MAX_MESSAGE} characters more]`;
  return `${message.slice(0, MAX_MESSAGE)}${said}`;
}

function boundAttributes(given: Readonly<Record<string, string | number>>): string {
  const kept: Record<string, string | number> = {};
  let left = MAX_ATTRIBUTES_TEXT;
  let room = MAX_ATTRIBUTES;
  let dropped = 0;
  for (const name in given) {
    const value = given[name] as string | number;
    const bounded = typeof value === "string" ? plain(value.slice(0, MAX_VALUE)) : value;
    const size = name.length + String(bounded).length;
    if (room === 0 || name.length > MAX_NAME || size > left) dropped++;
    else {
      kept[plain(name)] = bounded;
      left -= size;
      room--;
    }
  }
  if (dropped > 0) kept.dropped_attributes = dropped;
  return JSON.stringify(kept);
}

/** A text that SQLite compares as JavaScript does. */
function plain(text: string): string {
  return text.isWellFormed() && !text.includes("\0") ? text : text.toWellFormed().replaceAll("\0", "\ufffd");
}
