/** Images by Docker's API: building, fetching, listing and removing them. */

import { isJsonObject, type JsonObject } from "../../../domain/json-value.ts";
import { TAR_END, tarEntry } from "../../../domain/tar/writer.ts";
import { Failure } from "../../failure.ts";
import type { ContainerEngine, EngineImage, NewImage } from "../container-engine.ts";
import { OutputLines } from "../output-lines.ts";
import { type DockerApi, unlessGone, wordsOf } from "./docker-api.ts";

/** Longest fetch of an image. */
const PULL_MS = 600_000;
/** Most characters of one event of a build. */
const MAX_EVENT = 4 * 1024 * 1024;
/** Name of the Dockerfile in the context that is sent. */
const DOCKERFILE = "Dockerfile";
/** Longest time in which the disk of a container becomes an image. */
const COMMIT_MS = 1_800_000;

/** What an engine does with images. */
export function dockerImages(
  api: DockerApi,
): Pick<ContainerEngine, "build" | "commit" | "fetchImage" | "image" | "images" | "makeEmptyImage" | "removeImage"> {
  const of = (name: string): string => `/images/${encodeURIComponent(name)}`;
  const image = async (name: string): Promise<EngineImage | undefined> => {
    const found = await unlessGone(api.json(`${of(name)}/json`));
    return found && imageOf(found);
  };
  return {
    async build(wanted, signal) {
      const { labels, onLine, tag } = wanted;
      const response = await api.call("/build", {
        method: "POST",
        query: { t: tag, dockerfile: DOCKERFILE, rm: "1", forcerm: "1", labels: JSON.stringify(labels) },
        body: contextOf(wanted),
        contentType: "application/x-tar",
        signal,
        timeoutMs: 0,
      });
      try {
        await follow(response, onLine);
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      }
      if (!(await image(tag)))
        throw new Failure("unavailable", "The container engine ended the build without an image and without a word.");
    },

    async commit(id, tag, signal) {
      const colon = tag.lastIndexOf(":");
      const query = { container: id, repo: tag.slice(0, colon), tag: tag.slice(colon + 1) };
      await api.json("/commit", { method: "POST", query, json: {}, signal, timeoutMs: COMMIT_MS });
    },

    async fetchImage(name, signal) {
      const there = await image(name);
      if (there) return there;
      await pull(api, name, signal);
      const fetched = await image(name);
      if (fetched) return fetched;
      throw new Failure("not_found", `The container engine fetched the image '${name}', and has none of that name.`);
    },

    image,

    async images(label, value) {
      const filters = JSON.stringify({ label: [`${label}=${value}`] });
      const listed = (await api.json("/images/json", { query: { filters } })) as unknown as readonly JsonObject[];
      const found = await Promise.all(listed.map(({ Id }) => image(String(Id))));
      return found.filter((one) => one !== undefined);
    },

    async makeEmptyImage(name, signal) {
      const query = { fromSrc: "-", repo: name };
      const said = await api.text("/images/create", {
        method: "POST",
        query,
        body: new Uint8Array(TAR_END),
        contentType: "application/x-tar",
        signal,
      });
      const fault = faultIn(said);
      if (fault !== undefined) throw new Failure("unavailable", `The container engine at ${api.address} makes no image: ${fault}.`);
    },

    async removeImage(name) {
      try {
        await unlessGone(api.call(of(name), { method: "DELETE" }));
        return true;
      } catch (error) {
        if (error instanceof Failure && error.kind === "failed_precondition") return false;
        throw error;
      }
    },
  };
}

/** The context with its Dockerfile. */
function contextOf({ context, dockerfile }: NewImage): ReadableStream<Uint8Array> {
  const all = async function* (): AsyncGenerator<Uint8Array> {
    yield* tarEntry({ path: DOCKERFILE, content: Buffer.from(dockerfile), mode: 0o644, time: 0 });
    yield* context;
    yield TAR_END;
  };
  const pieces = all();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}

/** Hands over the log of a build. Rejects with Failure in the engine's words. */
async function follow(response: Response, onLine: (line: string) => void): Promise<void> {
  let said = "";
  let fault: string | undefined;
  const output = new OutputLines();
  const say = (text: string): void => {
    // Of a line that is written over, its last state counts; Docker colours a step's errors.
    for (const line of output.take(Bun.stripANSI(text))) onLine(line.replace(/^.*\r/, ""));
  };
  const take = (line: string): void => {
    if (line.trim() === "") return;
    const event = parsed(line);
    if (typeof event.stream === "string") say(event.stream);
    if (typeof event.error === "string") fault = event.error;
  };
  const decoder = new TextDecoder();
  for await (const piece of response.body ?? []) {
    const lines = (said + decoder.decode(piece, { stream: true })).split("\n");
    said = lines.pop() ?? "";
    if (said.length > MAX_EVENT) throw new Failure("unavailable", "The container engine's log of a build has a line without an end.");
    for (const line of lines) take(line);
  }
  take(said);
  if (output.rest() !== "") onLine(output.rest());
  if (fault !== undefined)
    throw new Failure("invalid_argument", `The container engine could not build the image: ${wordsOf(fault) || "it does not say why"}.`);
}

function parsed(line: string): JsonObject {
  try {
    return JSON.parse(line) as JsonObject;
  } catch {
    throw new Failure("unavailable", "The container engine answered a build with what is no JSON.");
  }
}

/** What an engine says of an image. */
function imageOf({ Config, Created, Id, RepoTags }: JsonObject): EngineImage {
  const config = isJsonObject(Config ?? null) ? (Config as JsonObject) : {};
  const variables = Array.isArray(config.Env) ? config.Env.map(String) : [];
  return {
    id: String(Id),
    tags: Array.isArray(RepoTags) ? RepoTags.map(String) : [],
    labels: isJsonObject(config.Labels ?? null) ? (config.Labels as Readonly<Record<string, string>>) : {},
    env: Object.fromEntries(variables.map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)])),
    createdAt: Date.parse(String(Created)) || 0,
  };
}

/** Fetches an image. Rejects with Failure not_found in the engine's words. */
export async function pull(api: DockerApi, image: string, signal: AbortSignal): Promise<void> {
  const missing = (words: string): Failure =>
    new Failure("not_found", `There is no image '${image}', and it could not be fetched: ${words || "the engine does not say why"}.`, {
      hint: "Check its name, or load it into the engine, for example with `podman pull` or `podman build`.",
    });
  const reference = /(?::[^/]+|@[^/]+)$/.test(image) ? image : `${image}:latest`;
  let said = "";
  try {
    said = await api.text("/images/create", { method: "POST", query: { fromImage: reference }, signal, timeoutMs: PULL_MS });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure && error.kind !== "unavailable") throw missing(error.message.replace(/^[^:]*: |\.$/g, ""));
    throw error;
  }
  const fault = faultIn(said);
  if (fault !== undefined) throw missing(fault);
}

/** What went wrong, in the messages about the making of an image. */
function faultIn(said: string): string | undefined {
  const fault = /"error"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(said)?.[1];
  return fault === undefined ? undefined : wordsOf(JSON.parse(fault) as string);
}
