/**
 * The network of a fake of a cluster: the scripts that look at it run here, by a real shell, with a
 * `nc` that connects where the policies let a pod.
 */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a plugin makes of policies. */
export type Enforcement =
  | "kept"
  /** It has none that it keeps. */
  | "ignored"
  /** Each pod connects this often before its policy is kept. */
  | { readonly after: number };

/** A policy, of which labels alone are known here: one with expressions selects nothing. */
interface Policy {
  readonly spec?: {
    readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>>; readonly matchExpressions?: readonly unknown[] };
    readonly egress?: readonly unknown[];
  };
}

const NC = `#!/bin/sh
echo x >> "$FAKE_COUNT"
n=$(grep -c x "$FAKE_COUNT")
[ "$n" -le "$FAKE_OPEN" ]
`;
/** Connections of a pod that nothing cuts off. */
const ALL = 1_000_000;

/** What pods reach. */
export class FakeNetwork implements Disposable {
  enforcement: Enforcement = "kept";
  /** Whether anything is in reach of anybody. */
  isUp = true;
  /** Whether images have the program that connects. */
  hasTools = true;
  readonly #folder = mkdtempSync(join(tmpdir(), "svc-fake-network-"));
  #runs = 0;

  constructor() {
    for (const [name, text] of Object.entries({ nc: NC, sleep: "#!/bin/sh\n" })) {
      writeFileSync(join(this.#folder, name), text);
      chmodSync(join(this.#folder, name), 0o755);
    }
    writeFileSync(join(this.#folder, "resolv.conf"), "search apart\nnameserver 10.96.0.10\n");
  }

  /** Runs a script that looks at the network of a pod with these labels. */
  async exitCode(command: readonly string[], labels: Readonly<Record<string, string>>, policies: readonly Policy[]): Promise<number> {
    // As a kubelet: two of the sign are one, which names no variable.
    const words = command.map((word) => word.replaceAll("$$", "$").replace("/etc/resolv.conf", join(this.#folder, "resolv.conf")));
    const selecting = policies.filter(({ spec }) => {
      const { matchExpressions, matchLabels = {} } = spec?.podSelector ?? {};
      return !matchExpressions && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
    });
    const isCut = selecting.length > 0 && selecting.every(({ spec }) => (spec?.egress ?? []).length === 0);
    const { enforcement } = this;
    const left = enforcement === "kept" ? 0 : enforcement === "ignored" ? ALL : enforcement.after;
    const env = {
      PATH: `${this.#folder}:${process.env.PATH}`,
      ...{ KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" },
      ...{ FAKE_COUNT: join(this.#folder, `count-${++this.#runs}`), FAKE_OPEN: String(this.isUp ? (isCut ? left : ALL) : 0) },
    };
    const [program = "", ...rest] = this.hasTools ? words : words.map((word) => word.replace("nc -w", "no-such-program -w"));
    return Bun.spawn([program, ...rest], { env, stdout: "ignore", stderr: "ignore" }).exited;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
