/**
 * Worker thread that owns the file of the server's own topics, so that flushes to the disk delay no
 * query.
 */

import { serve } from "../../thread/rpc.ts";
import { TopicsDatabase, type TopicsFile } from "./database.ts";

serve<TopicsDatabase, TopicsFile>({
  make: (file) => new TopicsDatabase(file),
  close: (database) => database.close(),
});
