/**
 * A cache of the static lint's findings. The lint is a function of its input and of this program,
 * so equal bytes give equal findings.
 */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { ResultCache } from "../../disk/result-cache.ts";
import { sourceFingerprint } from "../../python/baked-source-fingerprint.ts";
import type { LintInput } from "./lint.ts";

const LIMITS = { maxBytes: 16 * 1024 * 1024, maxFiles: 64 };

/** The cached findings of one input, kept as a graph that has nothing else. */
export class LintCache {
  readonly #cache: ResultCache;
  readonly #key: string;

  /** @param folder absolute path of the cache's folder, which need not exist */
  constructor(folder: string, input: LintInput) {
    this.#cache = new ResultCache(folder, LIMITS);
    const { files, runtime, requirements, skipDrivers, policy } = input;
    const hash = new Bun.CryptoHasher("sha256").update(JSON.stringify([sourceFingerprint(), runtime, requirements, skipDrivers, policy]));
    for (const { path, text } of files) hash.update(JSON.stringify([path, text.length])).update(text);
    this.#key = hash.digest("hex");
  }

  /** The findings; undefined when the input was never linted, or too long ago. */
  get(): readonly Diagnostic[] | undefined {
    const bytes = this.#cache.get(this.#key);
    return bytes && fromBinary(GraphSchema, bytes).diagnostics;
  }

  /** Keeps the findings. */
  put(findings: readonly Diagnostic[]): void {
    this.#cache.put(this.#key, toBinary(GraphSchema, create(GraphSchema, { diagnostics: [...findings] })));
  }
}
