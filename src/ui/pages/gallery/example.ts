import type { ComponentChildren } from "preact";

/** A part in one of its states. */
export type Example = readonly [name: string, content: () => ComponentChildren];
