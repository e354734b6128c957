/** Bounds of topics and messages, the same for all drivers. */

import { messageBytes } from "./message-frame.ts";
import { type NewMessage, TopicError } from "./topics.ts";

/** Most bytes of a message: its key, value and headers. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Most headers of a message. */
export const MAX_HEADERS = 1_000;
/** Most messages and bytes of one push. */
export const MAX_PUSHED_MESSAGES = 10_000;
export const MAX_PUSHED_BYTES = 16 * 1024 * 1024;

const NAME = /^[A-Za-z0-9._-]{1,249}$/;

/** Whether a topic can have this name, by Kafka's rule. */
export function isTopicName(name: string): boolean {
  return NAME.test(name) && name !== "." && name !== "..";
}

/** Refuses what a push cannot have. Throws TopicError refused. */
export function checkMessages(topic: string, messages: readonly NewMessage[]): void {
  if (messages.length > MAX_PUSHED_MESSAGES)
    throw new TopicError("refused", `One push to '${topic}' has ${messages.length} messages, and ${MAX_PUSHED_MESSAGES} are the most.`);
  let sum = 0;
  for (const [index, message] of messages.entries()) {
    const bytes = messageBytes(message);
    if (bytes > MAX_MESSAGE_BYTES)
      throw new TopicError(
        "refused",
        `Message ${index + 1} to '${topic}' has ${bytes} bytes with its key and headers, and ${MAX_MESSAGE_BYTES} are the most.`,
      );
    if ((message.headers?.length ?? 0) > MAX_HEADERS)
      throw new TopicError("refused", `Message ${index + 1} to '${topic}' has more than ${MAX_HEADERS} headers.`);
    sum += bytes;
  }
  if (sum > MAX_PUSHED_BYTES)
    throw new TopicError("refused", `One push to '${topic}' has ${sum} bytes, and ${MAX_PUSHED_BYTES} are the most: push fewer at a time.`);
}
