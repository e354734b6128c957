import type { PlacedFile } from "../../agents/skill-folder.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";

/** One line for each file: what became of it, and where it is. */
export const placedFilesView = textView(
  (files: readonly PlacedFile[]) => files.map(({ outcome, path }) => `${outcome} ${escapeControls(path)}`).join("\n"),
  (files) => ({ files }),
);
