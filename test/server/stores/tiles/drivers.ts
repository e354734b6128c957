import { join } from "node:path";
import { openSqliteTileStore } from "../../../../src/server/stores/tiles/sqlite.ts";
import type { TileStore } from "../../../../src/server/stores/tiles/store.ts";
import { mergedTiles } from "../../../../src/server/tiles/merged-tiles.ts";
import type { Driver } from "../driver.ts";

/** Every driver of the tile store. */
export const TILE_DRIVERS: readonly Driver<TileStore>[] = [
  { name: "SQLite file", open: (folder) => openSqliteTileStore(join(folder, "tiles.db")) },
  { name: "SQLite file, remembered", open: (folder) => mergedTiles(openSqliteTileStore(join(folder, "tiles.db"))) },
];
