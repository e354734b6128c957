/**
 * How bodies are compressed, requests and answers alike. Answers with secrets in them are not to be
 * compressed: their length would tell of what they say.
 */

/** The encodings there are, those first that cost less. */
export const ENCODINGS = ["zstd", "gzip"] as const;

/** Name of an encoding, as headers have it. */
export type Encoding = (typeof ENCODINGS)[number];

/**
 * Bytes that a body has at least to be compressed: a shorter one hardly gets smaller, and waits.
 */
export const MIN_COMPRESSED_BYTES = 1024;

/** The encoding of a name; undefined when there is none of that name. */
export function encodingOf(name: string): Encoding | undefined {
  return ENCODINGS.find((encoding) => encoding === name.trim().toLowerCase());
}

/**
 * The encoding that an Accept-Encoding header likes most, of several that it likes alike the one
 * that costs least; undefined = none.
 */
export function acceptedEncoding(header: string | null): Encoding | undefined {
  if (!header) return undefined;
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const [name = "", weight] = item.split(";").map((part) => part.trim());
    weights.set(name, weight?.startsWith("q=") ? Number(weight.slice(2)) || 0 : 1);
  }
  const weightOf = (encoding: Encoding) => weights.get(encoding) ?? weights.get("*") ?? 0;
  const [best] = ENCODINGS.toSorted((a, b) => weightOf(b) - weightOf(a));
  return best && weightOf(best) > 0 ? best : undefined;
}

/** By the runtime's own module, which takes too long to load for a server's start. */
async function gzipped(bytes: Uint8Array | string): Promise<Uint8Array> {
  const { gzip } = await import("node:zlib");
  return new Promise((resolve, reject) => gzip(bytes, (error, result) => (error ? reject(error) : resolve(result))));
}

/** Compresses bytes. */
export async function compress(bytes: Uint8Array | string, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
  return (await (encoding === "zstd" ? Bun.zstdCompress(bytes) : gzipped(bytes))) as Uint8Array<ArrayBuffer>;
}

/**
 * What a stream of compressed bytes holds, as it comes. Reading rejects with TypeError when it is
 * broken, cut, or followed by anything.
 */
export function inflated(stream: ReadableStream<Uint8Array>, encoding: Encoding): ReadableStream<Uint8Array> {
  // The types know fewer formats than the runtime.
  const inflater = new DecompressionStream(encoding as CompressionFormat);
  return stream.pipeThrough(inflater as ReadableWritablePair<Uint8Array, Uint8Array>);
}

/**
 * The headers of answers that `encodedAnswer` gives, made once for all of them: beside those given,
 * that no cache hands a compressed body to who takes none.
 */
export function encodedHeaders(given: Readonly<Record<string, string>>): Headers {
  return new Headers({ ...given, vary: "accept-encoding" });
}

/**
 * An answer of status 200 for whoever sent `headers`, compressed when they take that and it is
 * worth it.
 * @param own its headers, from `encodedHeaders`
 */
export function encodedAnswer(headers: Headers, body: string | Uint8Array<ArrayBuffer>, own: Headers): Response | Promise<Response> {
  const encoding = body.length < MIN_COMPRESSED_BYTES ? undefined : acceptedEncoding(headers.get("accept-encoding"));
  if (encoding === undefined) return new Response(body, { headers: own });
  return compress(body, encoding).then((bytes) => {
    const response = new Response(bytes, { headers: own });
    response.headers.set("content-encoding", encoding);
    return response;
  });
}
