import { signal } from "@preact/signals";

/** Whether the tab's stream broke off, and is not open again yet. */
export const isCutOff = signal(false);
