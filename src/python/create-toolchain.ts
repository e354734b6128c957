/** The Python toolchain of this machine. */

import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { create, fromBinary } from "@bufbuild/protobuf";
import { type Graph, GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { prune, ResultCache } from "../disk/result-cache.ts";
import { finding } from "../domain/finding.ts";
import { dropTranslations, type GraphDecoder, GraphEncoder } from "../domain/graph-bytes.ts";
import { IMPORT_FAILED } from "../domain/rules/loading.ts";
import { AnalysisCacheEntry } from "./analysis-cache.ts";
import { analyzeProject } from "./analyze.ts";
import { interpreterFinding, type SearchContext } from "./interpreter.ts";
import { findInterpreterCached } from "./interpreter-cache.ts";
import { type Requirements, RequirementsError, readRequirements } from "./requirements.ts";
import { unpackSdk } from "./sdk.ts";
import { type AnalyzeOptions, type InterpreterSearch, type PythonToolchain, ToolchainError } from "./toolchain.ts";
import { ensureVenv } from "./venv.ts";

const ANALYSIS_LIMITS = { maxBytes: 64 * 1024 * 1024, maxFiles: 64 };
const CODE_LIMITS = { maxBytes: 256 * 1024 * 1024, maxFiles: 64 };

/** Options of a toolchain. */
export interface ToolchainOptions {
  /**
   * Folder of all state, `$SVC_HOME`, which contains the virtual environments, the unpacked SDK and
   * scratch files.
   */
  readonly home: string;
  /**
   * Environment variables: `PATH` is searched for interpreters and `uv`; `user-code-env.ts` selects
   * those that user code and installers see.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: that of this machine. */
  readonly platform?: NodeJS.Platform;
  /** The user's home folder, where pyenv keeps its versions. Default: that of this user. */
  readonly homeDir?: string;
  /**
   * What the graphs that are returned are decoded by, so that they can share definitions. Default:
   * each has its own.
   */
  readonly decodeGraph?: GraphDecoder;
  /**
   * Whether the graphs that are returned are without the translations of resolvers, which their
   * bytes have: for who runs none. Default false.
   */
  readonly withoutTranslations?: boolean;
}

/** A toolchain. Nothing is looked for or written before it is first needed; results are kept. */
export function createToolchain(options: ToolchainOptions): PythonToolchain {
  const searchContext: SearchContext = {
    env: options.env,
    platform: options.platform ?? process.platform,
    homeDir: options.homeDir ?? (process.platform === "win32" ? undefined : options.env.HOME) ?? homedir(),
  };
  const searches = new Map<string, Promise<InterpreterSearch>>();
  let unpacked: Promise<string> | undefined;
  const { withoutTranslations = false } = options;
  const decodeGraph =
    options.decodeGraph ??
    ((bytes) => {
      const graph = fromBinary(GraphSchema, bytes);
      if (withoutTranslations) dropTranslations(graph.resolvers);
      return graph;
    });
  const cache = join(options.home, "cache");
  const analyses = new ResultCache(join(cache, "analyses"), ANALYSIS_LIMITS);

  const compiledCode = async (python: string, project = ""): Promise<string> => {
    const name = new Bun.CryptoHasher("sha256").update(`${python}\0${project}`).digest("hex");
    return join(cache, "code", name);
  };

  const findInterpreter = async (runtime?: string): Promise<InterpreterSearch> => {
    const key = runtime ?? "";
    const searching = searches.get(key) ?? findInterpreterCached(cache, runtime, searchContext);
    searches.set(key, searching);
    const search = await searching;
    if (!search.found) searches.delete(key);
    return search;
  };

  const sdkRoot = async (): Promise<string> => {
    unpacked ??= unpackSdk(join(options.home, "sdk"));
    try {
      return await unpacked;
    } catch (error) {
      unpacked = undefined;
      throw error;
    }
  };

  const environmentPython: PythonToolchain["environmentPython"] = async (wanted) => {
    const search = await findInterpreter(wanted.runtime);
    if (!search.found) {
      const finding = interpreterFinding(wanted.runtime, search, searchContext);
      throw new ToolchainError(finding.message, [finding]);
    }
    return ensureVenv({
      folder: join(options.home, "venvs"),
      interpreter: search.found,
      requirements: await requirementsOf(wanted.requirements ?? "", wanted.root, wanted.requirementsFile),
      searchContext: searchContext,
      ...(wanted.root !== undefined && { root: wanted.root }),
      ...(wanted.onProgress && { onProgress: wanted.onProgress }),
      ...(wanted.signal && { signal: wanted.signal }),
      ...(wanted.observer && { observer: wanted.observer }),
    });
  };

  return {
    findInterpreter,
    sdkRoot,
    environmentPython,
    analyze: async (wanted: AnalyzeOptions) => {
      let python: string;
      try {
        python = await environmentPython(wanted);
      } catch (error) {
        if (!(error instanceof ToolchainError)) throw error;
        const graph = create(GraphSchema, { diagnostics: [...error.diagnostics] });
        return { graph, bytes: encoded(graph), python: undefined };
      }
      const cached = new AnalysisCacheEntry(await realpath(wanted.root), python, wanted, options.env);
      const known = cached.get(analyses);
      if (known) {
        await wanted.onKept?.();
        return { graph: decodeGraph(known), bytes: () => known, python };
      }
      const codeFile = await compiledCode(python, wanted.project);
      const scratchDir = join(options.home, "tmp");
      const isDecoded = options.decodeGraph !== undefined;
      const analyzer = {
        ...{ python, sdkRoot: await sdkRoot(), scratchDir, env: options.env, codeFile },
        withoutTranslations: withoutTranslations || isDecoded,
      };
      const { graph, encoder, effects } = await analyzeProject(wanted, analyzer);
      const bytes = encoded(graph, encoder);
      const keep = (): void => void (effects && cached.put(analyses, graph, bytes, effects));
      if (wanted.onCacheable) wanted.onCacheable(keep);
      else keep();
      prune(dirname(codeFile), CODE_LIMITS);
      return { graph: isDecoded ? decodeGraph(bytes()) : graph, bytes, python };
    },
    compiledCode,
    cacheFolder: async () => cache,
  };
}

/** The bytes of a graph, encoded at the first call. */
function encoded(graph: Graph, encoder = new GraphEncoder()): () => Uint8Array {
  let bytes: Uint8Array | undefined;
  return () => {
    bytes ??= encoder.encode(graph);
    return bytes;
  };
}

async function requirementsOf(text: string, root: string | undefined, file: string | undefined): Promise<Requirements> {
  try {
    return await readRequirements(text, root, file);
  } catch (error) {
    if (!(error instanceof RequirementsError)) throw error;
    throw new ToolchainError(error.message, [finding(IMPORT_FAILED.requirements({ problem: error.message }), undefined)]);
  }
}
