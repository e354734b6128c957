import { signal } from "@preact/signals";

/** The command that gives what the page shows; empty when it has none. The key `y` copies it. */
export const pageCommand = signal("");
