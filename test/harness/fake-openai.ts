/**
 * A fake of a server of OpenAI's protocol, on loopback: chat completions, answered by what a test
 * tells it to, and embeddings. It checks the key, and remembers what it was asked. A token is a word.
 */

/** A request for a chat completion. */
export interface AskedCompletion {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** A request for embeddings. */
export interface AskedEmbeddings {
  readonly model: string;
  readonly input: readonly string[];
  readonly dimensions?: number;
}

/** A running fake. */
export class FakeOpenai implements Disposable {
  /** Requests that carried the key, in order. */
  readonly completions: AskedCompletion[] = [];
  readonly embeddings: AskedEmbeddings[] = [];
  /** The vector of a text, or a response in place of all of them. */
  embed: (text: string) => readonly number[] | Response = (text) => [text.length, 1];
  /** Requests that are being answered, and the most at once. */
  private open = 0;
  mostAtOnce = 0;
  private readonly server: Bun.Server<undefined>;

  /**
   * Starts one.
   * @param key what requests must carry; empty = nothing
   * @param answer the content of the answer, or a response in place of one
   */
  constructor(
    readonly key: string,
    public answer: (asked: AskedCompletion) => string | Response | Promise<string | Response>,
  ) {
    this.server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => this.respond(request) });
  }

  /** The address in front of `/chat/completions`. */
  get url(): string {
    return `http://127.0.0.1:${this.server.port}/v1`;
  }

  /** The question of each completion: what its last message says. */
  get questions(): string[] {
    return this.completions.map(({ messages }) => messages.at(-1)?.content ?? "");
  }

  [Symbol.dispose](): void {
    this.server.stop(true);
  }

  private async respond(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const isAllowed = this.key === "" || request.headers.get("authorization") === `Bearer ${this.key}`;
    if (!isAllowed) return failure(401, `Incorrect API key provided: ${request.headers.get("authorization") ?? "none"}.`);
    const isEmbedding = pathname === "/v1/embeddings";
    if (request.method !== "POST" || (pathname !== "/v1/chat/completions" && !isEmbedding))
      return failure(404, `Unknown request URL: ${pathname}.`);
    if (isEmbedding) return this.respondWithVectors((await request.json()) as AskedEmbeddings);
    const asked = (await request.json()) as AskedCompletion;
    this.completions.push(asked);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.open);
    try {
      const said = await this.answer(asked);
      if (typeof said !== "string") return said;
      const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: said } };
      const usage = { prompt_tokens: words(asked.messages.map(({ content }) => content)), completion_tokens: words([said]) };
      return Response.json({ id: "chatcmpl-1", object: "chat.completion", model: asked.model, choices: [choice], usage });
    } finally {
      this.open--;
    }
  }

  private respondWithVectors(asked: AskedEmbeddings): Response {
    this.embeddings.push(asked);
    const vectors = asked.input.map((text) => this.embed(text));
    const refused = vectors.find((vector) => vector instanceof Response);
    if (refused) return refused;
    const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
    return Response.json({ object: "list", data: data.reverse(), model: asked.model, usage: { prompt_tokens: words(asked.input) } });
  }
}

/** An answer that is an error, as the protocol has them. */
export function failure(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error: { message, type: "invalid_request_error" } }, { status, headers });
}

function words(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.split(/\s+/).filter(Boolean).length, 0);
}
