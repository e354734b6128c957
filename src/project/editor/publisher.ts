/**
 * Publication of findings: an editor is sent the findings of a file only when they have changed.
 */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { lspDiagnostic } from "../../output/diagnostic.ts";
import type { ProjectTexts } from "./project-texts.ts";

/** A publisher of findings to one editor. */
export class Publisher {
  /** The parameters that were sent last, as JSON, by path. */
  readonly #published = new Map<string, string>();

  /** @param send takes the parameters of `textDocument/publishDiagnostics` */
  constructor(private readonly send: (params: unknown) => void) {}

  /**
   * Sends the findings of each file; a file that had some and has none now gets an empty list. A
   * finding without a span is the project file's.
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
