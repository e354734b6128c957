/** The public names of the Python package, as its own table has them. */

const TABLE = `${import.meta.dir}/../sdk/svc/_surface/public_names.py`;

async function read(): Promise<Record<string, string[]>> {
  const text = await Bun.file(TABLE).text();
  const modules = new Map([...text.matchAll(/^(_[A-Z]+) = "(svc[\w.]*)"$/gm)].map(([, constant, module]) => [constant, module as string]));
  const table = /^PUBLIC_NAMES.*?^}/ms.exec(text)?.[0] ?? "";
  const names: Record<string, string[]> = {};
  for (const [, name = "", homes = ""] of table.matchAll(/^ {4}"(\w+)": \(([^)]*)\),$/gm)) {
    const module = modules.get(homes.split(",")[0]?.trim() ?? "");
    if (module === undefined) throw new Error(`${TABLE}: ${name} has no module`);
    names[module] ??= [];
    names[module].push(name);
  }
  return Object.fromEntries(Object.entries(names).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The names by the module that advice names first. */
export const publicNames: Readonly<Record<string, readonly string[]>> = await read();
