import { testContext } from "./test-context.ts";

const { context } = await testContext({ home: process.env.HOME ?? "", env: process.env as Record<string, string> });
await (await context.api.health()).checkHealth({});
