/**
 * Profiles as files that flame graph tools read: collapsed stacks, the JSON of speedscope, and an
 * SVG that needs nothing else.
 */

/** A stack of calls, outermost first, with the times that it was seen. */
export interface Stack {
  readonly frames: readonly string[];
  readonly samples: number;
}

/** Collapsed stacks, one per line: functions separated by `;`, a space, the samples. */
export function collapsedStacks(stacks: readonly Stack[]): string {
  const word = (frame: string): string => frame.replaceAll(/[;\s]+/g, (run) => (run.includes(";") ? ":" : " "));
  return stacks.map(({ frames, samples }) => `${frames.map(word).join(";")} ${samples}\n`).join("");
}

/** A sampled profile in speedscope's format; weights are milliseconds. */
export function speedscopeProfile(name: string, stacks: readonly Stack[], intervalMs: number): unknown {
  const index = new Map<string, number>();
  const at = (frame: string): number => {
    const known = index.get(frame) ?? index.size;
    index.set(frame, known);
    return known;
  };
  const samples = stacks.map(({ frames }) => frames.map(at));
  const weights = stacks.map((stack) => stack.samples * intervalMs);
  return {
    $schema: "https://www.speedscope.app/file-format-schema.json",
    exporter: "svc",
    name,
    activeProfileIndex: 0,
    shared: { frames: [...index.keys()].map((frame) => ({ name: frame })) },
    profiles: [
      {
        type: "sampled",
        name,
        unit: "milliseconds",
        startValue: 0,
        endValue: weights.reduce((sum, one) => sum + one, 0),
        samples,
        weights,
      },
    ],
  };
}

interface Node {
  readonly name: string;
  samples: number;
  readonly children: Map<string, Node>;
}

const WIDTH = 1200;
const ROW = 18;
/** Pixels of a character of the labels. */
const CHARACTER = 6.6;
/** Narrower boxes are not drawn. */
const LEAST_WIDTH = 0.3;

/** The stacks as boxes: each as wide as its share of the samples, callers above what they call. */
export function flameGraphSvg(name: string, stacks: readonly Stack[]): string {
  const root: Node = { name, samples: 0, children: new Map() };
  let depth = 1;
  for (const { frames, samples } of stacks) {
    depth = Math.max(depth, frames.length + 1);
    let node = root;
    node.samples += samples;
    for (const frame of frames) {
      const child = node.children.get(frame) ?? { name: frame, samples: 0, children: new Map() };
      node.children.set(frame, child);
      child.samples += samples;
      node = child;
    }
  }
  const boxes: string[] = [];
  const draw = (node: Node, x: number, level: number): void => {
    const width = (WIDTH * node.samples) / Math.max(1, root.samples);
    if (width < LEAST_WIDTH) return;
    const share = ((100 * node.samples) / Math.max(1, root.samples)).toFixed(1);
    const label = node.name.slice(0, Math.max(0, Math.floor((width - 6) / CHARACTER)));
    const hue = 15 + (Bun.hash.xxHash32(node.name) % 40);
    boxes.push(
      `<g><title>${escaped(node.name)}: ${node.samples} samples, ${share}%</title>` +
        `<rect x="${x.toFixed(2)}" y="${level * ROW}" width="${width.toFixed(2)}" height="${ROW - 1}" fill="hsl(${hue},80%,65%)"/>` +
        `${label.length < 3 ? "" : `<text x="${(x + 3).toFixed(2)}" y="${level * ROW + 13}">${escaped(label)}</text>`}</g>`,
    );
    let left = x;
    for (const child of [...node.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      draw(child, left, level + 1);
      left += (WIDTH * child.samples) / Math.max(1, root.samples);
    }
  };
  draw(root, 0, 0);
  const height = depth * ROW;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" ` +
    `font-family="monospace" font-size="11">\n${boxes.join("\n")}\n</svg>\n`
  );
}

function escaped(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\u{FFFE}\u{FFFF}]/gu, "\u{FFFD}")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/** The file formats of profiles, by the ends of files' names. */
export const PROFILE_FORMATS: Readonly<Record<string, (name: string, stacks: readonly Stack[], intervalMs: number) => string>> = {
  ".svg": flameGraphSvg,
  ".json": (...profile) => `${JSON.stringify(speedscopeProfile(...profile))}\n`,
  ".txt": (_name, stacks) => collapsedStacks(stacks),
};

/** The format that a file's name asks for; undefined = none. */
export function profileFormat(file: string) {
  return Object.entries(PROFILE_FORMATS).find(([ending]) => file.toLowerCase().endsWith(ending))?.[1];
}

/** The function that most samples were in itself, with its share of all; empty without samples. */
export function hottestFunction(stacks: readonly Stack[]): string {
  const own = new Map<string, number>();
  let all = 0;
  for (const { frames, samples } of stacks) {
    const innermost = frames.at(-1) ?? "";
    own.set(innermost, (own.get(innermost) ?? 0) + samples);
    all += samples;
  }
  const [most] = [...own].sort(([, a], [, b]) => b - a);
  return most ? `${most[0]} ${Math.round((100 * most[1]) / Math.max(1, all))}%` : "";
}
