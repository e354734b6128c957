/** The texts of the skills that the binary carries. */

const FOLDER = `${import.meta.dir}/skills`;

async function read(): Promise<Record<string, string>> {
  const files = [...new Bun.Glob("*/SKILL.md").scanSync(FOLDER)].map((file) => file.replaceAll("\\", "/")).sort();
  const texts = await Promise.all(files.map((file) => Bun.file(`${FOLDER}/${file}`).text()));
  return Object.fromEntries(files.map((file, at) => [file.slice(0, file.indexOf("/")), texts[at] as string]));
}

/** SKILL.md of every skill, by the skill's name, sorted. */
export const skillTexts: Readonly<Record<string, string>> = await read();
