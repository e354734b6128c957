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
  const id = (text: string | undefined): string => plain(text ?? "").slice(0, MAX_ID);
  return {
    at: Math.round(given.at),
    level: given.level,
    component: given.component,
    environmentId: id(given.environmentId),
    deploymentId: id(given.deploymentId),
    branch: id(given.branch),
    resolver: id(given.resolver),
    queryName: id(given.queryName),
    resourceGroup: id(given.resourceGroup),
    podName: id(given.podName),
    app: id(given.app),
    logger: id(given.logger),
    operationId: id(given.operationId),
    correlationId: id(given.correlationId),
    traceId: id(given.traceId),
    spanId: id(given.spanId),
    message: plain(given.message),
    attributes: boundAttributes(given.attributes ?? {}),
  };
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
  let dropped = 0;
  for (const [name, value] of Object.entries(given)) {
    const bounded = typeof value === "string" ? plain(value.slice(0, MAX_VALUE)) : value;
    const size = name.length + String(bounded).length;
    if (Object.keys(kept).length >= MAX_ATTRIBUTES || name.length > MAX_NAME || size > left) dropped++;
    else {
      kept[plain(name)] = bounded;
      left -= size;
    }
  }
  if (dropped > 0) kept.dropped_attributes = dropped;
  return JSON.stringify(kept);
}

/** A text that SQLite compares as JavaScript does. */
function plain(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}
