/**
 * Drivers of topics under test. A driver passes the conformance suite by being named in a table.
 */

import type { Topics } from "../../../src/server/topics/topics.ts";

/** Topics that were opened for a test. */
export interface OpenTopics {
  readonly topics: Topics;
  /** Makes a topic. */
  create(topic: string, partitions: number): Promise<void>;
  close(): Promise<void>;
}

/** How to open topics with one driver. */
export interface TopicsDriver {
  /** As it stands in the names of tests. */
  readonly name: string;
  /** Whether tests can be run here. */
  readonly isAbsent: boolean;
  open(): Promise<OpenTopics>;
}
