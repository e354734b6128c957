/** What an editor was last told of each file, so that it is told again only what changed. */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { lspDiagnostic } from "../../output/diagnostic.ts";
import type { ProjectTexts } from "./project-texts.ts";

/** Tells an editor the findings. */
export class Publisher {
  /** By path, what was said of it. */
  readonly #published = new Map<string, string>();

  /** @param send takes the parameters of `textDocument/publishDiagnostics` */
  constructor(private readonly send: (params: unknown) => void) {}

  /**
   * Tells the findings of all files, and of files that had some that there are none. A finding
   * without a place is the project file's.
   */
  publish(texts: ProjectTexts, findings: readonly Diagnostic[]): void {
    const { root, configPath } = texts.project;
    const config = configPath.slice(root.length + 1);
    const byPath = new Map<string, unknown[]>([...texts.openPaths, ...this.#published.keys()].map((path) => [path, []]));
    for (const diagnostic of findings) {
      const { uri: _, ...shown } = lspDiagnostic(diagnostic, (path) => texts.text(path), root);
      const path = diagnostic.span?.file ?? config;
      const shownThere = byPath.get(path);
      if (shownThere) shownThere.push(shown);
      else byPath.set(path, [shown]);
    }
    for (const [path, diagnostics] of byPath) {
      const params = { uri: texts.uriOf(path), version: texts.opened(path)?.version, diagnostics };
      const text = JSON.stringify(params);
      if (this.#published.get(path) === text) continue;
      this.#published.set(path, text);
      this.send(params);
    }
  }
}
