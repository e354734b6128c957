/** A real identity provider for tests, and a browser without a window that logs in at it. */

import { join } from "node:path";

/** What an identity provider knows. */
export interface Directory {
  readonly clients: readonly {
    readonly clientId: string;
    /** Undefined = a public client. */
    readonly clientSecret?: string;
    readonly redirectUris: readonly string[];
  }[];
  /** Claims of persons by subject, which is also what they type to log in. */
  readonly persons: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** A running identity provider. */
export class IdentityProvider implements Disposable {
  private constructor(
    readonly issuer: string,
    private readonly child: Bun.Subprocess<"pipe", "pipe", "ignore">,
    private readonly lines: AsyncIterator<string>,
  ) {}

  /** Starts one that knows nobody. */
  static async start(): Promise<IdentityProvider> {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "identity-provider-process.ts")], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "ignore",
    });
    const lines = linesOf(child.stdout);
    const { value: issuer } = await lines.next();
    return new IdentityProvider(issuer ?? "", child, lines);
  }

  /** Puts a directory in the place of the one before. */
  async know(directory: Directory): Promise<void> {
    this.child.stdin.write(`${JSON.stringify(directory)}\n`);
    await this.child.stdin.flush();
    await this.lines.next();
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL");
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  return undefined;
}

/** A browser without a window: cookies by host, and redirects that are followed one by one. */
export class Visitor {
  private readonly jars = new Map<string, Map<string, string>>();

  /** The cookies of a host. */
  cookies(host: string): Map<string, string> {
    const jar = this.jars.get(host) ?? new Map<string, string>();
    this.jars.set(host, jar);
    return jar;
  }

  /** Requests an address as a navigation does; redirects are not followed. */
  async go(address: string, init: RequestInit = {}): Promise<Response> {
    const jar = this.cookies(new URL(address).host);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(cookie !== "" && { cookie }), "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site", accept: "text/html" };
    const response = await fetch(address, { ...init, headers: { ...headers, ...(init.headers as object) }, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const [name = "", value = ""] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Follows redirects from an address until it leads to one that `ends`, or to a page. */
  async follow(
    address: string,
    ends: (url: URL) => boolean = () => false,
  ): Promise<{ readonly url: URL; readonly page: Response | undefined }> {
    for (let url = new URL(address); ; ) {
      if (ends(url)) return { url, page: undefined };
      const response = await this.go(url.href);
      const location = response.headers.get("location");
      if (location === null) return { url, page: response };
      url = new URL(location, url);
    }
  }

  /**
   * Logs in at the provider as a person, from an address of the server; the address that the
   * provider sends back to, not yet opened.
   */
  async signIn(address: string, person: string): Promise<URL> {
    const isBack = (url: URL) => url.pathname === "/login/oidc/callback";
    const { url, page } = await this.follow(address, isBack);
    if (!page) return url;
    const sent = await this.go(url.href, { method: "POST", body: new URLSearchParams({ login: person }) });
    return (await this.follow(new URL(sent.headers.get("location") ?? "", url).href, isBack)).url;
  }
}
