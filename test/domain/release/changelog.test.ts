import { expect, test } from "bun:test";
import { changelogEntries, changelogMarkdown } from "../../../src/domain/release/changelog.ts";

const TEXT = `# Changelog

What stands here belongs to no release.

## Unreleased

## [0.3.0] - 2026-03-01

### Added

- something

## v0.2.0 (2026-02-01)
- a list
## 0.1.0

The first.

## Notes on upgrading

still of v0.1.0
`;

test("one entry for each release, with its date and notes", () => {
  expect(changelogEntries(TEXT)).toEqual([
    { version: "Unreleased", published_at: null, notes: "" },
    { version: "v0.3.0", published_at: "2026-03-01", notes: "### Added\n\n- something" },
    { version: "v0.2.0", published_at: "2026-02-01", notes: "- a list" },
    { version: "v0.1.0", published_at: null, notes: "The first.\n\n## Notes on upgrading\n\nstill of v0.1.0" },
  ]);
  expect(changelogEntries("")).toEqual([]);
  expect(changelogEntries(TEXT.replaceAll("\n", "\r\n"))).toEqual(changelogEntries(TEXT));
});

test("entries become a changelog again", () => {
  const entries = changelogEntries(TEXT);
  expect(changelogEntries(changelogMarkdown(entries))).toEqual(entries);
  expect(changelogMarkdown([{ version: "v1.0.0", published_at: "2026-01-02T03:04:05Z", notes: "x" }])).toBe(
    "# Changelog\n\n## v1.0.0 - 2026-01-02\n\nx\n",
  );
});

test("this project's own changelog has entries", async () => {
  const own = changelogEntries(await Bun.file(`${import.meta.dir}/../../../CHANGELOG.md`).text());
  expect(own.length).toBeGreaterThan(0);
  expect(own[0]?.notes.length).toBeGreaterThan(0);
});
