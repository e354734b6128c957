import { updateEntry } from "../../src/config/file.ts";

const [homeDir = "", key = "", clientId = ""] = process.argv.slice(2);
await updateEntry({}, { env: {}, homeDir }, key, { clientId, clientSecret: "s" });
