/** The search field of the documentation: finds headings by words, as one types. */

import type { SearchEntry } from "../search-index.ts";

const MOST = 20;
const up = document.querySelector<HTMLScriptElement>("script[data-up]")?.dataset.up ?? "";
const field = document.querySelector<HTMLInputElement>("input[type=search]");
const form = field?.form;
let entries: Promise<readonly SearchEntry[]> | undefined;
let list: HTMLUListElement | undefined;

/** How well an entry fits the words; 0 when one of them is in neither title nor text. */
function fit({ page = "", title, words }: SearchEntry, wanted: readonly string[]): number {
  const name = title.toLowerCase();
  let sum = 0;
  for (const word of wanted) {
    if (name === word) sum += 40;
    else if (name.split(/[^\p{L}\p{N}_]+/u).includes(word)) sum += 20;
    else if (name.includes(word)) sum += 10;
    else if (` ${words} `.includes(` ${word} `)) sum += 3;
    else if (words.includes(word) || page.toLowerCase().includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

async function find(text: string): Promise<readonly SearchEntry[]> {
  entries ??= fetch(`${up}search.json`).then((answer) => answer.json() as Promise<readonly SearchEntry[]>);
  const wanted = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (wanted.length === 0) return [];
  return (await entries)
    .map((entry) => [fit(entry, wanted), entry] as const)
    .filter(([found]) => found > 0)
    .sort(([a], [b]) => b - a)
    .slice(0, MOST)
    .map(([, entry]) => entry);
}

function show(found: readonly SearchEntry[], text: string): void {
  list?.remove();
  list = undefined;
  if (text.trim() === "" || !form) return;
  list = document.createElement("ul");
  list.className = "found";
  for (const { anchor, page, path, title } of found) {
    const link = document.createElement("a");
    link.href = `${up}${path}.html${anchor ? `#${anchor}` : ""}`;
    link.textContent = title;
    if (page !== undefined) {
      const place = document.createElement("small");
      place.textContent = page;
      link.append(place);
    }
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
  }
  if (found.length === 0) {
    const item = document.createElement("li");
    const nothing = document.createElement("span");
    nothing.textContent = "Nothing is found.";
    item.append(nothing);
    list.append(item);
  }
  form.append(list);
}

field?.addEventListener("input", async () => {
  const text = field.value;
  const found = await find(text);
  if (field.value === text) show(found, text);
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  list?.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    field?.focus();
  }
  if (event.key === "Escape") show([], "");
});
