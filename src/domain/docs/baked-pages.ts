/** The documentation that the binary carries. */

/** The folder of the pages. */
const FOLDER = `${import.meta.dir}/../../../docs`;

async function read(): Promise<Record<string, string>> {
  const files = [...new Bun.Glob("*.md").scanSync(FOLDER)].sort();
  const texts = await Promise.all(files.map((file) => Bun.file(`${FOLDER}/${file}`).text()));
  return Object.fromEntries(files.map((file, at) => [file.slice(0, -".md".length), texts[at] as string]));
}

/** Every page of `docs/` by its name without the ending, sorted. */
export const pages: Readonly<Record<string, string>> = await read();
