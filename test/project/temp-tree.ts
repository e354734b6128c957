/** Folders for tests. */

import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A file's content; `link` makes a symbolic link to it, `mode` sets the file's mode. */
export type Content = string | { readonly link: string } | { readonly text: string; readonly mode: number };

const made: string[] = [];

/** Makes a folder with files and gives its real path. */
export async function makeTree(files: Readonly<Record<string, Content>> = {}): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "svc-project-")));
  made.push(root);
  await addFiles(root, files);
  return root;
}

/** Adds files to a folder. */
export async function addFiles(root: string, files: Readonly<Record<string, Content>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const full = join(root, path);
    await mkdir(dirname(full), { recursive: true });
    if (typeof content === "string") await writeFile(full, content);
    else if ("link" in content) await symlink(content.link, full);
    else {
      await writeFile(full, content.text);
      await chmod(full, content.mode);
    }
  }
}

/** Removes what was made; call it in `afterAll`. */
export async function removeTrees(): Promise<void> {
  for (const root of made.splice(0)) await rm(root, { recursive: true, force: true });
}
