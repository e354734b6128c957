/**
 * Modules whose exports are computed from the sources, such as the tree of commands: those named
 * `baked-*.ts`. A run from source computes them when it starts, or when they are asked for; the
 * binary has what they came to.
 */

/** Puts values in the place of these modules: plain data, or functions that give it. */
export const bakePlugin: Bun.BunPlugin = {
  name: "baked modules",
  setup(build) {
    build.onLoad({ filter: /[\\/]baked-[a-z-]+\.ts$/ }, async ({ path }) => {
      const exported = Object.entries((await import(path)) as Record<string, unknown>);
      return { contents: (await Promise.all(exported.map(declaration))).join("\n"), loader: "js" };
    });
  },
};

async function declaration([name, value]: readonly [string, unknown]): Promise<string> {
  if (typeof value !== "function") return `export const ${name} = ${JSON.stringify(value)};`;
  return `const its_${name} = ${JSON.stringify(await value())};\nexport const ${name} = () => its_${name};`;
}
