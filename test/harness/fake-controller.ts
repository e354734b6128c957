/**
 * A fake of the controller of agents' sessions: it checks the key, remembers what it was asked, and
 * answers when a test lets it.
 */

/** A call that carried the key. */
export interface AskedController {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A running fake. */
export class FakeController implements Disposable {
  /** Calls in order. */
  readonly calls: AskedController[] = [];
  /** Calls with another key, or none. */
  refused = 0;
  /** The answer to a call; default: the next id. */
  answer: (asked: AskedController) => Response | Promise<Response> = () => this.next();
  #count = 0;
  readonly #server: Bun.Server<undefined>;

  /** @param hostname where it listens; containers reach no loopback but their own */
  constructor(
    readonly key: string,
    hostname = "127.0.0.1",
  ) {
    this.#server = Bun.serve({ port: 0, hostname, idleTimeout: 0, fetch: (request) => this.#respond(request) });
  }

  get port(): number {
    return this.#server.port ?? 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Calls that make sessions. */
  get sessions(): AskedController[] {
    return this.calls.filter(({ path }) => path === "/api/v1/sessions");
  }

  /** Calls that submit tasks. */
  get tasks(): AskedController[] {
    return this.calls.filter(({ path }) => path.endsWith("/tasks"));
  }

  /** An answer with a new id: `session-1`, or `task-2`. */
  next(): Response {
    const isTask = this.calls.at(-1)?.path.endsWith("/tasks") === true;
    return Response.json({ id: `${isTask ? "task" : "session"}-${++this.#count}` });
  }

  [Symbol.dispose](): void {
    this.#server.stop(true);
  }

  async #respond(request: Request): Promise<Response> {
    if (request.headers.get("authorization") !== `Bearer ${this.key}`) {
      this.refused++;
      return new Response("wrong key", { status: 401 });
    }
    const { pathname } = new URL(request.url);
    if (request.method !== "POST" || !/^\/api\/v1\/sessions(?:\/[^/]+\/tasks)?$/.test(pathname))
      return new Response("no such call", { status: 404 });
    const asked = { path: pathname, body: (await request.json()) as AskedController["body"] };
    this.calls.push(asked);
    return this.answer(asked);
  }
}
